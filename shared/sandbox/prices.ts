import type { Quote } from "../domain/records/quote.ts";
import { type PriceChange, quoteOf, seedOf } from "../domain/sandbox/prices.ts";
import type { Market } from "../domain/trading/pricing/quote.ts";
import { limits } from "../limits.ts";
import { nowIso, pause } from "../runtime/clock.ts";
import { inParallel } from "../runtime/parallel.ts";
import { backoffMs } from "../table/transact.ts";
import { readQuoted } from "../trading/market.ts";
import { replaceQuote } from "../trading/quotes.ts";
import { beginWalk, endWalks } from "./walks.ts";

/**
 * Sets prices of the sandbox's market, each in an item of its own: where another one came between, it is set on that.
 * A walk ends before its price is set, and one that is asked for begins after it.
 * Returns the quotes in the order of the changes; undefined for one that others overtook every time.
 */
export async function setPrices(
  tenant: string,
  changes: readonly PriceChange[],
  market: Market,
): Promise<(Quote | undefined)[]> {
  const quotes: (Quote | undefined)[] = [];
  const names = changes.map(({ symbol }) => symbol);
  await endWalks(tenant, names);
  await inParallel(limits.feed.parallel, changes, async (change, place) => {
    quotes[place] = await setPrice(tenant, change, market);
  });
  return quotes;
}

async function setPrice(tenant: string, change: PriceChange, first: Market): Promise<Quote | undefined> {
  let market = first;
  for (let attempt = 1; attempt <= limits.sandbox.price_tries; attempt += 1) {
    const symbol = market.symbols.get(change.symbol);
    const before = market.quotes.get(change.symbol);
    if (symbol === undefined) return undefined;
    const outcome = quoteOf(symbol, before, change, nowIso());
    if (!outcome.ok) return undefined;
    if (await replaceQuote(tenant, before, outcome.quote)) {
      const seed = seedOf(change);
      if (seed !== null) await beginWalk(symbol, outcome.quote, seed);
      return outcome.quote;
    }
    await pause(backoffMs(attempt));
    market = await readQuoted(tenant, [change.symbol]);
  }
  return undefined;
}
