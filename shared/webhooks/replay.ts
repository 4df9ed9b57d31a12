import type { WebhookEndpoint } from "../domain/records/webhook.ts";
import { draftDelivery, messageOf } from "../domain/webhooks/delivery.ts";
import type { Replay } from "../domain/webhooks/webhook.ts";
import { putDelivery, subscribersOf, trySend } from "../events/fan-out.ts";
import { limits } from "../limits.ts";
import { delayMs, nowIso } from "../runtime/clock.ts";
import { causeOf, log } from "../runtime/log.ts";
import { inParallel } from "../runtime/parallel.ts";
import type { OutgoingDelivery } from "../runtime/queues.ts";
import { readable } from "../runtime/unreadable.ts";
import { dueItems, forEachOf, type SweepResult, sweepItems, sweepKeys } from "../table/due.ts";
import {
  deliveries,
  deliveryId,
  events,
  type PublishedEvent,
  replays,
  sequences,
  webhooks,
} from "../table/entities.ts";
import { eventsAfter } from "../table/event-pages.ts";
import { deleteItem } from "../table/items.ts";
import { type EventCounter, endSkip, eventCounter } from "../table/sequences.ts";
import { readAll, readEach } from "../table/store.ts";

/** Members of an event that decide whether it is sent again. */
type Glance = Pick<PublishedEvent, "sequence" | "type" | "account_id" | "created_at">;

