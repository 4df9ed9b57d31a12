import { PutCommand } from "@aws-sdk/lib-dynamodb";
import { acceptTick, type Market, type Quote, type Tick } from "../domain/trading/quote.ts";
import { limits } from "../limits.ts";
import { nowIso } from "../runtime/clock.ts";
import { env } from "../runtime/env.ts";
import type { FeedQuoteReceiptBody, FeedQuotesBody } from "../schema/feed.ts";
import { quotes } from "./entities.ts";
import { readQuoted } from "./market.ts";
import { inParallel } from "./parallel.ts";
import { table } from "./table.ts";
import { itemOf } from "./write.ts";

type Result = FeedQuoteReceiptBody["results"][number];
type Price = FeedQuotesBody["quotes"][number];

/**
 * Writes prices of a source: of each symbol the last one that its source numbered higher than the one before. What
 * another call wrote meanwhile is read again, so that no high or low of the day is lost.
 */
export async function writeQuotes(tenant: string, source: string, prices: readonly Price[]): Promise<Result[]> {
  const bySymbol = new Map<string, number[]>();
  for (const [place, { symbol }] of prices.entries()) {
    bySymbol.set(symbol, [...(bySymbol.get(symbol) ?? []), place]);
  }
  const market = await readQuoted(tenant, bySymbol.keys());
  const results: Result[] = [];
  await inParallel(limits.feed.parallel, [...bySymbol], async ([symbol, places]) => {
    const own = places.map((place) => prices[place] as Price);
    const outcomes = await writeSymbol(tenant, source, symbol, own, market);
    for (const [index, place] of places.entries()) results[place] = outcomes[index] as Result;
  });
  return results;
}

async function writeSymbol(
  tenant: string,
  source: string,
  symbol: string,
  prices: readonly Price[],
  first: Market,
): Promise<Result[]> {
  let market = first;
  for (let attempt = 1; ; attempt += 1) {
    const before = market.quotes.get(symbol);
    const { quote, results } = accepted(market, source, symbol, prices);
    if (quote === undefined || (await replaceQuote(tenant, before, quote))) return results;
    if (attempt === limits.feed.quote_tries) {
      return results.map((each) =>
        each.status === "accepted" ? { ...each, status: "ignored", code: "overtaken" } : each,
      );
    }
    market = await readQuoted(tenant, [symbol]);
  }
}

/** What a quote becomes of prices in the order they came, and what each of them did. */
function accepted(market: Market, source: string, symbol: string, prices: readonly Price[]) {
  const terms = market.symbols.get(symbol);
  let quote: Quote | undefined;
  const results = prices.map(({ bid, ask, time, seq }): Result => {
    if (terms === undefined) return { symbol, seq, status: "refused", code: "symbol_not_found" };
    const tick: Tick = { bid, ask, time: new Date(time).toISOString(), sequence: seq, source };
    const outcome = acceptTick(terms, quote ?? market.quotes.get(symbol), tick, nowIso());
    if (!outcome.ok) {
      return { symbol, seq, status: outcome.reason === "old_sequence" ? "ignored" : "refused", code: outcome.reason };
    }
    quote = outcome.quote;
    return { symbol, seq, status: "accepted" };
  });
  return { quote, results };
}

/** Writes a quote in the place of the one that was read; false when another one is there. */
export async function replaceQuote(tenant: string, before: Quote | undefined, quote: Quote): Promise<boolean> {
  const condition =
    before === undefined
      ? { ConditionExpression: "attribute_not_exists(pk)" }
      : {
          ConditionExpression: "#sequence = :sequence AND #source = :source AND received_at = :received",
          ExpressionAttributeNames: { "#sequence": "sequence", "#source": "source" },
          ExpressionAttributeValues: {
            ":sequence": before.sequence,
            ":source": before.source,
            ":received": before.received_at,
          },
        };
  const item = itemOf(quotes, { ...quote, tenant_id: tenant });
  try {
    await table.send(new PutCommand({ TableName: env.volatileTableName, Item: item, ...condition }));
    return true;
  } catch (error) {
    if ((error as Error).name === "ConditionalCheckFailedException") return false;
    throw error;
  }
}
