import { describe, expect, it } from "vitest";
import {
  attempts,
  deliveries,
  deliveryId,
  eventId,
  eventKeyOf,
  events,
  sampleEvents,
  webhookCounts,
  webhookHealths,
  webhooks,
} from "../../../shared/table/entities.ts";

const tenant = "brk_01JD0000000000000000000000";
const endpoint = "whe_01JD0000000000000000000001";
const event = "evt_01JE0000000000000000000001";

describe("the identifier of a delivery", () => {
  it("is the same for every worker, and another one for each event, endpoint and repetition", () => {
    const ids = [
      deliveryId(event, endpoint, 0),
      deliveryId(event, endpoint.replace(/1$/, "2"), 0),
      deliveryId(event.replace(/1$/, "2"), endpoint, 0),
      deliveryId(event, endpoint, 1_795_241_400_123),
      deliveryId(event, endpoint, 1_795_241_400_124),
    ];
    expect(new Set(ids).size).toBe(ids.length);
    expect(deliveryId(event, endpoint, 0)).toBe(ids[0]);
    for (const id of ids) expect(id).toMatch(/^dlv_[0-9A-HJKMNP-TV-Z]{26}$/);
    expect(ids[0]?.slice(4, 14)).toBe(event.slice(4, 14));
  });
});

describe("the items of the webhooks", () => {
  it("stand in partitions of their tenant, and the attempts of a delivery next to it", () => {
    const id = deliveryId(event, endpoint, 0);
    const attempt = { tenant_id: tenant, delivery_id: id, number: 2, claim: 1 };
    const keys = [
      webhooks.key(tenant, endpoint),
      webhookCounts.key(tenant),
      webhookHealths.key(tenant, endpoint),
      deliveries.key(tenant, id),
      attempts.keyOf(attempt as Parameters<typeof attempts.keyOf>[0]),
      sampleEvents.key(tenant, event),
    ];
    for (const { pk } of keys) expect(pk).toMatch(new RegExp(`^${tenant}[#|]`));
    expect(keys[4]).toEqual({ pk: keys[3]?.pk, sk: "ATTEMPT#02#1" });
    expect(webhookCounts.key(tenant).pk).not.toBe(webhooks.partition(tenant));
  });

  it("name the event of a delivery by its number, and a sample by its identifier", () => {
    const delivery = { tenant_id: tenant, event_id: eventId(0, event, 7) };
    expect(eventKeyOf({ ...delivery, event_sequence: 7 })).toEqual(events.key(tenant, 7));
    expect(eventKeyOf({ ...delivery, event_sequence: null })).toEqual(sampleEvents.key(tenant, delivery.event_id));
  });
});
