import { parkedType, triesType } from "../table-shape.ts";
import { type Outbox, outboxes } from "./events.ts";
import { dueKeys, type Entity, type IndexKeys, type Key, ulidOf } from "./keys.ts";

/** An outbox item that could not be published, set aside for an operator with its events. */
export interface Parked extends Omit<Outbox, "wake_at"> {
  /** RFC 3339. */
  readonly parked_at: string;
  /** Name of the last error; `crash` when the publisher ended each time before it could tell. */
  readonly error: string;
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

/** How often an outbox item had a transaction of its own. The item itself is never updated: that would route it. */
export const publishTries = {
  et: triesType,
  keyOf: (item: Pick<Outbox, "tenant_id" | "root_id" | "id">): Key => ({
    pk: outboxes.keyOf(item).pk,
    sk: `TRIES#${ulidOf(item.id)}`,
  }),
} satisfies Entity<Outbox> & Record<string, unknown>;
