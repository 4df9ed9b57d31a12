import type { Approver } from "../domain/people/approval.ts";
import { approvableKinds, type Queued, queuedFor } from "../domain/people/approval-queue.ts";
import type { Tenant } from "../domain/tenant.ts";
import type { Transaction } from "../domain/transaction.ts";
import { listParameter, matching } from "../http/filters.ts";
import { type ListPlace, pageRequest } from "../http/page.ts";
import { transactions } from "../table/entities.ts";
import { type Page, pageOfIndex, pageWith } from "../table/list.ts";

/**
 * A page of the pending transactions that wait for the approval of this caller, oldest first. The index knows neither
 * who made one nor who approved it, so a page is filtered after it is read: it may be short while there is a next one.
 */
export async function pageOfQueue(tenant: Tenant, approver: Approver, place: ListPlace): Promise<Page<Queued>> {
  const kinds = listParameter(place.query, "kind") ?? approvableKinds;
  const partitions = [...new Set(kinds.map((kind) => transactions.inState(tenant.id, "pending", kind)))];
  const request = {
    ...pageRequest(place, "created_at"),
    ...matching(place.query, ["kind", "account_id", "client_id"]),
  };
  const page = await pageOfIndex<Transaction>("state", partitions, request);
  return pageWith(
    page,
    page.items.map((transaction) => queuedFor(transaction, tenant, approver)),
  );
}
