import type { SQSRecord } from "aws-lambda";
import type { Delivery } from "../domain/records/delivery.ts";
import type { WebhookEndpoint, WebhookHealth } from "../domain/records/webhook.ts";
import { type AttemptOutcome, claimed, gone, reasonToSwitchOff, recorded, taskOf } from "../domain/webhooks/attempt.ts";
import { cancelled } from "../domain/webhooks/delivery.ts";
import { isPrompt, isProven, laneFor, mostSlots, type Place, restUntil, slotsOf } from "../domain/webhooks/lane.ts";
import { limits } from "../limits.ts";
import { delayMs, nowIso, nowMs, pause } from "../runtime/clock.ts";
import { env } from "../runtime/env.ts";
import { chance } from "../runtime/ids.ts";
import { causeOf, log } from "../runtime/log.ts";
import { inParallel } from "../runtime/parallel.ts";
import {
  type DeliveryMessage,
  type DeliveryQueue,
  type OutgoingDelivery,
  queueOf,
  sendDeliveries,
} from "../runtime/queues.ts";
import {
  type DeliveryState,
  entryOf,
  letRest,
  loadDeliveries,
  moveDelivery,
  postpone,
  putAttempt,
  putCrash,
  waitUntilWell,
} from "./deliveries.ts";
import { noteProbe, noteResting, releaseSlot, type Slot, takeSlot, verdictOf } from "./endpoint-health.ts";
import { nextAttempt, retryAfterSeconds } from "./ladder.ts";
import { openWebhookSecret } from "./secrets.ts";
import { signatureHeaders } from "./signature.ts";
import { noteOff } from "./switch-off.ts";
import type { PostResult, WebhookSender } from "./webhook-sender.ts";

const bounds = limits.webhooks;

/** A message as received, and the queue that it returns to. */
export interface Arrival {
  /** Id of the message in its batch. */
  readonly id: string;
  readonly queue: DeliveryQueue;
  readonly message: DeliveryMessage;
}

/** Tools of a worker for a batch. */
export interface Worker {
  readonly sender: WebhookSender;
  /** Milliseconds until the function is ended. */
  readonly remainingMs: () => number;
}

/** Reads a message of a queue; undefined for one that this service did not send. */
export function arrivalOf(record: SQSRecord): Arrival | undefined {
  const { messageId: id, eventSourceARN, body } = record;
  try {
    const { tenant_id, delivery_id, attempt, returns, event_id, endpoint_id } = JSON.parse(
      body,
    ) as Partial<DeliveryMessage>;
    const texts = typeof tenant_id === "string" && typeof delivery_id === "string";
    if (!texts || !Number.isInteger(attempt) || !Number.isInteger(returns)) return undefined;
    const named = typeof event_id === "string" && typeof endpoint_id === "string" ? { event_id, endpoint_id } : {};
    return {
      id,
      queue: queueOf(eventSourceARN),
      message: { tenant_id, delivery_id, attempt, returns, ...named } as DeliveryMessage,
    };
  } catch {
    return undefined;
  }
}

/**
 * Works on messages concurrently, on those of one endpoint as many at a time as it has slots. Returns the ids of those
 * that failed and have to be received again.
 */
export async function deliverBatch(arrivals: readonly Arrival[], worker: Worker): Promise<ReadonlySet<string>> {
  const failed = new Set<string>();
  worker.sender.wake();
  const lineMs = nowMs() + bounds.slot_wait_ms;
  const states = await loadDeliveries(arrivals.map(({ message }) => message));
  const readMs = nowMs();
  const lines = new Map<string, WorkItem[]>();
  for (const [index, arrival] of arrivals.entries()) {
    const state = states[index];
    if (state?.delivery === undefined) continue;
    const item: WorkItem = { ...worker, arrival, state, readMs, lineMs };
    const { tenant_id, endpoint_id } = state.delivery;
    const line = `${tenant_id}#${endpoint_id}`;
    lines.set(line, [...(lines.get(line) ?? []), item]);
  }
  const work = async (item: WorkItem) => {
    await workOn(item).catch((error: unknown) => {
      failed.add(item.arrival.id);
      const { delivery_id, attempt } = item.arrival.message;
      const { trace_id } = item.state;
      log.error("A delivery could not be processed.", { delivery_id, attempt, trace_id, ...causeOf(error) });
    });
  };
  await Promise.all([...lines.values()].map((line) => inParallel(widthOf(line), line, work)));
  return failed;
}

