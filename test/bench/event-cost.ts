import { memoryOf } from "../../infra/function-memory.ts";
import { type Program, Stage } from "../support/model/stage.ts";
import { EventWatch } from "../support/model/watch.ts";
import { prices, traffic } from "./prices.ts";
import { commitAtRate, scaleTenant } from "./scale/publishing.ts";

/** What one event costs, its commit included. Dollars are those of a million. */
export interface EventCost {
  readonly write_units: number;
  readonly read_units: number;
  readonly dollars: number;
}

/** A message is sent, received and deleted; alone at worst, ten in a call at best. */
const requestsPerMessage = 3;
const run = { rate: 5, seconds: 20 };

/** What a run lasts: the commits, and until the sweep has seen to the last event. A whole number of sweeps. */
const wholeMs = 180_000;

/**
 * Commits five times a second for a while in the model and counts what follows, to the sweep that takes the last event
 * out of the due index. What the stage does without any event in the same time does not count.
 */
export async function eventCost(program: Program, assemblyDir: string, endpoints: number): Promise<EventCost> {
  const stage = new Stage({ program, assemblyDir, seed: 1, shards: 1 });
  const watch = new EventWatch(stage);
  const { simulation, database } = stage;
  if (endpoints > 0) {
    const made = stage.call("endpoints", { tenant: scaleTenant, count: endpoints });
    await simulation.run(5000);
    const outcome = await made;
    if (!outcome.ok) throw new Error("The endpoints could not be made.", { cause: outcome });
  }
  const counts = () => ({ ...database.counts, ...functionsOf(stage) });
  const first = counts();
  await simulation.run(wholeMs);
  const begun = counts();
  commitAtRate(stage, run);
  await simulation.run(wholeMs);
  const ended = counts();
  const events = watch.publishedMs.length;
  const due = [...database.tables.items(stage.mainTable)].filter((item) => item["due_pk"] !== undefined);
  if (watch.backlog > 0 || watch.deliveredMs.length < events * endpoints || due.length > 0) {
    throw new Error("The run ended before its events were delivered to all.");
  }
  const spent = (name: CountName) => (ended[name] - begun[name] - (begun[name] - first[name])) / events;
  const write_units = spent("write_units");
  const read_units = spent("read_units");
  const logs = (spent("invocations") * traffic.log_bytes * prices.logs_per_gigabyte) / 1000;
  const dollars =
    write_units * prices.dynamodb_per_million_write_units +
    read_units * prices.dynamodb_per_million_read_units +
    spent("invocations") * prices.lambda_per_million_requests +
    spent("gigabyte_seconds") * 1_000_000 * prices.lambda_per_gigabyte_second +
    spent("messages") * requestsPerMessage * prices.sqs_per_million_requests +
    logs;
  return { write_units, read_units, dollars };
}

type CountName = "write_units" | "read_units" | keyof ReturnType<typeof functionsOf>;

/** Invocations and gigabyte-seconds of the functions, without those of the workload, and messages of all queues. */
function functionsOf({ functions: { counts }, queues }: Stage) {
  const own = Object.entries(counts).filter(([name]) => !name.startsWith("workload"));
  return {
    messages: [...queues.entries].reduce((sum, [, { sent }]) => sum + sent, 0),
    invocations: own.reduce((sum, [, { invocations }]) => sum + invocations, 0),
    gigabyte_seconds: own.reduce((sum, [name, { busy_ms }]) => sum + (busy_ms / 1000) * (memoryOf(name) / 1024), 0),
  };
}
