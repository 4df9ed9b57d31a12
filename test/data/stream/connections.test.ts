import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type {
  StreamConnection,
  StreamFlag,
  StreamHolder,
  StreamSet,
} from "../../../shared/domain/stream/connection.ts";
import {
  streamConnections,
  streamDirectory,
  streamFlags,
  streamHolders,
  streamSets,
} from "../../../shared/table/entities.ts";
import { deleteItem, putItem } from "../../../shared/table/items.ts";
import { readAll, readKeys } from "../../../shared/table/store.ts";
import { startApi } from "../../support/emulator/api.ts";
import { asOperator, newCaller, type TestCaller } from "../../support/emulator/request.ts";
import { newConnectionId, type StreamClient, startStreamGateway } from "../../support/emulator/stream-gateway.ts";

const api = await startApi("watched");
const gateway = await startStreamGateway();
afterAll(async () => {
  await gateway.stop();
  await api.stop();
});

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 20_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
  api.watched.interfere = () => undefined;
});
const pass = (seconds: number) => vi.setSystemTime(Date.now() + seconds * 1000);

const atOnce = <T>(count: number, make: () => Promise<T>) => Promise.all(Array.from({ length: count }, () => make()));
/** Some at a time: a machine that is busy must not make a call to the table too slow for a handshake. */
async function times<T>(count: number, make: () => Promise<T>): Promise<T[]> {
  const made: T[] = [];
  while (made.length < count) made.push(...(await atOnce(Math.min(6, count - made.length), make)));
  return made;
}
const connect = async (caller: TestCaller) => (await gateway.connect(caller)).status;
/** Another application of the same brokerage. */
const sibling = (caller: TestCaller) => newCaller({ tenant_id: caller.tenant_id });

/** Items of a brokerage's stream; connections are those of these clients. */
async function stateOf({ tenant_id, application_id }: TestCaller, clients: readonly StreamClient[] = []) {
  const [flag] = await readAll<StreamFlag>(streamFlags, [streamFlags.key(tenant_id)]);
  const [holder] = await readAll<StreamHolder>(streamHolders, [streamHolders.key(tenant_id, application_id)]);
  const sets = await readAll<StreamSet>(
    streamSets,
    [0, 1, 2, 3, 4].map((set) => streamSets.key(tenant_id, set)),
  );
  const keys = clients.map(({ id }) => streamConnections.key(tenant_id, id));
  const connections = await readAll<StreamConnection>(streamConnections, keys);
  const [entry] = await readKeys([streamDirectory.key(tenant_id)]);
  return { flag, holder, sets: sets.filter((set) => set !== undefined), connections, entry };
}
type State = Awaited<ReturnType<typeof stateOf>>;
const sizes = ({ sets }: State) => sets.map(({ members }) => Object.keys(members).length);
const counts = ({ flag }: State) => Object.values(flag?.sets ?? {}).map(({ connections }) => connections);

/** Ends the function of the next handshake at its write number `number`, as if it were killed before it. */
function failAtWrite(number: number) {
  let writes = 0;
  api.watched.interfere = ({ operation }) => {
    if (!/^(?:Put|Update|Delete)Item$/.test(operation)) return undefined;
    writes += 1;
    return writes >= number
      ? { status: 400, body: { __type: "com.amazon.coral.service#ValidationException" } }
      : undefined;
  };
}