/** How many messages of an endpoint are worked on at a time: as many as it has slots, four at least. */
function widthOf([first]: readonly WorkItem[]): number {
  const { health, endpoints = 1 } = first?.state ?? {};
  const most = mostSlots(env.tenantSlots, endpoints);
  return Math.max(bounds.slots_per_endpoint, health === undefined ? 0 : slotsOf(health, most, nowMs(), delayMs));
}

/** A message that is being worked on, with what was read for it. */
interface WorkItem extends Worker {
  readonly arrival: Arrival;
  readonly state: DeliveryState;
  /** When the state was read. */
  readonly readMs: number;
  /** Until when it waits for a slot. */
  readonly lineMs: number;
}

async function workOn(item: WorkItem): Promise<void> {
  const { message } = item.arrival;
  let state = item.state;
  if (nowMs() - item.readMs > bounds.fresh_ms) state = await reload(message);
  for (;;) {
    const { delivery, endpoint, health } = state;
    if (state.unreadable !== undefined) return waitUntilWell(delivery, message.attempt);
    const task = taskOf(delivery, endpoint, message.attempt, nowMs());
    if (delivery === undefined || task === "drop") return;
    if (task === "cancel") return cancel(delivery);
    if (typeof task === "object") return waitForTime(item, delivery, task.early_ms);
    if (health !== undefined && (await isElsewhere(item, delivery, health))) return;
    if (item.remainingMs() < bounds.attempt_timeout_ms + bounds.attempt_reserve_ms) return requeue(item, delivery);
    if (task === "record_crash" && (await recordCrash(item, delivery, state))) return;
    const now = nowMs();
    const leaseUntil = new Date(now + bounds.lease_ms).toISOString();
    const most = mostSlots(env.tenantSlots, state.endpoints);
    const wanted = { delivery_id: delivery.id, lease_until: leaseUntil, most, now: new Date(now).toISOString() };
    const slot = health && (await takeSlot(health, wanted));
    if (slot !== undefined) return attempt(item, { ...state, delivery }, slot);
    // An endpoint that is not prompt holds its slots for long: to wait for one holds a worker that others need.
    const prompt = health !== undefined && isProven(health, nowMs(), delayMs) && isPrompt(health, nowMs());
    if (!prompt || nowMs() > item.lineMs) return requeue(item, delivery);
    await pause(bounds.fresh_ms * (1 + chance()));
    state = await reload(message);
  }
}

async function reload(message: DeliveryMessage): Promise<DeliveryState> {
  const [state] = await loadDeliveries([message]);
  if (state === undefined) throw new Error("What was asked for was not read.");
  return state;
}

/** Cancels a delivery of an endpoint that is off; a concurrent worker that does the same changes nothing. */
async function cancel(delivery: Delivery): Promise<void> {
  // A worker may have posted before it died: a call that was made is on record, however the delivery ends.
  if (delivery.lease_until !== null) await putCrash(delivery);
  await moveDelivery(delivery, cancelled(delivery, nowIso()));
}

/**
 * Whether a delivery is not to be attempted by this worker, after it was moved to the lane of its endpoint, sent back
 * for a while, or let rest.
 */
async function isElsewhere(item: WorkItem, delivery: Delivery, health: WebhookHealth): Promise<boolean> {
  const { message, queue } = item.arrival;
  const lane = queue === "deliver_unproven" ? "unproven" : "proven";
  let current: WebhookHealth | undefined = health;
  // The health of an endpoint at work changes often: what a failed condition brings along is the newest.
  for (let tried = 0; current !== undefined && tried < limits.commit.conflict_tries; tried += 1) {
    const place = laneFor({ delivery, lane, returns: message.returns }, current, nowMs(), delayMs);
    if (place.do === "attempt") return false;
    if (place.do !== "move" || place.probe === undefined || message.returns >= bounds.max_returns) {
      await put(item, delivery, place);
      return true;
    }
    const noted = await noteProbe(current, place.probe);
    if (noted.ok) {
      await put(item, delivery, place);
      return true;
    }
    current = noted.item;
  }
  await requeue(item, delivery);
  return true;
}

/** Sends a message where the delivery is to be attempted, or none. */
async function put(item: WorkItem, delivery: Delivery, place: Exclude<Place, { do: "attempt" }>): Promise<void> {
  const { queue } = item.arrival;
  switch (place.do) {
    case "rest":
      return letRest(delivery, restUntil(delivery, place.closed_until, { nowMs: nowMs(), delayMs, chance: chance() }));
    case "come_back":
      // Not to the unproven lane, where an endpoint has one message at a time.
      return sendOn(item, delivery, queue === "deliver_unproven" ? "deliver" : queue, place.delay_seconds);
    case "move":
      return sendOn(item, delivery, place.lane === "unproven" ? "deliver_unproven" : "deliver", place.delay_seconds);
  }
}

