import { draftDelivery, messageOf } from "../domain/delivery.ts";
import type { Replay, WebhookEndpoint } from "../domain/webhook.ts";
import { putDelivery, subscribersOf, trySend } from "../events/fan-out.ts";
import { limits } from "../limits.ts";
import { delayMs, nowIso } from "../runtime/clock.ts";
import { log } from "../runtime/log.ts";
import { inParallel } from "../runtime/parallel.ts";
import type { OutgoingDelivery } from "../runtime/queues.ts";
import { type SweepResult, sweepItems } from "../table/due.ts";
import { deliveries, deliveryId, events, type PublishedEvent, replays } from "../table/entities.ts";
import { eventsAfter } from "../table/event-pages.ts";
import { deleteItem } from "../table/items.ts";
import { type EventCounter, eventCounter, eventKeyAt } from "../table/sequences.ts";
import { findAll, readAll } from "../table/store.ts";

/** What of an event is looked at before it is sent again. */
type Glance = Pick<PublishedEvent, "sequence" | "type" | "account_id" | "created_at">;

/** Which events are asked for: above a number, or from a moment on, and up to a moment. Moments in RFC 3339. */
export interface EventRange {
  readonly after_sequence?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/**
 * The next events of a range that an endpoint subscribes to, by their numbers; strongly consistent. Looks at a thousand
 * at most: `next` is the last number that was looked at, null when the end is reached.
 * @throws Unavailable when an event among them may not be seen yet
 */
export async function eventsToReplay(
  endpoint: WebhookEndpoint,
  { after_sequence, from, to }: EventRange,
): Promise<{ readonly sequences: readonly number[]; readonly next: number | null }> {
  const tenant = endpoint.tenant_id;
  const counter = await eventCounter(tenant);
  const { last } = counter;
  const after = after_sequence === undefined ? await lastBefore(tenant, from ?? "", counter) : Number(after_sequence);
  const most = limits.webhooks.replay_max_events;
  const seen = await eventsAfter<Glance>(tenant, after, counter, { most, attributes: glanced });
  const [low, high] = [from === undefined ? 0 : Date.parse(from), to === undefined ? Infinity : Date.parse(to)];
  const within = seen.filter(({ created_at }) => Date.parse(created_at) >= low && Date.parse(created_at) < high);
  const subscribersTo = await subscribersOf(tenant, [endpoint], within);
  const reached = seen.length < most ? last : (seen.at(-1)?.sequence ?? last);
  return {
    sequences: within.filter((event) => subscribersTo(event).length > 0).map(({ sequence }) => sequence),
    next: reached < last ? reached : null,
  };
}

const glanced = ["sequence", "type", "account_id", "created_at"] as const satisfies readonly (keyof Glance)[];

/**
 * The last number below which nothing can have happened at the moment or later: what was published before it had
 * happened before it. Found by halving, since the moment of publication rises with the number. A number whose event is
 * gone is judged by the next one that is there.
 */
async function lastBefore(tenant: string, moment: string, counter: EventCounter): Promise<number> {
  const wanted = Date.parse(moment) - limits.webhooks.publisher_skew_ms;
  const glance = { most: 1, attributes: ["published_at"] } as const;
  let [low, high] = [1, counter.last + 1];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const [next] = await eventsAfter<Pick<PublishedEvent, "published_at">>(tenant, middle - 1, counter, glance);
    if (next !== undefined && Date.parse(next.published_at) < wanted) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/**
 * Makes the deliveries of a replay and sends their messages, in small steps while `hasTime` says so, and then removes
 * the item by which it was to be found. Run again it makes nothing twice: a delivery is named by the request.
 */
export async function runReplay(replay: Replay, hasTime: () => boolean): Promise<boolean> {
  const { tenant_id, endpoint_id, redelivery } = replay;
  const endpoint = { id: endpoint_id, tenant_id, epoch: replay.endpoint_epoch };
  const counter = await eventCounter(tenant_id);
  for (let start = 0; start < replay.sequences.length; start += limits.events.due_page) {
    if (!hasTime()) return false;
    const numbers = replay.sequences.slice(start, start + limits.events.due_page);
    const keys = numbers.map((sequence) => eventKeyAt(tenant_id, sequence, counter));
    const again = await findAll(events, keys);
    const firsts = again.map((event) => deliveries.key(tenant_id, deliveryId(event.id, endpoint_id, 0)));
    const known = await readAll(deliveries, firsts);
    const messages: OutgoingDelivery[] = [];
    await inParallel(limits.webhooks.parallel_writes, again, async (event, index) => {
      const first = known[index]?.id ?? unstoredFirst(event, endpoint_id);
      const id = deliveryId(event.id, endpoint_id, redelivery);
      const made = await putDelivery(
        draftDelivery(id, endpoint, event, nowIso(), delayMs, { redelivery, redelivery_of: first }),
      );
      if (made.status === "pending" && made.attempt === 1 && made.claims === 0) messages.push(messageOf(made));
    });
    await trySend(messages);
  }
  await deleteItem(replays.keyOf(replay));
  return true;
}

/** The first delivery of an event that is still due to an endpoint: no worker may have stored it yet (ADR 0045). */
function unstoredFirst({ id, wake_at, endpoints = [] }: PublishedEvent, endpointId: string): string | null {
  const owed = wake_at !== undefined && endpoints.some((endpoint) => endpoint.id === endpointId);
  return owed ? deliveryId(id, endpointId, 0) : null;
}

/** Goes on with replays that were cut off. Returns how many came to their end. */
export function replayOverdue(hasTime: () => boolean): Promise<SweepResult> {
  return sweepItems("REPLAY", hasTime, {
    entity: replays,
    isDue: () => true,
    run: async (replay) => ((await runReplay(replay, hasTime)) ? 1 : 0),
    report: ({ id }, { name }) => log.error("A replay could not be made.", { replay_id: id, error: name }),
  });
}
