import { orderBody } from "../../shared/domain/trading/order.ts";
import { read } from "../../shared/http/operations.ts";
import { getOrder } from "../../shared/routes/trading.ts";
import { tradingRef } from "../../shared/trading/items.ts";

/** `GET /orders/{id}` */
export const handler = await read(getOrder, async ({ path, load }) => {
  const { order } = await load({ order: tradingRef.order(path.id) });
  return order && orderBody(order);
});
