import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AwsCall } from "../../infra/local/cloud.ts";
import { callerCode, onTable, startTestCloud, type TestCloud, table } from "./fixture.ts";

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

  it("the same one again, by its token, is told that it is in progress, and afterwards that it is done", async () => {
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
