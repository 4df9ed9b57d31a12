import { limits } from "../../limits.ts";
import { traceBytes, traceOfBytes } from "../../runtime/trace.ts";
import { outboxDictionary } from "../packed/outbox-dictionary.ts";
import { packText, unpackText } from "../packed/text.ts";
import { eventType, outboxPartType, outboxType } from "../table-shape.ts";
import { type AuditPointer, auditPointers } from "./audit.ts";
import { crockford, dueKeys, type Entity, type IndexKeys, inBase32, type Key, ulidOf } from "./keys.ts";

type Stored = Readonly<Record<string, unknown>>;

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
  /** Audit record of the command, as JSON (`WaitingAudit`); absent where no caller asked for the commit. */
  readonly audit?: string;
  /** How many parts hold the events that do not fit; absent when all do. */
  readonly parts?: number;
  /** Trace of the request or run that committed it, in the form of X-Ray; stored as bytes. */
  readonly trace_id?: string;
  readonly created_at: string;
  /** The order among commits of one moment that one request decided one after the other; absent for the first. */
  readonly place?: number;
  /** When the sweep looks for it, RFC 3339. */
  readonly wake_at: string;
}

/**
 * Outbox items: next to the resource they are about, and in the due index until they are published. Audit record and
 * events are stored as one deflated text, a line each (ADR 0038).
 */
export const outboxes = {
  et: outboxType,
  keyOf: (item: Pick<Outbox, "tenant_id" | "root_id" | "id">): Key => ({
    pk: `${item.tenant_id}#${item.root_id}`,
    sk: `OUTBOX#${ulidOf(item.id)}`,
  }),
  indexesOf: (item: Outbox): IndexKeys => dueKeys("OUTBOX", item.id, item.wake_at),
  toStored: ({ id: _id, root_id, wake_at: _wake, trace_id, audit = "", events: texts, ...item }: Outbox) => ({
    ...item,
    ...storedTrace(trace_id),
    events: packText([audit, ...texts].join("\n"), outboxDictionary),
  }),
  fromStored: ({ pk, sk, due_sk, events: packed, ...stored }: Stored) => {
    // Commits are put in order by it: next to a damaged one, sound commits of a resource would change places.
    if (typeof stored["created_at"] !== "string") throw new Error("its member created_at is damaged");
    const [audit, ...texts] = linesIn(packed);
    return {
      ...readTrace(stored),
      ...(audit === "" ? {} : { audit }),
      id: String(sk).replace("OUTBOX#", "obx_"),
      root_id: String(pk).slice(String(pk).indexOf("#") + 1),
      wake_at: String(due_sk).split("|")[0],
      events: texts,
    };
  },
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

/** Parts of outbox items, each next to its own and stored in the same way. */
export const outboxParts = {
  et: outboxPartType,
  keyOf: ({ tenant_id, root_id, outbox_id, number }: Omit<OutboxPart, "events">): Key => ({
    pk: `${tenant_id}#${root_id}`,
    sk: `OUTBOX#${ulidOf(outbox_id)}#${String(number).padStart(2, "0")}`,
  }),
  toStored: ({ events: texts, ...part }: OutboxPart) => ({
    ...part,
    events: packText(texts.join("\n"), outboxDictionary),
  }),
  fromStored: ({ events: packed }: Stored) => ({ events: linesIn(packed) }),
} satisfies Entity<OutboxPart> & Record<string, unknown>;

/** The lines of a packed text. JSON has no line break, so a line holds one whole. */
function linesIn(packed: unknown): readonly string[] {
  return unpackText(packed as Uint8Array, outboxDictionary)
    .toString()
    .split("\n");
}

/** An endpoint that an event is owed to, and how often it had been switched on again by then. */
export interface OwedEndpoint {
  readonly id: string;
  readonly epoch: number;
}

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
  /** The event as JSON, made once at publication and deflated. */
  readonly payload: Uint8Array;
  /** Endpoints that subscribed to it when it was published, each as often as it had been switched on again by then. */
  readonly endpoints?: readonly OwedEndpoint[];
  /** When the sweep looks for it, RFC 3339; absent without subscribers, or when all its deliveries exist. */
  readonly wake_at?: string;
  /** Where the entry of the audit of its commit is; on the first event of a commit that a caller asked for. */
  readonly audit?: AuditPointer;
  /** That of its commit. */
  readonly trace_id?: string;
  readonly expires_at: number;
}

/**
 * Events of a tenant by sequence: each million in lanes, so that consecutive numbers are written to different
 * partitions. Lists: by resource, by account; those whose deliveries are not made yet are in `due`. The first event of
 * a commit also finds its entry of the audit, by actor and by resource. An item is to fit one write unit, so what its
 * keys say is not said again, and endpoints are stored as one text.
 */
