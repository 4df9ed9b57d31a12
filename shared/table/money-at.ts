import type { Balance } from "../domain/records/balance.ts";
import type { Ledger } from "../domain/records/ledger.ts";
import { ledgers } from "./entities.ts";
import { pagesOf } from "./partition.ts";
import { findAll } from "./store.ts";
import { readItem } from "./table.ts";

/** The money of an account after an entry, with the number of that entry. */
export type Money = Pick<Balance, "balance_minor" | "credit_minor" | "seq">;

/** The money before the first entry. */
const none: Money = { balance_minor: 0n, credit_minor: 0n, seq: 0 };

/**
 * The money of an account at an instant: that of the entries whose own time is before it. In a ledger that is not in
 * the order of its times it is summed from all of them; in any other, the entry before the instant has it.
 */
export async function moneyAt(balance: Balance, moment: string): Promise<Money> {
  const { tenant_id: tenant, account_id: id, seq, posted_at, unordered } = balance;
  if (unordered === undefined) {
    if (seq === 0 || (posted_at !== undefined && posted_at < moment)) return balance;
    const last = (await firstSince(balance, moment)) - 1;
    return moneyAfter(last === 0 ? undefined : await entryAt(balance, last));
  }
  let money = none;
  for await (const { items } of pagesOf(ledgers.partition(tenant, id), { to: ledgers.sortOf(seq) })) {
    const entries = items.map((item) => readItem<Ledger>(item));
    money = withEntries(
      money,
      entries.filter(({ created_at }) => created_at < moment),
    );
  }
  return money;
}

/** The money after an entry; before the first one for none. */
export function moneyAfter(entry: Ledger | undefined): Money {
  if (entry === undefined) return none;
  const { balance_after_minor: balance_minor, credit_after_minor: credit_minor = 0n, balance_version: seq } = entry;
  return { balance_minor, credit_minor, seq };
}

/** The sum of entries, in the order of their numbers. */
export function moneyOf(entries: readonly Ledger[]): Money {
  return withEntries(none, entries);
}

function withEntries(before: Money, entries: readonly Ledger[]): Money {
  let { balance_minor, credit_minor, seq } = before;
  for (const { amount_minor, moves, balance_version } of entries) {
    if (moves === "credit") credit_minor += amount_minor;
    else balance_minor += amount_minor;
    seq = balance_version;
  }
  return { balance_minor, credit_minor, seq };
}

/**
 * The number of the first entry from a moment on, in a ledger that is in the order of its times; the next number where
 * there is none.
 */
export async function firstSince(balance: Balance, moment: string): Promise<number> {
  let [low, high] = [1, balance.seq + 1];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const entry = await entryAt(balance, middle);
    if (entry === undefined || entry.created_at >= moment) high = middle;
    else low = middle + 1;
  }
  return low;
}

async function entryAt({ tenant_id: tenant, account_id: id }: Balance, seq: number): Promise<Ledger | undefined> {
  const [entry] = await findAll(ledgers, [{ pk: ledgers.partition(tenant, id), sk: ledgers.sortOf(seq) }]);
  return entry;
}
