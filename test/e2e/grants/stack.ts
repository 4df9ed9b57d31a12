import { PutItemCommand, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { marshall } from "@aws-sdk/util-dynamodb";
import { expect } from "vitest";
import type { AwsCall } from "../../../infra/local/cloud.ts";
import type { Grant } from "../../../infra/local/iam/grants.ts";
import { limits } from "../../../shared/limits.ts";
import { quotes, risks, symbols } from "../../../shared/table/entities.ts";
import { itemOf } from "../../../shared/table/write.ts";
import { someQuote, someSymbol } from "../../support/builders/trading.ts";
import { tableClient, tableNameOf } from "../../support/stack/cloud-tables.ts";
import type { Receiver } from "../../support/stack/receiver.ts";
import type { Stack } from "../../support/stack/stack.ts";

/** Steps in before calls of functions, which are named by the function and the action. */
export class Saboteur {
  /** Calls before which the function is ended, for as long as the set holds them. */
  readonly targets = new Set<string>();
  /** Acts before a call goes on. */
  readonly interventions = new Map<string, () => Promise<void>>();
  readonly watch = async (call: AwsCall): Promise<void> => {
    if (call.phase !== "before") return;
    const name = `${call.functionName} ${call.action}`;
    if (this.targets.has(name)) call.kill();
    else await this.interventions.get(name)?.();
  };
}

/**
 * Statements of these beginnings, `sweep-events Put` or all of a function, that nothing has needed yet. The service
 * itself uses the rights of a role on the logs and traces of its function, not one of these calls.
 * @throws where a beginning is that of no statement, which would never be missing
 */
export function missing({ cloud }: Stack, ...beginnings: readonly string[]): string[] {
  const nameOf = ({ function: name, statement }: Grant) => `${name} ${statement}`;
  const isOf = (one: string) => (name: string) => `${name} `.startsWith(`brokerage-sandbox-${one} `);
  const names = cloud.grants().map(nameOf);
  for (const one of beginnings) if (!names.some(isOf(one))) throw new Error(`No function has the statement ${one}.`);
  const unused = cloud.unusedGrants().filter(({ reason }) => reason === undefined);
  return unused.map(nameOf).filter((name) => beginnings.some((one) => isOf(one)(name)));
}

/** Waits until every statement of these beginnings was needed by some call. */
export async function needed(stack: Stack, ...beginnings: readonly string[]): Promise<void> {
  await expect.poll(() => missing(stack, ...beginnings), { timeout: 60_000, interval: 200 }).toEqual([]);
}

/** Does work again that what else runs may spoil: a part that is late on a busy machine, or another that is faster. */
export async function patiently(work: () => Promise<void>, tries = 5): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (tries === 1) throw error;
    await patiently(work, tries - 1);
  }
}

/** Writes items past every role, in the place of values that are not given here. */
export async function put(
  stack: Stack,
  table: "main" | "volatile",
  ...items: Record<string, unknown>[]
): Promise<void> {
  const client = tableClient(stack.cloud);
  const TableName = tableNameOf(stack.cloud, table);
  for (const item of items) await client.send(new PutItemCommand({ TableName, Item: marshall(item) }));
  client.destroy();
}

/** Moves the trigger that is stored of an account's EURUSD so far away that the next decision places it again. */
async function misplaceTrigger(stack: Stack, account_id: string): Promise<void> {
  const { pk, sk } = risks.key(stack.tenant_id, account_id);
  const triggers = [{ symbol: "EURUSD", down: "1", up: null, shards: limits.trading.exposure_shards }];
  const client = tableClient(stack.cloud);
  await client.send(
    new UpdateItemCommand({
      TableName: tableNameOf(stack.cloud, "main"),
      Key: marshall({ pk, sk }),
      UpdateExpression: "SET triggers = :triggers",
      ExpressionAttributeValues: marshall({ ":triggers": triggers }),
    }),
  );
  client.destroy();
}

/** A stack with the hook of its calls, and an account that has an open position in EURUSD. */
export interface Placing {
  readonly stack: Stack;
  readonly saboteur: Saboteur;
  readonly account_id: string;
}

/**
 * Makes a change of the money of an account in which the named function places its trigger again, and so deletes the
 * entry of the stored one. The trigger is misplaced before each read of the function, also before those of a retry: a
 * request before may have placed it. An evaluation at the same time may place it too, so it is held back until then.
 */
export async function withPlacing<T>(
  { stack, saboteur, account_id }: Placing,
  functionName: string,
  change: () => Promise<T>,
): Promise<T> {
  const name = `brokerage-sandbox-${functionName}`;
  let release = () => {};
  const isMade = new Promise<void>((resolve) => {
    release = resolve;
  });
  saboteur.interventions.set("brokerage-sandbox-evaluate TransactWriteItems", () => isMade);
  saboteur.interventions.set(`${name} BatchGetItem`, () => misplaceTrigger(stack, account_id));
  try {
    const made = await change();
    expect(missing(stack, `${functionName} Delete`)).toEqual([]);
    return made;
  } finally {
    saboteur.interventions.clear();
    release();
  }
}

/** A pair with a price, in the place of a feed: rates are only looked for where there are pairs. */
export async function quoteSymbol(stack: Stack): Promise<void> {
  const { tenant_id } = stack;
  await put(stack, "main", itemOf(symbols, { ...someSymbol("EURUSD"), tenant_id }));
  await quote(stack, ["1.10000", "1.10010"]);
}

/** Its next price. */
export async function quote(stack: Stack, price: readonly [string, string]): Promise<void> {
  const now = new Date().toISOString();
  const item = someQuote("EURUSD", price, { time: now, received_at: now });
  await put(stack, "volatile", itemOf(quotes, { ...item, tenant_id: stack.tenant_id }));
}

/** A stack, the receiver of its webhooks, and the hook of its calls. */
export interface StoryOptions {
  readonly stack: Stack;
  readonly receiver: Receiver;
  readonly saboteur: Saboteur;
}
