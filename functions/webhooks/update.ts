import { notFound } from "../../shared/domain/kernel/decision.ts";
import { amendEndpoint } from "../../shared/domain/webhooks/decisions.ts";
import { endpointBody, inForce, isThere } from "../../shared/domain/webhooks/webhook.ts";
import { unknownPlaces } from "../../shared/events/endpoint-reads.ts";
import { command } from "../../shared/http/operations.ts";
import { updateWebhookEndpoint } from "../../shared/routes/webhooks.ts";
import { env } from "../../shared/runtime/env.ts";
import { ref } from "../../shared/table/store.ts";

/** `PATCH /webhook_endpoints/{id}` */
export const handler = await command(
  updateWebhookEndpoint,
  async ({ path, body, load, context, expectVersion }) => {
    const { id } = path;
    const { endpoint, health } = await load({ endpoint: ref.webhook(id), health: ref.webhookHealth(id) });
    if (!isThere(endpoint) || !health) return notFound();
    expectVersion(inForce(endpoint, health).version);
    const unknownAccounts = await unknownPlaces(load, body.account_ids);
    return amendEndpoint({ endpoint, health }, body, { local: env.local, unknownAccounts }, context);
  },
  endpointBody,
);
