import { marshall } from "@aws-sdk/util-dynamodb";
import fc from "fast-check";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { replyExamples } from "../../../shared/openapi/examples.ts";
import { eventsAfter } from "../../../shared/table/event-pages.ts";
import { eventCounter } from "../../../shared/table/sequences.ts";
import { putItems } from "../../support/builders/trading-data.ts";
import { startApi, type TestAnswer } from "../../support/emulator/api.ts";
import { newCaller, type TestCaller } from "../../support/emulator/request.ts";

const api = await startApi("watched");
afterAll(api.stop);

const base = "https://api.test.example/v2";
const eventExample = replyExamples["BrokerageEvent"] as object;

/** Writes published events straight into the table, each with so many bytes of payload, as a publisher would have. */
async function plantEvents(
  caller: TestCaller,
  sequences: readonly number[],
  last: number,
  bytes = 10,
  published_at = "2020-01-01T00:00:00.000Z",
) {
  const { tableName } = api.emulator;
  const write = (item: Record<string, unknown>) => ({ tableName, item: marshall(item) });
  const planted = sequences.map((sequence) => {
    const data = { object: { filling: "x".repeat(bytes) } };
    const payload = { ...eventExample, id: `evt_${sequence}`, sequence: String(sequence), data };
    const million = `${caller.tenant_id}|EVT|${Math.floor(sequence / 1_000_000)}`;
    return write({
      pk: `${million}|${sequence % 4}`,
      sk: String(sequence).padStart(16, "0"),
      et: "EVENT",
      id: payload.id,
      tenant_id: caller.tenant_id,
      sequence,
      type: sequence % 3 === 0 ? "client.created" : "account.created",
      published_at,
      payload: JSON.stringify(payload),
    });
  });
  await putItems(api, [write({ pk: `${caller.tenant_id}|SEQ`, sk: "SEQ", et: "SEQ", last }), ...planted]);
}

async function page(caller: TestCaller, address: string): Promise<TestAnswer> {
  const answer = await api.call(caller, "GET", address);
  expect([address, answer.status]).toEqual([address, 200]);
  return answer;
}

function addressOf(answer: TestAnswer, relation: "next" | "prev"): string | undefined {
  const href: string | undefined = answer.body._links[relation]?.href;
  return href?.slice(base.length);
}

/** The pages of a list from an address on, one relation after the other. */
async function walk(caller: TestCaller, address: string, relation: "next" | "prev" = "next"): Promise<TestAnswer[]> {
  const pages: TestAnswer[] = [];
  for (let at: string | undefined = address; at !== undefined; at = addressOf(pages.at(-1) as TestAnswer, relation)) {
    expect(pages.length).toBeLessThan(200);
    pages.push(await page(caller, at));
  }
  return pages;
}

const numbersOf = ({ body }: TestAnswer): number[] => body.data.map((event: { sequence: string }) => +event.sequence);

async function sequencesOf(caller: TestCaller, address: string): Promise<number[]> {
  return (await walk(caller, address)).flatMap(numbersOf);
}

const listOf = (items: unknown) => (items ?? []) as readonly object[];

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

