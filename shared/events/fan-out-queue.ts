import type { WebhookHealth } from "../domain/records/webhook.ts";
import { limits } from "../limits.ts";
import { env } from "../runtime/env.ts";
import { causeOf, countMetric, log } from "../runtime/log.ts";
import { sendMessages } from "../runtime/queues.ts";
import { events, type Key, type PublishedEvent } from "../table/entities.ts";
import { eventCounter } from "../table/sequences.ts";
import { findReadable } from "../table/store.ts";
import { fanOut } from "./fan-out.ts";

/** Message of the queue: published events whose deliveries are to be sent. */
interface FanOutMessage {
  readonly tenant_id: string;
  readonly sequences: readonly number[];
}

/**
 * Sends the deliveries of events that were just published, or lets the queue do it where there are many. Neither a
 * table nor a queue that fails is an error: the events stay due, and the sweep finds them.
 */
export async function fanOutFresh(
  published: readonly PublishedEvent[],
  healths: () => Promise<ReadonlyMap<string, WebhookHealth>>,
): Promise<void> {
  const [near = [], ...far] = portions(published.filter(({ endpoints = [] }) => endpoints.length > 0));
  if (near.length === 0) return;
  const here = healths()
    .then((known) => fanOut(near, { healths: known }))
    .catch(() => enqueue([near]));
  await Promise.all([here, enqueue(far)]);
}

/** Events in their order, so many to a portion that their deliveries are no more than the publisher sends itself. */
function portions(published: readonly PublishedEvent[]): PublishedEvent[][] {
  const found: PublishedEvent[][] = [];
  let room = 0;
  for (const event of published) {
    const size = event.endpoints?.length ?? 0;
    if (size > room) {
      found.push([]);
      room = limits.events.fan_out_in_place;
    }
    found.at(-1)?.push(event);
    room -= size;
  }
  return found;
}

async function enqueue(some: readonly (readonly PublishedEvent[])[]): Promise<void> {
  const messages = some.flatMap((published): FanOutMessage[] => {
    const [first] = published;
    if (first === undefined) return [];
    return [{ tenant_id: first.tenant_id, sequences: published.map(({ sequence }) => sequence) }];
  });
  if (messages.length === 0) return;
  try {
    await sendMessages(
      env.fanOutQueueUrl,
      messages.map((body) => ({ body, group: body.tenant_id })),
    );
  } catch (error) {
    countMetric("DeliveryMessageFailed");
    log.error("Events could not be queued for fan-out; the sweep retries them.", {
      events: messages.flatMap(({ sequences }) => sequences).length,
      ...causeOf(error),
    });
  }
}

/**
 * Sends the deliveries that a message is about. Of one that was received before, those alone that no worker has.
 * @throws Error for an unrecognised message, or when a delivery could not be stored that rests
 */
export async function fanOutMessage(text: string, receives: number): Promise<void> {
  const { tenant_id, sequences } = JSON.parse(text) as Partial<FanOutMessage>;
  if (typeof tenant_id !== "string" || !Array.isArray(sequences)) throw new Error("The message is not recognised.");
  await fanOutWaiting(
    sequences.map((sequence) => events.key(tenant_id, sequence)),
    receives > 1,
  );
}

/** The same for the last events of a tenant: a publisher that died may have left some of them. */
export async function fanOutRecent(tenant: string): Promise<void> {
  const counter = await eventCounter(tenant);
  const count = Math.min(counter.last, limits.events.fan_out_again);
  const keys = Array.from({ length: count }, (_, at) => events.key(tenant, counter.last - at));
  await fanOutWaiting(keys, true);
}

async function fanOutWaiting(keys: readonly Key[], again: boolean): Promise<void> {
  const found = await findReadable(events, keys);
  const waiting = found.filter(({ wake_at }) => wake_at !== undefined);
  await fanOut(waiting, { again });
}
