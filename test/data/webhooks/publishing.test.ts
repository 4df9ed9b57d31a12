import { BatchWriteItemCommand, type WriteRequest } from "@aws-sdk/client-dynamodb";
import { marshall } from "@aws-sdk/util-dynamodb";
import { describe, expect, it } from "vitest";
import type { WebhookEndpoint } from "../../../shared/domain/records/webhook.ts";
import { draftDelivery } from "../../../shared/domain/webhooks/delivery.ts";
import { limits } from "../../../shared/limits.ts";
import { newId } from "../../../shared/runtime/ids.ts";
import { deliveries, deliveryId, outboxes } from "../../../shared/table/entities.ts";
import { readAll } from "../../../shared/table/store.ts";
import { itemOf } from "../../../shared/table/write.ts";
import { brokerage } from "../../support/builders/brokerage.ts";
import { putRaw } from "../../support/emulator/deliveries.ts";
import type { SentMessage } from "../../support/emulator/queue-endpoint.ts";
import { type RawItem, readStream, type StreamRecord, scanTable } from "../../support/emulator/raw-table.ts";
import { lambdaContext, newCaller, type TestCaller } from "../../support/emulator/request.ts";
import { closedDoor, failure } from "../../support/emulator/watched-endpoint.ts";
import { auditsIn, judgeAudit } from "../../support/oracles/audit-oracle.ts";
import { api, endpointOf, sweep, work } from "./event-cases.ts";

const { handler: sweepHandler } = await import("../../../functions/events/sweep-due.ts");
const { handler: route } = await import("../../../functions/events/route.ts");

/** Everything that the stream says of these callers' tenants. */
async function recordsOf(...callers: TestCaller[]): Promise<StreamRecord[]> {
  const tenants = callers.map(({ tenant_id }) => tenant_id);
  return (await readStream(api.emulator)).filter(({ dynamodb: { NewImage: image, OldImage: old } }) =>
    tenants.some((tenant) => (image ?? old)?.["pk"]?.S?.startsWith(tenant)),
  );
}

/** Clients of a brokerage, a commit each; returns their ids. */
async function clients(caller: TestCaller, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let made = 0; made < count; made += 1) ids.push((await brokerage(api, caller).client()).id);
  return ids;
}

/** The message of the last commit. */
async function routedLast(caller: TestCaller): Promise<SentMessage[]> {
  const inserted = (await recordsOf(caller)).filter(
    ({ eventName, dynamodb }) => eventName === "INSERT" && dynamodb.NewImage?.["et"]?.S === "OUTBOX",
  );
  return work.routed(inserted.slice(-1));
}

async function eventsOf(caller: TestCaller): Promise<{ resource: { id: string }; sequence: string }[]> {
  return (await brokerage(api, caller).get("/events?limit=100")).data;
}

const fullEventsOf = async (caller: TestCaller) =>
  (await eventsOf(caller)) as unknown as { id: string; created_at: string; type: string }[];
const idsOf = async (caller: TestCaller) => (await eventsOf(caller)).map(({ resource }) => resource.id);

async function itemsOf(caller: TestCaller): Promise<RawItem[]> {
  return (await scanTable(api.emulator)).filter(({ pk }) => String(pk).startsWith(caller.tenant_id));
}

const typesOf = async (caller: TestCaller) => (await itemsOf(caller)).map(({ et }) => et);

/** Writes items past the service. */
async function writeAll(requests: WriteRequest[]): Promise<void> {
  const { client, tableName } = api.emulator;
  for (let at = 0; at < requests.length; at += 25) {
    await client.send(new BatchWriteItemCommand({ RequestItems: { [tableName]: requests.slice(at, at + 25) } }));
  }
}

/**
 * From the n-th call of the table on nothing is done any more. Returns how many calls there were before, and the
 * deliveries whose messages were not taken.
 */
