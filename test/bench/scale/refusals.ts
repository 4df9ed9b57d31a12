import type { PolicyRefusal } from "../../../shared/domain/audit/refusals.ts";
import { refusalTallies } from "../../../shared/table/entities.ts";
import { type Program, Stage } from "../../support/model/stage.ts";
import { EventWatch } from "../../support/model/watch.ts";
import { commitAtRate, quantile, scaleTenant as tenant } from "./publishing.ts";

/** A flood of refusals of one brokerage, next to its usual commits. */
export interface FloodRun {
  readonly program: Program;
  readonly assemblyDir: string;
  readonly seed: number;
  readonly shards: number;
  /** Commits a second, and for how long both go on. */
  readonly rate: number;
  readonly seconds: number;
  /** Refusals a second, of so many actors, each of whom tries so many actions. */
  readonly refusals: number;
  readonly actors: number;
  readonly actions: number;
}

/** Result of a flood. Latencies are in milliseconds from a commit to its event. */
export interface Flood {
  readonly p50: number;
  readonly p99: number;
  /** Refusals that were recorded when the flood ended, a second. */
  readonly recorded_per_second: number;
  /** The longest wait of a message, in seconds. */
  readonly queue_seconds: number;
  /** How long after the flood the last refusal was recorded, in seconds. */
  readonly drained_seconds: number;
  readonly refused: number;
  /** Refusals that entries stand for, or that a tally counts: as many as there were. */
  readonly accounted: number;
  readonly faults: readonly string[];
}

/** From the first commit on, while instances of the functions start. */
const startMs = 1000;
/** Longest time after the flood. */
const drainMs = 900_000;

/** Refuses for a while next to commits, and measures what becomes of the events. */
export async function measureFlood(run: FloodRun): Promise<Flood> {
  const { refusals, seconds } = run;
  const stage = new Stage(run);
  const watch = new EventWatch(stage);
  const { simulation } = stage;
  watch.steadyMs = simulation.nowMs + startMs;
  const endMs = simulation.elapsedMs + seconds * 1000;
  const queueName = [...stage.queues.entries].map(([name]) => name).find((name) => name.endsWith("-refusals")) ?? "";
  const queue = stage.queue(queueName);
  // A message that came again after minutes is counted by a tally whose entry is written already.
  let written = 0;
  stage.database.listeners.push(({ before, after }) => {
    if (after?.["et"] !== refusalTallies.et) return;
    written += Math.max(0, Number(before?.["counted"] ?? 0) - Number(after["counted"]));
  });
  let refused = 0;
  const next = () => {
    if (refusals === 0 || simulation.elapsedMs >= endMs) return;
    refused += 1;
    const number = refused;
    const MessageBody = JSON.stringify(refusalOf(number, run, new Date(simulation.nowMs).toISOString()));
    const entry = { Id: "0", MessageBody, MessageGroupId: tenant };
    simulation.start(async () => {
      await stage.queues.send("SendMessageBatchCommand", { QueueUrl: queueName, Entries: [entry] });
    });
    simulation.after((-Math.log(1 - simulation.random()) * 1000) / refusals, next);
  };
  next();
  commitAtRate(stage, run);
  await simulation.run(seconds * 1000);
  const recorded = refused - queue.depth;
  const { latencies } = watch;
  const during = [...latencies];
  await simulation.run(drainMs, () => watch.backlog === 0 && queue.depth === 0);
  const drained_seconds = Math.max(0, simulation.elapsedMs - endMs) / 1000;
  await simulation.run(5000);
  return {
    p50: quantile(during, 0.5),
    p99: quantile(during, 0.99),
    recorded_per_second: recorded / seconds,
    queue_seconds: queue.longestAgeMs / 1000,
    drained_seconds,
    refused,
    accounted: accountedIn(stage) + written,
    faults: watch.numberFaults(tenant),
  };
}

/** A refusal as the API reports it, of one actor after the other, each of whom tries one action after the other. */
function refusalOf(number: number, { actors, actions }: FloodRun, at: string): PolicyRefusal {
  const actor = String(number % actors).padStart(26, "0");
  return {
    tenant_id: tenant,
    request_id: `request-${number}`,
    at,
    actor: { type: "application", id: `app_${actor}`, name: "Flood" },
    ip: "203.0.113.7",
    user_agent: "axios/1.7.2",
    action: `action_${Math.floor(number / actors) % actions}`,
    code: "insufficient_scope",
    resource: null,
  };
}

/** Refusals in the tallies: those with an entry of their own, and those that are counted and share one. */
function accountedIn({ database, mainTable }: Stage): number {
  let sum = 0;
  for (const item of database.tables.items(mainTable)) {
    if (item["et"] === refusalTallies.et) sum += Number(item["single"]) + Number(item["counted"]);
  }
  return sum;
}
