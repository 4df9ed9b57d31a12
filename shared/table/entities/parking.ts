import { outboxType, parkedType, triesType } from "../table-shape.ts";
import { type Outbox, outboxes } from "./events.ts";
import { dueKeys, type Entity, type IndexKeys, type Key, ulidOf } from "./keys.ts";

/** An outbox item that could not be published, set aside for an operator as it was stored. */
export interface Parked extends Pick<Outbox, "id" | "tenant_id" | "root_id"> {
  /** RFC 3339. */
  readonly parked_at: string;
  /** Class and sentence of the last error. */
  readonly error: string;
  readonly error_message: string;
  readonly stored: Readonly<Record<string, unknown>>;
}

/** Parked outbox items: next to the resource they are about. A shard of their own in the due index lists them. */
export const parkedOutboxes = {
  et: parkedType,
  keyOf: ({ tenant_id, root_id, id }: Pick<Outbox, "tenant_id" | "root_id" | "id">): Key => ({
    pk: `${tenant_id}#${root_id}`,
    sk: `PARKED#${ulidOf(id)}`,
  }),
  indexesOf: (item: Parked): IndexKeys => dueKeys("PARKED", item.id, item.parked_at),
} satisfies Entity<Parked> & Record<string, unknown>;

/** Parked outbox items where they are put back, as they were stored. */
export const releasedOutboxes = {
  et: outboxType,
  keyOf: (item: Pick<Outbox, "tenant_id" | "root_id" | "id">): Key => outboxes.keyOf(item),
  toStored: ({ stored, id, wake_at }: Parked & Pick<Outbox, "wake_at">) => ({
    ...stored,
    ...dueKeys("OUTBOX", id, wake_at),
  }),
} satisfies Entity<Parked & Pick<Outbox, "wake_at">> & Record<string, unknown>;

/** How often an outbox item had a transaction of its own. The item itself is never updated: that would route it. */
export const publishTries = {
  et: triesType,
  keyOf: (item: Pick<Outbox, "tenant_id" | "root_id" | "id">): Key => ({
    pk: outboxes.keyOf(item).pk,
    sk: `TRIES#${ulidOf(item.id)}`,
  }),
} satisfies Entity<Pick<Outbox, "tenant_id" | "root_id" | "id">> & Record<string, unknown>;
