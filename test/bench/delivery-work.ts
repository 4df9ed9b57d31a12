import type { Delivery } from "../../shared/domain/records/delivery.ts";
import { draftDelivery } from "../../shared/domain/webhooks/delivery.ts";
import { samples } from "../../shared/openapi/published-kinds.ts";
import { newId } from "../../shared/runtime/ids.ts";
import { deliveries, deliveryId, eventId, events, type PublishedEvent } from "../../shared/table/entities.ts";
import { packPayload } from "../../shared/table/event-payload.ts";
import { itemOf } from "../../shared/table/write.ts";
import type { TestApi } from "../support/emulator/api.ts";
import { putRaw } from "../support/emulator/deliveries.ts";

/** An event as the publisher stores it. */
export async function publishedEvent(api: TestApi, tenant_id: string): Promise<PublishedEvent> {
  const created_at = new Date().toISOString();
  const id = eventId(Date.now(), newId("evt"), 1);
  const payload = { ...samples["client.created"], id };
  const event = {
    ...{ id, tenant_id, sequence: 1, type: "client.created", resource_id: "cli_01JD0000000000000000000001" },
    ...{ account_id: null, client_id: null, created_at, published_at: created_at },
    expires_at: Math.floor(Date.now() / 1000) + 86_400,
  } as PublishedEvent;
  const stored = { ...event, payload: packPayload(event, JSON.stringify(payload)) };
  await putRaw(api, itemOf(events, stored));
  return stored;
}

/** A delivery that has been tried to the end, each time another one. */
export async function exhaustedDelivery(api: TestApi, endpoint_id: string, event: PublishedEvent): Promise<Delivery> {
  const redelivery = Date.now() - Math.floor(Math.random() * 1e9);
  const endpoint = { id: endpoint_id, tenant_id: event.tenant_id, epoch: 0 };
  const id = deliveryId(event.id, endpoint_id, redelivery);
  const again = { redelivery, redelivery_of: null };
  const draft = draftDelivery(id, endpoint, event, event.created_at, (seconds) => seconds * 1000, again);
  const ended = { status: "exhausted", attempt: 6, next_attempt_at: null, wake_at: null } as const;
  const delivery: Delivery = { ...draft, ...ended, completed_at: event.created_at };
  await putRaw(api, itemOf(deliveries, delivery));
  return delivery;
}
