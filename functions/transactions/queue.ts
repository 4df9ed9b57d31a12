import { queuedBody } from "../../shared/domain/people/approval-queue.ts";
import { list } from "../../shared/http/operations.ts";
import { pageReply } from "../../shared/http/page.ts";
import { listApprovalQueue } from "../../shared/routes/transactions.ts";
import { nowIso } from "../../shared/runtime/clock.ts";
import { ref } from "../../shared/table/store.ts";
import { clientsOf, pageOfQueue } from "../../shared/trading/transaction-pages.ts";

/** `GET /transactions/queue` */
export const handler = await list(listApprovalQueue, async ({ caller, place, load }) => {
  const { tenant } = await load({ tenant: ref.tenant() });
  if (tenant === undefined) return undefined;
  const now = nowIso();
  const page = await pageOfQueue(tenant, caller, place);
  const transactions = page.items.map(({ transaction }) => transaction);
  const clientOf = await clientsOf(place, caller, transactions);
  return pageReply(place, page, (queued) => ({
    ...queuedBody(queued, now),
    ...clientOf(queued.transaction.client_id),
  }));
});
