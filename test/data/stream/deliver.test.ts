import { afterAll, afterEach, describe, expect, it } from "vitest";
import { streamConnections, streamSets } from "../../../shared/table/entities.ts";
import { brokerage } from "../../support/builders/brokerage.ts";
import { startApi } from "../../support/emulator/api.ts";
import { readStream } from "../../support/emulator/raw-table.ts";
import { newCaller } from "../../support/emulator/request.ts";
import { startSocketEndpoint } from "../../support/emulator/socket-endpoint.ts";

const api = await startApi("stream", "watched");
const gateway = await startSocketEndpoint();
// A post has the second that it has when deployed: what depends on it is tried here.
Object.assign(process.env, gateway.environment, { BUDGET_FACTOR: "1" });
const { changeItem } = await import("../../../shared/table/items.ts");
const { readAll } = await import("../../../shared/table/store.ts");
const { announceSubscription, endSubscription } = await import("../../../shared/stream/subscriptions.ts");
const { streaming } = await import("../../support/emulator/streaming.ts");
const { publishing } = await import("../../support/emulator/publishing.ts");
afterAll(async () => {
  await gateway.stop();
  await api.stop();
});
afterEach(() => {
  gateway.fate = () => "taken";
  api.watched.interfere = () => undefined;
  api.queues.interfere = () => undefined;
  api.queues.takeMessages();
  gateway.takePosts();
});

const numbersIn = (messages: readonly { type: string; sequence: string }[]) =>
  messages.filter(({ type }) => type === "event").map(({ sequence }) => Number(sequence));
/** Events of a replay; the long form has 5,000. */
const replayed = Number(process.env["REPLAYED_EVENTS"] ?? 1_500);
/** The slowest messages are compared in the long form, which runs alone, and those in the middle elsewhere. */
const compared = process.env["REPLAYED_EVENTS"] === undefined ? 0.5 : 0.99;
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => from + at);

