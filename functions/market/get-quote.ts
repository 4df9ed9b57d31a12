import { quoteBody } from "../../shared/domain/trading/pricing/quote.ts";
import { read } from "../../shared/http/operations.ts";
import { getQuote } from "../../shared/routes/market.ts";
import { nowIso } from "../../shared/runtime/clock.ts";
import { tradingRef } from "../../shared/trading/items.ts";
import { noQuote, noSymbol, symbolName } from "../../shared/trading/symbol-path.ts";

/** `GET /quotes/{symbol}`: reads the symbol and its quote from both tables at once. */
export const handler = await read(getQuote, async ({ path, load }) => {
  const name = symbolName(path);
  const { symbol, quote } = await load({ symbol: tradingRef.symbol(name), quote: tradingRef.quote(name) });
  if (symbol === undefined) throw noSymbol();
  if (quote === undefined) throw noQuote(symbol);
  return quoteBody(symbol, quote, nowIso());
});
