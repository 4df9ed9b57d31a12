import { setTimeout } from "node:timers/promises";
import { limits } from "../../../shared/limits.ts";
import type { TestApi } from "../../support/emulator/api.ts";
import { newCaller } from "../../support/emulator/request.ts";
import { startSocketEndpoint } from "../../support/emulator/socket-endpoint.ts";
import { type TableCall, unitsOf } from "../../support/emulator/watched-endpoint.ts";

const eventMs = limits.stream.batch_ms;

/** Units of the tables in so many calls, without the transactions that publish events. */
function spent(calls: readonly TableCall[]) {
  const own = calls.filter(({ operation }) => operation !== "TransactWriteItems");
  const isRead = ({ operation }: TableCall) => /^(?:BatchGetItem|Query)$/.test(operation);
  return { read_units: unitsOf(own.filter(isRead)), write_units: unitsOf(own.filter((call) => !isRead(call))) };
}

/**
 * Units of a second of a hot set of the stream: its worker serves a connection that follows the events, some of which
 * each of its looks finds, until it hands over. Their publication does not count.
 */
export async function hotSecond(api: TestApi): Promise<{ readonly read_units: number; readonly write_units: number }> {
  const gateway = await startSocketEndpoint();
  Object.assign(process.env, gateway.environment);
  const { streaming } = await import("../../support/emulator/streaming.ts");
  const { streamSets } = await import("../../../shared/table/entities.ts");
  const { changeItem } = await import("../../../shared/table/items.ts");
  const tenant = newCaller().tenant_id;
  const work = streaming(api, gateway, tenant);
  await work.subscribe(await work.connect(), "1", [{ name: "events" }]);
  await work.runAll();
  api.watched.takeCalls();
  await work.publish(1);
  const publication = spent(api.watched.takeCalls());
  const lastRuns = { last_run_at_ms: Date.now(), quick_runs: limits.stream.quick_runs };
  await changeItem(streamSets.key(tenant, 0), { set: lastRuns });
  api.watched.takeCalls();
  let isOver = false;
  let events = 0;
  const publish = async (): Promise<void> => {
    for (; !isOver; events += 1) {
      await work.publish(1);
      await setTimeout(eventMs);
    }
  };
  const began = performance.now();
  const publishing = publish();
  await work.run(work.wakes().slice(0, 1));
  const seconds = (performance.now() - began) / 1000;
  isOver = true;
  await publishing;
  const all = spent(api.watched.takeCalls());
  await gateway.stop();
  if (seconds * 1000 < limits.stream.loop_ms) throw new Error(`The set was hot for ${seconds} s only.`);
  return {
    read_units: Number(((all.read_units - events * publication.read_units) / seconds).toFixed(2)),
    write_units: Number(((all.write_units - events * publication.write_units) / seconds).toFixed(2)),
  };
}
