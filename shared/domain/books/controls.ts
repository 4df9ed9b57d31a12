import type { CurrencyCode } from "../../currencies.ts";
import type { Contra, Ledger } from "../records/ledger.ts";
import { amountDifference, type Difference } from "./difference.ts";

/** Sums by month, currency and part of the accounts; together with the other side of each posting they are zero. */
export type Nets = Readonly<Record<string, bigint>>;

/** Compared members of a ledger entry. */
export type BookedEntry = Pick<Ledger, "id" | "account_id" | "currency" | "amount_minor" | "created_at">;

/** Compared members of an entry of a control account. */
export type BookedLeg = Pick<
  Contra,
  "account_id" | "amount_minor" | "created_at" | "currency" | "ledger_id" | "transaction_id"
>;

/** Accounts whose postings are summed together. */
export interface NetPlace {
  /** `2026-11` */
  readonly month: string;
  readonly currency: CurrencyCode;
  readonly part: number;
}

/** The name of a sum. */
function netName({ month, currency, part }: NetPlace): string {
  return `${month}|${currency}|${part}`;
}

/** The place that a name is of. */
export function netPlace(name: string): NetPlace {
  const [month = "", currency = "", part = ""] = name.split("|");
  return { month, currency: currency as CurrencyCode, part: Number(part) };
}

/** Sums with others added; what comes to zero is left out. */
export function plusNets(sums: Nets, more: Nets): Nets {
  const all = { ...sums };
  for (const [name, minor] of Object.entries(more)) {
    const sum = (all[name] ?? 0n) + minor;
    if (sum === 0n) delete all[name];
    else all[name] = sum;
  }
  return all;
}

/** The sums of entries, of a ledger or of control accounts, that were booked before a moment in one of the months. */
export function netsOf(
  entries: readonly (Pick<Contra, "account_id" | "currency" | "amount_minor" | "created_at"> & object)[],
  months: readonly string[],
  before: string,
  partOf: (accountId: string) => number,
): Nets {
  const sums: Record<string, bigint> = {};
  for (const { account_id, currency, amount_minor, created_at } of entries) {
    const month = created_at.slice(0, 7);
    if (created_at >= before || !months.includes(month)) continue;
    const name = netName({ month, currency, part: partOf(account_id) });
    sums[name] = (sums[name] ?? 0n) + amount_minor;
  }
  return sums;
}

/**
 * Where entries of a ledger and their legs on the control accounts do not agree. The legs of an entry add up to its
 * amount with the other sign; legs without an entry are between two control accounts and add up to zero.
 */
export function compareLegs(entries: readonly BookedEntry[], legs: readonly BookedLeg[]): Difference[] {
  const known = new Map(entries.map((entry) => [entry.id, entry]));
  const sums = new Map<string, { readonly leg: BookedLeg; readonly minor: bigint }>();
  for (const leg of legs) {
    const name = leg.ledger_id ?? leg.transaction_id ?? leg.account_id;
    sums.set(name, { leg, minor: (sums.get(name)?.minor ?? 0n) + leg.amount_minor });
  }
  const ofEntries = entries.flatMap(({ id, account_id, currency, amount_minor }) => {
    const about = { object_type: "ledger_entry", object_id: id, account_id } as const;
    return amountDifference(about, "control_accounts", currency, [-amount_minor, sums.get(id)?.minor ?? 0n]);
  });
  const others = [...sums].flatMap(([name, { leg, minor }]) => {
    if (known.has(name)) return [];
    const { account_id, currency, ledger_id } = leg;
    const object_type = ledger_id === null ? "transaction" : "ledger_entry";
    const about = { object_type, object_id: name, account_id } as const;
    return amountDifference(about, "control_accounts", currency, [0n, minor]);
  });
  return [...ofEntries, ...others];
}

/**
 * The months whose control accounts a run reads: the newest ones, and one of those before them, another one in each
 * run, so that each comes again.
 * @param first month of the first entry
 * @param now month of the run
 * @param turn number of the run
 */
export function monthsToRead(first: string, now: string, turn: number, newest: number): string[] {
  const all: string[] = [];
  for (let month = first; month <= now; month = monthAfter(month)) all.push(month);
  const recent = all.slice(-newest);
  const older = all.slice(0, -newest);
  const again = older[turn % Math.max(1, older.length)];
  return again === undefined ? recent : [again, ...recent];
}

function monthAfter(month: string): string {
  const [year = 0, number = 0] = month.split("-").map(Number);
  return new Date(Date.UTC(year, number, 1)).toISOString().slice(0, 7);
}
