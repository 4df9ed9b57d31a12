import { refuseField } from "../../shared/domain/kernel/decision.ts";
import { deliveryBody, sendSample } from "../../shared/domain/webhooks/delivery.ts";
import { inForce, isThere } from "../../shared/domain/webhooks/webhook.ts";
import { wake } from "../../shared/events/fan-out.ts";
import { command } from "../../shared/http/operations.ts";
import { samples } from "../../shared/openapi/published-kinds.ts";
import { triggerEvent } from "../../shared/routes/sandbox.ts";
import { delayMs } from "../../shared/runtime/clock.ts";
import { linkedEvent } from "../../shared/runtime/links.ts";
import { deliveryId } from "../../shared/table/entities.ts";
import { ref } from "../../shared/table/store.ts";

/** `POST /sandbox/events/trigger` */
export const handler = await command(
  triggerEvent,
  async ({ body: { endpoint_id: id, type }, load, context }) => {
    const { endpoint, health } = await load({ endpoint: ref.webhook(id), health: ref.webhookHealth(id) });
    if (!isThere(endpoint)) {
      return refuseField("webhook_endpoint_not_found", "endpoint_id", "The webhook endpoint does not exist.");
    }
    const sample = linkedEvent({ ...samples[type], type });
    return sendSample(inForce(endpoint, health), sample, { nameOf: deliveryId, delayMs }, context);
  },
  deliveryBody,
  { afterCommit: wake },
);
