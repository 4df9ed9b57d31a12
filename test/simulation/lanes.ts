import { stageConfig } from "../../infra/stages.ts";
import type { Delivery } from "../../shared/domain/records/delivery.ts";
import type { WebhookHealth } from "../../shared/domain/records/webhook.ts";
import { draftDelivery } from "../../shared/domain/webhooks/delivery.ts";
import {
  atRest,
  closingAfter,
  creditAfter,
  isProven,
  laneFor,
  mostSlots,
  type Place,
  restsOn,
  restUntil,
  slotsOf,
} from "../../shared/domain/webhooks/lane.ts";
import { draftHealth } from "../../shared/domain/webhooks/webhook.ts";
import { limits } from "../../shared/limits.ts";
import { nextAttempt } from "../../shared/webhooks/ladder.ts";
import { decisionTime, someEndpoint } from "../support/builders/decisions.ts";

/** Receivers in a simulated run, and how long it lasts. */
export interface LanesRun {
  /** Fresh endpoints of one brokerage that never answer. */
  readonly silent: number;
  /** Events a second of that brokerage; each goes to all of its endpoints. */
  readonly flood: number;
  readonly seconds: number;
  /** Whether there are two lanes; else every message is attempted where it is, by the workers of both. */
  readonly lanes: boolean;
  /** One more proven endpoint, of a brokerage of its own, which gets more events than four slots take. */
  readonly loud?: Loud;
}

interface Loud {
  /** Events a second. */
  readonly pace: number;
  readonly answer_ms: number;
  /** Whether its slots grow. */
  readonly grows: boolean;
}

/** Milliseconds from an event to its receipt. */
export interface LanesReport {
  /** At an endpoint that accepted something before, which gets ten events a second. */
  readonly proven: readonly number[];
  /** First deliveries of fresh endpoints that accept, one opened every second; those that never came are Infinity. */
  readonly fresh: readonly number[];
  /** Attempts at each silent endpoint. */
  readonly attempts: readonly number[];
  /** The most messages that were in the unproven lane at a time. */
  readonly most_in_lane: number;
  /** Events that the loud endpoint accepted in the second half of the time, a second. */
  readonly loud_per_second: number;
}

type QueueName = "deliver" | "deliver_unproven" | "retry_1m" | "retry_5m" | "retry_long";

interface Endpoint {
  readonly kind: "proven" | "loud" | "silent" | "fresh";
  health: WebhookHealth;
  running: number;
  attempts: number;
}

interface Message {
  readonly delivery: { id: string; attempt: number; next_attempt_at: string; readonly bornMs: number; done: boolean };
  readonly endpoint: Endpoint;
  readonly returns: number;
}

interface Rest {
  readonly message: Message;
  readonly wakeMs: number;
}

const { firstConcurrency, unprovenConcurrency, retryConcurrency } = stageConfig("sandbox").deliveries;
const startMs = Date.parse(decisionTime);
/** Times of reading, moving and recording, and of an honest receiver; only that they are short matters. */
const workMs = 20;
const answerMs = 100;
const { messages_per_invocation } = limits.queues;
const tenantSlots = firstConcurrency * messages_per_invocation * limits.webhooks.tenant_share;
const batch = 10;
const delayMs = (seconds: number) => seconds * 1000;
const iso = (ms: number) => new Date(ms).toISOString();

/** The queues, their workers and the receivers, moved from one moment to the next by the rules of the service. */
class Lanes {
  readonly proven: number[] = [];
  readonly fresh: number[] = [];
  /** When the loud endpoint accepted each, in milliseconds of the run. */
  readonly loud: number[] = [];
  mostInLane = 0;
  private readonly run: LanesRun;
  private readonly agenda = new Map<number, (() => void)[]>();
  private readonly queues: Record<QueueName, Message[]>;
  private readonly free: Record<QueueName, number>;
  private resting: Rest[] = [];
  private nowMs = startMs;
  private named = 0;

  constructor(run: LanesRun) {
    this.run = run;
    this.queues = { deliver: [], deliver_unproven: [], retry_1m: [], retry_5m: [], retry_long: [] };
    const first = run.lanes ? firstConcurrency : firstConcurrency + unprovenConcurrency;
    this.free = {
      deliver: first,
      deliver_unproven: run.lanes ? unprovenConcurrency : 0,
      retry_1m: retryConcurrency,
      retry_5m: retryConcurrency,
      retry_long: retryConcurrency,
    };
  }

  /** Does something so many milliseconds from now. */
  in(ms: number, act: () => void): void {
    const atMs = this.nowMs + Math.ceil(ms);
    this.agenda.set(atMs, [...(this.agenda.get(atMs) ?? []), act]);
  }

  /** Goes on from moment to moment until nothing is left or the time is over. */
  play(seconds: number): void {
    const endMs = startMs + seconds * 1000;
    for (; this.nowMs <= endMs; this.nowMs += 1) {
      for (let acts = this.agenda.get(this.nowMs); acts !== undefined; acts = this.agenda.get(this.nowMs)) {
        this.agenda.delete(this.nowMs);
        for (const act of acts) act();
      }
    }
  }