/** Events that are asked for: above a number, or from a moment on, and up to a moment. Moments in RFC 3339. */
export interface EventRange {
  readonly after_sequence?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/**
 * The next events of a range that an endpoint subscribes to, by their numbers; strongly consistent. Looks at a thousand
 * at most: `next` is the last number that was looked at, null when the end is reached.
 * @throws Unavailable when an event among them may not be seen yet
 * @throws UnreadableItem when the group of an account is to be looked at and cannot be read
 */
export async function eventsToReplay(
  endpoint: WebhookEndpoint,
  { after_sequence, from, to }: EventRange,
): Promise<EventsToReplay> {
  const tenant = endpoint.tenant_id;
  const counter = await eventCounter(tenant);
  const { last } = counter;
  const after = after_sequence === undefined ? await lastBefore(tenant, from ?? "", counter) : Number(after_sequence);
  const most = limits.webhooks.replay_max_events;
  const { found, reached } = await eventsAfter<Glance>(tenant, after, counter, { most, attributes: glanced });
  const seen = readable(found);
  const [low, high] = [from === undefined ? 0 : Date.parse(from), to === undefined ? Infinity : Date.parse(to)];
  const within = seen.filter(({ created_at }) => Date.parse(created_at) >= low && Date.parse(created_at) < high);
  const subscribers = await subscribersOf(tenant, [endpoint], within);
  if (subscribers.unreadable !== undefined) throw subscribers.unreadable;
  return {
    sequences: within.filter((event) => subscribers.of(event).length > 0).map(({ sequence }) => sequence),
    next: reached < last ? reached : null,
    whole: seen.length === found.length,
    counter,
  };
}

/** See {@link eventsToReplay}. */
interface EventsToReplay {
  readonly sequences: readonly number[];
  readonly next: number | null;
  /** Whether every event that was looked at could be read. */
  readonly whole: boolean;
  /** The counter that was read before them. */
  readonly counter: EventCounter;
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
    const { found } = await eventsAfter<Pick<PublishedEvent, "published_at">>(tenant, middle - 1, counter, glance);
    const [next] = readable(found);
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
  if (!(await sendAgain(replay, hasTime))) return false;
  await deleteItem(replays.keyOf(replay));
  return true;
}

/** The deliveries of a replay with their messages; false when the time was over, or an event cannot be read. */
async function sendAgain(
  { tenant_id, endpoint_id, endpoint_epoch, redelivery, sequences }: Omit<Replay, "id" | "wake_at">,
  hasTime: () => boolean,
): Promise<boolean> {
  const endpoint = { id: endpoint_id, tenant_id, epoch: endpoint_epoch };
  let whole = true;
  for (let start = 0; start < sequences.length; start += limits.events.due_page) {
    if (!hasTime()) return false;
    const numbers = sequences.slice(start, start + limits.events.due_page);
    const keys = numbers.map((sequence) => events.key(tenant_id, sequence));
    const { items: again, unreadable } = await dueItems(events, keys);
    whole &&= unreadable === 0;
    const firsts = again.map((event) => deliveries.key(tenant_id, deliveryId(event.id, endpoint_id, 0)));
    const known = await readEach(firsts);
    const messages: OutgoingDelivery[] = [];
    await inParallel(limits.webhooks.parallel_writes, again, async (event, index) => {
      const isKnown = known[index] !== undefined;
      const first = isKnown ? deliveryId(event.id, endpoint_id, 0) : unstoredFirst(event, endpoint_id);
      const id = deliveryId(event.id, endpoint_id, redelivery);
      const of = { redelivery, redelivery_of: redelivery === 0 ? null : first };
      const made = await putDelivery(draftDelivery(id, endpoint, event, nowIso(), delayMs, of));
      if (made.status === "pending" && made.attempt === 1 && made.claims === 0) messages[index] = messageOf(made);
    });
    await trySend(messages.filter(Boolean));
  }
  return whole;
}

/** The first delivery of an event that is still due to an endpoint: no worker may have stored it yet (ADR 0045). */
function unstoredFirst({ id, wake_at, endpoints = [] }: PublishedEvent, endpointId: string): string | null {
  const owed = wake_at !== undefined && endpoints.some((endpoint) => endpoint.id === endpointId);
  return owed ? deliveryId(id, endpointId, 0) : null;
}

/**
 * Sends the endpoints that could not be read, and can be by now, what they were skipped for: the first delivery of each
 * event after the noted number, so that one which is there already is not made twice. Then the note ends, unless more
 * was published meanwhile. Returns how many endpoints are not skipped any more, and how many are.
 */
function replaySkipped(hasTime: () => boolean): Promise<SweepResult> {
  return sweepKeys("SKIPPED", hasTime, (keys) =>
    forEachOf(keys, {
      run: (key) => endSkips(sequences.tenantIn(key), hasTime),
      report: ({ pk, sk }, error) =>
        log.error("A skipped endpoint could not be caught up.", { note: `${pk} ${sk}`, ...causeOf(error) }),
    }),
  );
}

async function endSkips(tenant: string, hasTime: () => boolean): Promise<SweepResult> {
  const { skipped } = await eventCounter(tenant);
  return forEachOf(Object.entries(skipped), {
    run: async ([id, after]) => {
      if (!(await replayFrom(tenant, id, { after, hasTime }))) return { done: 0, failed: 1 };
      log.warn("A skipped endpoint has been caught up.", { tenant_id: tenant, endpoint_id: id, after });
      return 1;
    },
    report: ([endpoint_id], error) =>
      log.error("A skipped endpoint could not be caught up.", { tenant_id: tenant, endpoint_id, ...causeOf(error) }),
  });
}

/** False when events are left: for want of time, since one cannot be read, or because others are published. */
async function replayFrom(
  tenant: string,
  id: string,
  { after, hasTime }: { readonly after: number; readonly hasTime: () => boolean },
): Promise<boolean> {
  let from = after;
  let whole = true;
  for (let tried = 0; tried < limits.commit.conflict_tries && hasTime(); ) {
    const [endpoint] = await readAll(webhooks, [webhooks.key(tenant, id)]);
    // Nothing is owed to an endpoint that was deleted meanwhile.
    let counter = await eventCounter(tenant);
    if (endpoint !== undefined) {
      const owed = await eventsToReplay(endpoint, { after_sequence: String(from) });
      counter = owed.counter;
      const replay = { tenant_id: tenant, endpoint_id: id, endpoint_epoch: endpoint.epoch, redelivery: 0 };
      const sent = await sendAgain({ ...replay, sequences: owed.sequences }, hasTime);
      whole &&= sent && owed.whole;
      from = owed.next ?? counter.last;
      if (owed.next !== null) continue;
    }
    if (!whole) return false;
    if (await endSkip(tenant, counter, id)) return true;
    tried += 1;
  }
  return false;
}

/**
 * Goes on with replays that were cut off, and makes those of endpoints that were skipped. Returns how many ended.
 */
export async function replayOverdue(hasTime: () => boolean): Promise<SweepResult> {
  const [skipped, asked] = await Promise.all([replaySkipped(hasTime), replayAsked(hasTime)]);
  return { done: skipped.done + asked.done, failed: skipped.failed + asked.failed };
}

function replayAsked(hasTime: () => boolean): Promise<SweepResult> {
  return sweepItems("REPLAY", hasTime, {
    entity: replays,
    isDue: () => true,
    run: async (replay) => ((await runReplay(replay, hasTime)) ? 1 : 0),
    report: ({ id }, error) => log.error("A replay could not be made.", { replay_id: id, ...causeOf(error) }),
  });
}
