import type { Transaction } from "../domain/transaction.ts";
import { and, matching, resourcePage, transactionFilters } from "../http/filters.ts";
import type { ListPlace } from "../http/page.ts";
import { transactions } from "../table/entities.ts";
import { type ListIndex, type Page, pageOfIndex } from "../table/list.ts";
import { pageOfOwners } from "../table/owners.ts";

/** Where transactions are listed by their creation, and `account_id` or `client_id` where the path names it. */
interface TransactionSource {
  readonly index: ListIndex;
  readonly partitions: readonly string[];
  readonly owner?: Readonly<Record<string, string>>;
}

/** A page of transactions. One that is named by its external id is found by the claim of it. */
export function pageOfTransactions(
  tenant: string,
  place: ListPlace,
  { index, partitions, owner = {} }: TransactionSource,
): Promise<Page<Transaction>> {
  const request = resourcePage(place, transactionFilters);
  const { external_id } = place.query;
  if (external_id === undefined) return pageOfIndex<Transaction>(index, partitions, request);
  const own = and(request, matching(owner, Object.keys(owner)));
  const named = { kind: "transaction_external_id", values: [external_id] } as const;
  return pageOfOwners(transactions, tenant, named, { ...request, ...own });
}
