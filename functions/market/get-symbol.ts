import { tradingRef } from "../../shared/data/trading-items.ts";
import { symbolBody } from "../../shared/domain/trading/symbol.ts";
import { read } from "../../shared/http/operations.ts";
import { noSymbol, symbolName } from "../../shared/http/symbol-path.ts";
import { getSymbol } from "../../shared/routes/market.ts";
import { nowIso } from "../../shared/runtime/clock.ts";

/** `GET /symbols/{symbol}` */
export const handler = await read(getSymbol, async ({ path, load }) => {
  const { symbol } = await load({ symbol: tradingRef.symbol(symbolName(path)) });
  if (symbol === undefined) throw noSymbol();
  return symbolBody(symbol, nowIso());
});
