import { tradeBody } from "../../shared/domain/trading/trade.ts";
import { read } from "../../shared/http/operations.ts";
import { getTrade } from "../../shared/routes/trading.ts";
import { tradingRef } from "../../shared/trading/items.ts";

/** `GET /trades/{id}` */
export const handler = await read(getTrade, async ({ path, load }) => {
  const { trade } = await load({ trade: tradingRef.trade(path.id) });
  return trade && tradeBody(trade);
});
