import type { Delivery } from "../../shared/domain/records/delivery.ts";
import { deliveryBody } from "../../shared/domain/webhooks/delivery.ts";
import { isThere } from "../../shared/domain/webhooks/webhook.ts";
import { listParameter, resourcePage } from "../../shared/http/filters.ts";
import { list } from "../../shared/http/operations.ts";
import { pageReply } from "../../shared/http/page.ts";
import { listDeliveries } from "../../shared/routes/webhooks.ts";
import { deliveries } from "../../shared/table/entities.ts";
import { pageOfIndex } from "../../shared/table/list.ts";
import { ref } from "../../shared/table/store.ts";

const all = ["pending", "retrying", "succeeded", "exhausted", "cancelled"];

/** `GET /webhook_endpoints/{id}/deliveries`: reads a partition for each status. */
export const handler = await list(listDeliveries, async ({ path, caller, place, query, load }) => {
  const { id } = path;
  const partitions = deliveries.ofEndpoint(caller.tenant_id, id, listParameter(query, "status") ?? all);
  const [{ endpoint }, page] = await Promise.all([
    load({ endpoint: ref.webhook(id) }),
    pageOfIndex<Delivery>("state", partitions, resourcePage(place, ["event_type"])),
  ]);
  return isThere(endpoint) ? pageReply(place, page, deliveryBody) : undefined;
});
