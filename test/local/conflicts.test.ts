import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AwsError } from "../../infra/local/aws-error.ts";
import type { AwsCall } from "../../infra/local/cloud.ts";
import { Throttling } from "../../infra/local/dynamodb/throttling.ts";
import { eventually } from "../support/wait.ts";
import { callerCode, onTable, startTestCloud, type TestCloud, table, tableArn } from "./fixture.ts";

let test: TestCloud;
let hold: ((call: AwsCall) => void | Promise<void>) | undefined;
const TableName = "test-Main";
const all = ["PutItem", "UpdateItem", "DeleteItem", "GetItem", "BatchGetItem"];
const key = (pk: string) => ({ pk: { S: pk }, sk: { S: "1" } });
const put = (pk: string) => ({ Put: { TableName, Item: key(pk) } });
const transaction = (body: object) => ({ target: "DynamoDB_20120810.TransactWriteItems", body });

beforeAll(async () => {
  const functions = { writer: { code: callerCode, statements: [onTable("All", all)] } };
  const onCall = (call: AwsCall) => hold?.(call);
  test = await startTestCloud({ resources: { Main: table }, functions }, { transactionHoldMs: 150, onCall });
});
afterAll(() => test.stop());

/** Makes the second call while the transaction of the first one keeps its items. */
async function during(first: object, second: { target: string; body: object }) {
  const [holding, met] = await test.calls("writer", [transaction(first), second]);
  return { holding, met };
}

describe("while a transaction is in progress", () => {
  it("one that shares an item is cancelled, and the reasons tell which member", async () => {
    const { holding, met } = await during(
      { TransactItems: [put("brk_a"), put("brk_b")] },
      transaction({ TransactItems: [put("brk_c"), put("brk_b")] }),
    );
    const [won, lost] = holding?.status === 200 ? [holding, met] : [met, holding];
    expect(won?.status).toBe(200);
    expect(lost).toMatchObject({ status: 400, type: "TransactionCanceledException" });
    expect(lost?.body["CancellationReasons"]).toEqual([
      { Code: "None" },
      { Code: "TransactionConflict", Message: "Transaction is ongoing for the item" },
    ]);
    expect(lost?.body["message"]).toBe(
      "Transaction cancelled, please refer cancellation reasons for specific reasons [None, TransactionConflict]",
    );
  });

  it("one with other items goes on", async () => {
    const { holding, met } = await during(
      { TransactItems: [put("brk_d")] },
      transaction({ TransactItems: [put("brk_e")] }),
    );
    expect([holding?.status, met?.status]).toEqual([200, 200]);
  });

  it.each([
    ["PutItem", { TableName, Item: key("brk_f") }, "TransactionConflictException"],
    ["DeleteItem", { TableName, Key: key("brk_f") }, "TransactionConflictException"],
    ["GetItem", { TableName, Key: key("brk_f") }, null],
    [
      "TransactGetItems",
      { TransactItems: [{ Get: { TableName, Key: key("brk_f") } }] },
      "TransactionCanceledException",
    ],
  ])("%s of one of its items answers %s", async (operation, body, type) => {
    // The second call is made once the first one was let through and has taken its items.
    let letSecond: () => void = () => undefined;
    const first = new Promise<void>((resolve) => {
      letSecond = resolve;
    });
    hold = (call) => (call.action === operation ? first : void setImmediate(letSecond));
    const { holding, met } = await during(
      { TransactItems: [put("brk_f")] },
      { target: `DynamoDB_20120810.${operation}`, body },
    );
    hold = undefined;
    expect(holding?.status).toBe(200);
    expect(met).toMatchObject(type === null ? { status: 200 } : { status: 400, type });
  });

  it("the same one again, by its token, is answered as in progress, and afterwards as done", async () => {
    const body = { TransactItems: [put("brk_g")], ClientRequestToken: "token-1" };
    const { holding, met } = await during(body, transaction(body));
    const types = [holding, met].map((answer) => (answer?.status === 200 ? "done" : answer?.type)).sort();
    expect(types).toEqual(["TransactionInProgressException", "done"]);
    expect((await test.dynamodb("writer", "TransactWriteItems", body)).status).toBe(200);
  });

  it("its items are free when it has ended, whether it was done or not", async () => {
    const failing = { Put: { TableName, Item: key("brk_h"), ConditionExpression: "attribute_exists(pk)" } };
    const refused = await test.dynamodb("writer", "TransactWriteItems", { TransactItems: [failing] });
    expect(refused.type ?? refused.body["__type"]).toMatch(/TransactionCanceledException$/);
    expect((await test.dynamodb("writer", "PutItem", { TableName, Item: key("brk_h") })).status).toBe(200);
  });
});

