import { tradingRef } from "../../shared/data/trading-items.ts";
import { tradeBody } from "../../shared/domain/trading/trade.ts";
import { read } from "../../shared/http/operations.ts";
import { getTrade } from "../../shared/routes/trading.ts";

/** `GET /trades/{id}` */
export const handler = await read(getTrade, async ({ path, load }) => {
  const { trade } = await load({ trade: tradingRef.trade(path["id"] ?? "") });
  return trade && tradeBody(trade);
});