/**
 * A message that comes a moment too soon waits on; one that is far too soon is a repetition, and another one comes. One
 * that went back too often is dropped: the sweep looks for the attempt a minute after its time.
 */
async function waitForTime(item: WorkItem, delivery: Delivery, earlyMs: number): Promise<void> {
  const seconds = Math.ceil(earlyMs / delayMs(1));
  const requeues = seconds <= bounds.slot_return_seconds && item.arrival.message.returns < bounds.max_returns;
  if (requeues) await requeue(item, delivery, seconds);
}

/** Sends a message back to its queue, with a delay in seconds. */
function requeue(
  item: WorkItem,
  delivery: Delivery,
  delay_seconds: number = bounds.slot_return_seconds,
): Promise<void> {
  return sendOn(item, delivery, item.arrival.queue, delay_seconds);
}

/**
 * Sends a message on to a queue. One that was sent on too often is left to the sweep, which is looking for the delivery
 * anyway: Lambda ends a function that wakes itself through a queue about 16 times in a row.
 */
async function sendOn(item: WorkItem, delivery: Delivery, queue: DeliveryQueue, delay_seconds: number): Promise<void> {
  const { message } = item.arrival;
  const { endpoint_id } = delivery;
  if (message.returns >= bounds.max_returns) {
    const again = new Date(nowMs() + delayMs(bounds.sent_again_after_seconds)).toISOString();
    const { health } = item.state;
    if (health === undefined || isProven(health, nowMs(), delayMs)) return postpone(delivery, again);
    // Its endpoint fails, and not slowly, or it would be closed: the success that ends that wakes the delivery too.
    await noteResting(health, nowIso());
    return letRest(delivery, again);
  }
  const body = { ...message, returns: message.returns + 1 };
  await sendDeliveries(queue, [{ body, endpoint_id, trace_id: item.state.trace_id, delay_seconds }]);
}

/**
 * Writes the entry of a claim whose worker died. Returns true when that decided the attempt: the worker had written
 * what it was answered, or it was the last one that an attempt may cost.
 */
async function recordCrash(item: WorkItem, delivery: Delivery, state: DeliveryState): Promise<boolean> {
  const { endpoint, endpoints, health } = state;
  const { crash, found } = await putCrash(delivery);
  // An entry of a crash says no more than this one does: a worker before this one may have written it.
  const written = found?.error === "worker_crash" ? undefined : found;
  if (written === undefined && delivery.claims < bounds.max_claims) return false;
  if (endpoint === undefined || health === undefined) return true;
  const most = mostSlots(env.tenantSlots, endpoints);
  const slot = { health, delivery_id: delivery.id, lease_until: delivery.lease_until ?? "", most };
  await recordOutcome(item, { delivery, endpoint, slot }, written ?? crash, undefined);
  return true;
}

/** Claims, posts and records. Where another worker has the claim, the slot is released. */
async function attempt(
  item: WorkItem,
  state: DeliveryState & { readonly delivery: Delivery },
  slot: Slot,
): Promise<void> {
  const { delivery: before, endpoint } = state;
  const at = nowIso();
  const delivery = claimed(before, at, slot.lease_until);
  if (endpoint === undefined || !(await moveDelivery(before, delivery))) {
    await releaseSlot(slot, "nothing", at);
    return;
  }
  const { retry_after, ...result } = await post(item.sender, { ...state, delivery, endpoint });
  const entry = entryOf(delivery, { number: delivery.attempt, claim: delivery.claims, at, ...result });
  await putAttempt(entry);
  await recordOutcome(item, { delivery, endpoint, slot }, entry, retry_after);
}

/** A delivery that cannot be signed or sent is a failed attempt and climbs the ladder: it must not poison the queue. */
async function post(
  sender: WebhookSender,
  {
    delivery,
    endpoint,
    payload,
    trace_id,
  }: DeliveryState & { readonly delivery: Delivery; readonly endpoint: WebhookEndpoint },
): Promise<PostResult> {
  const startMs = nowMs();
  const names = { delivery_id: delivery.id, event_id: delivery.event_id, attempt: delivery.attempt, trace_id };
  try {
    if (payload === undefined) throw new Error("The event is gone.");
    const { bytes: body } = payload;
    const headers = await headersOf(delivery, endpoint, body);
    const result = await sender.send({ url: endpoint.url, headers, body });
    const { http_status, error, duration_ms } = result;
    const { request_id } = payload.body;
    const { tenant_id, endpoint_id } = delivery;
    log.info("delivery", { ...names, request_id, tenant_id, endpoint_id, http_status, error, duration_ms });
    return result;
  } catch (error) {
    log.error("A delivery could not be signed or sent.", { ...names, ...causeOf(error) });
    return {
      duration_ms: nowMs() - startMs,
      http_status: null,
      error: "worker_crash",
      response_excerpt: null,
      retry_after: undefined,
    };
  }
}