describe("events", () => {
  it("are the very bytes of GET, in order, after their subscription, by one message of the publisher", async () => {
    const caller = newCaller();
    const work = streaming(api, gateway, caller.tenant_id);
    const broker = brokerage(api, caller);
    const [one, other] = [await work.connect(), await work.connect()];
    await work.subscribe(one, "all", [{ name: "events" }]);
    await work.subscribe(other, "clients", [{ name: "events", types: ["client.*"] }]);
    await work.runAll();
    expect(work.messages(one)).toEqual([{ type: "sync_end", subscription: "all", channel: "events", sequence: "0" }]);
    await broker.account("100.00");
    const publisher = publishing(api);
    const records = (await readStream(api.emulator)).filter(
      ({ dynamodb: { NewImage: image } }) =>
        image?.["et"]?.S === "OUTBOX" && image["pk"]?.S?.startsWith(caller.tenant_id),
    );
    await work.rest();
    expect(await publisher.receive(await publisher.routed(records))).toEqual([]);
    expect(api.queues.takeFrom("stream.fifo")).toMatchObject([
      { body: { tenant_id: caller.tenant_id, set: 0, cause: "published" }, group: `${caller.tenant_id}#0` },
    ]);
    expect(await work.run([work.wake("published")])).toEqual([]);
    const posts = gateway.takePosts();
    const shown = await broker.get("/events?limit=100");
    const all = work.messages(one, posts);
    expect(all.map(({ event }) => event)).toEqual(shown.data);
    const bytes = posts.find(({ connection_id }) => connection_id === one.connection_id)?.text ?? "";
    for (const event of shown.data) {
      const { text } = await api.call(caller, "GET", `/events/${event.id}`);
      expect(bytes).toContain(`"event":${text}}`);
    }
    const types = work.messages(other, posts).map(({ event, subscriptions }) => [event.type, subscriptions]);
    expect(types.length).toBeGreaterThan(0);
    for (const [type, ids] of types) expect([type.split(".")[0], ids]).toEqual(["client", ["clients"]]);
  });

  it(`replay after a number, ${replayed} of them, once and in order in less than ten seconds, then live`, async () => {
    const work = streaming(api, gateway, newCaller().tenant_id);
    const one = await work.connect();
    await work.publish(replayed);
    await work.subscribe(one, "1", [{ name: "events", after_sequence: "10" }]);
    const began = performance.now();
    await work.runAll();
    const posts = gateway.takePosts();
    const took_ms = (posts.at(-1)?.at_ms ?? 0) - began;
    const messages = work.messages(one, posts);
    expect(numbersIn(messages)).toEqual(range(11, replayed));
    const end = { type: "sync_end", subscription: "1", channel: "events", sequence: String(replayed) };
    expect(messages.at(-1)).toEqual(end);
    expect(took_ms).toBeLessThan(10_000);
    for (const { text } of posts) expect(Buffer.byteLength(text)).toBeLessThanOrEqual(32 * 1024);
    await work.rest();
    await work.publish(2);
    await work.runAll();
    expect(numbersIn(work.messages(one))).toEqual([replayed + 1, replayed + 2]);
    console.info(`${replayed} events were replayed in ${Math.round(took_ms)} ms and ${posts.length} messages`);
  });

  it("of a subscription that has ended are not sent on, however long its replay is", async () => {
    const work = streaming(api, gateway, newCaller().tenant_id);
    const one = await work.connect();
    await work.publish(1_200);
    await work.subscribe(one, "1", [{ name: "events", after_sequence: "0" }]);
    const [subscribed] = await readAll(streamConnections, [streamConnections.keyOf(one)]);
    const end = async () => {
      expect(await endSubscription(subscribed ?? one, "1")).toMatchObject({ ok: true });
      await announceSubscription(one, undefined);
    };
    let ended: Promise<unknown> | undefined;
    let looks = 0;
    // With the first batch the client has enough, and the worker looks at its set twice before it reads on.
    gateway.fate = () => {
      ended ??= end();
      return "taken";
    };
    api.watched.interfere = async ({ operation }) => {
      if (operation === "BatchGetItem" && ended !== undefined) looks += 1;
      if (operation !== "Query" || ended === undefined) return undefined;
      await ended;
      const before = looks;
      await expect.poll(() => looks - before).toBeGreaterThan(2);
      return undefined;
    };
    await work.runAll();
    const sent = numbersIn(work.messages(one));
    expect(sent).toEqual(range(1, sent.length));
    expect(sent.length).toBeLessThan(600);
  });

  it("are sent once to a connection that several of its subscriptions match, with the names of all", async () => {
    const caller = newCaller();
    const work = streaming(api, gateway, caller.tenant_id);
    const one = await work.connect();
    const { id: account_id } = await brokerage(api, caller).account();
    await work.subscribe(one, "a", [{ name: "events" }]);
    await work.subscribe(one, "b", [{ name: "events", types: ["account.*"], account_id }]);
    await work.runAll();
    work.messages(one);
    await work.rest();
    await work.publish(1, { account_id });
    await work.publish(1, { type: "client.created" });
    await work.runAll();
    const events = work.messages(one).map(({ sequence, subscriptions }) => [sequence, subscriptions]);
    expect(events).toEqual([
      ["1", ["a", "b"]],
      ["2", ["a"]],
    ]);
  });

  it("that a run finds while it looks by itself need no message; a lone event is one run and no more", async () => {
    const work = streaming(api, gateway, newCaller().tenant_id);
    const one = await work.connect();
    await work.subscribe(one, "1", [{ name: "events" }]);
    await work.runAll();
    await work.rest();
    await work.publish(1);
    const sent = work.wakes();
    expect(sent).toHaveLength(1);
    api.watched.takeCalls();
    await work.run(sent);
    expect(api.watched.takeCalls().map(({ operation }) => operation)).toEqual([
      "BatchGetItem",
      "BatchGetItem",
      "Query",
      "UpdateItem",
    ]);
    expect(numbersIn(work.messages(one))).toEqual([1]);
    // Right after another one for the third time, a run stays.
    await changeItem(streamSets.key(one.tenant_id, 0), { set: { last_run_at_ms: Date.now() + 60_000, quick_runs: 2 } });
    await work.publish(1);
    const [wake] = work.wakes();
    const busy = work.run([wake as NonNullable<typeof wake>]);
    await expect.poll(async () => numbersIn(work.messages(one)), { timeout: 5000 }).toEqual([2]);
    await expect.poll(() => work.hotUntil(), { timeout: 5000 }).toBeGreaterThan(Date.now());
    await work.publish(3);
    expect(work.wakes()).toEqual([]);
    expect(await busy).toEqual([]);
    expect(numbersIn(work.messages(one))).toEqual([3, 4, 5]);
    expect(await work.hotUntil()).toBeLessThan(Date.now());
  });
});

describe("publishing", () => {
  it("makes the same calls where a brokerage has no connection, and one more where it has", async () => {
    const caller = newCaller();
    const work = streaming(api, gateway, caller.tenant_id);
    const publisher = publishing(api);
    const broker = brokerage(api, caller);
    const callsOf = async () => {
      await broker.client();
      const records = (await readStream(api.emulator)).filter(
        ({ dynamodb: { NewImage: image } }) =>
          image?.["et"]?.S === "OUTBOX" && image["pk"]?.S?.startsWith(caller.tenant_id),
      );
      const messages = await publisher.routed(records.slice(-1));
      let sends = 0;
      api.queues.interfere = () => {
        sends += 1;
        return undefined;
      };
      api.watched.takeCalls();
      expect(await publisher.receive(messages)).toEqual([]);
      api.queues.interfere = () => undefined;
      return {
        calls: api.watched
          .takeCalls()
          .map(({ operation }) => operation)
          .toSorted(),
        sends,
      };
    };
    const before = await callsOf();
    expect(before).toEqual({ calls: ["BatchGetItem", "BatchGetItem", "Query", "TransactWriteItems"], sends: 0 });
    await work.connect();
    expect(await callsOf()).toEqual({ ...before, sends: 1 });
    expect(work.wakes()).toHaveLength(1);
  });

  it("goes on where the queue of the stream takes nothing: the sweep's message brings the events", async () => {
    const work = streaming(api, gateway, newCaller().tenant_id);
    const one = await work.connect();
    await work.subscribe(one, "1", [{ name: "events" }]);
    await work.runAll();
    api.queues.interfere = () => "unavailable";
    await work.publish(2);
    api.queues.interfere = () => undefined;
    expect(work.wakes()).toEqual([]);
    await work.rest();
    await work.run([work.wake("sweep")]);
    expect(numbersIn(work.messages(one))).toEqual([1, 2]);
  });
});

