import { QueryCommand } from "@aws-sdk/lib-dynamodb";
import { pricePoints } from "../domain/trading/quote.ts";
import { limits } from "../limits.ts";
import { env } from "../runtime/env.ts";
import { type Direction, exposures, type StoredQuote } from "../table/entities.ts";
import { table } from "../table/table.ts";
import { symbolsOf } from "./market.ts";

/** The part of one partition of the exposure index that a price meets, and where to go on in it. */
interface Passed {
  readonly partition: string;
  readonly condition: ">=" | "<";
  readonly edge: bigint;
  readonly from: Record<string, unknown> | undefined;
}

/**
 * The accounts whose trigger a quote meets, in pages, each partition read side by side and strongly consistent. What is
 * read is what is met and nothing else: how many accounts hold the symbol does not matter. An account that waits for
 * both directions may come twice.
 */
export async function* exposedTo({
  tenant_id,
  symbol,
  bid,
  ask,
}: Pick<StoredQuote, "tenant_id" | "symbol" | "bid" | "ask">): AsyncGenerator<readonly string[]> {
  yield* accountsIn([
    ...shardsOf(tenant_id, symbol, "dn", { condition: ">=", edge: pricePoints(bid) }),
    ...shardsOf(tenant_id, symbol, "up", { condition: "<", edge: pricePoints(ask) + 1n }),
  ]);
}

/** The accounts of a tenant that wait for any price at all, since one that they depend on was old or cut off. */
export async function* waitingAccounts(tenant: string): AsyncGenerator<readonly string[]> {
  const met = { condition: ">=", edge: limits.trading.highest_points } as const;
  for (const { symbol } of await symbolsOf(tenant)) yield* accountsIn(shardsOf(tenant, symbol, "dn", met));
}

function shardsOf(
  tenant: string,
  symbol: string,
  direction: Direction,
  met: Pick<Passed, "condition" | "edge">,
): Passed[] {
  return Array.from({ length: limits.trading.exposure_shards }, (_, shard) => ({
    partition: exposures.partition(tenant, symbol, direction, shard),
    ...met,
    from: undefined,
  }));
}

async function* accountsIn(parts: readonly Passed[]): AsyncGenerator<readonly string[]> {
  let open = parts;
  while (open.length > 0) {
    const pages = await Promise.all(open.map(pageOf));
    open = pages.flatMap(({ next }) => (next === undefined ? [] : [next]));
    const found = pages.flatMap(({ accountIds }) => accountIds);
    if (found.length > 0) yield found;
  }
}

async function pageOf(part: Passed) {
  const answer = await table.send(
    new QueryCommand({
      TableName: env.tableName,
      ConsistentRead: true,
      KeyConditionExpression: `pk = :partition AND sk ${part.condition} :edge`,
      ExpressionAttributeValues: { ":partition": part.partition, ":edge": exposures.sortOf(String(part.edge)) },
      ProjectionExpression: "account_id",
      ExclusiveStartKey: part.from,
    }),
  );
  const from = answer.LastEvaluatedKey;
  const accountIds = (answer.Items ?? []).map((item) => String(item["account_id"]));
  return { accountIds, next: from === undefined ? undefined : { ...part, from } };
}
