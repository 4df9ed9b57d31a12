import { createHash } from "node:crypto";
import { hasNumber, ofType, text, whole } from "../emulator/raw-items.ts";
import type { RawItem, RawValue } from "../emulator/raw-table.ts";
import { isReturning, takesMoney, tenantOf } from "./oracle-terms.ts";

/**
 * The trade that each position of a source stands for: the newest one, since with netting a platform may keep the name
 * of a position that it turned round. A part that was closed carries the name of its deal.
 */
function newestOfPositions(items: readonly RawItem[]): RawItem[] {
  const own = ofType(items, "TRADE").filter(({ parent_trade_id: parent, source_trade_id: name }) => !parent && name);
  const newest = new Map<string, RawItem>();
  // A trade whose opening was taken back gives the name back.
  const place = (item: RawItem) => `${text(item, "close_reason") === "reversed" ? 0 : 1} ${text(item, "id")}`;
  for (const item of own.toSorted((a, b) => (place(a) < place(b) ? -1 : 1))) {
    newest.set(`${tenantOf(item)} ${text(item, "source")} ${text(item, "source_trade_id")}`, item);
  }
  return [...newest.values()].map((item) => ({ ...item, et: "POSITION OF A SOURCE" }));
}

/** A unique value is claimed by its owner only, and nothing is claimed for a value without an owner. */
export function judgeMarkers(items: readonly RawItem[]): string[] {
  const sources = new Map(
    ofType(items, "SOURCE").map((item) => [`${tenantOf(item)} ${text(item, "name")}`, text(item, "id")]),
  );
  const removed = new Set(
    ofType(items, "OPERATOR")
      .filter((item) => text(item, "status") === "removed")
      .map((item) => text(item, "id")),
  );
  let wanted = [...items, ...newestOfPositions(items)].flatMap((item) => {
    const sourceOf = sources.get(`${tenantOf(item)} ${String(item["source"])}`);
    const claim = (kind: string, ...values: readonly (RawValue | undefined)[]) => {
      if (typeof values.at(-1) !== "string") return [];
      const value = values.length === 1 ? String(values[0]) : JSON.stringify(values);
      const hash = createHash("sha256").update(value).digest("hex");
      return [`${tenantOf(item)}|UQ|${kind} ${hash} of ${text(item, "id")}`];
    };
    switch (text(item, "et")) {
      case "CLIENT":
        return [
          ...(text(item, "status") === "closed" ? [] : claim("client_email", item["email"])),
          ...claim("client_external_id", item["external_id"]),
        ];
      case "ACCOUNT":
        return [
          ...claim("account_number", item["number"]),
          ...claim("platform_login", item["source_id"] ?? item["platform"], item["platform_login"]),
        ];
      case "TXN":
        return [
          ...namesOf(item, claim),
          ...[...operationsOf(item), ...asideOf(item)].flatMap((each) =>
            claim("source_operation", each["source_id"], text(each, "operation_id")),
          ),
        ];
      case "COMMAND":
        return [
          ...(text(item, "status") === "taken" ? claim("command_lane", item["account_id"], item["lane"]) : []),
          // One that was given up has an operation where a person has done the same by hand.
          ...(isCorrection(item) && (text(item, "status") === "done" || item["feed_seq"] !== undefined)
            ? claim("source_operation", item["source_id"], item["operation_id"])
            : []),
        ];
      case "OPERATOR":
        return text(item, "status") === "removed" ? [] : claim("operator_email", item["email"]);
      case "SOURCE":
        return claim("source_name", item["name"]);
      case "ORDER":
        return sourceOf === undefined ? [] : claim("source_order", sourceOf, item["source_order_id"]);
      case "POSITION OF A SOURCE":
        return sourceOf === undefined ? [] : claim("source_position", sourceOf, item["source_trade_id"]);
      default:
        return [];
    }
  });
  const found = ofType(items, "UQ")
    .filter((item) => !isFormerEmail(item, removed))
    .map(
      (item) =>
        `${text(item, "pk")} ${text(item, "sk")} of ${text(item, "owner_id")}${item["is_free"] === true ? freed : ""}`,
    );
  const [needed, claimed] = [new Set(wanted.filter((name) => !name.endsWith(freed))), new Set(found)];
  // The name of what ended is its own until another one takes it.
  for (const name of wanted) if (name.endsWith(freed) && claimed.has(name)) needed.add(name);
  wanted = wanted.filter((name) => needed.has(name));
  return [
    ...(needed.size === wanted.length ? [] : ["one value belongs to two"]),
    ...[...needed].filter((name) => !claimed.has(name)).map((name) => `${name} is not claimed`),
    ...[...claimed].filter((name) => !needed.has(name)).map((name) => `${name} is claimed without an owner`),
  ];
}

const freed = " was freed";

/** The names of a transaction; those of one that ended unbooked are free. */
function namesOf(item: RawItem, claim: (kind: string, ...values: readonly (RawValue | undefined)[]) => string[]) {
  const { provider } = item;
  const known = typeof provider === "string" ? provider.trim().toLowerCase() : provider;
  const names = [
    ...claim("transaction_external_id", item["external_id"]),
    ...(isPlatforms(item) ? [] : claim("provider_reference", known, item["provider_reference"])),
  ];
  const ended = ["rejected", "cancelled", "failed"].includes(text(item, "status"));
  return ended ? names.map((name) => `${name}${freed}`) : names;
}

