import type { Attempt, Delivery } from "../../domain/records/delivery.ts";
import type { WebhookCount, WebhookEndpoint, WebhookHealth } from "../../domain/records/webhook.ts";
import type { Replay, SampleEvent } from "../../domain/webhooks/webhook.ts";
import { sha256 } from "../../runtime/digest.ts";
import { events } from "./events.ts";
import { crockford, dueKeys, type Entity, type IndexKeys, inBase32, type Key, ulidOf } from "./keys.ts";

/**
 * Webhook endpoints of a tenant in one partition: a publisher reads them all in one consistent query. The sort key is
 * the ULID, newest last. Those with deliveries to cancel are in `due`.
 */
export const webhooks = {
  et: "WEBHOOK",
  partition: (tenant: string) => `${tenant}|WHE`,
  key: (tenant: string, id: string): Key => ({ pk: webhooks.partition(tenant), sk: ulidOf(id) }),
  keyOf: (item: WebhookEndpoint): Key => webhooks.key(item.tenant_id, item.id),
  indexesOf: (item: WebhookEndpoint): IndexKeys =>
    item.wake_at === null ? {} : dueKeys("WEBHOOK", item.id, item.wake_at),
  // The publisher asks every endpoint what it subscribes to: a damaged one must not answer wrongly.
  fromStored: ({ event_types, account_ids, group_ids }: Readonly<Record<string, unknown>>) => {
    const whole = Array.isArray(event_types) && account_ids !== undefined && group_ids !== undefined;
    if (!whole) throw new Error("it does not say what it subscribes to");
    return {};
  },
} satisfies Entity<WebhookEndpoint> & Record<string, unknown>;

/** The number of a tenant's webhook endpoints. */
export const webhookCounts = {
  et: "WHCOUNT",
  key: (tenant: string): Key => ({ pk: `${tenant}|WHE|count`, sk: "COUNT" }),
  keyOf: (item: WebhookCount): Key => webhookCounts.key(item.tenant_id),
} satisfies Entity<WebhookCount> & Record<string, unknown>;

/**
 * How each endpoint does, with its slots. Made and removed together with the endpoint. Those whose endpoint is to be
 * switched off are in `due`.
 */
export const webhookHealths = {
  et: "HEALTH",
  key: (tenant: string, endpointId: string): Key => ({ pk: `${tenant}#${endpointId}`, sk: "HEALTH" }),
  keyOf: (item: WebhookHealth): Key => webhookHealths.key(item.tenant_id, item.endpoint_id),
  indexesOf: (item: WebhookHealth): IndexKeys =>
    item.wake_at === null ? {} : dueKeys("HEALTH", item.endpoint_id, item.wake_at),
} satisfies Entity<WebhookHealth> & Record<string, unknown>;

/** Deliveries. Lists: of an endpoint by status (`state`); those to look at (`due`). */
export const deliveries = {
  et: "DELIVERY",
  key: (tenant: string, id: string): Key => ({ pk: `${tenant}#${id}`, sk: "DELIVERY" }),
  keyOf: (item: Delivery): Key => deliveries.key(item.tenant_id, item.id),
  ofEndpoint: (tenant: string, endpointId: string, status: readonly string[]) =>
    status.map((each) => `${tenant}|${endpointId}|DLV|${each}`),
  indexesOf: (item: Delivery): IndexKeys => ({
    state_pk: `${item.tenant_id}|${item.endpoint_id}|DLV|${item.status}`,
    state_sk: ulidOf(item.id),
    type: item.event_type,
    ...(item.wake_at === null ? {} : dueKeys("DLV", item.id, item.wake_at)),
  }),
} satisfies Entity<Delivery> & Record<string, unknown>;

/** Attempts of a delivery, in its partition: by number, then by claim. */
export const attempts = {
  et: "ATTEMPT",
  keyOf: (item: Attempt): Key => ({
    pk: deliveries.key(item.tenant_id, item.delivery_id).pk,
    sk: `ATTEMPT#${String(item.number).padStart(2, "0")}#${item.claim}`,
  }),
} satisfies Entity<Attempt> & Record<string, unknown>;

/** Samples that `test` sends, each an item of its own. */
export const sampleEvents = {
  et: "SAMPLE",
  key: (tenant: string, id: string): Key => ({ pk: `${tenant}#${id}`, sk: "SAMPLE" }),
  keyOf: (item: SampleEvent): Key => sampleEvents.key(item.tenant_id, item.id),
} satisfies Entity<SampleEvent> & Record<string, unknown>;

/** Replays that are being made, in `due` until all their deliveries are. */
export const replays = {
  et: "REPLAY",
  keyOf: (item: Replay): Key => ({ pk: `${item.tenant_id}#${item.id}`, sk: "REPLAY" }),
  indexesOf: (item: Replay): IndexKeys => dueKeys("REPLAY", item.id, item.wake_at),
} satisfies Entity<Replay> & Record<string, unknown>;

/** Where the event of a delivery is: an EVENT, or a SAMPLE when it has no sequence. Both hold `payload`. */
export function eventKeyOf(delivery: Pick<Delivery, "tenant_id" | "event_id" | "event_sequence">): Key {
  return delivery.event_sequence === null
    ? sampleEvents.key(delivery.tenant_id, delivery.event_id)
    : events.keyById(delivery.tenant_id, delivery.event_id);
}

/**
 * Identifier of the delivery of an event to an endpoint: every publisher computes the same one, so that a conditional
 * put creates it once. Its time is that of the event, or of the request for a repetition.
 */
export function deliveryId(eventId: string, endpointId: string, redelivery: number): string {
  const time = redelivery === 0 ? ulidOf(eventId).slice(0, 10) : inBase32(redelivery, 10);
  const hash = Buffer.from(sha256(`${eventId}\n${endpointId}\n${redelivery}`), "hex");
  const letters = [...hash.subarray(0, 16)].map((byte) => crockford.charAt(byte % 32));
  return `dlv_${time}${letters.join("")}`;
}
