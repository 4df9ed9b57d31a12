import { afterAll, beforeAll, expect, it } from "vitest";
import { newId } from "../../../shared/runtime/ids.ts";
import { rescheduled } from "../../../shared/table/due.ts";
import { eventId, events, type PublishedEvent } from "../../../shared/table/entities.ts";
import { packPayload, payloadBytes } from "../../../shared/table/event-payload.ts";
import { changeItem } from "../../../shared/table/items.ts";
import { eventCounter } from "../../../shared/table/sequences.ts";
import { findAll } from "../../../shared/table/store.ts";
import { transactOnce } from "../../../shared/table/transact.ts";
import { putNew } from "../../../shared/table/write.ts";
import { brokerage } from "../../support/builders/brokerage.ts";
import { startApi } from "../../support/emulator/api.ts";
import { publishing } from "../../support/emulator/publishing.ts";
import { scanTable } from "../../support/emulator/raw-table.ts";
import { newCaller } from "../../support/emulator/request.ts";
import { unitsOf } from "../../support/emulator/watched-endpoint.ts";

const api = await startApi("watched");
afterAll(api.stop);

/** Events of a client, an account and a deposit, as the publisher stored them. */
let stored: readonly PublishedEvent[];

beforeAll(async () => {
  const caller = newCaller();
  await brokerage(api, caller).account("1000.00");
  const waiting = (await scanTable(api.emulator)).filter(({ et }) => et === "OUTBOX");
  const keys = waiting
    .map(({ pk, sk }) => [String(pk), String(sk)] as const)
    .toSorted(([, a], [, b]) => (a < b ? -1 : 1));
  const body = { tenant_id: caller.tenant_id, keys };
  const message = { queue: "publish.fifo", group: caller.tenant_id, body };
  const unset = { delaySeconds: undefined, deduplication: undefined, trace: undefined };
  expect(await publishing(api).receive([{ ...message, ...unset }])).toEqual([]);
  const { last } = await eventCounter(caller.tenant_id);
  const numbers = Array.from({ length: last }, (_, place) => events.key(caller.tenant_id, place + 1));
  stored = await findAll(events, numbers);
  expect(stored.map(({ type }) => type).toSorted()).toEqual([
    ...["account.created", "client.created"],
    ...["transaction.completed", "transaction.created", "transaction.updated"],
  ]);
});

/** Units of the transaction that puts an event and, where it is due, of the update that takes it out of the index. */
async function unitsToPut(event: PublishedEvent): Promise<number> {
  api.watched.takeCalls();
  expect(await transactOnce([putNew(events, event)])).toEqual({ ok: true });
  const change = rescheduled(events, event, { remove: ["wake_at"] });
  if (event.wake_at !== undefined) await changeItem(events.keyOf(event), change);
  return unitsOf(api.watched.takeCalls());
}

it.each([
  [0, 4],
  [1, 7],
  [5, 10],
  [20, 10],
])("an event that is due to %i endpoints costs at most %i write units", async (count, most) => {
  const tenant_id = newId("brk");
  for (const [place, { wake_at: _wake, endpoints: _endpoints, ...event }] of stored.entries()) {
    const endpoints = Array.from({ length: count }, () => ({ id: newId("whe"), epoch: 3 }));
    const due = count === 0 ? {} : { endpoints, wake_at: "2026-11-22T18:00:00.000Z" };
    const id = eventId(0, newId("evt"), place + 1);
    const text = Buffer.from(payloadBytes(event)).toString().replaceAll(event.id, id);
    const payload = packPayload({ ...event, id }, text);
    expect(await unitsToPut({ ...event, ...due, id, tenant_id, sequence: place + 1, payload })).toBeLessThanOrEqual(
      most,
    );
  }
});
