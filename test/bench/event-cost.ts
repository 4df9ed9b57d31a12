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

/** Commits five times a second for a while in the model and counts what follows, to the last delivery. */
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
  const before = { ...database.counts, functions: functionsOf(stage) };
  commitAtRate(stage, run);
  await simulation.run(run.seconds * 1000);
  const owed = () => watch.publishedMs.length * endpoints;
  await simulation.run(120_000, () => watch.backlog === 0 && watch.deliveredMs.length >= owed());
  const events = watch.publishedMs.length;
  const after = functionsOf(stage);
  const invocations = (after.invocations - before.functions.invocations) / events;
  const gigabyteSeconds = (after.gigabyte_seconds - before.functions.gigabyte_seconds) / events;
  const write_units = (database.counts.write_units - before.write_units) / events;
  const read_units = (database.counts.read_units - before.read_units) / events;
  const logs = (invocations * traffic.log_bytes * prices.logs_per_gigabyte) / 1000;
  const queues = (after.messages - before.functions.messages) / events;
  const dollars =
    write_units * prices.dynamodb_per_million_write_units +
    read_units * prices.dynamodb_per_million_read_units +
    invocations * prices.lambda_per_million_requests +
    gigabyteSeconds * 1_000_000 * prices.lambda_per_gigabyte_second +
    queues * requestsPerMessage * prices.sqs_per_million_requests +
    logs;
  return { write_units, read_units, dollars };
}

/** Invocations and gigabyte-seconds of the functions, without those of the workload, and messages of all queues. */
function functionsOf({ functions: { counts }, queues }: Stage) {
  const own = Object.entries(counts).filter(([name]) => !name.startsWith("workload"));
  return {
    messages: [...queues.entries].reduce((sum, [, { sent }]) => sum + sent, 0),
    invocations: own.reduce((sum, [, { invocations }]) => sum + invocations, 0),
    gigabyte_seconds: own.reduce((sum, [name, { busy_ms }]) => sum + (busy_ms / 1000) * (memoryOf(name) / 1024), 0),
  };
}
