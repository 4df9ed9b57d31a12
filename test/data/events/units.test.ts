import { readFileSync } from "node:fs";
import { unmarshall } from "@aws-sdk/util-dynamodb";
import { afterAll, expect, it } from "vitest";
import { newId } from "../../../shared/runtime/ids.ts";
import { rescheduled } from "../../../shared/table/due.ts";
import { eventId, events, type PublishedEvent } from "../../../shared/table/entities.ts";
import { packPayload } from "../../../shared/table/event-payload.ts";
import { changeItem } from "../../../shared/table/items.ts";
import { readItem } from "../../../shared/table/table.ts";
import { transactOnce } from "../../../shared/table/transact.ts";
import { putNew, type TransactItem } from "../../../shared/table/write.ts";
import { startApi } from "../../support/emulator/api.ts";
import { unitsOf } from "../../support/emulator/watched-endpoint.ts";

const api = await startApi("watched");
afterAll(api.stop);

// Events as the code before stored them: of a client, an account and two transactions.
const stored = readFileSync(new URL("version-1.jsonl", import.meta.url), "utf8")
  .trim()
  .split("\n")
  .map((line) => unmarshall(JSON.parse(line)))
  .filter(({ et }) => et === "EVENT");

/** Units of the transaction that puts an event and, where it is due, of the update that takes it out of the index. */
async function unitsToPut(event: PublishedEvent, put: TransactItem): Promise<number> {
  api.watched.takeCalls();
  expect(await transactOnce([put])).toEqual({ ok: true });
  const key = { pk: String(put.Put?.Item?.["pk"]), sk: String(put.Put?.Item?.["sk"]) };
  if (event.wake_at !== undefined) await changeItem(key, rescheduled(events, event, { remove: ["wake_at"] }));
  return unitsOf(api.watched.takeCalls());
}

/** As schema version 1 stored it: text, a list of maps, the type index and every attribute. */
function formerPut(item: Record<string, unknown>, event: PublishedEvent): TransactItem {
  const { due_pk, due_sk, wake_at, endpoints, ...rest } = item;
  const due = { wake_at: event.wake_at, due_pk: "DUE|EVENT|00", due_sk: `${event.wake_at}|${event.id}` };
  const own = event.endpoints === undefined ? {} : { ...due, endpoints: event.endpoints };
  return { Put: { TableName: api.emulator.tableName, Item: { ...rest, pk: `${rest["pk"]}|${newId("x")}`, ...own } } };
}

it.each([
  // An event of a client alone is listed with those of its accounts, as one of an account always was.
  [0, [9, 9, 9, 9, 9, 9, 9], [4, 4, 4, 4, 4, 4, 4]],
  [1, [14, 14, 14, 14, 14, 14, 14], [7, 7, 7, 7, 7, 7, 7]],
  [5, [14, 14, 14, 17, 17, 14, 14], [7, 7, 7, 7, 7, 7, 7]],
  [20, [17, 17, 17, 17, 17, 17, 17], [10, 10, 10, 10, 10, 10, 10]],
])("an event that is due to %i endpoints costs at least 35 percent less than before", async (count, before, after) => {
  const tenant_id = newId("brk");
  const units = { before: [] as number[], after: [] as number[] };
  for (const [place, item] of stored.entries()) {
    const endpoints = Array.from({ length: count }, () => ({ id: newId("whe"), epoch: 3 }));
    const due = count === 0 ? {} : { endpoints, wake_at: "2026-11-22T18:00:00.000Z" };
    const {
      id: _id,
      sequence: _sequence,
      wake_at: _wake,
      endpoints: _endpoints,
      ...rest
    } = readItem<PublishedEvent>(item);
    const id = eventId(0, newId("evt"), place + 1);
    const text = String(item["payload"]).replaceAll(String(item["id"]), id);
    const event = { ...rest, ...due, id, tenant_id, sequence: place + 1, payload: packPayload({ ...rest, id }, text) };
    units.before.push(await unitsToPut(event, formerPut(item, event)));
    units.after.push(await unitsToPut(event, putNew(events, event)));
  }
  expect(units.before).toEqual(before);
  for (const [place, now] of units.after.entries()) {
    expect(now).toBeLessThanOrEqual((before[place] ?? 0) * 0.65);
    // What is deflated may take a few bytes more or less, and so may fit one unit or not.
    expect(now).toBeLessThanOrEqual(after[place] ?? 0);
  }
});
