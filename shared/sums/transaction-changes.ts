import type { TransactionChange } from "../domain/sums/event-sums.ts";
import { limits } from "../limits.ts";
import { readable, unlessUnreadable } from "../runtime/unreadable.ts";
import { type PublishedEvent, type SumCursor, ulidOf } from "../table/entities.ts";
import { eventsAfter } from "../table/event-pages.ts";
import { payloadOf } from "../table/event-payload.ts";
import type { EventCounter } from "../table/sequences.ts";

/** Events of transactions after a cursor. */
export interface ChangesAfter {
  readonly changes: readonly { readonly sequence: number; readonly change: TransactionChange }[];
  /** The last number that was looked at. */
  readonly reached: number;
  /** When that event was published, RFC 3339; undefined where none was found. */
  readonly published_at: string | undefined;
}

/** The next events after a cursor, up to one that may not be seen yet; strongly consistent. */
export async function changesAfter(tenant: string, cursor: SumCursor, counter: EventCounter): Promise<ChangesAfter> {
  const { found, reached } = await eventsAfter<PublishedEvent>(tenant, cursor.summed, counter, {
    most: limits.sums.events_per_read,
    attributes: [
      ...["id", "type", "created_at", "resource_id", "account_id", "client_id"],
      ...["sequence", "published_at", "payload"],
    ],
    untilUnseen: true,
  });
  const events = readable(found);
  const own = events.filter(({ type, client_id }) => isSummed(type) && isKept(client_id, cursor.since));
  const changes = own.map((event) => unlessUnreadable(changeOf(event, tenant)));
  return { changes: readable(await Promise.all(changes)), reached, published_at: events.at(-1)?.published_at };
}

function isSummed(type: string): boolean {
  return type === "transaction.created" || type === "transaction.updated";
}

/** Whether a client is none that a reset of the sandbox removes. */
function isKept(client_id: string | null, since: string | undefined): boolean {
  return since === undefined || (client_id !== null && ulidOf(client_id).slice(0, since.length) >= since);
}

async function changeOf(event: PublishedEvent, tenant: string) {
  const { type, created_at, data } = payloadOf(event, tenant).body as unknown as Pick<
    TransactionChange,
    "type" | "created_at"
  > & { readonly data: Pick<TransactionChange, "object" | "previous"> };
  return { sequence: event.sequence, change: { ...data, type, created_at } };
}