describe("the list of events", () => {
  it("goes on behind the megabyte at which one answer of the table ends", async () => {
    const caller = newCaller();
    const all = upTo(60);
    await plantEvents(caller, all, 60, 70_000);
    expect(await sequencesOf(caller, "/events?limit=100")).toEqual(all);
    expect(await sequencesOf(caller, "/events?limit=100&sort=-sequence")).toEqual(all.toReversed());
    expect(await sequencesOf(caller, "/events?limit=100&after_sequence=20")).toEqual(all.slice(20));
  });

  it("is found wherever it is: over partitions of a million, and behind those whose events have ended", async () => {
    const caller = newCaller();
    const kept = [2_999_998, 2_999_999, 3_000_000, 3_000_001, 5_000_007, 5_000_008];
    await plantEvents(caller, kept, 5_000_008);
    for (const limit of [1, 2, 25]) {
      expect(await sequencesOf(caller, `/events?limit=${limit}`)).toEqual(kept);
      expect(await sequencesOf(caller, `/events?limit=${limit}&sort=-sequence`)).toEqual(kept.toReversed());
      expect(await sequencesOf(caller, `/events?limit=${limit}&after_sequence=3000000`)).toEqual(kept.slice(3));
    }
  });

  it("is empty for a tenant without an event, and behind the last one", async () => {
    const caller = newCaller();
    expect(await sequencesOf(caller, "/events")).toEqual([]);
    await plantEvents(caller, [1, 2], 2);
    expect(await sequencesOf(caller, "/events?after_sequence=2")).toEqual([]);
    expect(await sequencesOf(caller, "/events?after_sequence=999999999")).toEqual([]);
    expect(await sequencesOf(caller, "/events?after_sequence=999999999&sort=-sequence")).toEqual([]);
  });

  it("answers every forged position within its filter, and never with an error", async () => {
    const caller = newCaller();
    await plantEvents(caller, [1, 2, 3, 4, 5], 5);
    for (const sort of ["sequence", "-sequence"]) {
      const address = `/events?limit=1&sort=${sort}&after_sequence=3`;
      const cursor = new URLSearchParams((addressOf(await page(caller, address), "next") ?? "").split("?")[1]);
      const parts = JSON.parse(Buffer.from(cursor.get("cursor") ?? "", "base64url").toString()) as unknown[];
      for (const position of ["0000000000000001", "0", "9", "ZZZ", "9999999999999999999999", "|", "0000000000000004"]) {
        for (const way of ["n", "p", "N", "P"]) {
          const forged = Buffer.from(JSON.stringify([parts[0], way, position, parts[3]])).toString("base64url");
          const { body } = await page(caller, `${address}&cursor=${forged}`);
          for (const event of body.data) expect(Number(event.sequence)).toBeGreaterThan(3);
        }
      }
    }
  });
});

describe("a number that is missing before a fresh event", () => {
  const counter = 8;
  // Taken when the file is loaded it would be too old for the tests that come last on a busy machine.
  let now = "";
  beforeEach(() => {
    now = new Date().toISOString();
  });

  it("ends a page, which has a next one, and is shown by it once it is seen", async () => {
    const caller = newCaller();
    await plantEvents(caller, [1, 2, 3, 4, 6, 7, 8], counter, 10, now);
    const first = await page(caller, "/events?after_sequence=2");
    expect(first.body.data.map(({ sequence }: { sequence: string }) => sequence)).toEqual(["3", "4"]);
    const at = addressOf(first, "next") ?? "";
    const empty = await page(caller, at);
    expect([empty.body.data, addressOf(empty, "next"), empty.body.page.has_more]).toEqual([[], undefined, false]);
    await plantEvents(caller, [5], counter, 10, now);
    expect(await sequencesOf(caller, at)).toEqual([5, 6, 7, 8]);
  });

  it.each([
    ["in lanes that the first read of a page does not reach", "/events?limit=2", [2, 3], 20, [1]],
    ["at the end of what the first read looks at", "/events", [25, 26], 40, upTo(24)],
    ["behind a filter", "/events?type=client.created&after_sequence=2&limit=100", [252], 300, upTo(251)],
  ])("ends a page %s", async (_, address, unseen, last, shown) => {
    const caller = newCaller();
    const seen = upTo(last).filter((sequence) => !unseen.includes(sequence));
    await plantEvents(caller, seen, last, 10, now);
    const wanted = address.includes("type") ? shown.filter((sequence) => sequence > 2 && sequence % 3 === 0) : shown;
    expect(await sequencesOf(caller, address)).toEqual(wanted);
    await plantEvents(caller, unseen, last, 10, now);
    expect((await sequencesOf(caller, address.replace(/limit=\d+/, "limit=100"))).length).toBeGreaterThan(
      wanted.length,
    );
  });

  it("is not passed over by what reads events to send them again", async () => {
    const caller = newCaller();
    await plantEvents(caller, [1, 2, 3, 4, 6, 7, 8], counter, 10, now);
    const stored = await eventCounter(caller.tenant_id);
    await expect(eventsAfter(caller.tenant_id, 2, stored, { most: 100 })).rejects.toThrow("not seen yet");
    expect((await eventsAfter(caller.tenant_id, 2, stored, { most: 2 })).found).toHaveLength(2);
    const other = newCaller();
    await plantEvents(other, [1, 4, 5, 6, 7, 8], counter, 10, now);
    const least = await eventCounter(other.tenant_id);
    await expect(eventsAfter(other.tenant_id, 0, least, { most: 3 })).rejects.toThrow("not seen yet");
  });
});

