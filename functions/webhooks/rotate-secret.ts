import { notFound } from "../../shared/domain/kernel/decision.ts";
import { rotateEndpointSecret } from "../../shared/domain/webhooks/decisions.ts";
import { issuedEndpointBody, isThere } from "../../shared/domain/webhooks/webhook.ts";
import { secretCommand } from "../../shared/http/secret-command.ts";
import { rotateWebhookSecret } from "../../shared/routes/webhooks.ts";
import { ref } from "../../shared/table/store.ts";
import { drawWebhookSecret } from "../../shared/webhooks/secrets.ts";

/** `POST /webhook_endpoints/{id}/rotate_secret` */
export const handler = await secretCommand(
  rotateWebhookSecret,
  async ({ path, body, load, context }) => {
    const { id } = path;
    const { endpoint, health } = await load({ endpoint: ref.webhook(id), health: ref.webhookHealth(id) });
    if (!isThere(endpoint) || !health) return notFound();
    return rotateEndpointSecret({ endpoint, health }, body, await drawWebhookSecret(endpoint), context);
  },
  issuedEndpointBody,
);
