import { marshall } from "@aws-sdk/util-dynamodb";
import { afterAll, describe, expect, it } from "vitest";
import { newId } from "../../../shared/runtime/ids.ts";
import { deliveryId, eventId, events, type PublishedEvent, sequences } from "../../../shared/table/entities.ts";
import { packText } from "../../../shared/table/packed/text.ts";
import { atOnce, brokerage } from "../../support/builders/brokerage.ts";
import { putItems, writeOf } from "../../support/builders/trading-data.ts";
import { startApi } from "../../support/emulator/api.ts";
import { itemsOf } from "../../support/emulator/raw-table.ts";
import { lambdaContext, newCaller, type TestCaller } from "../../support/emulator/request.ts";
import { failure } from "../../support/emulator/watched-endpoint.ts";
import { eventually } from "../../support/wait.ts";

const api = await startApi("watched");
afterAll(api.stop);

const { handler: sweepHandler } = await import("../../../functions/events/sweep-due.ts");
const sweepEvents = () => sweepHandler({}, lambdaContext(60_000));
const openReplays = () => itemsOf(api.emulator, { type: "REPLAY" });

const start = Date.parse("2026-11-01T00:00:00.000Z");
const at = (minutes: number) => new Date(start + minutes * 60_000).toISOString();

/** Published events of a tenant, one a minute: client.created, and every tenth one transaction.created. */
async function history(
  caller: TestCaller,
  count: number,
  first = 1,
  more: Partial<PublishedEvent> = {},
): Promise<string[]> {
  const ids: string[] = [];
  const counter = { ...sequences.key(caller.tenant_id), et: "SEQ", last: count };
  const writes = [{ tableName: api.emulator.tableName, item: marshall(counter) }];
  for (let sequence = first; sequence <= count; sequence += 1) {
    const event = {
      id: eventId(start, newId("evt"), sequence),
      tenant_id: caller.tenant_id,
      sequence,
      type: sequence % 10 === 0 ? "transaction.created" : "client.created",
      resource_id: "cli_01JD0000000000000000000001",
      account_id: null,
      client_id: null,
      created_at: at(sequence),
      published_at: at(sequence),
      payload: packText("{}"),
      expires_at: 4_000_000_000,
      ...more,
    };
    ids[sequence] = event.id;
    writes.push(writeOf(api, events, event));
  }
  await putItems(api, writes);
  return ids;
}

async function endpoint(caller: TestCaller, event_types: string[]): Promise<string> {
  const body = { url: "https://hooks.example.com/", event_types };
  return (await api.call(caller, "POST", "/webhook_endpoints", { body })).body.id;
}

const replay = (caller: TestCaller, id: string, body: object, parts: object = {}) =>
  api.call(caller, "POST", `/webhook_endpoints/${id}/replay`, { body, ...parts });

/** The deliveries that were sent; the sweep also sends the publisher the keys of outbox items. */
const sentIds = () => {
  const messages = api.queues.takeMessages().filter(({ queue }) => queue !== "publish.fifo");
  return messages.map(({ body }) => String(body["delivery_id"]));
};

/** The event of each delivery that was sent. */
async function sentEvents(): Promise<string[]> {
  const sent = new Set(sentIds());
  const items = (await itemsOf(api.emulator, { type: "DELIVERY" })).filter(({ id }) => sent.has(String(id)));
  return items.map(({ event_id }) => String(event_id)).toSorted();
}

/** The deliveries that were made for an endpoint. */
async function deliveriesTo(endpointId: string) {
  const items = await itemsOf(api.emulator, { type: "DELIVERY" });
  return items.filter(({ endpoint_id }) => endpoint_id === endpointId);
}

describe("a replay is refused", () => {
  it.each<readonly [string, object, string]>([
    ["without a beginning", {}, "#/after_sequence"],
    ["with two beginnings", { after_sequence: "0", from: at(0) }, "#/from"],
    ["that ends before it begins", { from: at(5), to: at(5) }, "#/to"],
    ["after a number that is none", { after_sequence: "-1" }, "#/after_sequence"],
    ["from a moment that is none", { from: "yesterday" }, "#/from"],
  ])("%s", async (_, body, pointer) => {
    const caller = newCaller();
    const answer = await replay(caller, await endpoint(caller, ["*"]), body);
    expect([answer.status, answer.body.code, answer.body.errors[0].pointer]).toEqual([
      422,
      "validation_failed",
      pointer,
    ]);
  });

  it("for an endpoint that is off or another tenant's, and sends nothing", async () => {
    const caller = newCaller();
    const id = await endpoint(caller, ["*"]);
    await history(caller, 3);
    expect((await replay(newCaller(), id, { after_sequence: "0" })).status).toBe(404);
    await api.call(caller, "PATCH", `/webhook_endpoints/${id}`, { body: { status: "disabled" } });
    const answer = await replay(caller, id, { after_sequence: "0" });
    expect([answer.status, answer.body.code]).toEqual([409, "webhook_endpoint_disabled"]);
    expect(sentIds()).toEqual([]);
  });
});