function dieAfter(calls: number): { readonly made: () => number; readonly refused: ReadonlySet<unknown> } {
  let made = 0;
  const refused = new Set<unknown>();
  api.watched.interfere = () => {
    made += 1;
    return made > calls ? failure("ResourceNotFoundException") : undefined;
  };
  api.queues.interfere = ({ queue, messages }) => {
    if (made < calls) return undefined;
    if (queue === "deliver") for (const { body } of messages) refused.add(body["delivery_id"]);
    return "unavailable";
  };
  return { made: () => made, refused };
}

function alive(): void {
  api.watched.interfere = () => undefined;
  api.queues.interfere = () => undefined;
}

describe("the router", () => {
  it("sends the keys of inserted outbox items, one message a brokerage, each under a fresh id", async () => {
    const callers = [newCaller(), newCaller()] as const;
    await clients(callers[0], 3);
    await clients(callers[1], 1);
    const [records, twice] = [await recordsOf(...callers), [] as SentMessage[]];
    for (let time = 0; time < 2; time += 1) twice.push(...(await work.routed(records)));
    expect(twice.map(({ group, body }) => [group, (body["keys"] as unknown[]).length])).toEqual([
      ...[0, 1].flatMap(() => [
        [callers[0].tenant_id, 3],
        [callers[1].tenant_id, 1],
      ]),
    ]);
    expect(new Set(twice.map(({ deduplication }) => deduplication)).size).toBe(4);
    expect(twice.map(({ delaySeconds }) => delaySeconds)).toEqual([undefined, undefined, undefined, undefined]);
    await work.receive(twice);
    // Writes of the publisher, removals of outbox items included, send nothing.
    expect(await work.routed((await recordsOf(...callers)).slice(records.length))).toEqual([]);
  });

  it("asks for the records again that the queue does not take, and keeps an identifier over retries", async () => {
    const caller = newCaller();
    await clients(caller, 1);
    const records = await recordsOf(caller);
    api.queues.interfere = () => "unavailable";
    const outbox = records.find(({ dynamodb }) => dynamodb.NewImage?.["et"]?.S === "OUTBOX");
    const { batchItemFailures: failed } = await route({ Records: records } as never);
    expect(failed).toEqual([{ itemIdentifier: outbox?.dynamodb.SequenceNumber }]);
    const tried: (string | undefined)[] = [];
    api.queues.interfere = ({ messages }) => {
      tried.push(...messages.map(({ deduplication }) => deduplication));
      return tried.length === 1 ? { refused: [0] } : undefined;
    };
    await work.receive(await work.routed(records));
    expect([tried.length, new Set(tried).size]).toEqual([2, 1]);
    expect(await idsOf(caller)).toHaveLength(1);
  });
});

describe("the sweep", () => {
  it("sends the publisher at most 1,000 outbox items of a brokerage, oldest first, and updates none", async () => {
    const caller = newCaller();
    const [id = ""] = await clients(caller, 1);
    await work.receive(await work.routed(await recordsOf(caller)));
    const count = limits.events.swept_per_tenant + 5;
    const items = Array.from({ length: count }, (_, at) => ({
      ...{ id: newId("obx", at), tenant_id: caller.tenant_id, root_id: id, root_version: 1, events: [] },
      ...{ created_at: new Date(at).toISOString(), wake_at: new Date(at).toISOString() },
    }));
    await writeAll(items.map((item) => ({ PutRequest: { Item: marshall(itemOf(outboxes, item)) } })));
    const swept = async () => {
      api.queues.takeMessages();
      return (await sweep())["unpublished"];
    };
    await expect.poll(swept, { timeout: 20_000 }).toBe(count - 5);
    const messages = api.queues.takeFrom("publish.fifo");
    const keys = messages.flatMap(({ body }) => body["keys"] as string[][]);
    expect(new Set(messages.map(({ group }) => group))).toEqual(new Set([caller.tenant_id]));
    expect(keys).toEqual(items.slice(0, -5).map((item) => [outboxes.keyOf(item).pk, outboxes.keyOf(item).sk]));
    for (const { eventName, dynamodb } of (await recordsOf(caller)).slice(-count)) {
      expect([eventName, dynamodb.NewImage?.["et"]?.S]).toEqual(["INSERT", "OUTBOX"]);
    }
    await writeAll(items.map((item) => ({ DeleteRequest: { Key: marshall(outboxes.keyOf(item)) } })));
  });
});