describe("connections of one application", () => {
  it("are 25, however many are opened at the same time, and the others are answered 429", async () => {
    const caller = newCaller();
    const statuses = [...(await times(20, () => connect(caller))), ...(await atOnce(12, () => connect(caller)))];
    expect(statuses.filter((status) => status === 200)).toHaveLength(25);
    expect(statuses.filter((status) => status === 429)).toHaveLength(7);
    const state = await stateOf(caller);
    expect(Object.keys(state.holder?.connections ?? {})).toHaveLength(25);
    expect([sizes(state), counts(state)]).toEqual([[25], [25]]);
    expect(await connect(sibling(caller))).toBe(200);
    expect(await connect(asOperator(caller, "O. Perator", "owner"))).toBe(200);
    expect(counts(await stateOf(caller))).toEqual([27]);
  });

  it("leave a place when they end, also twice and by another brokerage's hand not at all", async () => {
    const caller = newCaller();
    const [first] = await times(25, () => gateway.connect(caller));
    const client = (first as { connection: StreamClient }).connection;
    await gateway.disconnect({ id: client.id, context: { ...client.context, tenant_id: newCaller().tenant_id } });
    expect(await connect(caller)).toBe(429);
    await gateway.disconnect(client);
    await gateway.disconnect(client);
    expect(counts(await stateOf(caller))).toEqual([24]);
    expect(await times(3, () => connect(caller))).toEqual(expect.arrayContaining([200, 429, 429]));
    expect(counts(await stateOf(caller))).toEqual([25]);
  });

  it("are neither opened nor ended by a message that names the route of the handshake or of the end", async () => {
    const caller = newCaller();
    const { connection } = await gateway.connect(caller);
    await gateway.send(connection, { type: "subscribe", id: "1", channels: [{ name: "quotes", symbols: ["EURUSD"] }] });
    const before = await stateOf(caller, [connection]);
    expect(before.connections[0]?.rate_count).toBe(1);
    await gateway.sendTo("$connect", connection);
    await gateway.sendTo("$disconnect", connection);
    expect(await stateOf(caller, [connection])).toEqual(before);
    await gateway.disconnect(connection);
    expect((await stateOf(caller, [connection])).connections[0]).toBeUndefined();
  });

  it("that have expired, or are not stored, take no place", async () => {
    const caller = newCaller();
    const clients = (await times(25, () => gateway.connect(caller))).map(({ connection }) => connection);
    const [lost] = clients as [StreamClient];
    await deleteItem(streamConnections.key(caller.tenant_id, lost.id));
    expect([await connect(caller), await connect(caller)]).toEqual([200, 429]);
    pass(7200 + 1);
    expect(await times(25, () => connect(caller))).toEqual(Array(25).fill(200));
    expect(await connect(caller)).toBe(429);
  });
});

describe("sets", () => {
  it("have 50 members at the most, also where clients connect at the same time", async () => {
    const caller = newCaller();
    const opened = await times(120, () => gateway.connect(sibling(caller)));
    expect(opened.every(({ status }) => status === 200)).toBe(true);
    const state = await stateOf(
      caller,
      opened.map(({ connection }) => connection),
    );
    expect(sizes(state).reduce((sum, size) => sum + size, 0)).toBe(120);
    expect(Math.max(...sizes(state))).toBeLessThanOrEqual(50);
    expect(counts(state)).toEqual(sizes(state));
    for (const connection of state.connections) {
      expect(connection).toBeDefined();
      const set = state.sets.find((each) => each.set === connection?.set);
      expect(Object.keys(set?.members ?? {})).toContain(connection?.connection_id);
    }
    await Promise.all(opened.map(({ connection }) => gateway.disconnect(connection)));
    const after = await stateOf(
      caller,
      opened.map(({ connection }) => connection),
    );
    expect(counts(after).every((count) => count === 0)).toBe(true);
    expect(after.connections.every((connection) => connection === undefined)).toBe(true);
  });

  it("are woken for a new connection, which opens also where no message can be sent", async () => {
    const caller = newCaller();
    api.queues.takeMessages();
    expect(await connect(caller)).toBe(200);
    const [message] = api.queues.takeFrom("stream.fifo");
    expect(message?.body).toEqual({ tenant_id: caller.tenant_id, set: 0, cause: "connected" });
    expect(message?.group).toBe(`${caller.tenant_id}#0`);
    api.queues.interfere = () => ({ refused: [0], senderFault: true });
    const { status } = await gateway.connect(caller);
    api.queues.interfere = () => undefined;
    expect(status).toBe(200);
  });
});

describe("a handshake that ends before its", () => {
  it.each([1, 2, 3, 4, 5])("write %i leaves nothing that is counted for good", async (number) => {
    const caller = newCaller();
    failAtWrite(number);
    expect((await gateway.connect(caller)).status).toBe(503);
    api.watched.interfere = () => undefined;
    expect((await gateway.connect(caller)).status).toBe(200);
    pass(31);
    expect(await times(24, () => connect(caller))).toEqual(Array(24).fill(200));
    const state = await stateOf(caller);
    expect(counts(state)).toEqual(sizes(state));
    pass(7200 + 3601);
    await gateway.sweep();
    await gateway.sweep();
    expect(await stateOf(caller)).toMatchObject({ flag: undefined, sets: [], entry: undefined });
  });
});

