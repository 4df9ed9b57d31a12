import { notFound } from "../../shared/domain/kernel/decision.ts";
import { deletedEndpointBody, deleteEndpoint } from "../../shared/domain/webhooks/decisions.ts";
import { inForce, isThere } from "../../shared/domain/webhooks/webhook.ts";
import { command } from "../../shared/http/operations.ts";
import { deleteWebhookEndpoint } from "../../shared/routes/webhooks.ts";
import { ref } from "../../shared/table/store.ts";

/** `DELETE /webhook_endpoints/{id}` */
export const handler = await command(
  deleteWebhookEndpoint,
  async ({ path, load, context, expectVersion }) => {
    const { id } = path;
    const { endpoint, health } = await load({ endpoint: ref.webhook(id), health: ref.webhookHealth(id) });
    if (!isThere(endpoint)) return notFound();
    expectVersion(inForce(endpoint, health).version);
    return deleteEndpoint(endpoint, health, context);
  },
  deletedEndpointBody,
);