/** Whether a claim is that of an email address whose operator was removed: it stays, and its value is forgotten. */
function isFormerEmail(claim: RawItem, removed: ReadonlySet<string>): boolean {
  return text(claim, "pk").endsWith("|UQ|operator_email") && removed.has(text(claim, "owner_id"));
}

/** Whether a command is to move the money of a platform to ours. */
function isCorrection(item: RawItem): boolean {
  return item["type"] !== "find_operation" && (item["purpose"] === "drift" || isSettlement(item));
}

/** Whether a command is to make a platform follow what was settled here. */
function isSettlement(item: RawItem): boolean {
  return item["purpose"] === "settlement";
}

/**
 * Commands that correct a platform and whose operation has not been reported, as they are found by their amount; what
 * was settled here is still to be followed where the command was refused.
 */
function unreportedCorrections(items: readonly RawItem[]): readonly string[] {
  const open = ofType(items, "COMMAND").filter(
    (item) =>
      isCorrection(item) &&
      (isSettlement(item) || ["waiting", "taken", "unknown", "done"].includes(text(item, "status"))) &&
      item["feed_seq"] === undefined,
  );
  return open.map((item) => `${text(item, "account_id")} ${whole(item, "amount_minor")} of ${text(item, "id")}`);
}

/** The operations of a platform that are a transaction's money. */
export function operationsOf(item: RawItem): readonly RawItem[] {
  const operations = (item["platform_operations"] ?? []) as readonly { readonly map: RawItem }[];
  return operations.map(({ map }) => map);
}

/** The operation that is set aside for a transaction until it is approved. */
export function asideOf(item: RawItem): readonly RawItem[] {
  const aside = item["set_aside"] as { readonly map: RawItem } | undefined;
  return aside === undefined ? [] : [aside.map];
}

/** Whether a platform made a transaction: it names the operation as its provider's reference. */
export function isPlatforms(item: RawItem): boolean {
  const reported = [...operationsOf(item).filter((each) => each["leg"] === "forward"), ...asideOf(item)];
  return reported.some((each) => each["operation_id"] === item["provider_reference"]);
}

/** Identifiers of the transactions whose money a platform moved. */
export function platformMoney(items: readonly RawItem[]): ReadonlySet<string> {
  const moved = ofType(items, "TXN").filter(
    (item) => operationsOf(item).length > 0 || typeof item["platform_done_at"] === "string",
  );
  return new Set(moved.map((item) => text(item, "id")));
}

/** Kinds of ledger entries by the kinds of the operations of a platform. */
export const platformKinds: Readonly<Record<string, string>> = {
  adjustment: "adjustment",
  correction: "adjustment",
  fee: "fee_income",
  commission: "commission",
  dividend: "dividend",
  swap: "swap",
};

/**
 * Every leg of a transaction that a platform has not reported yet can be found by its amount, and no other one. A leg
 * from before its account belonged to a platform need not be found.
 */
export function judgeLegs(items: readonly RawItem[]): string[] {
  const linked = new Set(
    ofType(items, "ACCOUNT")
      .filter((item) => item["platform"] !== "internal" && typeof item["platform_login"] === "string")
      .map((item) => text(item, "id")),
  );
  const wanted = ofType(items, "TXN").flatMap((item) => {
    const [amount, fee] = [whole(item, "amount_minor"), whole(item, "fee_minor")];
    const sign = takesMoney(item) || item["kind"] === "credit_out" ? -1n : 1n;
    const reported = operationsOf(item).filter((each) => each["confirmed"] !== false);
    const joined = reported.map((each) => text(each, "leg"));
    const ended = ["rejected", "cancelled", "failed"].includes(text(item, "status"));
    const reversed = hasNumber(item, "reverse_minor") ? whole(item, "reverse_minor") : undefined;
    const back = reversed ?? (isReturning(item) ? whole(item, "returning_minor") : undefined);
    // The command of a correction is found in its place.
    if (item["kind"] === "negative_balance_correction" && typeof item["command_id"] === "string") return [];
    const legs = [
      ...((ended && back === undefined) || asideOf(item).length > 0
        ? []
        : [["forward", [sign * amount, sign * (amount - fee)]] as const]),
      ...(back === undefined ? [] : [["reverse", [back, -sign * amount, sign * (fee - amount)]] as const]),
    ];
    return legs
      .filter(([name]) => !joined.includes(name))
      .flatMap(([name, amounts]) =>
        [...new Set(amounts)].map((minor) => `${text(item, "account_id")} ${minor} ${name} of ${text(item, "id")}`),
      );
  });
  const found = new Set(
    ofType(items, "LEG").map((item) => {
      const [minor] = text(item, "sk").split("#");
      if (typeof item["command_id"] === "string") {
        return `${text(item, "account_id")} ${minor} of ${item["command_id"]}`;
      }
      return `${text(item, "account_id")} ${minor} ${text(item, "leg")} of ${text(item, "transaction_id")}`;
    }),
  );
  const corrections = unreportedCorrections(items);
  const all = new Set([...wanted, ...corrections]);
  return [
    ...corrections.filter((name) => !found.has(name)).map((name) => `${name} is not found`),
    ...wanted.filter((name) => linked.has(name.slice(0, 30)) && !found.has(name)).map((name) => `${name} is not found`),
    ...[...found].filter((name) => !all.has(name)).map((name) => `${name} is found and is not unjoined`),
  ];
}