describe("a publisher that dies", () => {
  it("after any of its calls leaves numbers without a gap, and the next receive leaves nothing to do", async () => {
    for (let calls = 0, done = false; !done; calls += 1) {
      const caller = newCaller();
      const endpoints = [await endpointOf(caller), await endpointOf(caller), await endpointOf(caller)];
      const made = await clients(caller, 3);
      const messages = await work.routed(await recordsOf(caller));
      const death = dieAfter(calls);
      await work.receive(messages).catch(() => undefined);
      done = death.made() <= calls;
      alive();
      api.queues.takeFrom("fan-out");
      const sent = api.queues.takeFrom("deliver");
      expect(await work.receive(messages, 2)).toEqual([]);
      sent.push(...api.queues.takeFrom("deliver"));
      expect(await idsOf(caller)).toEqual(made);
      const items = await itemsOf(caller);
      expect(items.filter(({ et }) => et === "OUTBOX" || et === "PARKED" || et === "DELIVERY")).toEqual([]);
      // A message that the queue did not take is left to the sweep, which finds the event by its time.
      const published = items.filter(({ et }) => et === "EVENT");
      expect(published.map(({ due_pk }) => typeof due_pk)).toEqual(["string", "string", "string"]);
      const audited = auditsIn(items).filter(({ members }) => members["action"] === "create_client");
      expect(audited.map(({ members }) => (members["resource"] as { id: string }).id)).toEqual(made);
      expect(judgeAudit(items)).toEqual([]);
      expect(new Set([...sent.map(({ body }) => body["delivery_id"]), ...death.refused]).size).toBe(9);
      for (const { group } of sent) expect(endpoints.map(({ id }) => id)).toContain(group);
    }
  });

  it("of one commit each time publishes others by the third receive, later ones at once, and parks it", async () => {
    const caller = newCaller();
    const made = await clients(caller, 4);
    const messages = await work.routed(await recordsOf(caller));
    const [deadly = ""] = made.slice(1, 2);
    const receive = async (receives: number, later: SentMessage[] = []) => {
      let dead = false;
      api.watched.interfere = ({ operation, input }) => {
        const kills = operation === "TransactWriteItems" && JSON.stringify(input).includes(`#${deadly}`);
        dead ||= kills && JSON.stringify(input).includes("|SEQ");
        return dead ? { ...failure("InternalServerError"), status: 500 } : undefined;
      };
      // The dead count nothing down: the try stays counted.
      await work.receive([...messages, ...later], (message) => (later.includes(message) ? 1 : receives));
      api.watched.interfere = () => undefined;
      return idsOf(caller);
    };
    expect(await receive(1)).toEqual([]);
    expect(await receive(2)).toEqual(made.slice(0, 1));
    const others = made.filter((id) => id !== deadly);
    expect(await receive(3)).toEqual(others);
    others.push(...(await clients(caller, 1)));
    expect(await receive(4, await routedLast(caller))).toEqual(others);
    expect(await receive(5)).toEqual(others);
    expect((await typesOf(caller)).filter((et) => et === "PARKED" || et === "OUTBOX")).toEqual(["PARKED"]);
    await sweepHandler({ action: "release_parked" }, lambdaContext(60_000));
    await work.receive(await work.routed((await recordsOf(caller)).slice(-5)));
    expect(await idsOf(caller)).toEqual([...others, deadly]);
  });
});