describe("a replay", () => {
  it("is answered when it is noted, though the table fails while it is made; the sweep makes it", async () => {
    const caller = newCaller();
    await history(caller, 3);
    const id = await endpoint(caller, ["*"]);
    sentIds();
    api.watched.interfere = ({ operation }) =>
      operation === "PutItem" ? { ...failure("InternalServerError"), status: 500 } : undefined;
    process.env["TIME_SCALE"] = "1000000";
    const { status, body } = await replay(caller, id, { after_sequence: "0" });
    delete process.env["TIME_SCALE"];
    api.watched.interfere = () => undefined;
    expect([status, body.queued, sentIds()]).toEqual([202, 3, []]);
    await sweepEvents();
    expect(sentIds()).toHaveLength(3);
  });

  it("sends what the endpoint subscribes to above a number, under the same event ids, each time again", async () => {
    const caller = newCaller();
    const id = await endpoint(caller, ["transaction.created"]);
    const ids = await history(caller, 45);
    const { status, body } = await replay(caller, id, { after_sequence: "10" });
    expect([status, body]).toEqual([202, { object: "replay", queued: 3, next_after_sequence: null }]);
    const wanted = [20, 30, 40].map((sequence) => ids[sequence]).toSorted();
    expect(await sentEvents()).toEqual(wanted);
    await replay(caller, id, { after_sequence: "10" });
    expect(await sentEvents()).toEqual(wanted);
    const made = await deliveriesTo(id);
    expect(made).toHaveLength(6);
    expect(await openReplays()).toEqual([]);
  });

  it("finds the events of a time among thousands and says where to go on, until the end", async () => {
    const caller = newCaller();
    const id = await endpoint(caller, ["client.created"]);
    const ids = await history(caller, 2300);
    const range = { from: at(1101), to: at(2251) };
    // On a busy machine a call is cut off: its rest is due at once then, and not after the delay of the sweep.
    process.env["TIME_SCALE"] = "1000000";
    const first = await replay(caller, id, range);
    expect(first.body.next_after_sequence).not.toBeNull();
    let queued = first.body.queued;
    let next = first.body.next_after_sequence;
    let calls = 1;
    while (next !== null) {
      const { body } = await replay(caller, id, { after_sequence: next, to: range.to });
      queued += body.queued;
      next = body.next_after_sequence;
      calls += 1;
    }
    delete process.env["TIME_SCALE"];
    const wanted = ids.filter((_, sequence) => sequence >= 1101 && sequence < 2251 && sequence % 10 !== 0).toSorted();
    expect([queued, calls]).toEqual([wanted.length, 2]);
    await eventually(async () => {
      await sweepEvents();
      return (await openReplays()).length === 0 || undefined;
    }, 30_000);
    expect(new Set(await sentEvents())).toEqual(new Set(wanted));
  }, 90_000);

  it("that is cut off is made to its end by the sweep, and nothing of it twice", async () => {
    const caller = newCaller();
    const id = await endpoint(caller, ["*"]);
    const ids = await history(caller, 250);
    process.env["TIME_SCALE"] = "1000000";
    const { status, body } = await replay(caller, id, { after_sequence: "0" }, { timeoutMs: 3500 });
    delete process.env["TIME_SCALE"];
    expect([status, body.queued]).toEqual([202, 250]);
    expect(sentIds()).toEqual([]);
    await Promise.all([sweepEvents(), sweepEvents()]);
    const made = await deliveriesTo(id);
    expect(made.map(({ event_id }) => event_id).toSorted()).toEqual(ids.filter(Boolean).toSorted());
    expect(new Set(sentIds()).size).toBe(250);
    expect(await openReplays()).toEqual([]);
  }, 60_000);

  it("under one key is made once, however often it is asked", async () => {
    const caller = newCaller();
    const id = await endpoint(caller, ["*"]);
    await history(caller, 7);
    const headers = { "Idempotency-Key": "replay" };
    const answers = await atOnce(4, () => replay(caller, id, { after_sequence: "0" }, { headers }));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    const made = await deliveriesTo(id);
    expect(made).toHaveLength(7);
    api.queues.takeMessages();
  });

  it("names the delivery that it repeats, also before a worker has stored that one", async () => {
    const caller = newCaller();
    const id = await endpoint(caller, ["*"]);
    const due = { endpoints: [{ id, epoch: 0 }], wake_at: new Date(Date.now() + 60_000).toISOString() };
    const [, event = ""] = await history(caller, 1, 1, due);
    await replay(caller, id, { after_sequence: "0" });
    const made = await deliveriesTo(id);
    expect(made.map(({ redelivery_of }) => redelivery_of)).toEqual([deliveryId(event, id, 0)]);
    api.queues.takeMessages();
  });

  it("of nothing queues nothing", async () => {
    const caller = newCaller();
    const id = await endpoint(caller, ["*"]);
    const none = { object: "replay", queued: 0, next_after_sequence: null };
    expect((await replay(caller, id, { after_sequence: "0" })).body).toEqual(none);
    expect((await replay(caller, id, { from: at(0) })).body).toEqual(none);
    expect((await brokerage(api, caller).get("/events")).data).toEqual([]);
  });
});
