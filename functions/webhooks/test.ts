import { notFound } from "../../shared/domain/kernel/decision.ts";
import { deliveryBody, sendSample } from "../../shared/domain/webhooks/delivery.ts";
import { inForce, isThere } from "../../shared/domain/webhooks/webhook.ts";
import { wake } from "../../shared/events/fan-out.ts";
import { command } from "../../shared/http/operations.ts";
import { samples } from "../../shared/openapi/published-kinds.ts";
import { testWebhookEndpoint } from "../../shared/routes/webhooks.ts";
import { delayMs } from "../../shared/runtime/clock.ts";
import { linkedEvent } from "../../shared/runtime/links.ts";
import { deliveryId } from "../../shared/table/entities.ts";
import { ref } from "../../shared/table/store.ts";

/** `POST /webhook_endpoints/{id}/test` */
export const handler = await command(
  testWebhookEndpoint,
  async ({ path, body, load, context }) => {
    const { id } = path;
    const { endpoint, health } = await load({ endpoint: ref.webhook(id), health: ref.webhookHealth(id) });
    if (!isThere(endpoint)) return notFound();
    const sample = linkedEvent({ ...samples[body.type], type: body.type });
    return sendSample(inForce(endpoint, health), sample, { nameOf: deliveryId, delayMs }, context);
  },
  deliveryBody,
  { afterCommit: wake },
);
