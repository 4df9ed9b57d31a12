import { UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { marshall } from "@aws-sdk/util-dynamodb";
import type { DynamoDBBatchResponse } from "aws-lambda";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { limits } from "../../../shared/limits.ts";
import { accounts } from "../../../shared/table/entities.ts";
import { brokerage } from "../../support/builders/brokerage.ts";
import { largestMetadata, mostEscaped } from "../../support/builders/largest.ts";
import { putMarket } from "../../support/builders/trading-data.ts";
import { startApi } from "../../support/emulator/api.ts";
import { quotas, watchSizes } from "../../support/emulator/item-size.ts";
import { ofType, text } from "../../support/emulator/raw-items.ts";
import { readStream, type StreamRecord, scanTable } from "../../support/emulator/raw-table.ts";
import { newCaller } from "../../support/emulator/request.ts";
import { failure } from "../../support/emulator/watched-endpoint.ts";
import { findings } from "../../support/oracles/oracle.ts";

const api = await startApi("stream", "watched");
afterAll(async () => {
  const found = await findings(api.emulator);
  await api.stop();
  expect(found).toEqual([]);
});
afterEach(() => {
  api.watched.interfere = () => undefined;
  delete process.env["TIME_SCALE"];
});
const { tradingFloor } = await import("../../support/builders/trading-floor.ts");
const { marketWatch } = await import("../../support/builders/market-watch.ts");
const { publishing } = await import("../../support/emulator/publishing.ts");
const work = publishing(api);
const market = marketWatch(api);

describe("events that are published while the table fails", () => {
  it("ask it by one layer of tries, and come again together", async () => {
    const caller = newCaller();
    const broker = brokerage(api, caller);
    for (let count = 0; count < 4; count += 1) await broker.client();
    const records = await waiting(caller.tenant_id);
    api.watched.takeCalls();
    api.watched.interfere = ({ operation }) =>
      operation === "TransactWriteItems" ? { ...failure("InternalServerError"), status: 500 } : undefined;
    expect((await deliver(records)).batchItemFailures).not.toEqual([]);
    const tries = api.watched.takeCalls().filter(({ operation }) => operation === "TransactWriteItems");
    expect(tries).toHaveLength(limits.calls.attempts);
    api.watched.interfere = () => undefined;
    expect(await deliver(records)).toEqual({ batchItemFailures: [] });
  });
});

/** The largest metadata that was taken before text had its rules: 50 values of 500 characters of six bytes each. */
const oldest = Object.fromEntries([...Array(50)].map((_, at) => [`key-${at}`.padEnd(40, "k"), "\u0001".repeat(500)]));

async function waiting(tenant: string): Promise<StreamRecord[]> {
  return (await readStream(api.emulator)).filter(
    ({ eventName, dynamodb: { NewImage: image } }) =>
      eventName === "INSERT" && image?.["et"]?.S === "OUTBOX" && image["tenant_id"]?.S === tenant,
  );
}

function deliver(records: readonly StreamRecord[]): Promise<DynamoDBBatchResponse> {
  return work.publish(records);
}

/** An account with this metadata that stands at its stop-out, and is evaluated. */
async function stoppedOut(metadata: Readonly<Record<string, string>> = oldest) {
  const caller = newCaller();
  const tenant = caller.tenant_id;
  const broker = brokerage(api, caller);
  await putMarket(api, tenant);
  const account = await broker.account("1650.00", { type: "demo", leverage: 100 });
  await tradingFloor(tenant).open(account.id, { symbol: "EURUSD", side: "buy", lots: "1.00" });
  await deliver(await waiting(tenant));
  await api.emulator.client.send(
    new UpdateItemCommand({
      TableName: api.emulator.tableName,
      Key: marshall(accounts.key(tenant, account.id)),
      UpdateExpression: "SET metadata = :metadata",
      ExpressionAttributeValues: marshall({ ":metadata": metadata }),
    }),
  );
  api.queues.takeMessages();
  const sizes = watchSizes(api);
  await market.see(await market.price(tenant, "EURUSD", ["1.08000", "1.08010"]));
  await market.evaluateSent();
  return { caller, tenant, broker, account, sizes };
}

const kinds = [
  ...["margin.call", "trade.closed", "transaction.created", "transaction.completed", "transaction.updated"],
  ...["stop.out", "margin.recovered"],
];
const told = async (broker: ReturnType<typeof brokerage>) =>
  (await broker.get("/events?limit=100&after_sequence=6")).data as { type: string; data: { object: object } }[];

describe("a stop-out of an account whose metadata is larger than metadata may be", () => {
  it("commits, and announces it in order with the whole account each time", async () => {
    const { tenant, broker, account, sizes } = await stoppedOut();
    expect((await broker.get(`/accounts/${account.id}/positions`)).data).toEqual([]);
    expect(sizes.faults).toEqual([]);
    expect(await deliver(await waiting(tenant))).toEqual({ batchItemFailures: [] });
    expect(sizes.faults).toEqual([]);
    expect(sizes.largest.transaction).toBeLessThan(quotas.transaction_bytes / 2);
    const events = await told(broker);
    expect(events.map(({ type }) => type)).toEqual(kinds);
    const whole = events.filter(({ data }) => "metadata" in data.object && "margin_status" in data.object);
    expect(whole.length).toBeGreaterThan(2);
    for (const { data } of whole) expect(data.object).toMatchObject({ metadata: oldest });
    const items = (await scanTable(api.emulator)).filter((item) => text(item, "pk").startsWith(tenant));
    expect([...ofType(items, "OUTBOX"), ...ofType(items, "OUTBOXPART")]).toEqual([]);
  });

  it("is published once, however often its record comes", async () => {
    const { tenant, broker } = await stoppedOut();
    const records = await waiting(tenant);
    const answers = [await deliver(records), await deliver(records), await deliver(records.toReversed())];
    expect(answers).toEqual(Array(3).fill({ batchItemFailures: [] }));
    expect((await told(broker)).map(({ type }) => type)).toEqual(kinds);
  });

  it("waits for a part that is not visible yet, and is published whole or not at all", async () => {
    const { tenant, broker } = await stoppedOut();
    const [record] = (await waiting(tenant)).slice(-1);
    const NewImage = record?.dynamodb.NewImage;
    expect(NewImage?.["parts"]).toEqual({ N: "1" });
    api.watched.interfere = ({ operation, input }) => {
      const partial = operation === "BatchGetItem" && JSON.stringify(input).includes("#01");
      return partial ? { status: 200, body: { Responses: { [api.emulator.tableName]: [NewImage] } } } : undefined;
    };
    const records = await waiting(tenant);
    expect((await deliver(records)).batchItemFailures).toHaveLength(1);
    expect(await told(broker)).toEqual([]);
    api.watched.interfere = () => undefined;
    expect(await deliver(records)).toEqual({ batchItemFailures: [] });
    expect((await told(broker)).map(({ type }) => type)).toEqual(kinds);
  });
});

describe("a publisher", () => {
  it("takes no more into a transaction than it holds, whatever the size of the events", async () => {
    const metadata = largestMetadata(mostEscaped);
    const { tenant, broker, account, caller, sizes } = await stoppedOut(metadata);
    const patch = async (name: string) => api.call(caller, "PATCH", `/accounts/${account.id}`, { body: { name } });
    for (let change = 0; change < 60; change += 1) expect((await patch(`name ${change}`)).status).toBe(200);
    const commits = ofType(await scanTable(api.emulator), "OUTBOX").filter((item) =>
      text(item, "pk").startsWith(tenant),
    );
    const bytes = commits.reduce((sum, item) => sum + Buffer.byteLength((item["events"] as string[]).join()), 0);
    expect(bytes).toBeGreaterThan(limits.events.max_published_bytes);
    expect(await deliver(await waiting(tenant))).toEqual({ batchItemFailures: [] });
    expect(sizes.faults).toEqual([]);
    const events = await broker.get("/events?type=account.updated&sort=-sequence&limit=2");
    expect(events.data[0].data.object).toMatchObject({ name: "name 59", metadata });
  });
});
