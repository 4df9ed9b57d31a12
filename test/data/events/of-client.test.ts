import { marshall } from "@aws-sdk/util-dynamodb";
import { afterAll, describe, expect, it } from "vitest";
import { replyExamples } from "../../../shared/openapi/examples.ts";
import { eventId, events, type PublishedEvent, sequences } from "../../../shared/table/entities.ts";
import { packText } from "../../../shared/table/packed/text.ts";
import { brokerage } from "../../support/builders/brokerage.ts";
import { putItems, writeOf } from "../../support/builders/trading-data.ts";
import { startApi } from "../../support/emulator/api.ts";
import { newCaller } from "../../support/emulator/request.ts";

const example = replyExamples["BrokerageEvent"] as object;
const api = await startApi();
afterAll(api.stop);

const caller = newCaller();
const tenant = caller.tenant_id;

/** Events of others that are newer than all of the client: more than a page with a filter looks through. */
const newer = 1_000;

/** Publishes events by their account and client, numbered from 1 on, as a publisher would have. */
async function publish(owners: readonly (readonly [account: string | null, client: string | null])[]): Promise<void> {
  const now = new Date().toISOString();
  const writes = owners.map(([account_id, client_id], place) => {
    const sequence = place + 1;
    const id = eventId(Date.now(), "01JD0000000000000000000000", sequence);
    const event: PublishedEvent = {
      ...{ id, tenant_id: tenant, sequence, type: "client.updated", resource_id: account_id ?? client_id ?? tenant },
      ...{ account_id, client_id, created_at: now, published_at: now, expires_at: 4_000_000_000 },
      payload: packText(JSON.stringify({ ...example, id, sequence: String(sequence) })),
    };
    return writeOf(api, events, event);
  });
  const counter = { ...sequences.key(tenant), et: sequences.et, last: owners.length };
  await putItems(api, [...writes, { tableName: api.emulator.tableName, item: marshall(counter) }]);
}

async function numbers(query: string): Promise<string[]> {
  const { status, body } = await api.call(caller, "GET", `/events?${query}`);
  expect(status).toBe(200);
  return body.data.map(({ sequence }: { sequence: string }) => sequence);
}

describe("the events of a client", () => {
  it("are theirs and those of their accounts, however many newer ones others have", async () => {
    const broker = brokerage(api, caller);
    const [first, other] = [await broker.account(), await broker.account()];
    const client = first.client_id;
    const second = await broker.account(undefined, { client_id: client });
    await publish([
      [null, client],
      [first.id, client],
      [other.id, other.client_id],
      [second.id, client],
      [null, other.client_id],
      [null, null],
      [null, client],
      ...Array.from({ length: newer }, () => [other.id, other.client_id] as const),
    ]);
    expect(await numbers(`client_id=${client}&sort=-sequence&limit=50`)).toEqual(["7", "4", "2", "1"]);
    expect(await numbers(`client_id=${client}&sort=sequence&limit=2`)).toEqual(["1", "2"]);
    expect(await numbers(`client_id=${client}&after_sequence=2&sort=sequence`)).toEqual(["4", "7"]);
    expect(await numbers(`client_id=${client}&account_id=${second.id}&sort=sequence`)).toEqual(["4"]);
  });
});
