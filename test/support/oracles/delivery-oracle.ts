import type { RawItem, RawValue } from "../emulator/raw-table.ts";

/** A call that a receiver got, and what it answered: null for never. */
export interface LoggedCall {
  readonly endpoint_id: string;
  readonly event_id: string;
  readonly delivery_id: string;
  readonly attempt: number;
  readonly body: string;
  readonly at_ms: number;
  readonly status: number | null;
}

/** A change that the API has confirmed, by the event that it owes. */
export interface Confirmed {
  readonly type: string;
  readonly resource_id: string;
}

/** Records of a run: nothing in them was made by the code that is judged. */
export interface Evidence {
  readonly tenant_id: string;
  readonly endpoint_ids: readonly string[];
  readonly confirmed: readonly Confirmed[];
  /** Every item of the main table. */
  readonly items: readonly RawItem[];
  readonly calls: readonly LoggedCall[];
  /** Deliveries whose messages ended in the dead-letter queue. */
  readonly dead_letters: readonly string[];
  /** How much faster the ladder was climbed. */
  readonly time_scale: number;
}

/** Seconds between the attempts of a delivery (specification 6), written down a second time on purpose. */
const waits = [60, 300, 1800, 7200, 86_400];
const attemptsAtMost = 6;
const claimsAtMost = 3;
/** Kinds that an endpoint for all standard kinds does not get. */
const optIn = /^(?:\w+\.updated|margin\.recovered|audit\.sealed)$/;

/** Everything that contradicts "each event reached each endpoint, or its end is on record"; empty when all is well. */
export function judgeRun(evidence: Evidence): string[] {
  const run = new Run(evidence);
  return [
    ...run.judgeEvents(),
    ...run.judgeConfirmed(),
    ...run.judgePairs(),
    ...run.judgeCalls(),
    ...run.judgeDeadLetters(),
  ];
}

class Run {
  private readonly evidence: Evidence;
  private readonly own: readonly RawItem[];
  private readonly events: ReadonlyMap<string, RawItem>;
  private readonly deliveries: ReadonlyMap<string, RawItem>;
  private readonly pairs: ReadonlyMap<string, readonly RawItem[]>;
  private readonly attempts: ReadonlyMap<string, readonly RawItem[]>;
  private readonly calls: ReadonlyMap<string, readonly LoggedCall[]>;

  constructor(evidence: Evidence) {
    this.evidence = evidence;
    this.own = evidence.items.filter((item) => text(item["pk"]).startsWith(evidence.tenant_id));
    this.events = new Map(this.of("EVENT").map((item) => [text(item["id"]), item]));
    const deliveries = this.of("DELIVERY");
    this.deliveries = new Map(deliveries.map((item) => [text(item["id"]), item]));
    this.pairs = groupBy(deliveries, (item) => `${text(item["event_id"])} ${text(item["endpoint_id"])}`);
    this.attempts = groupBy(this.of("ATTEMPT"), (item) => text(item["delivery_id"]));
    this.calls = groupBy(evidence.calls, ({ delivery_id }) => delivery_id);
  }

  /** Numbers without a gap, and nothing left that was not published. */
  judgeEvents(): string[] {
    const numbers = [...this.events.values()].map((event) => number(event["sequence"])).toSorted((a, b) => a - b);
    const [counter] = this.of("SEQ");
    const count = counter === undefined ? 0 : number(counter["last"]);
    return [
      ...numbers.flatMap((each, index) => (each === index + 1 ? [] : [`event ${each} stands at place ${index + 1}`])),
      ...(count === numbers.length ? [] : [`the counter stands at ${count} after ${numbers.length} events`]),
      ...this.of("OUTBOX").map((item) => `${text(item["sk"])} was never published`),
    ];
  }

  /** Each confirmed change has its event, once. */
  judgeConfirmed(): string[] {
    const nameOf = (type: string, resource: string) => `${type} of ${resource}`;
    const told = [...this.events.values()].map((item) => nameOf(text(item["type"]), text(item["resource_id"])));
    const counts = new Map<string, number>();
    for (const name of told) counts.set(name, (counts.get(name) ?? 0) + 1);
    return this.evidence.confirmed.flatMap(({ type, resource_id }) => {
      const count = counts.get(nameOf(type, resource_id)) ?? 0;
      return count === 1 ? [] : [`${nameOf(type, resource_id)} is announced ${count} times`];
    });
  }

  /** Each event and endpoint: one delivery, at its end, with everything that led there on record. */
  judgePairs(): string[] {
    const off = new Map(this.of("WEBHOOK").map((item) => [text(item["id"]), text(item["status"]) === "auto_disabled"]));
    const faults: string[] = [];
    for (const [id, event] of this.events) {
      if (optIn.test(text(event["type"]))) continue;
      for (const endpoint of this.evidence.endpoint_ids) {
        const [delivery, ...others] = this.pairs.get(`${id} ${endpoint}`) ?? [];
        const pair = `${id} to ${endpoint}`;
        if (others.length > 0) faults.push(`${pair} is delivered ${others.length + 1} times`);
        if (delivery === undefined) {
          if (off.get(endpoint) !== true) faults.push(`${pair} has no delivery`);
        } else faults.push(...this.judgeDelivery(delivery, off.get(endpoint) === true).map((why) => `${pair}: ${why}`));
      }
    }
    return faults;
  }

