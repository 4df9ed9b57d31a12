import { type DynamoDBClient, PutItemCommand } from "@aws-sdk/client-dynamodb";
import { marshall } from "@aws-sdk/util-dynamodb";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Entity, pulses, quotes, symbols } from "../../shared/table/entities.ts";
import { itemOf } from "../../shared/table/write.ts";
import { examplePrices, someQuote, someSymbol } from "../support/builders/trading.ts";
import { type CauseGround, stopOutCauses } from "../support/oracles/stop-out-causes.ts";
import { floorOf } from "../support/stack/cloud-floor.ts";
import { tableClient, tableNameOf } from "../support/stack/cloud-tables.ts";
import { type Stack, sharedStack } from "../support/stack/stack.ts";
import { eventually, stretched } from "../support/wait.ts";

let stack: Stack;
let client: DynamoDBClient;
beforeAll(async () => {
  stack = await sharedStack();
  client = tableClient(stack.cloud);
});
afterAll(async () => {
  client?.destroy();
  await stack?.stop();
});

/** The longest time from the request that puts an account below its level to the first close. */
const boundMs = stretched(3_000);

async function put<T extends object>(table: "main" | "volatile", entity: Entity<T>, item: T): Promise<void> {
  const TableName = tableNameOf(stack.cloud, table);
  await client.send(new PutItemCommand({ TableName, Item: marshall(itemOf(entity, item)) }));
}

async function price(symbol: string, pair: readonly [bid: string, ask: string]): Promise<void> {
  const now = new Date().toISOString();
  const quote = someQuote(symbol, pair, { time: now, received_at: now, held: true });
  await put("volatile", quotes, { ...quote, tenant_id: stack.tenant_id });
}

/** The market of the worked examples on the running service. */
async function groundOf(): Promise<CauseGround> {
  const { tenant_id, api } = stack;
  for (const name of Object.keys(examplePrices)) await put("main", symbols, { ...someSymbol(name), tenant_id });
  for (const [name, pair] of Object.entries(examplePrices)) await price(name, pair);
  return {
    price,
    floor: await floorOf(stack),
    silence: (name, seconds) => {
      const heartbeat_at = new Date(Date.now() - seconds * 1000).toISOString();
      return put("volatile", pulses, { tenant_id, name, authoritative: "service", heartbeat_at });
    },
    call: async (method, path, body) => {
      const answer = await api.call(method, path, body === undefined ? {} : { body });
      if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
      return answer.body;
    },
  };
}

interface ClosedTrade {
  readonly close_at: string;
  readonly close_price: string;
}

/** The trade of an account that a stop-out closed first; undefined before. */
async function firstClose(accountId: string): Promise<ClosedTrade | undefined> {
  const path = `/trades?account_id=${accountId}&close_reason=stop_out&status=closed`;
  const { body } = await stack.api.call<{ data: ClosedTrade[] }>("GET", path);
  return body.data.toSorted((a, b) => (a.close_at < b.close_at ? -1 : 1))[0];
}

/** Lets EURUSD fall by a point ten times a second; returns how to end it. */
function falling(): () => void {
  let points = 110_000;
  const shown = (value: number) => `1.${String(value - 100_000).padStart(5, "0")}`;
  const timer = setInterval(() => {
    points -= 1;
    void price("EURUSD", [shown(points), shown(points + 10)]);
  }, 100);
  return () => clearInterval(timer);
}

describe("from the request that puts an account below its stop-out level to the first close", () => {
  it.each([
    { prices: "none", begin: () => () => undefined },
    { prices: "ten a second that fall", begin: falling },
  ])(
    "no more than its bound passes for every cause, with prices: $prices",
    async ({ prices, begin }) => {
      const ground = await groundOf();
      const prepared = [];
      for (const { name, prepare } of stopOutCauses) prepared.push({ name, ...(await prepare(ground)) });
      const end = begin();
      try {
        const acted = [];
        for (const { name, account_id, act } of prepared) {
          acted.push({ name, account_id, began: Date.now() });
          await act();
        }
        const seen: Record<string, string> = {};
        const late: string[] = [];
        for (const { name, account_id, began } of acted) {
          const closed = await eventually(() => firstClose(account_id));
          const ms = Date.parse(closed.close_at) - began;
          seen[name] = `${ms} ms at ${closed.close_price}`;
          if (ms > boundMs) late.push(`${name}: ${ms} ms`);
        }
        console.log(`To the first close, prices: ${prices}`, seen);
        expect(late).toEqual([]);
      } finally {
        end();
      }
    },
    200_000,
  );
});
