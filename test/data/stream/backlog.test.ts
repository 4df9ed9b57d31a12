import { afterAll, afterEach, describe, expect, it } from "vitest";
import type { StreamCause } from "../../../shared/runtime/stream-queue.ts";
import type { StreamChannel } from "../../../shared/schema/stream/client-messages.ts";
import { startApi } from "../../support/emulator/api.ts";
import { newCaller } from "../../support/emulator/request.ts";
import { startSocketEndpoint } from "../../support/emulator/socket-endpoint.ts";
import { failure } from "../../support/emulator/watched-endpoint.ts";

const api = await startApi("watched");
const gateway = await startSocketEndpoint();
Object.assign(process.env, gateway.environment);
const { streaming } = await import("../../support/emulator/streaming.ts");
afterAll(async () => {
  await gateway.stop();
  await api.stop();
});
afterEach(() => {
  api.watched.interfere = () => undefined;
  api.queues.takeMessages();
  gateway.takePosts();
});

const events: StreamChannel = { name: "events" };
const longAgo = () => Date.now() - 60_000;

/** A connection that has received the first event, and its set, whose last run has ended. */
async function served() {
  const work = streaming(api, gateway, newCaller().tenant_id);
  const one = await work.connect();
  await work.subscribe(one, "1", [events]);
  await work.publish(1);
  await work.runAll();
  await work.rest();
  expect(work.messages(one).at(-1)).toMatchObject({ sequence: "1" });
  return { work, one };
}

describe("messages of a set that wait behind a run", () => {
  it("cost one read for ten of them where the run has looked after they were sent", async () => {
    const { work, one } = await served();
    const causes: readonly StreamCause[] = ["published", "subscribed", "connected"];
    const behind = Array.from({ length: 20 }, (_, at) => work.wake(causes[at % 3] ?? "published", 0, longAgo()));
    api.watched.takeCalls();
    expect(await work.run(behind)).toEqual([]);
    expect(api.watched.takeCalls().map(({ operation }) => operation)).toEqual(["BatchGetItem", "BatchGetItem"]);
    expect(work.messages(one)).toEqual([]);
  });

  it.each<[string, StreamCause, () => number]>([
    ["a sweep", "sweep", longAgo],
    ["a run that handed over", "handover", longAgo],
    ["prices, where the last look read no quotes", "prices", longAgo],
    ["an event, a moment ago by a clock that may differ", "published", () => Date.now()],
  ])("wake a run where they tell of %s", async (_, cause, sentMs) => {
    const { work } = await served();
    api.watched.takeCalls();
    expect(await work.run([work.wake(cause, 0, sentMs())])).toEqual([]);
    expect(api.watched.takeCalls().length).toBeGreaterThan(1);
  });

  it("wake a run where one of them is newer than its last look", async () => {
    const { work, one } = await served();
    await work.publish(1);
    const [fresh] = work.wakes();
    await work.run([work.wake("published", 0, longAgo()), { ...work.wake("published"), sent_ms: fresh?.sent_ms ?? 0 }]);
    expect(work.messages(one)).toMatchObject([{ sequence: "2" }]);
  });

  it("wake a run where the set has changed since its last look", async () => {
    const { work, one } = await served();
    await work.subscribe(one, "2", [{ ...events, after_sequence: "0" }]);
    await work.run([work.wake("published", 0, longAgo())]);
    expect(work.messages(one)).toMatchObject([{ sequence: "1", subscriptions: ["2"] }, { type: "sync_end" }]);
  });

  it("wake a run where the one before did not end, whatever it had seen", async () => {
    const { work, one } = await served();
    await work.publish(1);
    const sent = work.wakes();
    let notes = 0;
    api.watched.interfere = ({ operation }) => {
      notes += operation === "UpdateItem" ? 1 : 0;
      return operation === "UpdateItem" ? failure("ResourceNotFoundException") : undefined;
    };
    const again = await work.run(sent);
    api.watched.interfere = () => undefined;
    expect([again.length, notes > 0]).toEqual([1, true]);
    work.messages(one);
    await work.run(again);
    expect(work.messages(one)).toMatchObject([{ sequence: "2" }]);
  });
});
