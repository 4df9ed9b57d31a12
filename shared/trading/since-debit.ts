import type { Balance, Ledger } from "../domain/account.ts";
import { replayFrom } from "../domain/debt.ts";
import { type AccountContext, reversedFrom, type Transaction } from "../domain/transaction.ts";
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
  let from = transaction === undefined ? undefined : reversedFrom(transaction, balance);
  while (from !== undefined) {
    const entries = await ledgerFrom(balance, from);
    const first = replayFrom(entries, from);
    if (first === from) return { since_debit: entries };
    from = first;
  }
  return {};
}

/** The entries of an account from one number to that of its balance, read again until none of them is missing. */
async function ledgerFrom({ tenant_id, account_id, seq }: Balance, from: number): Promise<readonly Ledger[]> {
  for (let attempt = 1; attempt <= limits.commit.decision_tries; attempt += 1) {
    const items = await readPartition(ledgers.partition(tenant_id, account_id), { from: ledgers.sortOf(from) });
    const entries = items.map((item) => readItem<Ledger>(item)).filter(({ balance_version: at }) => at <= seq);
    if (entries.length === seq - from + 1) return entries;
    await pause(backoffMs(attempt));
  }
  throw new Unavailable(`The ledger of ${account_id} is not complete from entry ${from} to ${seq}.`);
}