  open(kind: Endpoint["kind"]): Endpoint {
    const health = draftHealth(someEndpoint());
    const proven = { ...health, proven_at: iso(this.nowMs) };
    const first = kind === "proven" || kind === "loud" ? proven : health;
    return { kind, health: first, running: 0, attempts: 0 };
  }

  /** An event for an endpoint. */
  send(endpoint: Endpoint): void {
    this.named += 1;
    const event = { id: "evt", type: "client.created", sequence: 1, created_at: iso(this.nowMs) };
    const draft: Delivery = draftDelivery(`dlv_${this.named}`, someEndpoint(), event, iso(this.nowMs), delayMs);
    const { id, attempt } = draft;
    const delivery = { id, attempt, next_attempt_at: iso(this.nowMs), bornMs: this.nowMs, done: false };
    const message = { delivery, endpoint, returns: 0 };
    const { resting, wake_at } = this.run.lanes ? atRest(draft, endpoint.health, this.spread()) : draft;
    if (resting) this.rest(message, Date.parse(wake_at ?? ""));
    else this.put("deliver", message, 0);
  }

  /** The sweep: sends what rests and is due. */
  sweep(): void {
    const probed = new Set<Endpoint>();
    const [due, later] = [[], []] as [Rest[], Rest[]];
    for (const each of this.resting) (each.wakeMs <= this.nowMs ? due : later).push(each);
    this.resting = later;
    for (const { message } of due.toSorted((a, b) => a.wakeMs - b.wakeMs)) {
      const { delivery, endpoint } = message;
      if (restsOn(endpoint.health, probed.has(endpoint))) {
        const until = restUntil(delivery, endpoint.health.closed_until ?? "", this.spread());
        this.rest(message, Date.parse(until));
        continue;
      }
      probed.add(endpoint);
      this.put(delivery.attempt === 1 ? "deliver" : "retry_long", { ...message, returns: 0 }, 0);
    }
  }

  private put(queue: QueueName, message: Message, seconds: number): void {
    this.in(delayMs(seconds), () => {
      this.queues[queue].push(message);
      this.mostInLane = Math.max(this.mostInLane, this.queues.deliver_unproven.length);
      this.look(queue);
    });
  }

  private look(queue: QueueName): void {
    while (this.free[queue] > 0 && this.queues[queue].length > 0) {
      const messages = this.take(queue);
      this.free[queue] -= 1;
      let left = messages.length;
      const ended = () => {
        left -= 1;
        if (left > 0) return;
        this.free[queue] += 1;
        this.look(queue);
      };
      // An invocation ends with the last of its messages.
      for (const message of messages) this.in(workMs, () => this.work(queue, message, ended));
    }
  }

  /** A batch. SQS prefers groups with few messages in flight to one that has many (AWS docs: fair queues). */
  private take(queue: QueueName): Message[] {
    const waiting = this.queues[queue];
    const isQuiet = ({ endpoint }: Message) => endpoint.running < batch / 2;
    const first = [...waiting.filter(isQuiet), ...waiting.filter((one) => !isQuiet(one))].slice(0, batch);
    this.queues[queue] = waiting.filter((one) => !first.includes(one));
    return first;
  }

  private work(queue: QueueName, message: Message, ended: () => void): void {
    if (message.delivery.done || this.isElsewhere(queue, message)) ended();
    else this.attempt(message, ended);
  }

  /** Whether a message has gone somewhere else, or waits for a slot. */
  private isElsewhere(queue: QueueName, message: Message): boolean {
    const { delivery, endpoint, returns } = message;
    const lane = queue === "deliver_unproven" ? "unproven" : "proven";
    const place: Place = this.run.lanes
      ? laneFor({ delivery, lane, returns }, endpoint.health, this.nowMs, delayMs)
      : { do: "attempt" };
    const { max_returns, sent_again_after_seconds, slot_return_seconds, slots_per_endpoint } = limits.webhooks;
    const most = this.run.lanes
      ? slotsOf(endpoint.health, this.mostOf(endpoint), this.nowMs, delayMs)
      : slots_per_endpoint;
    if (place.do === "attempt" && endpoint.running < most) return false;
    if (place.do === "rest") {
      this.rest(message, Date.parse(restUntil(delivery, place.closed_until, this.spread())));
      return true;
    }
    if (returns >= max_returns) {
      this.rest(message, this.nowMs + delayMs(sent_again_after_seconds));
      return true;
    }
    const again = { ...message, returns: returns + 1 };
    if (place.do === "attempt") this.put(queue, again, slot_return_seconds);
    if (place.do === "come_back") this.put(lane === "unproven" ? "deliver" : queue, again, place.delay_seconds);
    if (place.do === "move") {
      if (place.probe) endpoint.health = { ...endpoint.health, probe: place.probe };
      this.put(place.lane === "unproven" ? "deliver_unproven" : "deliver", again, place.delay_seconds);
    }
    return true;
  }

