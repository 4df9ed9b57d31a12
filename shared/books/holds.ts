import type { Difference } from "../domain/books/difference.ts";
import { compareHolds, isOpen, openStatuses } from "../domain/books/holds.ts";
import { operationMinor } from "../domain/feed/platform-money.ts";
import { sameValue } from "../domain/kernel/equality.ts";
import type { Account } from "../domain/records/account.ts";
import type { Balance } from "../domain/records/balance.ts";
import type { FeedReject } from "../domain/records/feed-item.ts";
import type { Transaction } from "../domain/records/transaction.ts";
import { limits } from "../limits.ts";
import { pause } from "../runtime/clock.ts";
import { balances, feedRejects, type Key, transactions } from "../table/entities.ts";
import { keyIn, pagesOf, readPartition } from "../table/partition.ts";
import { findAll, readAll } from "../table/store.ts";
import { readItem } from "../table/table.ts";
import { indexes } from "../table/table-shape.ts";
import { type Compared, nothingCompared } from "./compared.ts";

interface Look {
  readonly balance: Balance;
  readonly transactions: readonly Transaction[];
  readonly aside: bigint;
}

/**
 * Compares the holds of an account with its open transactions. Requests may come between the reads, so a difference
 * counts when two looks, with time between them for the index, show it on the same money and the same transactions.
 */
export async function lookAtHolds(account: Account): Promise<Compared> {
  let before: Look | undefined;
  for (let count = 1; count <= limits.books.looks; count += 1) {
    const look = await readHolds(account, count > 1);
    if (look === undefined) break;
    const open = look.transactions.filter(isOpen).length;
    const differences = compareHolds(look.balance, look.transactions, look.aside);
    if (differences.length === 0) return compared(open, []);
    if (before !== undefined && sameValue(before, look)) return compared(open, differences);
    before = look;
    await pause(limits.books.settle_ms);
  }
  return { ...compared(0, []), unsettled: before === undefined ? 0 : 1 };
}

function compared(open: number, differences: readonly Difference[]): Compared {
  return { ...nothingCompared, checked: { transactions: open }, differences };
}

/**
 * The open transactions of an account, then its money, then whether they still are as they were read. Undefined when
 * the account is gone. `all` reads those too that are completed and that a platform is asked to give back.
 */
async function readHolds(account: Account, all: boolean): Promise<Look | undefined> {
  const { tenant_id, id, source_id } = account;
  const isLinked = source_id !== undefined && source_id !== null;
  const keys = await transactionKeys(tenant_id, id, all && isLinked ? undefined : openStatuses);
  const found = await findAll(transactions, keys);
  const aside = isLinked ? await takenAside(account, source_id) : 0n;
  const [balance] = await readAll(balances, [balances.key(tenant_id, id)]);
  return balance && { balance, transactions: found.filter(isOpen), aside };
}

/** Keys of the transactions of an account, of these statuses or all of them. */
export async function transactionKeys(
  tenant: string,
  id: string,
  statuses?: readonly string[],
): Promise<readonly Key[]> {
  const keys: Key[] = [];
  const query = { index: indexes.owner, attributes: ["pk", "sk", "status"] };
  for await (const { items } of pagesOf(transactions.ofAccount(tenant, id), query)) {
    const wanted = items.filter(({ status }) => statuses === undefined || statuses.includes(String(status)));
    keys.push(...wanted.map(keyIn));
  }
  return keys;
}

/** Debits of operations that a platform reported and that are put aside as possible duplicates. */
async function takenAside(account: Account, sourceId: string): Promise<bigint> {
  const items = await readPartition(feedRejects.partition(account.tenant_id, sourceId));
  const open = items
    .map((item) => readItem<FeedReject>(item))
    .filter(({ status, code }) => status === "open" && code === "possible_duplicate");
  return open.reduce((sum, { item }) => sum + takenBy(account, item), 0n);
}

function takenBy(account: Account, text: string): bigint {
  const { type, data } = JSON.parse(text) as {
    readonly type: string;
    readonly data?: Parameters<typeof operationMinor>[0];
  };
  if (type !== "balance_operation" || data?.platform_login !== account.platform_login) return 0n;
  const amount = operationMinor(data, account);
  return amount.ok && amount.result < 0n ? -amount.result : 0n;
}
