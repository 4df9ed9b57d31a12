import { queuedBody } from "../../shared/domain/money/approval-queue.ts";
import { pageWithClients } from "../../shared/http/clients/expand.ts";
import { list } from "../../shared/http/operations.ts";
import { pageOfQueue } from "../../shared/money/pages.ts";
import { listApprovalQueue } from "../../shared/routes/transactions.ts";
import { nowIso } from "../../shared/runtime/clock.ts";
import { ref } from "../../shared/table/store.ts";

/** `GET /transactions/queue` */
export const handler = await list(listApprovalQueue, async ({ caller, place, load }) => {
  const { tenant } = await load({ tenant: ref.tenant() });
  if (tenant === undefined) return undefined;
  const now = nowIso();
  const page = await pageOfQueue(tenant, caller, place);
  const ownerOf = ({ transaction }: (typeof page.items)[number]) => transaction.client_id;
  return pageWithClients({ place, caller }, page, (queued) => queuedBody(queued, now), ownerOf);
});
