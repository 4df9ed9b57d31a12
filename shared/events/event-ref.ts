import type { Delivery } from "../domain/records/delivery.ts";
import type { SampleEvent } from "../domain/webhooks/webhook.ts";
import { eventKeyOf, events, type PublishedEvent } from "../table/entities.ts";
import type { Ref } from "../table/store.ts";

/** References to events; apart from the others, because few functions ask for one. */
export const eventRef = {
  byId: (id: string): Ref<PublishedEvent> => ({ keyIn: (tenant) => events.keyById(tenant, id) }),
  /** The event of a delivery, a sample or a published one. */
  ofDelivery: (delivery: Delivery): Ref<PublishedEvent | SampleEvent> => ({
    keyIn: (tenant) => eventKeyOf({ ...delivery, tenant_id: tenant }),
  }),
};
