import type { TradingSymbol } from "../../shared/domain/records/symbol.ts";
import { isMarketIn, symbolBody } from "../../shared/domain/trading/pricing/symbol.ts";
import { and, listParameter, matching } from "../../shared/http/filters.ts";
import { list } from "../../shared/http/operations.ts";
import { pageReply, pageRequest } from "../../shared/http/page.ts";
import { listSymbols } from "../../shared/routes/market.ts";
import { nowIso } from "../../shared/runtime/clock.ts";
import { symbols } from "../../shared/table/entities.ts";
import { pageOfPartition } from "../../shared/table/list.ts";

/** `GET /symbols`: whether a market is open depends on the time, everything else is stored with the symbol. */
export const handler = await list(listSymbols, async ({ caller, place, query }) => {
  const now = nowIso();
  const states = listParameter(query, "market_status");
  const inState = states && { keep: (entry: object) => isMarketIn(entry as TradingSymbol, states, now) };
  const filter = and(matching(query, ["symbol", "asset_class", "trading_mode"]), inState ?? {});
  const request = { ...pageRequest(place, "symbol"), ...filter };
  const page = await pageOfPartition<TradingSymbol>(symbols.partition(caller.tenant_id), request);
  return pageReply(place, page, (symbol) => symbolBody(symbol, now));
});
