import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { StreamConnection, StreamFlag, StreamSet } from "../../../shared/domain/stream/connection.ts";
import { newId } from "../../../shared/runtime/ids.ts";
import { accounts, streamConnections, streamFlags, streamSets, symbols } from "../../../shared/table/entities.ts";
import { putItem } from "../../../shared/table/items.ts";
import { readAll } from "../../../shared/table/store.ts";
import { startApi } from "../../support/emulator/api.ts";
import { newCaller, type TestCaller, withScopes } from "../../support/emulator/request.ts";
import { newConnectionId, type StreamClient, startStreamGateway } from "../../support/emulator/stream-gateway.ts";

const api = await startApi("watched");
const gateway = await startStreamGateway();
afterAll(async () => {
  await gateway.stop();
  await api.stop();
});

// Every message has a second of its own, unless its test says otherwise.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: Math.ceil(Date.now() / 1000) * 1000 + 100_000 });
});
afterEach(() => {
  vi.useRealTimers();
  api.watched.interfere = () => undefined;
  gateway.connections.statusOf = () => 200;
});
const pass = (seconds: number) => vi.setSystemTime(Date.now() + seconds * 1000);

/** A connection that has had its first message. */
async function greeted(caller: TestCaller = newCaller()): Promise<StreamClient> {
  const { connection } = await gateway.connect(caller);
  expect(await answers(connection, { type: "ping" })).toEqual([{ type: "pong" }]);
  return connection;
}

/** Answers to messages, without the first message of the connection. */
// biome-ignore lint/suspicious/noExplicitAny: answers are checked by the assertions, not by the compiler.
async function answers(client: StreamClient, ...messages: unknown[]): Promise<any[]> {
  for (const message of messages) {
    pass(1);
    await gateway.send(client, message);
  }
  return gateway.received(client).filter((message) => message.type !== "hello");
}

const stored = async ({ id, context }: StreamClient) =>
  (await readAll<StreamConnection>(streamConnections, [streamConnections.key(String(context["tenant_id"]), id)]))[0];
const ownSet = async (caller: TestCaller) =>
  (await readAll<StreamSet>(streamSets, [streamSets.key(caller.tenant_id, 0)]))[0] as StreamSet;
const ownFlag = async (caller: TestCaller) =>
  (await readAll<StreamFlag>(streamFlags, [streamFlags.key(caller.tenant_id)]))[0] as StreamFlag;
const subscribe = (id: string, ...channels: object[]) => ({ type: "subscribe", id, channels });
const events = { name: "events" };

/** An account, or a symbol, of which only that it is there matters. */
const putAccount = async ({ tenant_id }: TestCaller, id = newId("acc")) => {
  await putItem(accounts, { id, tenant_id, client_id: newId("cli") } as never);
  return id;
};
const putSymbol = ({ tenant_id }: TestCaller, symbol: string) => putItem(symbols, { symbol, tenant_id } as never);