describe("a run of the publisher", () => {
  const isOf = (input: object, text: string) => JSON.stringify(input).includes(text);

  it("reads counter and endpoints once for all its transactions, and owes what endpoints are due to", async () => {
    const caller = newCaller();
    const first = await endpointOf(caller, { group_ids: ["vip"] });
    const broker = brokerage(api, caller);
    for (let count = 0; count < 3; count += 1) await broker.account(undefined, { group_id: "vip" });
    const messages = await work.routed(await recordsOf(caller));
    api.watched.takeCalls();
    // Each commit has a transaction of its own on the second receive.
    expect(await work.receive(messages, 2)).toEqual([]);
    const calls = api.watched.takeCalls();
    const counted = (operation: string, text: string) =>
      calls.filter((call) => call.operation === operation && isOf(call.input, text)).length;
    expect(counted("TransactWriteItems", "|SEQ")).toBe(6);
    expect(counted("Query", `${caller.tenant_id}|WHE`)).toBe(1);
    // The last events are looked at by the counter as well.
    expect(counted("BatchGetItem", "|SEQ")).toBe(2);
    const owed = api.queues.takeFrom("deliver").map(({ group }) => group);
    expect(owed).toEqual([first.id, first.id, first.id]);
  });

  it("owes its events to an endpoint that was created before their commits, while another run was on", async () => {
    const caller = newCaller();
    const first = await endpointOf(caller);
    await clients(caller, 1);
    let late: WebhookEndpoint | undefined;
    api.watched.interfere = async ({ operation, input }) => {
      if (operation !== "TransactWriteItems" || !isOf(input, "|SEQ") || late !== undefined) return undefined;
      // The run has read its endpoints: this one is created, and then a commit is made.
      late = await endpointOf(caller);
      return undefined;
    };
    await work.receive(await work.routed(await recordsOf(caller)));
    alive();
    await clients(caller, 1);
    await work.receive(await routedLast(caller));
    const owed = api.queues.takeFrom("deliver").map(({ group }) => group);
    expect(owed.toSorted()).toEqual([first.id, first.id, late?.id].toSorted());
  });

  it("reads the counter again after a transaction whose answer it did not get", async () => {
    const caller = newCaller();
    const made = await clients(caller, 3);
    const messages = await work.routed(await recordsOf(caller));
    let lost = 0;
    api.watched.interfere = ({ operation, input }) => {
      if (operation !== "TransactWriteItems" || !isOf(input, "|SEQ") || lost === 3) return undefined;
      lost += 1;
      return "lose_answer";
    };
    await work.receive(messages, 2);
    alive();
    expect(await work.receive(messages, 3)).toEqual([]);
    expect(await idsOf(caller)).toEqual(made);
  });
});

describe("a table that is unavailable", () => {
  it("brings the messages of its brokerage again, in their order, and no other's; it counts as no try", async () => {
    const callers = [newCaller(), newCaller()] as const;
    const made = await clients(callers[0], 2);
    await clients(callers[1], 1);
    const [first] = await work.routed(await recordsOf(callers[0]));
    const other = await work.routed(await recordsOf(callers[1]));
    const keys = (first?.body["keys"] ?? []) as unknown[];
    const own = keys.map((key) => ({ ...(first as SentMessage), body: { ...first?.body, keys: [key] } }));
    const down = () => {
      api.watched.interfere = ({ operation, input }) =>
        operation === "TransactWriteItems" && JSON.stringify(input).includes(callers[0].tenant_id)
          ? { ...failure("InternalServerError"), status: 500 }
          : undefined;
    };
    for (const receives of [1, 2, 3, 4]) {
      down();
      expect(await work.receive([...own, ...other], receives)).toEqual(own);
    }
    expect(await idsOf(callers[1])).toHaveLength(1);
    api.watched.interfere = () => undefined;
    expect(await work.receive(own, 5)).toEqual([]);
    expect(await idsOf(callers[0])).toEqual(made);
  });

  it("counts as no try either when it answers so late that the time of the publisher ends first", async () => {
    const caller = newCaller();
    await clients(caller, 1);
    const messages = await work.routed(await recordsOf(caller));
    const silence = closedDoor();
    api.watched.interfere = ({ operation }) =>
      operation === "TransactWriteItems" ? silence.opened.then(() => undefined) : undefined;
    expect(await work.receive(messages, 2, 2000)).toEqual(messages);
    silence.open();
    api.watched.interfere = () => undefined;
    const tries = (await scanTable(api.emulator)).filter(({ et }) => et === "PUBLISHTRIES");
    expect(tries.filter(({ pk }) => String(pk).startsWith(caller.tenant_id)).map(({ n }) => n)).toEqual([
      { number: "0" },
    ]);
    expect(await work.receive(messages, 3)).toEqual([]);
  });
});