  private judgeDelivery(delivery: RawItem, off: boolean): string[] {
    const status = text(delivery["status"]);
    const calls = this.calls.get(text(delivery["id"])) ?? [];
    const accepted = calls.some((call) => call.status !== null && call.status < 300);
    const last = number(delivery["attempt"]);
    if (status === "succeeded") {
      return [...(accepted ? [] : ["succeeded, but no call was accepted"]), ...this.judgeRecord(delivery, last)];
    }
    if (status === "exhausted") {
      const early = last === attemptsAtMost ? [] : [`exhausted after ${last} attempts`];
      return [...early, ...this.judgeRecord(delivery, last)];
    }
    if (status === "cancelled") return off ? [] : ["cancelled, but its endpoint is on"];
    return [`is still ${status}`];
  }

  /** Each attempt up to the last has an entry for each of its claims, and no more than it may cost. */
  private judgeRecord(delivery: RawItem, last: number): string[] {
    const entries = this.attempts.get(text(delivery["id"])) ?? [];
    return Array.from({ length: last }, (_, index) => index + 1).flatMap((attempt) => {
      const claims = entries
        .filter((entry) => number(entry["number"]) === attempt)
        .map((entry) => number(entry["claim"]))
        .toSorted((a, b) => a - b);
      const whole = claims.length > 0 && claims.every((claim, index) => claim === index + 1);
      return whole && claims.length <= claimsAtMost ? [] : [`attempt ${attempt} has the claims ${claims.join(", ")}`];
    });
  }

  /** Each call: of a delivery that is on record, with the event's own bytes, within its claims, and none early. */
  judgeCalls(): string[] {
    return [...this.calls].flatMap(([id, calls]) => {
      const delivery = this.deliveries.get(id);
      if (delivery === undefined) return [`${id} was called for, but does not exist`];
      const event = this.events.get(text(delivery["event_id"]));
      const wrong = calls.filter(
        (call) =>
          call.body !== (event === undefined ? "" : text(event["payload"])) ||
          call.event_id !== text(event?.["id"]) ||
          call.endpoint_id !== text(delivery["endpoint_id"]),
      );
      return [
        ...(wrong.length === 0 ? [] : [`${id}: ${wrong.length} calls are not of its event or not to its endpoint`]),
        ...this.judgeCounts(id, calls),
        ...this.judgeTimes(calls).map((why) => `${id}: ${why}`),
      ];
    });
  }

  /** A claim posts once at most, and leaves an entry whether its worker lived or died. */
  private judgeCounts(id: string, calls: readonly LoggedCall[]): string[] {
    const entries = this.attempts.get(id) ?? [];
    return [...groupBy(calls, ({ attempt }) => String(attempt))].flatMap(([attempt, some]) => {
      const claims = entries.filter((entry) => String(number(entry["number"])) === attempt).length;
      return some.length <= claims
        ? []
        : [`${id}: attempt ${attempt} was posted ${some.length} times in ${claims} claims`];
    });
  }

  private judgeTimes(calls: readonly LoggedCall[]): string[] {
    return calls.flatMap(({ attempt, at_ms }) => {
      const before = calls.filter((call) => call.attempt === attempt - 1).map((call) => call.at_ms);
      const wait = ((waits[attempt - 2] ?? 0) * 1000) / this.evidence.time_scale;
      const early = before.length === 0 ? 0 : Math.max(...before) + wait - at_ms;
      return early > 0 ? [`attempt ${attempt} came ${early} ms early`] : [];
    });
  }

  /** A message that no worker could handle is of a delivery that came to its end without it. */
  judgeDeadLetters(): string[] {
    const over = new Set(["succeeded", "exhausted", "cancelled"]);
    return this.evidence.dead_letters.flatMap((id) => {
      const status = text(this.deliveries.get(id)?.["status"]);
      return over.has(status) ? [] : [`the dead letter of ${id} stands for a delivery that is "${status}"`];
    });
  }

  private of(type: string): RawItem[] {
    return this.own.filter((item) => item["et"] === type);
  }
}

/** Groups in the order of their first members. */
function groupBy<T>(values: readonly T[], keyOf: (value: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const value of values) {
    const key = keyOf(value);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [value]);
    else group.push(value);
  }
  return groups;
}

function text(value: RawValue | undefined): string {
  return typeof value === "string" ? value : "";
}

function number(value: RawValue | undefined): number {
  return typeof value === "object" && value !== null && "number" in value ? Number(value.number) : Number.NaN;
}