describe("a walk over events", () => {
  it("shows each event once and in order, forward and back, whatever has ended", async () => {
    const stored = fc.record({
      last: fc.integer({ min: 1, max: 40 }),
      // Events of lanes end by themselves, so those that are left may have gaps where the oldest were.
      ended: fc.oneof(
        fc.uniqueArray(fc.integer({ min: 1, max: 20 }), { maxLength: 15 }),
        fc.integer({ min: 0, max: 39 }).map(upTo),
      ),
      limit: fc.constantFrom(1, 2, 3, 4, 7, 25),
      after: fc.integer({ min: 0, max: 42 }),
      descending: fc.boolean(),
      filtered: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(stored, async ({ last, ended, limit, after, descending, filtered }) => {
        const caller = newCaller();
        const kept = upTo(last).filter((sequence) => !ended.includes(sequence));
        await plantEvents(caller, kept, last);
        const wanted = kept.filter((sequence) => sequence > after && (!filtered || sequence % 3 === 0));
        const shown = descending ? wanted.toReversed() : wanted;
        const query = `limit=${limit}&after_sequence=${after}${filtered ? "&type=client.created" : ""}`;
        const pages = await walk(caller, `/events?${query}&sort=${descending ? "-" : ""}sequence`);
        expect(pages.flatMap(numbersOf)).toEqual(shown);
        const back = pages.length < 2 ? undefined : addressOf(pages.at(-1) as TestAnswer, "prev");
        if (back === undefined) return;
        const before = shown.slice(0, shown.length - numbersOf(pages.at(-1) as TestAnswer).length);
        expect((await walk(caller, back, "prev")).toReversed().flatMap(numbersOf)).toEqual(before);
      }),
      { numRuns: 60 },
    );
  });

  it("reads of its lanes just what a page shows and one event more, in one round", async () => {
    const caller = newCaller();
    await plantEvents(caller, upTo(120), 120);
    for (const limit of [1, 2, 4, 25, 100]) {
      for (const sort of ["sequence", "-sequence"]) {
        let address: string | undefined = `/events?limit=${limit}&sort=${sort}`;
        for (let count = 0; count < 2 && address !== undefined; count += 1) {
          api.watched.takeCalls();
          const answer = await page(caller, address);
          const queries = api.watched.takeCalls().filter(({ operation }) => operation === "Query");
          const items = queries.flatMap(({ output }) => listOf(output?.["Items"]));
          const left = 120 - count * limit;
          expect([limit, sort, items.length]).toEqual([limit, sort, Math.min(limit + 1, left)]);
          expect(queries.length).toBe(Math.min(4, limit + 1, left));
          address = addressOf(answer, "next");
        }
      }
    }
  });

  it("with a filter looks at no more than 250 events in a round", async () => {
    const caller = newCaller();
    await plantEvents(caller, upTo(300), 300);
    api.watched.takeCalls();
    expect(numbersOf(await page(caller, "/events?limit=100&type=client.created"))).toHaveLength(100);
    const queries = api.watched.takeCalls().filter(({ operation }) => operation === "Query");
    const counts = queries.map(({ output }) => listOf(output?.["Items"]).length);
    expect(counts).toEqual([63, 63, 62, 62, 13, 13, 12, 12]);
  });
});
