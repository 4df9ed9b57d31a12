import { QueryCommand } from "@aws-sdk/lib-dynamodb";
import { limits } from "../limits.ts";
import { env } from "../runtime/env.ts";
import { type Direction, exposures, type StoredQuote } from "./entities.ts";
import { table } from "./table.ts";

/** The part of one partition of the exposure index that a price meets, and where to go on in it. */
interface Passed {
  readonly condition: string;
  readonly values: Readonly<Record<string, string>>;
  readonly from: Record<string, unknown> | undefined;
}

/**
 * The accounts whose trigger a quote meets, in pages, each partition read side by side and strongly consistent. What is
 * read is what is met and nothing else: how many accounts hold the symbol does not matter. An account that waits for
 * both directions may come twice.
 */
export async function* exposedTo(
  quote: Pick<StoredQuote, "tenant_id" | "symbol" | "bid" | "ask">,
): AsyncGenerator<readonly string[]> {
  let open: readonly Passed[] = Array.from({ length: limits.trading.exposure_shards }, (_, shard) => [
    passed(quote, "dn", shard),
    passed(quote, "up", shard),
  ]).flat();
  while (open.length > 0) {
    const pages = await Promise.all(open.map(pageOf));
    open = pages.flatMap(({ next }) => (next === undefined ? [] : [next]));
    const found = pages.flatMap(({ accountIds }) => accountIds);
    if (found.length > 0) yield found;
  }
}

/** A fall meets the triggers from the bid upwards, a rise those up to the ask. */
function passed(
  { tenant_id, symbol, bid, ask }: Pick<StoredQuote, "tenant_id" | "symbol" | "bid" | "ask">,
  direction: Direction,
  shard: number,
): Passed {
  const partition = exposures.partition(tenant_id, symbol, direction, shard);
  const edge = direction === "dn" ? pointsOf(bid) : pointsOf(ask) + 1n;
  return {
    condition: `pk = :partition AND sk ${direction === "dn" ? ">=" : "<"} :edge`,
    values: { ":partition": partition, ":edge": exposures.sortOf(String(edge)) },
    from: undefined,
  };
}

/** A stored price has exactly the decimals of its symbol, so without its point it is a number of points. */
function pointsOf(price: string): bigint {
  return BigInt(price.replace(".", ""));
}

async function pageOf(part: Passed) {
  const answer = await table.send(
    new QueryCommand({
      TableName: env.tableName,
      ConsistentRead: true,
      KeyConditionExpression: part.condition,
      ExpressionAttributeValues: part.values,
      ProjectionExpression: "account_id",
      ExclusiveStartKey: part.from,
    }),
  );
  const from = answer.LastEvaluatedKey;
  const accountIds = (answer.Items ?? []).map((item) => String(item["account_id"]));
  return { accountIds, next: from === undefined ? undefined : { ...part, from } };
}
