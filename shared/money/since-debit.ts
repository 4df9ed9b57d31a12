import { replayFrom } from "../domain/accounts/debt.ts";
import type { Late } from "../domain/money/posting.ts";
import { type AccountContext, reversedFrom } from "../domain/money/transaction.ts";
import type { Balance } from "../domain/records/balance.ts";
import type { Ledger } from "../domain/records/ledger.ts";
import type { Transaction } from "../domain/records/transaction.ts";
import { limits } from "../limits.ts";
import { pause } from "../runtime/clock.ts";
import { Unavailable } from "../runtime/unavailable.ts";
import { ledgers } from "../table/entities.ts";
import { readPartition } from "../table/partition.ts";
import { readItem } from "../table/table.ts";
import { backoffMs } from "../table/transact.ts";

/**
 * The ledger of an account from the debit of a transaction on, where the account went below zero since then, and from
 * further back as long as a payout that was given back in between reaches back behind it.
 */
export async function sinceDebit(
  transaction: Transaction | undefined,
  balance: Balance,
): Promise<Pick<AccountContext, "since_debit">> {
  const since_debit = await ledgerSince(transaction && reversedFrom(transaction, balance), balance);
  return since_debit === undefined ? {} : { since_debit };
}

/** The ledger of an account from a number on, and from further back as {@link sinceDebit}; undefined without one. */
export async function ledgerSince(seq: number | undefined, balance: Balance): Promise<readonly Ledger[] | undefined> {
  let from = seq;
  while (from !== undefined) {
    const entries = await ledgerFrom(balance, from);
    const first = replayFrom(entries, from);
    if (first === from) return entries;
    from = first;
  }
  return undefined;
}

/**
 * Where money belongs in the ledger that a platform moved at a time, where a loss was corrected since then; undefined
 * almost always, which one entry says. The entries are read backwards, twice as many each time: a ledger of any length
 * costs a few times itself.
 * @param at when it happened, RFC 3339
 */
export async function sinceMoment(balance: Balance, at: string): Promise<Late | undefined> {
  const { below_zero_seq: settled, seq } = balance;
  if (settled === undefined || settled > seq) return undefined;
  const [correction] = await ledgerFrom(balance, settled, settled);
  if (correction === undefined || correction.created_at <= at) return undefined;
  for (let from = Math.max(1, settled - limits.page.max_items); ; ) {
    const entries = await ledgerFrom(balance, from);
    const next = entries.find(({ created_at }) => created_at > at)?.balance_version ?? settled;
    const first = replayFrom(entries, next);
    if (from === 1 || (next > from && first >= from)) return { seq: next, entries: entries.slice(first - from) };
    from = Math.max(1, Math.min(first, from - entries.length));
  }
}

/**
 * The entries of an account from one number to another, which is that of its balance where none is given, read again
 * until none of them is missing.
 */
async function ledgerFrom(balance: Balance, from: number, to = balance.seq): Promise<readonly Ledger[]> {
  const { tenant_id, account_id } = balance;
  const query = { from: ledgers.sortOf(from), to: ledgers.sortOf(to) };
  for (let attempt = 1; attempt <= limits.commit.decision_tries; attempt += 1) {
    const items = await readPartition(ledgers.partition(tenant_id, account_id), query);
    if (items.length === to - from + 1) return items.map((item) => readItem<Ledger>(item));
    await pause(backoffMs(attempt));
  }
  throw new Unavailable(`The ledger of ${account_id} is not complete from entry ${from} to ${to}.`);
}
