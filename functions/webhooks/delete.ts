import { ref } from "../../shared/data/store.ts";
import { refuse } from "../../shared/domain/decision.ts";
import { deletedEndpointBody, deleteEndpoint, isThere } from "../../shared/domain/webhook.ts";
import { command } from "../../shared/http/operations.ts";
import { deleteWebhookEndpoint } from "../../shared/routes/webhooks.ts";

/** `DELETE /webhook_endpoints/{id}` */
export const handler = command(
  deleteWebhookEndpoint,
  async ({ path, load, context, expectVersion }) => {
    const { endpoint } = await load({ endpoint: ref.webhook(path["id"] ?? "") });
    if (!isThere(endpoint)) return refuse("not_found", "There is nothing here.");
    expectVersion(endpoint.version);
    return deleteEndpoint(endpoint, context);
  },
  deletedEndpointBody,
);
