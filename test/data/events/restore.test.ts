import { type AttributeValue, BatchWriteItemCommand, ScanCommand, type WriteRequest } from "@aws-sdk/client-dynamodb";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { limits } from "../../../shared/limits.ts";
import { brokerage } from "../../support/builders/brokerage.ts";
import { startApi } from "../../support/emulator/api.ts";
import { readStream } from "../../support/emulator/raw-table.ts";
import { lambdaContext, newCaller, type TestCaller } from "../../support/emulator/request.ts";

const api = await startApi("stream");
afterAll(api.stop);
afterEach(() => {
  vi.useRealTimers();
});
const { publishing } = await import("../../support/emulator/publishing.ts");
const { handler: sweepEvents } = await import("../../../functions/events/sweep-due.ts");
const work = publishing(api);
const { client, tableName } = api.emulator;

type StoredItem = Record<string, AttributeValue>;

/** Every item of the brokerage, page by page while others write: no two pages are of the same moment. */
async function copyOf({ tenant_id }: TestCaller): Promise<StoredItem[]> {
  const items: StoredItem[] = [];
  let start: StoredItem | undefined;
  do {
    const page = await client.send(
      new ScanCommand({
        ...{ TableName: tableName, ConsistentRead: true, Limit: 20, ExclusiveStartKey: start },
        ...{ FilterExpression: "begins_with(pk, :own)", ExpressionAttributeValues: { ":own": { S: tenant_id } } },
      }),
    );
    items.push(...(page.Items ?? []));
    start = page.LastEvaluatedKey;
  } while (start !== undefined);
  return items;
}

/** Makes the items of the brokerage those of the copy, as a table that was restored has them. */
async function restore(caller: TestCaller, copy: readonly StoredItem[]): Promise<void> {
  const keyOf = ({ pk = { S: "" }, sk = { S: "" } }: StoredItem) => ({ pk, sk });
  const kept = new Set(copy.map((item) => JSON.stringify(keyOf(item))));
  const gone = (await copyOf(caller)).map(keyOf).filter((key) => !kept.has(JSON.stringify(key)));
  const requests: WriteRequest[] = [
    ...gone.map((Key) => ({ DeleteRequest: { Key } })),
    ...copy.map((Item) => ({ PutRequest: { Item } })),
  ];
  for (let at = 0; at < requests.length; at += 25) {
    await client.send(new BatchWriteItemCommand({ RequestItems: { [tableName]: requests.slice(at, at + 25) } }));
  }
}

let seen = 0;

/** Publishes what the stream has had since the last time. */
async function publishNew(): Promise<void> {
  const records = await readStream(api.emulator);
  const inserted = records.slice(seen).filter(({ eventName, dynamodb: { NewImage } }) => {
    return eventName === "INSERT" && NewImage?.["et"]?.S === "OUTBOX";
  });
  seen = records.length;
  if (inserted.length > 0) expect(await work.publish(inserted)).toEqual({ batchItemFailures: [] });
}

interface Event {
  readonly id: string;
  readonly type: string;
  readonly sequence: string;
  readonly data: { readonly object: Readonly<Record<string, unknown>> };
}

async function eventsOf(caller: TestCaller): Promise<Event[]> {
  const found: Event[] = [];
  let path: string | undefined = "/events?limit=100";
  while (path !== undefined) {
    const { body } = await api.call(caller, "GET", path);
    found.push(...body.data);
    path = body._links.next?.href.replace(/^.*(?=\/events)/, "");
  }
  return found;
}

const clientOf = ({ data }: Event) => String(data.object["id"]);
const byNumber = (events: readonly Event[]) => new Map(events.map(({ sequence, id }) => [sequence, id]));
const clients = async (caller: TestCaller, count: number) => {
  for (let made = 0; made < count; made += 1) await brokerage(api, caller).client();
};

/** A brokerage whose data were copied in the middle of its traffic, with what its receivers saw in the end. */
async function copiedInTraffic() {
  const caller = newCaller();
  await clients(caller, 12);
  await publishNew();
  // Commits that were not published yet are in the copy, and some of them twice in their life: as outbox items that
  // the copy has, and as events that receivers get meanwhile.
  await clients(caller, 4);
  const [copy] = await Promise.all([copyOf(caller), clients(caller, 6), publishNew()]);
  await clients(caller, 3);
  await publishNew();
  const before = await eventsOf(caller);
  await restore(caller, copy);
  const restored = await eventsOf(caller);
  return { caller, copy, before, restored, lastSeen: Math.max(...before.map(({ sequence }) => Number(sequence))) };
}

const lastOf = (events: readonly Event[]) => Math.max(0, ...events.map(({ sequence }) => Number(sequence)));

/** Work after the restore: what the copy has waiting, found by the sweep, and new traffic. */
async function goOn(caller: TestCaller): Promise<Event[]> {
  await publishNew();
  process.env["TIME_SCALE"] = "1000000";
  await sweepEvents({}, lambdaContext(60_000));
  delete process.env["TIME_SCALE"];
  await work.publishSent();
  await clients(caller, 5);
  await publishNew();
  // A list ends before a number that is missing right before a fresh event: it may be seen in a moment.
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + (limits.events.unseen_seconds + 1) * 1000 });
  const events = await eventsOf(caller);
  vi.useRealTimers();
  return events;
}

