import { symbolBody } from "../../shared/domain/trading/pricing/symbol.ts";
import { read } from "../../shared/http/operations.ts";
import { getSymbol } from "../../shared/routes/market.ts";
import { nowIso } from "../../shared/runtime/clock.ts";
import { tradingRef } from "../../shared/trading/items.ts";
import { noSymbol, symbolName } from "../../shared/trading/symbol-path.ts";

/** `GET /symbols/{symbol}` */
export const handler = await read(getSymbol, async ({ path, load }) => {
  const { symbol } = await load({ symbol: tradingRef.symbol(symbolName(path)) });
  if (symbol === undefined) throw noSymbol();
  return symbolBody(symbol, nowIso());
});
