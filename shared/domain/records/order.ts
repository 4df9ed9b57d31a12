import type { OrderBody } from "../../schema/order.ts";

/** An order as it is stored. `stop_reached`: a stop limit order has met its stop price and waits for its limit. */
export interface Order extends Omit<OrderBody, "object" | "_links"> {
  readonly tenant_id: string;
  readonly stop_reached: boolean;
}