export const events = {
  et: eventType,
  partition: (tenant: string, sequence: number) =>
    `${tenant}|EVT|${Math.floor(sequence / limits.events.per_partition)}|${sequence % limits.events.lanes}`,
  sortOf: (sequence: number) => String(sequence).padStart(16, "0"),
  key: (tenant: string, sequence: number): Key => ({
    pk: events.partition(tenant, sequence),
    sk: events.sortOf(sequence),
  }),
  /** The event of an identifier, which says where it is. */
  keyById: (tenant: string, id: string): Key => events.key(tenant, sequenceOfEvent(id)),
  keyOf: (item: PublishedEvent): Key => events.key(item.tenant_id, item.sequence),
  ofResource: (tenant: string, id: string) => `${tenant}|EVT|resource|${id}`,
  /** Events of an account, or of a client that concern none of its accounts. */
  ofOwner: (tenant: string, id: string) => `${tenant}|EVT|owner|${id}`,
  indexesOf: (item: PublishedEvent): IndexKeys => ({
    state_pk: events.ofResource(item.tenant_id, item.resource_id),
    state_sk: events.sortOf(item.sequence),
    ...ownedBy(item.tenant_id, item.account_id ?? item.client_id, item.sequence),
    ...(item.wake_at === undefined
      ? {}
      : { due_pk: dueKeys("EVENT", item.id, item.wake_at).due_pk ?? "", due_sk: item.wake_at }),
    ...(item.audit === undefined ? {} : auditPointers.indexesOf(item.tenant_id, item.audit)),
  }),
  toStored: ({ tenant_id: _tenant, wake_at: _wake, audit: _audit, endpoints, trace_id, ...item }: PublishedEvent) => ({
    ...item,
    ...storedTrace(trace_id),
    ...(endpoints?.length ? { endpoints: endpoints.map(({ id, epoch }) => `${id}:${epoch}`).join() } : {}),
  }),
  fromStored: ({ pk, due_sk, endpoints, ...stored }: Stored) => ({
    ...readTrace(stored),
    tenant_id: String(pk).split("|")[0],
    ...(due_sk === undefined ? {} : { wake_at: String(due_sk).split("|")[0] }),
    ...(typeof endpoints === "string" ? { endpoints: endpointsOf(endpoints) } : {}),
  }),
} satisfies Entity<PublishedEvent> & Record<string, unknown>;

function ownedBy(tenant: string, owner: string | null, sequence: number): Pick<IndexKeys, "owner_pk" | "owner_sk"> {
  if (owner === null) return {};
  return { owner_pk: events.ofOwner(tenant, owner), owner_sk: events.sortOf(sequence) };
}

function storedTrace(trace: string | undefined): { readonly trace_id?: Uint8Array } {
  return trace === undefined ? {} : { trace_id: traceBytes(trace) };
}

/** The trace of an event or an outbox item as it is stored, where it has one. */
export function readTrace({ trace_id: stored }: Stored): { readonly trace_id?: string } {
  return stored instanceof Uint8Array ? { trace_id: traceOfBytes(stored) } : {};
}

function endpointsOf(stored: string): readonly OwedEndpoint[] {
  return stored.split(",").map((each) => {
    const [id = "", epoch] = each.split(":");
    return { id, epoch: Number(epoch) };
  });
}

/** To how many endpoints an event went, as they are stored or read. */
export function endpointsIn(endpoints: PublishedEvent["endpoints"] | string): number {
  return (typeof endpoints === "string" ? endpointsOf(endpoints) : endpoints)?.length ?? 0;
}

/** How far the events of a tenant are numbered; moved on by the publisher only. */
export const sequences = {
  et: "SEQ",
  key: (tenant: string): Key => ({ pk: `${tenant}|SEQ`, sk: "SEQ" }),
  tenantIn: ({ pk }: Pick<Key, "pk">) => pk.slice(0, pk.indexOf("|")),
  /** Those of a tenant that skips an endpoint which cannot be read are in `due`. */
  dueKeys: (tenant: string, at: string): IndexKeys => dueKeys("SKIPPED", tenant, at),
};

/**
 * Identifier of an event: a ULID whose random part carries seven random characters and
 * the sequence in nine, so that a read by id needs no index. It stays opaque to callers.
 */
export function eventId(timeMs: number, randomPart: string, sequence: number): string {
  return `evt_${inBase32(timeMs, 10)}${randomPart.slice(-7)}${inBase32(sequence, 9)}`;
}

/** The sequence that an event identifier carries. */
function sequenceOfEvent(id: string): number {
  let value = 0;
  for (const character of id.slice(-9)) value = value * 32 + crockford.indexOf(character);
  return value;
}
