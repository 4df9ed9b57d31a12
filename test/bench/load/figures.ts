import { limits } from "../../../shared/limits.ts";

/** An answered request. */
export interface Answered {
  readonly route: string;
  readonly status: number;
  /** From the moment at which it was due to its last byte, in milliseconds. */
  readonly ms: number;
}

/** Latencies of one endpoint, in milliseconds. */
export interface Latencies {
  readonly count: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly longest: number;
}

/** The value that so great a part of the values does not exceed; NaN without values. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.max(0, Math.ceil(sorted.length * part) - 1)] ?? Number.NaN;
}

/** Latencies of what succeeded. */
export function latenciesOf(answered: readonly Answered[]): Latencies {
  const ms = answered.filter(({ status }) => status < 400).map((one) => one.ms);
  const [p50, p90, p99, longest] = [0.5, 0.9, 0.99, 1].map((part) => quantile(ms, part)) as [
    number,
    number,
    number,
    number,
  ];
  return { count: ms.length, p50, p90, p99, longest };
}

/** Answered requests by endpoint, in the order in which they came first. */
export function byRoute(answered: readonly Answered[]): ReadonlyMap<string, readonly Answered[]> {
  const groups = new Map<string, Answered[]>();
  for (const one of answered) groups.set(one.route, [...(groups.get(one.route) ?? []), one]);
  return groups;
}

/**
 * Whether a 429 is earned: the application had sent as many requests as its limit allows, within the second or the
 * minute before it. `sentMs` are the moments at which it sent, that of the refused one included.
 */
export function isEarned(sentMs: readonly number[], refusedMs: number): boolean {
  const { burst_per_second, per_minute } = limits.rate;
  const within = (ms: number) => sentMs.filter((at) => at > refusedMs - ms && at <= refusedMs).length;
  return within(1000) > burst_per_second || within(60_000) > per_minute;
}

/** Memory at a moment of the run, in MB. */
export interface MemorySample {
  readonly second: number;
  /** The runner, with the load generator in the same process: what its heap holds after a collection. */
  readonly heap: number;
  readonly runner: number;
  readonly servers: number;
  readonly functions: number;
}

/** Bound of flat memory: the part by which the last quarter may exceed the second one, and megabytes that are noise. */
const flat = { part: 0.15, mb: 16 };

/** Whether a memory stays where it is: its mean in the last quarter against that in the second, past the warm-up. */
export function isFlat(values: readonly number[]): boolean {
  const quarter = Math.floor(values.length / 4);
  if (quarter === 0) return true;
  const mean = (some: readonly number[]) => some.reduce((sum, value) => sum + value, 0) / some.length;
  const before = mean(values.slice(quarter, 2 * quarter));
  const after = mean(values.slice(-quarter));
  return after <= before * (1 + flat.part) + flat.mb;
}

/** Written, published and received events of one application, by their identifiers. */
export interface EventCounts {
  /** `type resource` of what writes were answered. */
  readonly written: readonly string[];
  /** The same of the events that the API lists, by their identifiers. */
  readonly published: ReadonlyMap<string, string>;
  readonly received: ReadonlySet<string>;
}

/** Missing events: writes without one, and events that the receiver did not get. */
export function missingOf({ written, published, received }: EventCounts) {
  const left = new Map<string, number>();
  for (const about of published.values()) left.set(about, (left.get(about) ?? 0) + 1);
  const unpublished = written.filter((about) => {
    const count = left.get(about) ?? 0;
    left.set(about, count - 1);
    return count <= 0;
  });
  return { unpublished, undelivered: [...published.keys()].filter((id) => !received.has(id)) };
}