const numbers = (caller: TestCaller, last_valid: number, after: number) =>
  sweepEvents(
    {
      ...{ action: "resume_numbers", tenant_id: caller.tenant_id, restored_to: "2026-11-23T12:00:00Z" },
      ...{ last_valid_sequence: String(last_valid), after_sequence: String(after) },
    },
    lambdaContext(60_000),
  );

describe("a table that was restored from a copy taken in the middle of traffic", () => {
  it("would give a number twice with another content if nothing were done", async () => {
    const { caller, before } = await copiedInTraffic();
    const known = byNumber(before);
    const after = await goOn(caller);
    expect(after.filter(({ sequence, id }) => known.has(sequence) && known.get(sequence) !== id)).not.toEqual([]);
  });

  it("gives none twice once its numbers are raised, and tells receivers which events are void", async () => {
    const { caller, before, restored, lastSeen } = await copiedInTraffic();
    const lastValid = lastOf(restored);
    expect(lastValid).toBeLessThan(lastSeen);
    expect(await numbers(caller, lastValid, lastSeen)).toEqual({
      resumed_after: lastSeen,
      void_events: lastSeen - lastValid,
    });
    const known = byNumber(before);
    const after = await goOn(caller);
    const ids = new Set(before.map(({ id }) => id));
    for (const { sequence, id } of after) {
      if (known.has(sequence)) expect([sequence, id]).toEqual([sequence, known.get(sequence)]);
      if (!ids.has(id)) expect(Number(sequence)).toBeGreaterThan(lastSeen);
    }
    const announced = after.filter(({ type }) => type === "brokerage.restored");
    expect(announced.map(({ sequence, data }) => [Number(sequence), data.object])).toEqual([
      [
        expect.any(Number),
        expect.objectContaining({
          object: "restore",
          restored_to: "2026-11-23T12:00:00.000Z",
          last_valid_sequence: String(lastValid),
          resumed_after_sequence: String(lastSeen),
        }),
      ],
    ]);
    // A receiver that follows the announcement has what the service has.
    const own = new Set(before.map(clientOf));
    for (const event of before.filter(({ sequence }) => Number(sequence) > lastValid)) {
      const { status } = await api.call(caller, "GET", `/clients/${clientOf(event)}`);
      if (status === 404) own.delete(clientOf(event));
    }
    for (const event of after.filter(({ type }) => type === "client.created")) own.add(clientOf(event));
    const { body } = await api.call(caller, "GET", "/clients?limit=100");
    const stored = (body.data as { id: string }[]).map(({ id }) => id);
    expect(stored.length).toBeLessThan(before.length + 5);
    expect([...own].sort()).toEqual(stored.sort());
  });

  it("goes on after a gap of a million numbers: lists and replays pass over it", async () => {
    const caller = newCaller();
    await clients(caller, 2);
    await publishNew();
    await numbers(caller, 2, 3_000_002);
    const events = await goOn(caller);
    expect(events.map(({ sequence }) => Number(sequence)).toSorted((one, other) => one - other)).toEqual([
      ...[1, 2, 3_000_003, 3_000_004, 3_000_005, 3_000_006, 3_000_007, 3_000_008],
    ]);
  });

  it.each([
    [{ tenant_id: "brk_1" }, "tenant_id must be the id of a brokerage, brk_ and 26 characters."],
    [{ after_sequence: "1.5" }, "after_sequence must be the number of an event."],
    [{ after_sequence: 7 }, "after_sequence must be the number of an event."],
    [{ last_valid_sequence: "-1" }, "last_valid_sequence must be the number of an event."],
    [{ last_valid_sequence: "4" }, "after_sequence must not be below last_valid_sequence."],
    [{ restored_to: "yesterday" }, "restored_to must be a time in UTC such as 2026-01-31T12:00:00Z."],
    [{ restored_to: "2026-99-31T12:00:00Z" }, "restored_to must be a time that there is."],
    [
      { after_sequence: "1", last_valid_sequence: "1" },
      "Events are numbered up to 2: after_sequence must not be below",
    ],
    [{ last_valid_sequence: "3" }, "The data have events up to 2: last_valid_sequence must not be above that."],
    [{ after_sequence: "100000003" }, "after_sequence may be 100000000 above 2 at the most."],
  ])("refuses %o with a sentence, and changes nothing", async (wrong, sentence) => {
    const caller = newCaller();
    await clients(caller, 2);
    await publishNew();
    const right = { last_valid_sequence: "2", after_sequence: "3", restored_to: "2026-11-23T12:00:00Z" };
    const event = { action: "resume_numbers", tenant_id: caller.tenant_id, ...right, ...wrong };
    await expect(sweepEvents(event, lambdaContext(60_000))).rejects.toThrow(sentence);
    await publishNew();
    expect(await eventsOf(caller)).toHaveLength(2);
  });
});
