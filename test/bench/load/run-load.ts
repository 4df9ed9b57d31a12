import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startCloud } from "../../../infra/local/cloud.ts";
import { seeded } from "../../support/stack/chaos.ts";
import { startReceiver } from "../../support/stack/receiver.ts";
import { eventually } from "../../support/wait.ts";
import { type Backlog, backlogOf, memoryOf } from "./backlog.ts";
import { Brokerage, Inbox, type Loop } from "./drive.ts";
import { type Answered, isFlat, latenciesOf, type MemorySample, missingOf, quantile } from "./figures.ts";

/** Latency at one rate, in milliseconds. */
interface Point {
  /** Requests a second of all applications together. */
  readonly rate: number;
  readonly p50: number;
  readonly p99: number;
}

/** Options of a run. */
export interface LoadOptions {
  readonly assemblyDir: string;
  readonly loop: Loop;
  readonly seconds: number;
  readonly applications: number;
  /** Requests a second of each application. */
  readonly rate: number;
  /** Parts of that rate at which latencies are measured after the run, a tenth of its time each. */
  readonly steps: readonly number[];
  readonly seed: number;
  readonly log: (line: string) => void;
}

/** Result of a run. */
export interface LoadReport {
  readonly answered: readonly Answered[];
  readonly points: readonly Point[];
  readonly memory: readonly MemorySample[];
  /** Right after the last request. */
  readonly backlog: Backlog;
  /** Until nothing waited any more, in milliseconds. */
  readonly drained_ms: number;
  readonly events: { readonly written: number; readonly published: number; readonly received: number };
  /** From commit to receipt, in milliseconds. */
  readonly delivery: { readonly p50: number; readonly p99: number };
  readonly earned_429: number;
  /** Sentences about what must not be; empty when all of it held. */
  readonly faults: readonly string[];
}

const samples = 40;
const drainedWithinMs = 300_000;

/** Runs the load against a stack of its own, and judges it. */
export async function runLoad(options: LoadOptions): Promise<LoadReport> {
  const { assemblyDir } = options;
  const dataDir = mkdtempSync(join(tmpdir(), "brokerage-load-"));
  const receiver = await startReceiver();
  try {
    const cloud = await startCloud({ assemblyDir, dataDir, port: 0, maxEnvironments: 60 });
    try {
      return await load(options, cloud, receiver);
    } finally {
      await cloud.stop();
    }
  } finally {
    await receiver.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function load(
  { applications, loop, seconds, rate, steps, seed, log }: LoadOptions,
  cloud: Parameters<typeof backlogOf>[0],
  receiver: Awaited<ReturnType<typeof startReceiver>>,
): Promise<LoadReport> {
  const inbox = new Inbox(receiver);
  const brokerages: Brokerage[] = [];
  while (brokerages.length < applications) {
    const open = () => Brokerage.open(cloud, receiver, inbox, seeded(seed + brokerages.length));
    // A busy machine may take too long for one; the run has not begun yet.
    brokerages.push(await open().catch(open));
  }
  log(`${applications} applications are ready`);
  const stretch = async (part: number, length: number): Promise<Answered[]> => {
    const answered: Answered[] = [];
    const wanted = { loop, seconds: length, rate: rate * part };
    await Promise.all(brokerages.map((each) => each.load(wanted, (one) => answered.push(one))));
    return answered;
  };
  // The first requests start the functions, which is what `npm run bench` measures.
  await stretch(1, seconds / 10);
  const startMs = Date.now();
  const memory: MemorySample[] = [];
  const sampling = setInterval(() => memory.push(memoryOf(cloud, startMs)), (seconds * 1000) / samples);
  const answered = await stretch(1, seconds);
  clearInterval(sampling);
  const backlog = await backlogOf(cloud);
  const pointOf = (some: readonly Answered[], part: number): Point => {
    const { p50, p99 } = latenciesOf(some);
    return { rate: applications * rate * part, p50, p99 };
  };
  const points = [pointOf(answered, 1)];
  for (const part of steps) points.push(pointOf(await stretch(part, seconds / 10), part));
  const endMs = Date.now();
  const isDrained = ({ outbox, deliveries }: Backlog) => outbox.count + deliveries.count === 0 || undefined;
  await eventually(async () => isDrained(await backlogOf(cloud)), drainedWithinMs).catch(() => undefined);
  const drained_ms = Date.now() - endMs;
  const [p50, p99] = [quantile(inbox.latencies, 0.5), quantile(inbox.latencies, 0.99)];
  const judged = await judge(brokerages, memory);
  return { answered, points, memory, backlog, drained_ms, delivery: { p50, p99 }, ...judged };
}

async function judge(brokerages: readonly Brokerage[], memory: readonly MemorySample[]) {
  const faults = brokerages.flatMap(({ errors }) => errors);
  const events = { written: 0, published: 0, received: 0 };
  for (const each of brokerages) {
    const counts = await each.counts();
    events.written += counts.written.length;
    events.published += counts.published.size;
    events.received += counts.received.size;
    const { unpublished, undelivered } = missingOf(counts);
    for (const about of unpublished) faults.push(`${each.tenant_id}: ${about} was written and not published`);
    for (const id of undelivered) faults.push(`${each.tenant_id}: ${id} was published and not delivered`);
  }
  for (const kind of ["heap", "servers"] as const) {
    const values = memory.map((sample) => sample[kind]);
    if (!isFlat(values)) faults.push(`the memory grows: ${kind} ${values.map(Math.round).join(", ")} MB`);
  }
  return { events, faults, earned_429: brokerages.reduce((sum, { earned }) => sum + earned, 0) };
}
