import { describe, expect, it } from "vitest";
import { defaultCurrencies } from "../../../shared/currencies.ts";
import { setSymbol } from "../../../shared/domain/feed/symbol-terms.ts";
import { seedQuotes, seedSymbols } from "../../../shared/domain/sandbox/seed.ts";
import { conversion } from "../../../shared/domain/trading/pricing/convert.ts";
import { isTooOld, quoteBody } from "../../../shared/domain/trading/pricing/quote.ts";
import { isMarketOpen, symbolBody } from "../../../shared/domain/trading/pricing/symbol.ts";
import { acceptTick } from "../../../shared/domain/trading/pricing/tick.ts";
import { FeedSymbol } from "../../../shared/schema/feed.ts";
import { Quote } from "../../../shared/schema/quote.ts";
import { TradingSymbol } from "../../../shared/schema/symbol.ts";
import { decisionContext, decisionTime, tenantId } from "../../support/builders/decisions.ts";

const symbols = seedSymbols(tenantId, decisionTime);
const quotes = new Map(seedQuotes(decisionTime).map((quote) => [quote.symbol, quote]));
const market = { symbols: new Map(symbols.map((symbol) => [symbol.symbol, symbol])), quotes };
const later = "2027-03-01T03:00:00.000Z";

describe("the market that a sandbox begins with", () => {
  it("has twenty symbols of six classes, each with a price", () => {
    expect(symbols.map(({ symbol }) => symbol)).toEqual([...quotes.keys()]);
    expect(quotes.size).toBe(20);
    expect(new Set(symbols.map(({ asset_class }) => asset_class))).toEqual(
      new Set(["forex", "metal", "commodity", "index", "crypto", "equity"]),
    );
  });

  it("never closes, but for the shares, which keep the hours of their exchange", () => {
    const sunday = symbols.filter((symbol) => !isMarketOpen(symbol, "2026-11-22T12:00:00.000Z"));
    expect(sunday.map(({ symbol }) => symbol)).toEqual(["AAPL", "MSFT"]);
    expect(symbols.filter((symbol) => isMarketOpen(symbol, "2026-11-23T15:00:00.000Z"))).toHaveLength(20);
  });

  it("converts every symbol into every currency of an account", () => {
    for (const { symbol, quote_currency, margin_currency } of symbols) {
      for (const currency of defaultCurrencies) {
        const ways = [quote_currency, margin_currency].map((from) => conversion(market, from, currency));
        expect(ways, `${symbol} in ${currency}`).not.toContain(undefined);
      }
    }
  });
});

describe.each(symbols)("$symbol", (symbol) => {
  const quote = quotes.get(symbol.symbol);
  if (quote === undefined) throw new Error(`${symbol.symbol} has no price.`);

  it("has terms that a feed could have sent, in the shape that is published", () => {
    const body = symbolBody(symbol, decisionTime);
    expect(TradingSymbol.parse(body)).toEqual(body);
    const { object, market_status, next_open_at, next_close_at, created_at, updated_at, version, _links, ...terms } =
      body;
    const sent = FeedSymbol.parse(terms);
    expect(setSymbol(undefined, sent, decisionContext())).toMatchObject({ ok: true, result: symbol });
  });

  it("has a price of its own digits, which is held however old it is", () => {
    const tick = { bid: quote.bid, ask: quote.ask, time: decisionTime, sequence: "2", source: "mt5:live-1", epoch: 1 };
    const accepted = acceptTick(symbol, quote, tick, decisionTime);
    expect(accepted).toMatchObject({ ok: true, quote: { bid: quote.bid, ask: quote.ask } });
    expect(isTooOld(symbol, quote, later)).toBe(false);
    const shown = quoteBody(symbol, quote, later);
    expect(shown).toMatchObject({ stale: false, age_ms: Date.parse(later) - Date.parse(decisionTime) });
    expect(Quote.parse(shown)).toEqual(shown);
  });

  it("has a price that a feed's own replaces, which then grows old", () => {
    const tick = { bid: quote.bid, ask: quote.ask, time: decisionTime, sequence: "1", source: "mt5:live-1", epoch: 1 };
    const outcome = acceptTick(symbol, quote, tick, decisionTime);
    if (!outcome.ok) throw new Error(outcome.reason);
    const open = "2026-11-23T15:00:00.000Z";
    expect(isTooOld(symbol, outcome.quote, open)).toBe(true);
    expect(quoteBody(symbol, outcome.quote, open).stale).toBe(true);
  });
});
