import { openEndpoint } from "../../shared/domain/webhooks/decisions.ts";
import { issuedEndpointBody } from "../../shared/domain/webhooks/webhook.ts";
import { unknownPlaces } from "../../shared/events/endpoint-reads.ts";
import { secretCommand } from "../../shared/http/secret-command.ts";
import { createWebhookEndpoint } from "../../shared/routes/webhooks.ts";
import { env } from "../../shared/runtime/env.ts";
import { ref } from "../../shared/table/store.ts";
import { drawWebhookSecret } from "../../shared/webhooks/secrets.ts";

/** `POST /webhook_endpoints` */
export const handler = await secretCommand(
  createWebhookEndpoint,
  async ({ body, load, context }) => {
    const { count } = await load({ count: ref.webhookCount() });
    const id = context.newId("whe");
    const [secret, unknownAccounts] = await Promise.all([
      drawWebhookSecret({ tenant_id: context.tenant_id, id }),
      unknownPlaces(load, body.account_ids),
    ]);
    return openEndpoint(body, count, { ...secret, id }, { local: env.local, unknownAccounts }, context);
  },
  issuedEndpointBody,
);
