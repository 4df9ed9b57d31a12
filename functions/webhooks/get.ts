import { endpointBody, isThere } from "../../shared/domain/webhooks/webhook.ts";
import { read } from "../../shared/http/operations.ts";
import { getWebhookEndpoint } from "../../shared/routes/webhooks.ts";
import { ref } from "../../shared/table/store.ts";

/** `GET /webhook_endpoints/{id}` */
export const handler = await read(getWebhookEndpoint, async ({ path, load }) => {
  const { id } = path;
  const { endpoint, health } = await load({ endpoint: ref.webhook(id), health: ref.webhookHealth(id) });
  return isThere(endpoint) && health ? endpointBody({ endpoint, health }) : undefined;
});
