import { groupBy, ofType, text, whole } from "../emulator/raw-items.ts";
import type { RawItem } from "../emulator/raw-table.ts";

/** A number as a fraction of two integers, the second above zero. */
type Ratio = readonly [numerator: bigint, denominator: bigint];

const kinds = new Set(["transfer_out", "transfer_in"]);

/** The transfer that a transaction is a leg of. */
function legOf(item: RawItem): RawItem {
  return memberOf(item, "transfer");
}

function memberOf(item: RawItem, name: string): RawItem {
  const value = item[name] as { readonly map?: RawItem } | null | undefined;
  return value?.map ?? {};
}

/**
 * A transfer has two legs that name each other, and the credit follows from the published rate alone. A debit has none
 * before its credit is made or asked for, and is completed and failed as its credit is.
 */
export function judgeTransfers(items: readonly RawItem[]): string[] {
  const legs = ofType(items, "TXN").filter((item) => kinds.has(text(item, "kind")));
  const accounts = new Map(ofType(items, "ACCOUNT").map((item) => [text(item, "id"), item]));
  const typeOf = (leg: RawItem) => accounts.get(text(leg, "account_id"))?.["type"];
  return [...groupBy(legs, (item) => text(legOf(item), "transfer_id"))].flatMap(([id, own]) => {
    const out = own.find((item) => text(item, "kind") === "transfer_out");
    const into = own.find((item) => text(item, "kind") === "transfer_in");
    if (out !== undefined && own.length === 1) return judgeAlone(id, out);
    if (own.length !== 2 || out === undefined || into === undefined) return [`${id} has ${own.length} legs`];
    if (!fitting.has(`${text(out, "status")} ${text(into, "status")}`)) {
      return [`${id} is debited as ${text(out, "status")} and credited as ${text(into, "status")}`];
    }
    const names = (one: RawItem, other: RawItem) =>
      text(legOf(one), "transaction_id") === text(other, "id") &&
      text(legOf(one), "account_id") === text(other, "account_id") &&
      text(legOf(one), "currency") === text(other, "currency") &&
      minorOf(text(legOf(one), "amount")) === whole(other, "amount_minor");
    const fits =
      names(out, into) &&
      names(into, out) &&
      (text(out, "client_id") === text(into, "client_id") || typeof out["approved_at"] === "string") &&
      text(out, "account_id") !== text(into, "account_id") &&
      typeOf(out) === typeOf(into);
    if (!fits) return [`the legs of ${id} do not fit each other`];
    return creditedBy(out).credit === whole(into, "amount_minor") ? [] : [`${id} credits another amount than its rate`];
  });
}

/** States of the debit and of the credit that fit each other. A credit that has failed is followed by its debit. */
const fitting = new Set([
  ...["completed completed", "processing completed", "processing processing", "processing failed", "failed failed"],
]);

function judgeAlone(id: string, out: RawItem): string[] {
  return text(out, "status") === "completed" ? [`${id} is completed without a credit`] : [];
}

/** Amounts of a leg on the control accounts. */
export function transferControls(item: RawItem): readonly (readonly [name: string, minor: bigint])[] {
  const amount = whole(item, "amount_minor");
  if (text(item, "kind") === "transfer_out") return [["transfers", amount]];
  const { credit, mid } = creditedFrom(legOf(item), text(legOf(item), "amount"), digitsOf(item));
  return [
    ["conversion_income", mid - credit],
    ["transfers", -mid],
  ];
}

const digits: Readonly<Record<string, number>> = { JPY: 0, KWD: 3, USDT: 6, USDC: 6, BTC: 8, ETH: 8 };

/** Decimals of the currencies that tests transfer. */
function digitsOf(item: RawItem): number {
  return digits[text(item, "currency")] ?? 2;
}

/** The credit that the debit of a transfer says of itself. */
function creditedBy(out: RawItem) {
  const [, fraction = ""] = text(legOf(out), "amount").split(".");
  return creditedFrom(legOf(out), decimal(out), fraction.length);
}

/** The debited amount of a leg as a decimal text. */
function decimal(out: RawItem): string {
  const count = digitsOf(out);
  const minor = String(whole(out, "amount_minor")).padStart(count + 1, "0");
  return count === 0 ? minor : `${minor.slice(0, -count)}.${minor.slice(-count)}`;
}

/** By the path: at its prices less the mark-up, rounded down, and at the mid of the same quotes, to the nearest. */
function creditedFrom(leg: RawItem, debit: string, places: number) {
  const via = (memberOf(leg, "conversion")["via"] ?? []) as readonly { readonly map: RawItem }[];
  const convertedAt = (priceOf: (step: RawItem) => string): Ratio => {
    let [n, d] = ratio(debit);
    for (const { map } of via) {
      const [pn, pd] = ratio(priceOf(map));
      [n, d] = text(map, "op") === "multiply" ? [n * pn, d * pd] : [n * pd, d * pn];
    }
    return [n * 10n ** BigInt(places), d];
  };
  const [n, d] = convertedAt((step) => text(step, "price"));
  const [middle, unit] = convertedAt((step) => text(step, step["mid"] === undefined ? "price" : "mid"));
  const [mn, md] = ratio(text(leg, "mark_up_percent"));
  return {
    credit: (n * (100n * md - mn)) / (d * 100n * md),
    mid: (2n * middle + unit) / (2n * unit),
  };
}

function ratio(value: string): Ratio {
  const [whole = "0", fraction = ""] = value.split(".");
  return [BigInt(whole + fraction), 10n ** BigInt(fraction.length)];
}

function minorOf(amount: string): bigint {
  return BigInt(amount.replace(".", "") || "-1");
}
