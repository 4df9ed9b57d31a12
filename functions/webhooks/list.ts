import { endpointBody, isThere } from "../../shared/domain/webhooks/webhook.ts";
import { endpointsWithHealth } from "../../shared/events/endpoint-reads.ts";
import { matching } from "../../shared/http/filters.ts";
import { list } from "../../shared/http/operations.ts";
import { pageReply, pageRequest } from "../../shared/http/page.ts";
import { listWebhookEndpoints } from "../../shared/routes/webhooks.ts";
import { UnreadableItem } from "../../shared/runtime/unreadable.ts";
import { webhooks } from "../../shared/table/entities.ts";
import { pageOfPartition, pageWith } from "../../shared/table/list.ts";

/** `GET /webhook_endpoints`: filtered by the published status, which depends on the health of the endpoint. */
export const handler = await list(listWebhookEndpoints, async ({ caller: { tenant_id: tenant }, place, query }) => {
  const all = await endpointsWithHealth(tenant);
  const { keep } = matching(query, ["status"]);
  const request = pageRequest(place, "-created_at");
  const wanted = ({ sk }: Readonly<Record<string, unknown>>) => {
    const own = all.get(`whe_${sk}`);
    // The page counts items that cannot be read.
    if (own === undefined || own instanceof UnreadableItem) return true;
    return isThere(own.endpoint) && (keep?.({ ...endpointBody(own) }) ?? true);
  };
  const page = await pageOfPartition(webhooks.partition(tenant), { ...request, keep: wanted }, webhooks);
  const found = page.items.map(({ id }) => all.get(id));
  return pageReply(place, pageWith(page, found), endpointBody);
});
