import { deliveryId } from "../../shared/data/entities.ts";
import { wake } from "../../shared/data/fan-out.ts";
import { ref } from "../../shared/data/store.ts";
import { refuseField } from "../../shared/domain/decision.ts";
import { deliveryBody, sendSample } from "../../shared/domain/delivery.ts";
import { inForce, isThere } from "../../shared/domain/webhook.ts";
import { command } from "../../shared/http/operations.ts";
import type { OpenApi } from "../../shared/openapi/document.ts";
import { sampleOf } from "../../shared/openapi/event-kinds.ts";
import document from "../../shared/openapi/openapi.json" with { type: "json" };
import { triggerEvent } from "../../shared/routes/sandbox.ts";
import { delayMs } from "../../shared/runtime/clock.ts";

const description = document as unknown as OpenApi;

/** `POST /sandbox/events/trigger` */
export const handler = command(
  triggerEvent,
  async ({ body: { endpoint_id: id, type }, load, context }) => {
    const { endpoint, health } = await load({ endpoint: ref.webhook(id), health: ref.webhookHealth(id) });
    if (!isThere(endpoint)) {
      return refuseField("webhook_endpoint_not_found", "endpoint_id", "The webhook endpoint does not exist.");
    }
    const sample = { ...sampleOf(description, type), type };
    return sendSample(inForce(endpoint, health), sample, { nameOf: deliveryId, delayMs }, context);
  },
  deliveryBody,
  undefined,
  wake,
);
