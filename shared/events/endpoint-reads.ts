import type { Attempt, Delivery } from "../domain/records/delivery.ts";
import type { WebhookEndpoint, WebhookHealth } from "../domain/records/webhook.ts";
import type { ShownEndpoint } from "../domain/webhooks/webhook.ts";
import { readable, UnreadableItem } from "../runtime/unreadable.ts";
import { attempts, deliveries, webhookHealths, webhooks } from "../table/entities.ts";
import { readPartition } from "../table/partition.ts";
import { findReadable, type Load, readEach, ref } from "../table/store.ts";
import { readItem, tryRead } from "../table/table.ts";

/** Places in a list of accounts of those that the tenant has not got. */
export async function unknownPlaces(load: Load, ids: readonly string[] | null | undefined): Promise<readonly number[]> {
  if (!ids || ids.length === 0) return [];
  const found = await load(Object.fromEntries(ids.map((id) => [id, ref.account(id)])));
  return ids.flatMap((id, place) => (found[id] === undefined ? [place] : []));
}

/** A delivery with every attempt of it, strongly consistent: all of its partition. */
export async function deliveryPartition(
  tenant: string,
  id: string,
): Promise<{ readonly delivery: Delivery | undefined; readonly attempts: readonly Attempt[] }> {
  const items = await readPartition(deliveries.key(tenant, id).pk);
  const own = <T>(type: string) => items.filter((item) => item["et"] === type).map((item) => readItem<T>(item));
  return { delivery: own<Delivery>(deliveries.et)[0], attempts: own<Attempt>(attempts.et) };
}

/** The webhook endpoints of a tenant, and the ids of those that cannot be read. */
export interface Endpoints {
  readonly endpoints: readonly WebhookEndpoint[];
  readonly unreadable: readonly string[];
}

/** Every webhook endpoint of a tenant, strongly consistent. */
export async function endpointsOf(tenant: string): Promise<Endpoints> {
  const items = await readPartition(webhooks.partition(tenant));
  const read = items.map((item) => tryRead<WebhookEndpoint>(item, webhooks));
  const unreadable = items.filter((_, at) => read[at] instanceof UnreadableItem).map(({ sk }) => `whe_${sk}`);
  return { endpoints: readable(read), unreadable };
}

/** How endpoints do, by their identifiers; each is read once, strongly consistent. Unreadable ones are left out. */
export async function healthsOf(
  endpoints: readonly { readonly tenant_id: string; readonly endpoint_id: string }[],
): Promise<ReadonlyMap<string, WebhookHealth>> {
  const keys = new Map(
    endpoints.map(({ tenant_id, endpoint_id }) => [endpoint_id, webhookHealths.key(tenant_id, endpoint_id)]),
  );
  const found = await findReadable(webhookHealths, [...keys.values()]);
  return new Map(found.map((health) => [health.endpoint_id, health]));
}

/** Every webhook endpoint of a tenant that can be read with how it does, by its identifier. */
export async function endpointsWithHealth(
  tenant: string,
): Promise<ReadonlyMap<string, ShownEndpoint | UnreadableItem>> {
  const { endpoints } = await endpointsOf(tenant);
  const keys = endpoints.map(({ id }) => webhookHealths.key(tenant, id));
  const healths = await readEach(keys, { kind: webhookHealths });
  const pairs = endpoints.flatMap((endpoint, place): [string, ShownEndpoint | UnreadableItem][] => {
    const health = healths[place];
    if (health === undefined) return [];
    return [[endpoint.id, health instanceof UnreadableItem ? health : { endpoint, health }]];
  });
  return new Map(pairs);
}
