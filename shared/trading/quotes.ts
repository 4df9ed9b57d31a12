import { epochFault } from "../domain/feed/source.ts";
import type { FeedSource } from "../domain/records/feed-source.ts";
import type { Quote } from "../domain/records/quote.ts";
import type { Market } from "../domain/trading/pricing/quote.ts";
import { acceptTick } from "../domain/trading/pricing/tick.ts";
import { limits } from "../limits.ts";
import { nowIso } from "../runtime/clock.ts";
import { inParallel } from "../runtime/parallel.ts";
import type { FeedQuoteReceiptBody, FeedQuotesBody } from "../schema/feed.ts";
import { quotes } from "../table/entities.ts";
import { isNew, isStill } from "../table/expression.ts";
import { putItem } from "../table/items.ts";
import { readQuoted } from "./market.ts";

type Result = FeedQuoteReceiptBody["results"][number];
type Price = FeedQuotesBody["quotes"][number];

/** Sender of prices, and the epoch that their numbers belong to. */
interface Sender {
  readonly source: FeedSource;
  readonly epoch: number;
}

/**
 * Writes prices of a source: of each symbol the last one that can be the quote, with the last number that the source
 * sent. A quote that changed meanwhile is read again, so that no number and no high or low of the day is lost.
 */
export async function writeQuotes(sender: Sender, prices: readonly Price[]): Promise<Result[]> {
  const fault = epochFault(sender.source, sender.epoch);
  if (fault !== undefined) return prices.map(({ symbol, seq }) => ({ symbol, seq, status: "refused", code: fault }));
  const tenant = sender.source.tenant_id;
  const bySymbol = new Map<string, number[]>();
  for (const [place, { symbol }] of prices.entries()) {
    bySymbol.set(symbol, [...(bySymbol.get(symbol) ?? []), place]);
  }
  const market = await readQuoted(tenant, bySymbol.keys());
  const results: Result[] = [];
  await inParallel(limits.feed.parallel, [...bySymbol], async ([symbol, places]) => {
    const own = places.map((place) => prices[place] as Price);
    const outcomes = await writeSymbol(sender, symbol, own, market);
    for (const [index, place] of places.entries()) results[place] = outcomes[index] as Result;
  });
  return results;
}

async function writeSymbol(sender: Sender, symbol: string, prices: readonly Price[], first: Market): Promise<Result[]> {
  const tenant = sender.source.tenant_id;
  let market = first;
  for (let attempt = 1; ; attempt += 1) {
    const before = market.quotes.get(symbol);
    const { quote, results } = decided(market, sender, symbol, prices);
    if (quote === undefined || quote === before || (await replaceQuote(tenant, before, quote))) return results;
    if (attempt === limits.feed.quote_tries) {
      return results.map((each) =>
        each.status === "accepted" || each.status === "put_aside"
          ? { ...each, status: "ignored", code: "overtaken" }
          : each,
      );
    }
    market = await readQuoted(tenant, [symbol]);
  }
}

/** The quote after prices in the order they came, and the result of each. */
function decided(market: Market, { source, epoch }: Sender, symbol: string, prices: readonly Price[]) {
  const terms = market.symbols.get(symbol);
  let quote = market.quotes.get(symbol);
  const results = prices.map(({ bid, ask, time, seq }): Result => {
    if (terms === undefined) return { symbol, seq, status: "refused", code: "symbol_not_found" };
    const tick = { bid, ask, time: new Date(time).toISOString(), sequence: seq, source: source.name, epoch };
    const outcome = acceptTick(terms, quote, tick, nowIso());
    quote = outcome.ok ? outcome.quote : (outcome.memory ?? quote);
    if (outcome.ok) return { symbol, seq, status: "accepted" };
    const { reason: code } = outcome;
    return { symbol, seq, status: code === "deviation_unconfirmed" ? "put_aside" : "refused", code };
  });
  return { quote, results };
}

/**
 * Writes a quote in the place of the one that was read, with the number of shards that stands there; false when the
 * item was written since.
 */
export function replaceQuote(tenant: string, before: Quote | undefined, quote: Quote): Promise<boolean> {
  const { received_at, version = 0, exposure_shards: shards } = before ?? {};
  const kept = shards === undefined ? {} : { exposure_shards: shards };
  const item = { ...quote, ...kept, version: version + 1, tenant_id: tenant };
  return putItem(quotes, item, before === undefined ? [isNew] : isStill({ received_at, version }));
}
