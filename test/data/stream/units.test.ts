import { afterAll, expect, it } from "vitest";
import { startApi } from "../../support/emulator/api.ts";
import { newCaller } from "../../support/emulator/request.ts";
import { startSocketEndpoint } from "../../support/emulator/socket-endpoint.ts";
import { type TableCall, unitsOf } from "../../support/emulator/watched-endpoint.ts";

const api = await startApi("watched");
const gateway = await startSocketEndpoint();
Object.assign(process.env, gateway.environment);
const { streaming } = await import("../../support/emulator/streaming.ts");
afterAll(async () => {
  await gateway.stop();
  await api.stop();
});

const isWrite = ({ operation }: TableCall) => !/^(?:BatchGetItem|Query)$/.test(operation);

/** Calls to the table and posts to connections of some work. */
async function spent(work: () => Promise<unknown>) {
  api.watched.takeCalls();
  gateway.takePosts();
  await work();
  const calls = api.watched.takeCalls();
  const [write_units, read_units] = [unitsOf(calls.filter(isWrite)), unitsOf(calls.filter((each) => !isWrite(each)))];
  return { calls: calls.length, read_units, write_units, posts: gateway.takePosts().length };
}

it.each([
  [1, { calls: 4, read_units: 6, write_units: 1, posts: 1 }],
  [50, { calls: 4, read_units: 56, write_units: 4, posts: 50 }],
])("a lone event costs %i connections so many units at the most", async (count, most) => {
  const work = streaming(api, gateway, newCaller().tenant_id);
  for (let made = 0; made < count; made += 1) {
    await work.subscribe(await work.connect(), "1", [{ name: "events" }]);
  }
  await work.runAll();
  // A machine that is busy takes longer for the posts than one look, and looks again: the best of three counts.
  const taken = [];
  for (let tries = 0; tries < 3; tries += 1) {
    await work.rest();
    await work.publish(1);
    const wakes = work.wakes();
    taken.push(await spent(() => work.run(wakes)));
  }
  const units = taken.reduce((least, each) => (each.calls < least.calls ? each : least));
  console.info(`a lone event, ${count} connections: ${JSON.stringify(units)}`);
  expect(units.posts).toBe(most.posts);
  expect(units.calls).toBeLessThanOrEqual(most.calls);
  expect(units.read_units).toBeLessThanOrEqual(most.read_units);
  expect(units.write_units).toBeLessThanOrEqual(most.write_units);
});
