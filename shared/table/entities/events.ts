import { outboxPartType, outboxType } from "../table-shape.ts";
import { crockford, dueKeys, type Entity, type IndexKeys, inBase32, type Key, ulidOf } from "./keys.ts";

/** The events of one commit, in order, until they are published. Inserted and deleted, never updated. */
export interface Outbox {
  readonly id: string;
  readonly tenant_id: string;
  /** Resource that the commit is about; its partition holds the item. */
  readonly root_id: string;
  /** Version of that resource in the first event: the order of the commits of one resource, whatever the clocks say. */
  readonly root_version: number;
  /** JSON of each event without id and sequence; of the first ones, where there are parts. */
  readonly events: readonly string[];
  /** How many parts hold the events that do not fit; absent when all do. */
  readonly parts?: number;
  readonly created_at: string;
  /** When the sweep looks for it, RFC 3339. */
  readonly wake_at: string;
}

/** Outbox items: next to the resource they are about, and in the due index until they are published. */
export const outboxes = {
  et: outboxType,
  keyOf: (item: Outbox): Key => ({ pk: `${item.tenant_id}#${item.root_id}`, sk: `OUTBOX#${ulidOf(item.id)}` }),
  indexesOf: (item: Outbox): IndexKeys => dueKeys("OUTBOX", item.id, item.wake_at),
} satisfies Entity<Outbox> & Record<string, unknown>;

/** Events of a commit that its outbox item has no room for. Inserted and deleted together with it. */
export interface OutboxPart {
  readonly tenant_id: string;
  readonly root_id: string;
  readonly outbox_id: string;
  /** From 1: the order of the parts. */
  readonly number: number;
  readonly events: readonly string[];
}

/** Parts of outbox items, each next to its own. */
export const outboxParts = {
  et: outboxPartType,
  keyOf: ({ tenant_id, root_id, outbox_id, number }: Omit<OutboxPart, "events">): Key => ({
    pk: `${tenant_id}#${root_id}`,
    sk: `OUTBOX#${ulidOf(outbox_id)}#${String(number).padStart(2, "0")}`,
  }),
} satisfies Entity<OutboxPart> & Record<string, unknown>;

/** A published event: its number and the bytes that everyone is shown. */
export interface PublishedEvent {
  readonly id: string;
  readonly tenant_id: string;
  readonly sequence: number;
  readonly type: string;
  readonly resource_id: string;
  readonly account_id: string | null;
  readonly client_id: string | null;
  readonly created_at: string;
  /** When it got its number. It rises with the sequence, which `created_at` need not. */
  readonly published_at: string;
  /** The event as JSON, made once at publication. */
  readonly payload: string;
  /** Endpoints that subscribed to it when it was published, each as often as it had been switched on again by then. */
  readonly endpoints?: readonly { readonly id: string; readonly epoch: number }[];
  /** When the sweep looks for it, RFC 3339; absent without subscribers, or when all its deliveries exist. */
  readonly wake_at?: string;
  readonly expires_at: number;
}

/**
 * Events of a tenant by sequence, a million to a partition. Lists: by type, by resource, by account or client; those
 * whose deliveries are not made yet are in `due`.
 */
export const events = {
  et: "EVENT",
  per_partition: 1_000_000,
  partition: (tenant: string, sequence: number) => `${tenant}|EVT|${Math.floor(sequence / events.per_partition)}`,
  sortOf: (sequence: number) => String(sequence).padStart(16, "0"),
  key: (tenant: string, sequence: number): Key => ({
    pk: events.partition(tenant, sequence),
    sk: events.sortOf(sequence),
  }),
  keyOf: (item: PublishedEvent): Key => events.key(item.tenant_id, item.sequence),
  ofType: (tenant: string, type: string) => `${tenant}|EVT|type|${type}`,
  ofResource: (tenant: string, id: string) => `${tenant}|EVT|resource|${id}`,
  ofAccount: (tenant: string, id: string) => `${tenant}|EVT|owner|${id}`,
  indexesOf: (item: PublishedEvent): IndexKeys => ({
    list_pk: events.ofType(item.tenant_id, item.type),
    list_sk: events.sortOf(item.sequence),
    state_pk: events.ofResource(item.tenant_id, item.resource_id),
    state_sk: events.sortOf(item.sequence),
    owner_pk: events.ofAccount(item.tenant_id, item.account_id ?? item.client_id ?? item.resource_id),
    owner_sk: events.sortOf(item.sequence),
    ...(item.wake_at === undefined ? {} : dueKeys("EVENT", item.id, item.wake_at)),
  }),
} satisfies Entity<PublishedEvent> & Record<string, unknown>;

/** The number of the last published event of a tenant; taken by the publisher only. */
export const sequences = {
  et: "SEQ",
  key: (tenant: string): Key => ({ pk: `${tenant}|SEQ`, sk: "SEQ" }),
};

/**
 * Identifier of an event: a ULID whose random part carries six random characters and the sequence in ten, so that a
 * read by id needs no index. It stays opaque to callers.
 */
export function eventId(timeMs: number, randomPart: string, sequence: number): string {
  return `evt_${inBase32(timeMs, 10)}${randomPart.slice(-6)}${inBase32(sequence, 10)}`;
}

/** The sequence that an event identifier carries. */
export function sequenceOfEvent(id: string): number {
  let value = 0;
  for (const character of id.slice(-10)) value = value * 32 + crockford.indexOf(character);
  return value;
}