describe("a part of the calls is throttled as by DynamoDB", () => {
  const ever = new Throttling(1, () => 0);
  const thrown = (operation: string, body: object = {}): AwsError => {
    try {
      ever.answer(operation, { ...body });
    } catch (error) {
      return error as AwsError;
    }
    throw new Error("Nothing was thrown.");
  };

  it("single calls by its two errors in turn", () => {
    const types = ["GetItem", "Query", "UpdateItem"].map((operation) => thrown(operation).type);
    expect(types.toSorted().slice(0, 2)).toContain("ProvisionedThroughputExceededException");
    expect(types).toContain("ThrottlingException");
  });

  it("a transaction by a reason of one member, which no SDK tries again", () => {
    expect(thrown("TransactWriteItems", { TransactItems: [{}, {}] })).toMatchObject({
      status: 400,
      type: "TransactionCanceledException",
      extra: { CancellationReasons: [{ Code: "ThrottlingError" }, { Code: "None" }] },
    });
  });

  it("a batch by what it left undone", () => {
    const RequestItems = { [TableName]: { Keys: [] } };
    const bodyOf = (operation: string) => JSON.parse(String(ever.answer(operation, { RequestItems })?.body));
    expect(bodyOf("BatchGetItem")).toEqual({ Responses: {}, UnprocessedKeys: RequestItems });
    expect(bodyOf("BatchWriteItem")).toEqual({ UnprocessedItems: RequestItems });
  });

  it("the others not", () => {
    expect(new Throttling(0.05, () => 0.05).answer("GetItem", {})).toBeUndefined();
  });
});

describe("indexes that lag", () => {
  let late: TestCloud;
  const indexLagMs = 300;
  const actions = ["PutItem", "DeleteItem", "GetItem"];
  const index = onTable("Index", ["Query"], ["DUE"], { "Fn::Sub": ["${arn}/index/due", { arn: tableArn }] });
  const Key = { pk: { S: "brk_a" }, sk: { S: "1" } };
  const due = { due_pk: { S: "DUE" }, due_sk: { S: "1" } };

  beforeAll(async () => {
    const functions = { writer: { code: callerCode, statements: [onTable("All", actions), index] } };
    late = await startTestCloud({ resources: { Main: table }, functions }, { indexLagMs });
  });
  afterAll(() => late.stop());

  const found = async () => {
    const { body } = await late.dynamodb("writer", "Query", {
      TableName,
      IndexName: "due",
      KeyConditionExpression: "due_pk = :due",
      ExpressionAttributeValues: { ":due": { S: "DUE" } },
    });
    return body["Count"];
  };

  it("show a change so long after it, and until then what was there before", async () => {
    const putMs = Date.now();
    await late.dynamodb("writer", "PutItem", { TableName, Item: { ...Key, ...due } });
    expect((await late.dynamodb("writer", "GetItem", { TableName, Key })).body["Item"]).toBeDefined();
    await eventually(async () => (await found()) === 1 || undefined);
    expect(Date.now() - putMs).toBeGreaterThanOrEqual(indexLagMs);
    const deletedMs = Date.now();
    await late.dynamodb("writer", "DeleteItem", { TableName, Key });
    await eventually(async () => (await found()) === 0 || undefined);
    expect(Date.now() - deletedMs).toBeGreaterThanOrEqual(indexLagMs);
  });
});