  private mostOf({ kind }: Endpoint): number {
    return kind === "loud" && this.run.loud?.grows ? mostSlots(tenantSlots, 1) : limits.webhooks.slots_per_endpoint;
  }

  private takesMs({ kind }: Endpoint): number {
    if (kind === "silent") return limits.webhooks.attempt_timeout_ms;
    return kind === "loud" ? (this.run.loud?.answer_ms ?? answerMs) : answerMs;
  }

  private spread() {
    return { nowMs: this.nowMs, delayMs, chance: 0.5 };
  }

  private rest(message: Message, wakeMs: number): void {
    this.resting.push({ message, wakeMs });
  }

  private attempt(message: Message, ended: () => void): void {
    const { endpoint, delivery } = message;
    endpoint.running += 1;
    endpoint.attempts += 1;
    const until = iso(this.nowMs + limits.webhooks.lease_ms);
    endpoint.health = { ...endpoint.health, slots: { ...endpoint.health.slots, [delivery.id]: until } };
    const most = this.mostOf(endpoint);
    const full = endpoint.running >= slotsOf(endpoint.health, most, this.nowMs, delayMs);
    const { slot_credit: begun } = endpoint.health;
    this.in(this.takesMs(endpoint), () => {
      endpoint.running -= 1;
      const { [delivery.id]: _, ...slots } = endpoint.health.slots;
      endpoint.health = { ...endpoint.health, slots, probe: null };
      if (endpoint.kind === "silent") this.failed(message);
      else this.accepted(message, { full, most, begun });
      ended();
    });
  }

  private accepted({ endpoint, delivery }: Message, taken: { full: boolean; most: number; begun: number }): void {
    const proven = isProven(endpoint.health, this.nowMs, delayMs);
    const now = iso(this.nowMs);
    delivery.done = true;
    const prompt = this.takesMs(endpoint) < limits.webhooks.slow_answer_ms;
    const { slot_credit: before } = endpoint.health;
    const credit = creditAfter(endpoint.health, { prompt, ...taken }, { nowMs: this.nowMs, delayMs });
    const slot_credit = credit === undefined ? before : "set" in credit ? credit.set : before + credit.add;
    endpoint.health = { ...endpoint.health, consecutive_failures: 0, proven_at: now, closed_until: null, slot_credit };
    if (endpoint.kind === "loud") this.loud.push(this.nowMs - startMs);
    else if (endpoint.kind === "proven") this.proven.push(this.nowMs - delivery.bornMs);
    else if (!proven) this.fresh.push(this.nowMs - delivery.bornMs);
  }

  private failed({ endpoint, delivery }: Message): void {
    const closing = closingAfter(endpoint.health, { ...this.spread(), chance: 0 });
    const { consecutive_failures: failures } = endpoint.health;
    endpoint.health = { ...endpoint.health, ...closing, consecutive_failures: failures + 1 };
    const next = nextAttempt(delivery.attempt, { chance: 0.5 });
    if (next?.queue === undefined) {
      delivery.done = true;
      return;
    }
    delivery.attempt = next.attempt;
    delivery.next_attempt_at = iso(this.nowMs + delayMs(next.delay_seconds));
    this.put(next.queue, { delivery, endpoint, returns: 0 }, next.delay_seconds);
  }
}

/** Plays a run: every endpoint's events come evenly, and the sweep runs every minute. */
export function simulateLanes(run: LanesRun): LanesReport {
  const lanes = new Lanes(run);
  const proven = lanes.open("proven");
  const silent = Array.from({ length: run.silent }, () => lanes.open("silent"));
  const { seconds, flood, loud } = run;
  let opened = 0;
  const loudEndpoint = lanes.open("loud");
  for (let event = 0; event < seconds * (loud?.pace ?? 0); event += 1) {
    lanes.in((event * 1000) / (loud?.pace ?? 1), () => lanes.send(loudEndpoint));
  }
  for (let tenth = 0; tenth < seconds * 10; tenth += 1) lanes.in(tenth * 100 + 7, () => lanes.send(proven));
  for (let event = 0; event < seconds * flood; event += 1) {
    lanes.in((event * 1000) / flood, () => {
      for (const endpoint of silent) lanes.send(endpoint);
    });
  }
  for (let second = 1; second < seconds; second += 1) {
    lanes.in(second * 1000 + 13, () => {
      opened += 1;
      lanes.send(lanes.open("fresh"));
    });
  }
  for (let minute = 1; minute * 60 <= seconds * 2; minute += 1) lanes.in(minute * 60_000, () => lanes.sweep());
  lanes.play(seconds * 2);
  const missing = Array.from({ length: opened - lanes.fresh.length }, () => Number.POSITIVE_INFINITY);
  return {
    proven: lanes.proven,
    fresh: [...lanes.fresh, ...missing],
    attempts: silent.map(({ attempts }) => attempts),
    most_in_lane: lanes.mostInLane,
    loud_per_second: lanes.loud.filter((ms) => ms >= seconds * 500 && ms < seconds * 1000).length / (seconds / 2),
  };
}
