import { readFileSync } from "node:fs";
import { type AttributeValue, PutItemCommand, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { eventCounter } from "../../../shared/table/sequences.ts";
import { loadDeliveries } from "../../../shared/webhooks/deliveries.ts";
import { brokerage } from "../../support/builders/brokerage.ts";
import { startApi } from "../../support/emulator/api.ts";
import { publishing } from "../../support/emulator/publishing.ts";
import { readStream, scanTable } from "../../support/emulator/raw-table.ts";
import { lambdaContext, newCaller } from "../../support/emulator/request.ts";

// What the code before lanes left in its table: seven events, the last of them not fanned out, a replay that was cut
// off, a commit that is not published, and two deliveries that wait for a worker.
const fixture = readFileSync(new URL("version-1.jsonl", import.meta.url), "utf8")
  .trim()
  .split("\n");
const tenantInFixture = "brk_01KAP0000000000000000000G1";
const whe = "whe_01M82536AJX21B3XX0YS1E301H";
/** Cursors that it gave out: behind the second of the oldest events, and of the newest. */
const cursors = {
  "/events?limit=2": "WzEsIm4iLCIwMDAwMDAwMDAwMDAwMDAyIiwiZTcxNDJkMWEzZWQ3Il0",
  "/events?limit=2&sort=-sequence": "WzEsIm4iLCIwMDAwMDAwMDAwMDAwMDA2IiwiOGNlNDM3YzAxY2JhIl0",
};

const api = await startApi("stream");
afterAll(api.stop);
const { publish, publishSent } = publishing(api);
const { handler: sweepAll } = await import("../../../functions/events/sweep-events.ts");
const sweep = () => sweepAll({}, lambdaContext(60_000));

interface Shown {
  readonly id: string;
  readonly sequence: string;
  readonly type: string;
  readonly created_at: string;
  readonly resource: { readonly id: string };
}

/** The items in a tenant of the test's own; their times to live are over before long. */
async function formerTable() {
  const caller = newCaller();
  const texts = fixture.map((line) => line.replaceAll(tenantInFixture, caller.tenant_id));
  const items = texts.map((text) => JSON.parse(text) as Record<string, AttributeValue>);
  for (const item of items) {
    const Item = item["expires_at"] === undefined ? item : { ...item, expires_at: { N: "4000000000" } };
    await api.emulator.client.send(new PutItemCommand({ TableName: api.emulator.tableName, Item }));
  }
  const stored = items
    .filter(({ et }) => et?.S === "EVENT")
    .map(({ payload }) => JSON.parse(payload?.S ?? "") as Shown);
  const events = stored.toSorted((a, b) => Number(a.sequence) - Number(b.sequence));
  const list = async (address: string): Promise<Shown[]> => (await brokerage(api, caller).get(address)).data;
  return { caller, events, list, broker: brokerage(api, caller) };
}

type Former = Awaited<ReturnType<typeof formerTable>>;

/** One change of an account of the tenant, published by the code of now. Returns its events. */
async function publishOne({ caller, broker, list }: Former): Promise<Shown[]> {
  const { last } = await eventCounter(caller.tenant_id);
  const client = await broker.client();
  const records = (await readStream(api.emulator)).filter(
    ({ eventName, dynamodb: { NewImage: image } }) =>
      eventName === "INSERT" && image?.["et"]?.S === "OUTBOX" && image["pk"]?.S?.endsWith(client.id),
  );
  expect(await publish(records)).toEqual({ batchItemFailures: [] });
  return list(`/events?after_sequence=${last}`);
}

const idsOf = (events: readonly Shown[]) => events.map(({ id }) => id);

describe("events that were stored in schema version 1", () => {
  let former: Former;
  beforeEach(async () => {
    former = await formerTable();
  });

  it("are shown as they were stored, in the lists and by their identifiers", async () => {
    const { events, list, broker } = former;
    expect(events.map(({ sequence }) => sequence)).toEqual(["1", "2", "3", "4", "5", "6", "7"]);
    expect(await list("/events")).toEqual(events);
    expect(await list("/events?sort=-sequence")).toEqual(events.toReversed());
    expect(await list("/events?after_sequence=4")).toEqual(events.slice(4));
    for (const event of events) expect(await broker.get(`/events/${event.id}`)).toEqual(event);
    const [first] = events;
    expect(await list(`/events?resource_id=${first?.resource.id}`)).toEqual([first]);
    const account = events.find(({ type }) => type === "account.created")?.resource.id;
    expect(idsOf(await list(`/events?account_id=${account}`))).toEqual(idsOf(events.slice(1)));
  });

  it("are followed by those of now in every list, without a gap and in order", async () => {
    const { events, list, broker } = former;
    const added = [...(await publishOne(former)), ...(await publishOne(former))];
    const all = [...events, ...added];
    expect(all.map(({ sequence }) => sequence)).toEqual(all.map((_, place) => String(place + 1)));
    for (const limit of [1, 2, 3, 7, 25]) {
      for (let after = 0; after <= all.length; after += 1) {
        const page = await list(`/events?limit=${limit}&after_sequence=${after}`);
        expect(page).toEqual(all.slice(after, after + limit));
      }
      expect(await list(`/events?limit=${limit}&sort=-sequence`)).toEqual(all.toReversed().slice(0, limit));
    }
    for (const event of all) expect(await broker.get(`/events/${event.id}`)).toEqual(event);
  });

  it("are walked on with the cursors of the code before, which go over to the events of now", async () => {
    const { events, list } = former;
    const all = [...events, ...(await publishOne(former))];
    for (const [address, cursor] of Object.entries(cursors)) {
      const page = await list(`${address.replace("limit=2", "limit=100")}&cursor=${cursor}`);
      const whole = address.includes("sort") ? events.toReversed() : all;
      expect(idsOf(page)).toEqual(idsOf(whole.slice(2)));
    }
  });

  it("cannot be followed by one that the code before numbers: its counter is gone", async () => {
    await publishOne(former);
    const items = await scanTable(api.emulator);
    const counter = items.find(({ pk, et }) => et === "SEQ" && pk === `${former.caller.tenant_id}|SEQ`);
    expect(counter).toMatchObject({ last: { number: "8" }, first_in_lanes: { number: "8" }, v: { number: "1" } });
    expect(counter).not.toHaveProperty("n");
  });

  it("are published, fanned out, woken and replayed by the sweep, from the shards that there were", async () => {
    const { caller, events, list } = former;
    expect(await sweep()).toMatchObject({ failed: 0 });
    expect(await publishSent()).toEqual([]);
    expect(idsOf(await list("/events")).slice(0, 7)).toEqual(idsOf(events));
    expect((await list("/events?after_sequence=7")).map(({ type }) => type)).toEqual(["client.created"]);
    const items = (await scanTable(api.emulator)).filter(({ pk }) => String(pk).startsWith(caller.tenant_id));
    expect(items.filter(({ et }) => et === "OUTBOX" || et === "REPLAY")).toEqual([]);
    // The new one is due until the sweep has seen to its deliveries, a minute after its publication.
    const [published] = await list("/events?after_sequence=7");
    const waiting = items.filter(({ et, due_pk }) => et === "EVENT" && due_pk !== undefined);
    expect(waiting.map(({ id }) => id)).toEqual([published?.id]);
    const made = items.filter(({ et }) => et === "DELIVERY");
    const first = made.filter(({ redelivery }) => JSON.stringify(redelivery) === zero);
    expect(made.filter((item) => !first.includes(item)).map(({ event_id }) => String(event_id))).toEqual(
      expect.arrayContaining(idsOf([0, 1, 2, 3, 6].map((place) => events[place] as Shown))),
    );
    const due = [events[2], events[3], events[6]].map((event) => event?.id);
    expect(first.map(({ event_id }) => event_id).toSorted()).toEqual(due.toSorted());
    const woken = api.queues.takeMessages().map(({ body }) => body);
    expect(woken.map(({ delivery_id }) => delivery_id)).toEqual(
      expect.arrayContaining(made.map(({ id }) => String(id))),
    );
    expect(woken.map(({ event_id }) => event_id)).toContain(published?.id);
    const shown = new Map((await list("/events")).map((event) => [event.id, event]));
    for (const { delivery, payload } of await loadDeliveries(made.map(({ id }) => messageOf(caller.tenant_id, id)))) {
      expect(payload?.body ?? {}).toEqual(shown.get(delivery?.event_id ?? ""));
    }
  });

  it("are replayed together with those of now, by number and by time", async () => {
    const { caller, events } = former;
    const [added] = await publishOne(former);
    const replayed = async (body: object) => {
      const before = new Set(await deliveriesOf(caller.tenant_id));
      const answer = await api.call(caller, "POST", `/webhook_endpoints/${whe}/replay`, { body });
      expect([answer.status, answer.body.next_after_sequence]).toEqual([202, null]);
      const made = (await deliveriesOf(caller.tenant_id)).filter((name) => !before.has(name));
      return made.map((name) => name.split(" ")[1]).toSorted();
    };
    const wanted = [...[0, 1, 2, 3, 6].map((place) => events[place]?.id), added?.id];
    expect(await replayed({ after_sequence: "0" })).toEqual(wanted.toSorted());
    expect(await replayed({ after_sequence: "6" })).toEqual([events[6]?.id, added?.id].toSorted());
    expect(await replayed({ from: events[6]?.created_at })).toEqual([events[6]?.id, added?.id].toSorted());
  });

  it("are delivered again on request", async () => {
    const { caller, events, broker } = former;
    const { data } = await broker.get(`/webhook_endpoints/${whe}/deliveries`);
    const ended = data.find(({ event_id }: { event_id: string }) => event_id === events[2]?.id);
    const Key = { pk: { S: `${caller.tenant_id}#${ended.id}` }, sk: { S: "DELIVERY" } };
    const end = { UpdateExpression: "SET #s = :s", ExpressionAttributeNames: { "#s": "status" } };
    const values = { ExpressionAttributeValues: { ":s": { S: "exhausted" } } };
    await api.emulator.client.send(
      new UpdateItemCommand({ TableName: api.emulator.tableName, Key, ...end, ...values }),
    );
    const { status, body } = await api.call(caller, "POST", `/deliveries/${ended.id}/retry`);
    expect([status, body.event_id, body.redelivery_of]).toEqual([202, events[2]?.id, ended.id]);
  });
});

/** Identifier and event of each delivery of a tenant. */
async function deliveriesOf(tenant: string): Promise<string[]> {
  const items = await scanTable(api.emulator);
  const own = items.filter(({ pk, et }) => et === "DELIVERY" && String(pk).startsWith(tenant));
  return own.map(({ id, event_id }) => `${id} ${event_id}`);
}

const zero = JSON.stringify({ number: "0" });

const messageOf = (tenant_id: string, id: unknown) => ({
  tenant_id,
  delivery_id: String(id),
  attempt: 1,
  returns: 0,
});
