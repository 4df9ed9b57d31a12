import { isUnavailable } from "../../../shared/runtime/unavailable.ts";
import type { Counts, TransactionCounts } from "../../support/model/database.ts";
import { type Program, Stage } from "../../support/model/stage.ts";
import type { Timings } from "../../support/model/timings.ts";
import { EventWatch } from "../../support/model/watch.ts";

/** A run of commits of one brokerage. */
export interface PublishingRun {
  readonly program: Program;
  readonly assemblyDir: string;
  readonly seed: number;
  readonly shards: number;
  /** Commits a second, and for how long. */
  readonly rate: number;
  readonly seconds: number;
  readonly endpoints: number;
  /** Whether the run goes on until everything is delivered, or ends when everything is published. */
  readonly untilDelivered?: boolean;
  readonly timings?: Partial<Timings>;
}

/** Result of a run. Latencies are in milliseconds from the commit. */
export interface Published {
  readonly commits: number;
  /** Percent of the commits that a spent partition refused in the end. */
  readonly refused: number;
  /** Events a second in the second half of the commits. */
  readonly per_second: number;
  readonly p50: number;
  readonly p99: number;
  /** The longest of the commits of the first second, which wait for instances to start and are in no other latency. */
  readonly first_second: number;
  /** Percent of the transactions of the publisher that were cancelled by a conflict, and by a spent partition. */
  readonly conflicts: number;
  readonly throttled: number;
  /** Records that the stream gave up. */
  readonly given_up: number;
  /** Longest age of a record at its first hand-over. */
  readonly stream_ms: number;
  /** Outbox items that waited when the commits ended. */
  readonly backlog: number;
  readonly deliveries_per_second: number;
  readonly delivery_p99: number;
  /** Events a second of an instance that makes deliveries, and deliveries of one that sends them, while it is busy. */
  readonly events_per_busy_second: number;
  readonly deliveries_per_busy_second: number;
  /** Write units an event, its commit, deliveries and indexes included. */
  readonly write_units: number;
  readonly faults: readonly string[];
}

/** From the first commit on, while instances of the functions start. */
const startMs = 1000;

/** Longest time after the last commit. */
const drainMs = 120_000;

/** The brokerage of every run. */
export const scaleTenant = "brk_01JD0000000000000000000000";
const tenant = scaleTenant;

/** A quantile of values, from 0 to 1; not a number without any. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? Number.NaN;
}

/** Commits a second, for how long, and the events of each. */
interface CommitsWanted extends Pick<PublishingRun, "rate" | "seconds"> {
  readonly events?: number;
  readonly audited?: boolean;
}

/**
 * Commits at random moments that come to a rate, without waiting for each other. Returns how many were begun, and how
 * many of them the database refused because a partition was spent.
 */
export function commitAtRate(stage: Stage, { rate, seconds, events = 1, audited = true }: CommitsWanted) {
  const { simulation } = stage;
  const commits = { begun: 0, refused: 0 };
  const next = () => {
    if (simulation.elapsedMs >= endMs) return;
    commits.begun += 1;
    const number = commits.begun;
    simulation.start(async () => {
      const outcome = await stage.call("commit", { tenant, number, events, audited });
      if (outcome.ok) return;
      if (outcome.why !== "error" || !isUnavailable(outcome.error))
        throw new Error("A commit failed.", { cause: outcome });
      commits.refused += 1;
    });
    simulation.after((-Math.log(1 - simulation.random()) * 1000) / rate, next);
  };
  const endMs = simulation.elapsedMs + seconds * 1000;
  next();
  return commits;
}

/** Deliveries that the run waits for. */
function owed({ publishedMs }: EventWatch, { endpoints, untilDelivered = false }: PublishingRun): number {
  return untilDelivered ? publishedMs.length * endpoints : 0;
}

/** Time that the instances of the first of these functions that ran were busy. */
function busyMs({ functions: { counts } }: Stage, ...names: readonly string[]): number {
  return names.map((name) => counts[name]?.busy_ms).find((ms) => ms !== undefined) ?? Number.NaN;
}

/** Transactions of the functions behind the commits. */
function publishingOf({ transactions }: Counts) {
  const own = Object.entries(transactions).flatMap(([name, counts]) => (name.startsWith("workload") ? [] : [counts]));
  const sum = (count: (each: TransactionCounts) => number) => own.reduce((total, each) => total + count(each), 0);
  return {
    sent: sum(({ sent }) => sent),
    lost: sum(({ conflict, condition }) => conflict + condition),
    throttled: sum((each) => each.throttled),
  };
}

/** Commits for a while and measures what the publisher makes of it. */
export async function measurePublishing(run: PublishingRun): Promise<Published> {
  const stage = new Stage(run);
  const watch = new EventWatch(stage);
  const { simulation, database } = stage;
  if (run.endpoints > 0) {
    const setUp = stage.call("endpoints", { tenant, count: run.endpoints });
    await simulation.run(5000);
    const outcome = await setUp;
    if (!outcome.ok) throw new Error("The endpoints could not be made.", { cause: outcome });
  }
  const beganMs = simulation.elapsedMs;
  watch.steadyMs = simulation.nowMs + startMs;
  const before = database.counts.write_units;
  const made = commitAtRate(stage, run);
  await simulation.run(run.seconds * 1000);
  const backlog = watch.backlog;
  const half = simulation.elapsedMs - (run.seconds * 1000) / 2;
  const inHalf = (times: readonly number[]) =>
    times.filter((ms) => ms >= half && ms < beganMs + run.seconds * 1000).length / (run.seconds / 2);
  // Waiting events are published as well, so that their time counts.
  const perSecond = { events: inHalf(watch.publishedMs), deliveries: inHalf(watch.deliveredMs) };
  await simulation.run(drainMs, () => watch.backlog === 0 && watch.deliveredMs.length >= owed(watch, run));
  const { sent, lost, throttled } = publishingOf(database.counts);
  const units = (database.counts.write_units - before) / Math.max(1, watch.publishedMs.length);
  const commits = watch.startLatencies.length + watch.latencies.length + watch.backlog;
  return {
    commits,
    refused: (100 * made.refused) / made.begun,
    per_second: perSecond.events,
    p50: quantile(watch.latencies, 0.5),
    p99: quantile(watch.latencies, 0.99),
    first_second: quantile(watch.startLatencies, 1),
    conflicts: (100 * lost) / sent,
    throttled: (100 * throttled) / sent,
    given_up: stage.readers.reduce((sum, { reader }) => sum + reader.givenUp, 0),
    stream_ms: Math.max(0, ...stage.readers.map(({ reader }) => reader.longestAgeMs)),
    backlog,
    deliveries_per_second: perSecond.deliveries,
    delivery_p99: quantile(watch.deliveryLatencies, 0.99),
    events_per_busy_second: (1000 * watch.publishedMs.length) / busyMs(stage, "fan-out", "publish"),
    deliveries_per_busy_second: (1000 * watch.deliveredMs.length) / busyMs(stage, "deliver"),
    write_units: units,
    faults: watch.numberFaults(tenant),
  };
}