describe("the fan-out of a transaction", () => {
  it("sends fifty deliveries at once, the others by a queue, and none again that a worker has", async () => {
    const caller = newCaller();
    const endpoint = await endpointOf(caller);
    for (let count = 1; count < limits.webhooks.max_endpoints; count += 1) await endpointOf(caller);
    await clients(caller, 4);
    const messages = await work.routed(await recordsOf(caller));
    expect(await work.receive(messages)).toEqual([]);
    const sent = api.queues.takeFrom("deliver").map(({ body }) => body["delivery_id"]);
    expect(new Set(sent).size).toBe(40);
    const queued = api.queues.takeFrom("fan-out");
    expect(queued.map(({ body }) => body)).toEqual([{ tenant_id: caller.tenant_id, sequences: [3, 4] }]);
    // A worker has one of them already, which another message named.
    const [, , third] = await fullEventsOf(caller);
    const begunId = deliveryId(String(third?.id), endpoint.id, 0);
    const event = { ...(third as NonNullable<typeof third>), sequence: 3 };
    const draft = draftDelivery(begunId, endpoint, event, new Date().toISOString(), (seconds) => seconds * 1000);
    await putRaw(api, itemOf(deliveries, { ...draft, claims: 1 }));
    const { handler: fanOut } = await import("../../../functions/events/fan-out.ts");
    for (const receives of ["1", "2"]) {
      const attributes = { ApproximateReceiveCount: receives };
      const Records = queued.map(({ body }) => ({ messageId: receives, attributes, body: JSON.stringify(body) }));
      expect(await fanOut({ Records } as never)).toEqual({ batchItemFailures: [] });
      const more = api.queues.takeFrom("deliver").map(({ body }) => body["delivery_id"]);
      expect([more.length, more.includes(begunId)]).toEqual(receives === "1" ? [40, true] : [39, false]);
      sent.push(...more);
    }
    expect(new Set(sent).size).toBe(80);
    expect((await typesOf(caller)).filter((et) => et === "DELIVERY")).toHaveLength(1);
    const [begun] = await readAll(deliveries, [deliveries.key(caller.tenant_id, begunId)]);
    expect(begun).toMatchObject({ claims: 1, status: "pending" });
    const garbled = { Records: [{ messageId: "x", attributes: {}, body: "{" }] };
    expect(await fanOut(garbled as never)).toEqual({ batchItemFailures: [{ itemIdentifier: "x" }] });
  });

  it("that the queue does not take is found by the sweep", async () => {
    const caller = newCaller();
    process.env["TIME_SCALE"] = "1000000";
    for (let count = 0; count < limits.webhooks.max_endpoints; count += 1) await endpointOf(caller);
    await clients(caller, 3);
    const messages = await work.routed(await recordsOf(caller));
    api.queues.interfere = ({ queue }) => (queue === "fan-out" ? "unavailable" : undefined);
    expect(await work.receive(messages)).toEqual([]);
    alive();
    const swept = () => sweep().then(async () => (await typesOf(caller)).filter((et) => et === "DELIVERY").length);
    await expect.poll(swept, { timeout: 20_000 }).toBe(60);
  });
});

describe("a message of the publisher", () => {
  it("that is not recognised, or names another brokerage's items, is dropped and holds no other", async () => {
    const callers = [newCaller(), newCaller()] as const;
    for (const caller of callers) await clients(caller, 1);
    const [first] = await work.routed(await recordsOf(callers[0]));
    const foreign = { ...(first as SentMessage), body: { ...first?.body, tenant_id: callers[1].tenant_id } };
    const garbled = { ...(first as SentMessage), body: { keys: 1 } };
    expect(await work.receive([foreign, garbled])).toEqual([]);
    expect(await idsOf(callers[0])).toEqual([]);
    expect(await work.receive([first as SentMessage])).toEqual([]);
    expect(await idsOf(callers[0])).toHaveLength(1);
    await work.receive(await work.routed(await recordsOf(callers[1])));
  });
});