describe("the end of a connection that ends before its", () => {
  it.each([1, 2, 3, 4])("write %i is completed by what comes after it", async (number) => {
    const caller = newCaller();
    const { connection } = await gateway.connect(caller);
    failAtWrite(number);
    await expect(gateway.disconnect(connection)).rejects.toThrow();
    api.watched.interfere = () => undefined;
    await gateway.sweep();
    pass(31);
    expect(await times(25, () => connect(caller))).toContain(200);
    const state = await stateOf(caller);
    expect(counts(state)).toEqual(sizes(state));
    await gateway.disconnect(connection);
    expect((await stateOf(caller, [connection])).connections).toEqual([undefined]);
  });
});

describe("the sweep", () => {
  it("wakes each set with connections once a run, and no other", async () => {
    const [one, other, none] = [newCaller(), newCaller(), newCaller()];
    await connect(one);
    await times(60, () => connect(sibling(other)));
    const { connection } = await gateway.connect(none);
    await gateway.disconnect(connection);
    api.queues.takeMessages();
    await gateway.sweep();
    const woken = api.queues
      .takeFrom("stream.fifo")
      .map(({ body }) => `${body["tenant_id"]} ${body["set"]} ${body["cause"]}`);
    const wanted = [`${one.tenant_id} 0 sweep`, `${other.tenant_id} 0 sweep`, `${other.tenant_id} 1 sweep`];
    expect(woken.filter((each) => wanted.some((line) => line.slice(0, 30) === each.slice(0, 30))).toSorted()).toEqual(
      wanted.toSorted(),
    );
    expect(woken.some((each) => each.startsWith(none.tenant_id))).toBe(false);
    expect(await stateOf(none)).toMatchObject({ flag: undefined, sets: [], entry: undefined });
  });

  it("ends what a lost $disconnect left, two hours after it was opened", async () => {
    const caller = newCaller();
    const { connection } = await gateway.connect(caller);
    pass(7200);
    await gateway.sweep();
    expect(counts(await stateOf(caller))).toEqual([1]);
    pass(62);
    await gateway.sweep();
    const { connections, holder, flag, entry } = await stateOf(caller, [connection]);
    expect({ connections, places: holder?.connections, flag, entry }).toEqual({
      ...{ connections: [undefined], places: {}, flag: undefined, entry: undefined },
    });
  });

  it("puts a flag right that does not say what the set has", async () => {
    const caller = newCaller();
    await connect(caller);
    const { flag } = (await stateOf(caller)) as { flag: StreamFlag };
    const state = { connections: 7, revision: (flag.sets["0"]?.revision ?? 0) - 1 };
    await putItem(streamFlags, { ...flag, sets: { "0": state } });
    await gateway.sweep();
    expect(counts(await stateOf(caller))).toEqual([1]);
  });

  it("keeps a brokerage whose next connection opens while its last one is forgotten", async () => {
    for (const operation of ["first", "second", "third"] as const) {
      const caller = newCaller();
      const { connection } = await gateway.connect(caller);
      await gateway.disconnect(connection);
      pass(60);
      const at = ["first", "second", "third"].indexOf(operation) + 1;
      let deletes = 0;
      api.watched.interfere = async (call) => {
        if (call.operation !== "DeleteItem" || !JSON.stringify(call.input).includes(caller.tenant_id)) return undefined;
        deletes += 1;
        if (deletes === at) expect(await connect(caller)).toBe(200);
        return undefined;
      };
      await gateway.sweep();
      api.watched.interfere = () => undefined;
      expect(deletes).toBeGreaterThanOrEqual(at);
      const state = await stateOf(caller);
      expect([counts(state), sizes(state), state.entry]).toEqual([[1], [1], expect.anything()]);
    }
  });
});

describe("an event of the gateway without an authorizer's word", () => {
  it("opens no connection", async () => {
    const client = { id: newConnectionId(), context: {} };
    await expect(gateway.disconnect(client)).rejects.toThrow("A valid access token is required.");
  });
});
