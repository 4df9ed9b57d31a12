import { notFound } from "../../shared/domain/kernel/decision.ts";
import { deliveryBody, retryDelivery as retry } from "../../shared/domain/webhooks/delivery.ts";
import { inForce } from "../../shared/domain/webhooks/webhook.ts";
import { eventRef } from "../../shared/events/event-ref.ts";
import { wake } from "../../shared/events/fan-out.ts";
import { command } from "../../shared/http/operations.ts";
import { retryDelivery } from "../../shared/routes/webhooks.ts";
import { delayMs } from "../../shared/runtime/clock.ts";
import { deliveryId } from "../../shared/table/entities.ts";
import { ref } from "../../shared/table/store.ts";

/** `POST /deliveries/{id}/retry` */
export const handler = await command(
  retryDelivery,
  async ({ path, load, context }) => {
    const { delivery } = await load({ delivery: ref.delivery(path.id) });
    if (delivery === undefined) return notFound();
    const { endpoint_id: id } = delivery;
    const refs = { endpoint: ref.webhook(id), health: ref.webhookHealth(id), event: eventRef.ofDelivery(delivery) };
    const { endpoint, health, event } = await load(refs);
    const known = event && { ...event, sequence: delivery.event_sequence };
    return retry(delivery, endpoint && inForce(endpoint, health), known, { nameOf: deliveryId, delayMs }, context);
  },
  deliveryBody,
  { afterCommit: wake },
);