async function headersOf(
  delivery: Delivery,
  endpoint: WebhookEndpoint,
  body: Uint8Array,
): Promise<Readonly<Record<string, string>>> {
  const { secret, previous_secret: previous, previous_secret_expires_at: expires } = endpoint;
  const both = previous !== null && expires !== null && Date.parse(expires) > nowMs();
  const sealed = both ? [secret, previous] : [secret];
  const secrets = await Promise.all(sealed.map((each) => openWebhookSecret(endpoint, each)));
  const timestamp = Math.floor(nowMs() / 1000);
  return {
    "Content-Type": "application/json",
    "User-Agent": "BrokerageWebhooks/2",
    Accept: "*/*",
    "Accept-Encoding": "identity",
    ...signatureHeaders({ event_id: delivery.event_id, body, timestamp }, secrets),
    "X-Service-Event": delivery.event_type,
    "X-Service-Delivery": delivery.id,
    "X-Service-Attempt": String(delivery.attempt),
  };
}

interface Claim {
  readonly delivery: Delivery;
  readonly endpoint: WebhookEndpoint;
  readonly slot: Slot;
}

/**
 * Records the outcome of an attempt. Its entry is stored by now: a worker that dies from here on leaves an attempt with
 * a known answer. The delivery moves on first, and only then its message is sent, so that none runs ahead of it.
 */
async function recordOutcome(
  item: WorkItem,
  claim: Claim,
  outcome: AttemptOutcome,
  retryAfter: string | undefined,
): Promise<void> {
  const { delivery, endpoint } = claim;
  const now = nowIso();
  if (outcome.http_status === gone) await turnOff(endpoint, "The endpoint answered 410 Gone.");
  const asked = retryAfterSeconds(retryAfter, Date.parse(now));
  const next = nextAttempt(delivery.attempt, { chance: chance(), retryAfterSeconds: asked });
  // The wakes of a delivery by its own messages count together: to Lambda they are one chain (see requeue).
  const returns = item.arrival.message.returns + 1;
  const queue = returns > bounds.max_returns ? undefined : next?.queue;
  const after = recorded(delivery, outcome, next && { ...next, queued: queue !== undefined }, now, delayMs);
  const move = async () => {
    if (!(await moveDelivery(delivery, after)) || after.status !== "retrying" || queue === undefined) return;
    const { endpoint_id } = delivery;
    const body = { ...messageOf(after), returns };
    await sendRetry(queue, {
      body,
      endpoint_id,
      trace_id: item.state.trace_id,
      delay_seconds: next?.delay_seconds ?? 0,
    });
  };
  await Promise.all([move(), judge(claim, outcome, now)]);
}

function messageOf({ tenant_id, id: delivery_id, attempt }: Delivery): Omit<DeliveryMessage, "returns"> {
  return { tenant_id, delivery_id, attempt };
}

/** A message that is not taken is no failure: the sweep looks for the attempt a minute after its time. */
async function sendRetry(queue: DeliveryQueue, message: OutgoingDelivery): Promise<void> {
  try {
    await sendDeliveries(queue, [message]);
  } catch (error) {
    const { body, trace_id } = message;
    log.error("A retry could not be queued; the sweep retries it.", { ...body, trace_id, ...causeOf(error) });
  }
}

/** Releases the slot and counts the attempt; an endpoint that only failed for days is switched off. */
async function judge({ endpoint, slot }: Claim, outcome: AttemptOutcome, now: string): Promise<void> {
  const health = await releaseSlot(slot, verdictOf(outcome), now);
  const reason = health && reasonToSwitchOff(health, delayMs);
  if (reason !== undefined && outcome.error !== null) await turnOff(endpoint, reason);
}

async function turnOff(endpoint: WebhookEndpoint, reason: string): Promise<void> {
  if (!(await noteOff(endpoint, reason))) return;
  const { tenant_id, id: endpoint_id } = endpoint;
  log.warn("A webhook endpoint was disabled automatically.", { tenant_id, endpoint_id, reason });
}