describe("a message that is refused", () => {
  const deep = `${'{"a":'.repeat(40)}1${"}".repeat(40)}`;
  const account = newId("acc");
  const many = (prefix: string, count: number) => Array.from({ length: count }, (_, at) => `${prefix}${at}`);
  const fault = (pointer: string, code: string) => ({ pointer, code, detail: expect.any(String) });
  const cases: readonly (readonly [string, unknown, object])[] = [
    ["is empty", "", { code: "malformed_json" }],
    ["is no JSON", "{", { code: "malformed_json" }],
    ["is no object", "[]", { code: "malformed_json" }],
    ["is nested deeply", deep, { code: "malformed_json", detail: expect.stringContaining("nested deeper than 32") }],
    ["is nested a hundred thousand times", "[".repeat(30_000), { code: "malformed_json" }],
    [
      "has a member twice",
      '{"type":"ping","type":"ping"}',
      { code: "duplicate_key", errors: [fault("#/type", "duplicate_key")] },
    ],
    ["has a member __proto__", '{"__proto__":{},"type":"ping"}', { code: "malformed_json" }],
    ["is no UTF-8", Buffer.from([0x7b, 0xff, 0x7d]), { code: "malformed_json" }],
    ["is larger than 32 KB", { type: "ping", pad: "x".repeat(32 * 1024) }, { code: "payload_too_large" }],
    ["has no type", { id: "7" }, { id: "7", errors: [fault("#/type", "required")] }],
    ["has an unknown type", { type: "publish", id: "7" }, { id: "7", errors: [fault("#/type", "invalid_value")] }],
    ["has an unknown member", { type: "ping", id: "7", x: 1 }, { id: "7", errors: [fault("#/x", "unknown_field")] }],
    ["has an id that is too long", { type: "ping", id: "x".repeat(65) }, { errors: [fault("#/id", "too_big")] }],
    ["has an id that is no text", { type: "ping", id: 7 }, { errors: [fault("#/id", "invalid_type")] }],
    ["subscribes without an id", { type: "subscribe", channels: [events] }, { errors: [fault("#/id", "required")] }],
    ["subscribes to nothing", subscribe("1"), { id: "1", errors: [fault("#/channels", "too_small")] }],
    [
      "subscribes to an unknown channel",
      subscribe("1", { name: "trades" }),
      { errors: [fault("#/channels/0/name", "invalid_value")] },
    ],
    ["subscribes to no channel", subscribe("1", [] as never), { errors: [fault("#/channels/0", "invalid_type")] }],
    [
      "subscribes to unknown types",
      subscribe("1", { ...events, types: ["*.created"] }),
      { errors: [fault("#/channels/0/types/0", "invalid_value")] },
    ],
    [
      "subscribes after no number",
      subscribe("1", { ...events, after_sequence: "-1" }),
      { errors: [fault("#/channels/0/after_sequence", "invalid_format")] },
    ],
    [
      "subscribes after a number to come",
      subscribe("1", { ...events, after_sequence: "1" }),
      { errors: [fault("#/channels/0/after_sequence", "too_big")] },
    ],
    [
      "subscribes to events of an unknown account",
      subscribe("1", { ...events, account_id: account }),
      { errors: [fault("#/channels/0/account_id", "account_not_found")] },
    ],
    [
      "subscribes to unknown accounts",
      subscribe("1", { name: "accounts", ids: [account] }),
      { errors: [fault("#/channels/0/ids/0", "account_not_found")] },
    ],
    [
      "subscribes to unknown symbols",
      subscribe("1", { name: "quotes", symbols: ["EURUSD"] }),
      { errors: [fault("#/channels/0/symbols/0", "symbol_not_found")] },
    ],
    [
      "subscribes to an unknown source",
      subscribe("1", { name: "commands", source_id: newId("src") }),
      { errors: [fault("#/channels/0/source_id", "source_not_found")] },
    ],
    [
      "subscribes to 101 symbols",
      subscribe("1", { name: "quotes", symbols: many("SYM", 101) }),
      { errors: [fault("#/channels/0/symbols", "too_big")] },
    ],
    [
      "asks for six quotes a second",
      subscribe("1", { name: "quotes", symbols: ["EURUSD"], max_per_second: 6 }),
      { errors: [fault("#/channels/0/max_per_second", "too_big")] },
    ],
    [
      "subscribes to a channel twice",
      subscribe("1", events, events),
      { errors: [fault("#/channels/1/name", "repeated")] },
    ],
    ["ends a subscription that is not there", { type: "unsubscribe", id: "1" }, { id: "1", code: "not_found" }],
  ];

  it.each(cases)("because it %s is answered precisely, and changes nothing", async (_name, message, wanted) => {
    const client = await greeted();
    const [answer, ...more] = await answers(client, message);
    expect(answer).toMatchObject({ type: "error", code: "validation_failed", detail: expect.any(String), ...wanted });
    expect(more).toEqual([]);
    expect(await stored(client)).toMatchObject({ subscriptions: [], revision: 0 });
    expect(await answers(client, { type: "ping", id: "on" })).toEqual([{ type: "pong", id: "on" }]);
  });

  it("for a scope names the channels, however many other faults there are", async () => {
    const client = await greeted(withScopes(newCaller(), "events:read"));
    const margin = { name: "margin" };
    const [answer] = await answers(client, subscribe("1", events, margin, { name: "accounts", ids: [newId("acc")] }));
    expect(answer).toMatchObject({ type: "error", id: "1", code: "insufficient_scope" });
    expect(answer.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual([
      "#/channels/1/name",
      "#/channels/2/name",
    ]);
  });

  it("says the same of what another brokerage has and of what no one has", async () => {
    const [caller, other] = [newCaller(), newCaller()];
    const client = await greeted(caller);
    const [foreign, none] = [await putAccount(other), newId("acc")];
    const answerFor = async (id: string) => {
      const [answer] = await answers(client, subscribe("1", { name: "accounts", ids: [id] }));
      return JSON.stringify(answer).replaceAll(id, "acc");
    };
    expect(await answerFor(foreign)).toBe(await answerFor(none));
  });
});

describe("subscriptions of a connection together", () => {
  it("have 20 channels, 200 accounts and 100 symbols at the most, and each a name of its own", async () => {
    const caller = newCaller();
    const client = await greeted(caller);
    const ids = await Promise.all(Array.from({ length: 201 }, () => putAccount(caller)));
    const names = Array.from({ length: 101 }, (_, at) => `SYM${at}`);
    await Promise.all(names.map((name) => putSymbol(caller, name)));
    const accountsOf = (from: number, to: number) => ({ name: "accounts", ids: ids.slice(from, to) });
    const quotesOf = (from: number, to: number) => ({ name: "quotes", symbols: names.slice(from, to) });
    const codes = async (message: object) =>
      (await answers(client, message)).map(
        (each) => each.errors?.map(({ code }: { code: string }) => code) ?? each.type,
      );
    expect(await codes(subscribe("1", accountsOf(0, 150), quotesOf(0, 100)))).toEqual(["subscribed"]);
    expect(await codes(subscribe("1", events))).toEqual([["in_use"]]);
    expect(await codes(subscribe("1", accountsOf(0, 150), quotesOf(0, 100)))).toEqual(["subscribed"]);
    expect(await codes(subscribe("2", accountsOf(150, 201)))).toEqual([["too_many_accounts"]]);
    expect(await codes(subscribe("2", quotesOf(100, 101)))).toEqual([["too_many_symbols"]]);
    expect(await codes(subscribe("2", accountsOf(100, 200), quotesOf(0, 100)))).toEqual(["subscribed"]);
    for (let at = 3; at < 19; at += 1) expect(await codes(subscribe(String(at), events))).toEqual(["subscribed"]);
    expect(await codes(subscribe("19", events))).toEqual([["too_many_channels"]]);
    expect(await codes({ type: "unsubscribe", id: "3" })).toEqual(["unsubscribed"]);
    expect(await codes(subscribe("19", events))).toEqual(["subscribed"]);
    expect((await stored(client))?.subscriptions).toHaveLength(18);
  });

  it("are all stored where messages are answered at the same time", async () => {
    const client = await greeted();
    pass(1);
    await Promise.all(Array.from({ length: 6 }, (_, at) => gateway.send(client, subscribe(String(at), events))));
    const connection = (await stored(client)) as StreamConnection;
    expect(connection.subscriptions.map(({ id }) => id).toSorted()).toEqual(["0", "1", "2", "3", "4", "5"]);
    expect(new Set(connection.subscriptions.map(({ revision }) => revision)).size).toBe(6);
    expect(connection.revision).toBe(6);
  });
});

describe("a subscription", () => {
  it("is stored, answered, and then announced to the worker", async () => {
    const caller = newCaller();
    const client = await greeted(caller);
    const before = await ownSet(caller);
    api.queues.takeMessages();
    const order: string[] = [];
    api.watched.interfere = ({ operation, input }) => {
      const key = (input["Key"] as { sk?: { S?: string } } | undefined)?.sk?.S ?? "";
      if (operation === "UpdateItem") order.push(key.split("#")[0] ?? "");
      return undefined;
    };
    gateway.connections.statusOf = ({ message }) => {
      order.push(message.type);
      return 200;
    };
    api.queues.interfere = () => {
      order.push("wake");
      return undefined;
    };
    await answers(client, subscribe("1", { ...events, types: ["transaction.*"], after_sequence: "0" }));
    api.queues.interfere = () => undefined;
    expect(order).toEqual(["CON", "CON", "subscribed", "SET", "wake"]);
    const [message] = api.queues.takeFrom("stream.fifo");
    expect(message?.body).toEqual({ tenant_id: caller.tenant_id, set: 0, cause: "subscribed" });
    expect((await ownSet(caller)).revision).toBe(before.revision + 1);
    expect((await stored(client))?.subscriptions).toEqual([
      {
        ...{ id: "1", revision: 1, head_sequence: 0 },
        channels: [{ name: "events", types: ["transaction.*"], after_sequence: "0" }],
      },
    ]);
  });

  it("that prices move is noted in the flag, until the sweep finds none", async () => {
    const caller = newCaller();
    const client = await greeted(caller);
    await answers(client, subscribe("1", events));
    expect((await ownFlag(caller)).sets["0"]?.prices).toBeUndefined();
    await answers(client, subscribe("2", { name: "margin" }));
    expect((await ownFlag(caller)).sets["0"]?.prices).toBe(Date.now());
    await gateway.sweep();
    expect((await ownFlag(caller)).sets["0"]?.prices).toBe(Date.now());
    await answers(client, { type: "unsubscribe", id: "2" });
    await gateway.sweep();
    expect((await ownFlag(caller)).sets["0"]?.prices).toBeUndefined();
  });

  it("is answered also where the worker cannot be woken", async () => {
    const client = await greeted();
    api.queues.interfere = () => ({ refused: [0], senderFault: true });
    expect(await answers(client, subscribe("1", events))).toEqual([{ type: "subscribed", id: "1" }]);
    api.queues.interfere = () => undefined;
  });
});

describe("the first message of a connection", () => {
  it("comes before every answer, once", async () => {
    const caller = newCaller();
    const { connection } = await gateway.connect(caller);
    pass(1);
    await gateway.send(connection, "nonsense");
    await gateway.send(connection, { type: "ping" });
    const [hello, ...others] = gateway.received(connection);
    const expires_at = new Date((Math.floor(Date.now() / 1000) - 1 + 7200) * 1000).toISOString();
    expect(hello).toEqual({ type: "hello", connection_id: connection.id, head_sequence: "0", expires_at });
    expect(others.map(({ type }) => type)).toEqual(["error", "pong"]);
  });
});

describe("messages in one second", () => {
  it("are answered up to ten, refused up to twenty, and end the connection after that", async () => {
    const caller = newCaller();
    const client = await greeted(caller);
    pass(1);
    const pings = Array.from({ length: 25 }, (_, at) => ({ type: "ping", id: String(at + 1) }));
    for (const ping of pings) await gateway.send(client, ping);
    const received = gateway.received(client);
    const line = (each: { type: string; id?: string; code?: string }) =>
      typeof each === "string" ? each : [each.type, each.id, each.code].filter(Boolean).join(" ");
    expect(received.map(line)).toEqual([
      ...pings.slice(0, 10).map(({ id }) => `pong ${id}`),
      ...pings.slice(10, 20).map(({ id }) => `error ${id} rate_limit_exceeded`),
      "closing too_many_messages",
      "closed",
      // API Gateway has closed it; what was on its way finds no connection.
      ...pings.slice(21).flatMap(() => ["closing going_away", "closed"]),
    ]);
    expect(await stored(client)).toBeUndefined();
    expect(Object.keys((await ownSet(caller)).members)).toEqual([]);
  });

  it("are counted exactly where they come at the same time, and from zero in the next one", async () => {
    const client = await greeted();
    pass(1);
    await Promise.all(Array.from({ length: 15 }, () => gateway.send(client, { type: "ping" })));
    const types = () =>
      gateway
        .received(client)
        .map(({ type }) => type)
        .toSorted();
    expect(types()).toEqual([...Array(5).fill("error"), ...Array(10).fill("pong")]);
    pass(1);
    await gateway.send(client, { type: "ping" });
    expect(types()).toEqual(["pong"]);
  });
});

describe("a connection", () => {
  it("of another brokerage cannot be changed by its identifier", async () => {
    const [caller, stranger] = [newCaller(), newCaller()];
    const client = await greeted(caller);
    const before = await stored(client);
    const foreign = { id: client.id, context: { ...client.context, tenant_id: stranger.tenant_id } };
    await gateway.send(foreign, subscribe("1", events));
    expect(await stored(client)).toEqual(before);
    expect(await stored(foreign)).toBeUndefined();
  });

  it("that is not stored any more is ended when its client sends", async () => {
    const client = { id: newConnectionId(), context: (await greeted()).context };
    await gateway.send(client, { type: "ping" });
    expect(gateway.received(client)).toEqual([
      expect.objectContaining({ type: "closing", code: "going_away" }),
      "closed",
    ]);
  });

  it("that is gone when it is answered leaves its set", async () => {
    const caller = newCaller();
    const client = await greeted(caller);
    gateway.connections.statusOf = () => 410;
    expect(await answers(client, { type: "ping" })).toEqual([]);
    expect(await stored(client)).toBeUndefined();
    expect(Object.keys((await ownSet(caller)).members)).toEqual([]);
  });

  it("that does not take its answer is ended, since its client would wait for it", async () => {
    const client = await greeted();
    gateway.connections.statusOf = ({ message }) => (message?.type === "subscribed" ? 503 : 200);
    expect(await answers(client, subscribe("1", events))).toEqual([
      expect.objectContaining({ type: "closing", code: "too_slow" }),
      "closed",
    ]);
    expect(await stored(client)).toBeUndefined();
  });

  it("gets an error with its message's name where the table does not answer", async () => {
    const client = await greeted();
    api.watched.interfere = ({ operation }) =>
      operation === "BatchGetItem" ? { status: 500, body: { __type: "InternalServerError" } } : undefined;
    const [answer] = await answers(client, subscribe("1", events));
    api.watched.interfere = () => undefined;
    expect(answer).toMatchObject({ type: "error", id: "1", code: "service_unavailable" });
    expect(JSON.stringify(answer)).not.toMatch(/dynamo|table|aws|internal/i);
    expect((await stored(client))?.subscriptions).toEqual([]);
  });
});
