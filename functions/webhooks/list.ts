import { webhookHealths, webhooks } from "../../shared/data/entities.ts";
import { pageOfPartition } from "../../shared/data/list.ts";
import { readKeys } from "../../shared/data/store.ts";
import { endpointBody, isThere, type WebhookEndpoint, type WebhookHealth } from "../../shared/domain/webhook.ts";
import { keepBoth, keepBy } from "../../shared/http/filters.ts";
import { list } from "../../shared/http/operations.ts";
import { pageReply, pageRequest } from "../../shared/http/page.ts";
import { listWebhookEndpoints } from "../../shared/routes/webhooks.ts";

const there = { keep: (item: object) => isThere(item as WebhookEndpoint) };

/** `GET /webhook_endpoints` */
export const handler = list(listWebhookEndpoints, async ({ caller: { tenant_id: tenant }, place, query }) => {
  const request = { ...pageRequest(place, "-created_at"), ...keepBoth(there, keepBy(query, ["status"])) };
  const page = await pageOfPartition<WebhookEndpoint>(webhooks.partition(tenant), request);
  const healths = await readKeys(page.items.map(({ id }) => webhookHealths.key(tenant, id)));
  const items = page.items.flatMap((endpoint, index) => {
    const health = healths[index] as WebhookHealth | undefined;
    return health === undefined ? [] : [{ endpoint, health }];
  });
  return pageReply(place, { ...page, items }, endpointBody);
});
