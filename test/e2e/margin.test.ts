import { PutItemCommand } from "@aws-sdk/client-dynamodb";
import { marshall } from "@aws-sdk/util-dynamodb";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { quotes, symbols } from "../../shared/table/entities.ts";
import { itemOf } from "../../shared/table/write.ts";
import { someQuote, someSymbol } from "../support/builders/trading.ts";
import { fundedAccount } from "../support/stack/api-client.ts";
import { floorOf } from "../support/stack/cloud-floor.ts";
import { tableClient, tableNameOf } from "../support/stack/cloud-tables.ts";
import { type Stack, sharedStack } from "../support/stack/stack.ts";
import { eventually } from "../support/wait.ts";

let stack: Stack;
beforeAll(async () => {
  stack = await sharedStack();
});
afterAll(async () => stack?.stop());

async function put(table: "main" | "volatile", item: Record<string, unknown>): Promise<void> {
  const client = tableClient(stack.cloud);
  await client.send(new PutItemCommand({ TableName: tableNameOf(stack.cloud, table), Item: marshall(item) }));
  client.destroy();
}

async function price(bid: string, ask: string): Promise<void> {
  const now = new Date().toISOString();
  const quote = someQuote("EURUSD", [bid, ask], { time: now, received_at: now });
  await put("volatile", itemOf(quotes, { ...quote, tenant_id: stack.tenant_id }));
}

async function kindsOf(accountId: string): Promise<string[]> {
  const { body } = await stack.api.call<{ data: { type: string; account_id: string }[] }>(
    "GET",
    `/events?account_id=${accountId}&sort=sequence`,
  );
  return body.data.map(({ type }) => type).filter((type) => /^(?:trade|margin|stop)\./.test(type));
}

describe("a price that moves on the running service", () => {
  it("calls an account, liquidates it, and tells so in order, without anybody asking", async () => {
    const { account_id } = await fundedAccount(stack.api, "500.00");
    await put("main", itemOf(symbols, { ...someSymbol("EURUSD"), tenant_id: stack.tenant_id }));
    await price("1.10000", "1.10010");
    const floor = await floorOf(stack);
    const opened = await floor.open(account_id, { symbol: "EURUSD", side: "buy", lots: "0.10" });
    expect(opened).toMatchObject({ kind: "done" });
    const reaches = (last: string) =>
      eventually(async () => {
        const kinds = await kindsOf(account_id);
        return kinds.includes(last) ? kinds : undefined;
      });
    await price("1.08600", "1.08610");
    expect(await reaches("margin.call")).toEqual(["trade.opened", "margin.call"]);
    await price("1.06500", "1.06510");
    const told = await reaches("stop.out");
    expect(told.slice(0, 4)).toEqual(["trade.opened", "margin.call", "trade.closed", "stop.out"]);
    expect(stack.cloud.queues.bodies("brokerage-sandbox-margin-dead")).toEqual([]);
  });
});