describe("a connection", () => {
  it("that is gone is removed, and delays no other", async () => {
    const work = streaming(api, gateway, newCaller().tenant_id);
    const [one, other] = [await work.connect(), await work.connect()];
    for (const each of [one, other]) await work.subscribe(each, "1", [{ name: "events" }]);
    await work.runAll();
    gateway.fate = ({ connection_id }) => (connection_id === one.connection_id ? "gone" : "taken");
    await work.rest();
    await work.publish(1);
    await work.runAll();
    expect(numbersIn(work.messages(other))).toEqual([1]);
    expect(Object.keys((await work.set())?.members ?? {})).toEqual([other.connection_id]);
  });

  it("whose handshake is not answered yet is kept, although the gateway does not know it", async () => {
    const work = streaming(api, gateway, newCaller().tenant_id);
    const one = await work.connect(false);
    await work.subscribe(one, "1", [{ name: "events" }]);
    let posts = 0;
    gateway.fate = () => {
      posts += 1;
      return posts === 1 ? "gone" : "taken";
    };
    await work.publish(1);
    await work.runAll();
    expect(numbersIn(work.messages(one))).toEqual([1]);
  }, 60_000);

  it("that did not take a message gets it again, and nothing is left out", async () => {
    const work = streaming(api, gateway, newCaller().tenant_id);
    const one = await work.connect();
    await work.subscribe(one, "1", [{ name: "events" }]);
    await work.runAll();
    await work.rest();
    let lost = 0;
    gateway.fate = () => {
      lost += 1;
      // The client of the connections sends once more where its connection was closed.
      return lost <= 2 ? "lost" : "taken";
    };
    await work.publish(2);
    await work.runAll();
    expect(lost).toBeGreaterThan(2);
    expect(numbersIn(work.messages(one))).toEqual([1, 2]);
  });

  it("that takes nothing is ended after five seconds, and the others receive as if it were not there", async () => {
    const work = streaming(api, gateway, newCaller().tenant_id);
    const others = [await work.connect(), await work.connect(), await work.connect()];
    const stalled = await work.connect();
    for (const each of [...others, stalled]) await work.subscribe(each, "1", [{ name: "events" }]);
    await work.runAll();
    gateway.takePosts();
    /** Milliseconds from the publication of single events to their receipt, by the others. */
    const delays = async () => {
      const found: number[] = [];
      const busy: Promise<unknown>[] = [];
      for (let count = 0; count < 8; count += 1) {
        const at = performance.now();
        await work.publish(1);
        const wakes = work.wakes();
        if (wakes.length > 0 && busy.length === 0) busy.push(work.run(wakes));
        await expect
          .poll(
            () => {
              const posts = gateway.takePosts();
              for (const { connection_id, at_ms } of posts) {
                if (others.some((each) => each.connection_id === connection_id)) found.push(at_ms - at);
              }
              return found.length;
            },
            { timeout: 5000, interval: 10 },
          )
          .toBeGreaterThanOrEqual((count + 1) * others.length);
      }
      await Promise.all(busy);
      await work.runAll();
      gateway.takePosts();
      return found.toSorted((a, b) => a - b);
    };
    const stay = { set: { last_run_at_ms: Date.now() + 600_000, quick_runs: 2 } };
    await changeItem(streamSets.key(stalled.tenant_id, 0), stay);
    const alone = await delays();
    gateway.fate = ({ connection_id }) => (connection_id === stalled.connection_id ? "stalled" : "taken");
    await changeItem(streamSets.key(stalled.tenant_id, 0), stay);
    const together = await delays();
    const late = (values: number[]) => Math.round(values[Math.ceil(values.length * compared) - 1] ?? 0);
    console.info(`p${compared * 100} of the others: ${late(alone)} ms, with a stalled reader ${late(together)} ms`);
    expect(late(together)).toBeLessThan(2 * late(alone));
    // The worker may have ended before the five seconds were over: the sweep's message wakes it then.
    const closed = async () => {
      await work.run([work.wake("sweep")]);
      return gateway.closed;
    };
    await expect.poll(closed, { timeout: 30_000 }).toContain(stalled.connection_id);
    expect(Object.keys((await work.set())?.members ?? {})).toHaveLength(3);
  }, 180_000);
});
