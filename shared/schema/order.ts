import * as z from "zod/mini";
import { createdRange, id, pageParameters, resourceFields, setOf, Timestamp } from "./fields.ts";
import { Decimal, SymbolName, symbolNames } from "./symbol.ts";
import { Side } from "./trade.ts";

/** How an order waits: for a better price, for a worse one, or first for one and then for the other. */
const OrderType = z.enum(["limit", "stop", "stop_limit"]);
/** States of an order; all but `pending` are final. */
const OrderStatus = z.enum(["pending", "filled", "cancelled", "expired", "rejected"]);
/** Why an order was not filled when its price was reached. */
export const RejectReason = z.enum([
  "insufficient_margin",
  "market_closed",
  "symbol_disabled",
  "account_disabled",
  "invalid_price",
  "too_many_positions",
  "exposure_too_large",
]);

const filters = {
  ...pageParameters,
  ...createdRange,
  status: z.optional(setOf(OrderStatus.options)),
  symbol: z.optional(symbolNames()),
  side: z.optional(setOf(Side.options)),
  type: z.optional(setOf(OrderType.options)),
  sort: z.optional(z.enum(["-created_at", "created_at"])),
};

/** Query of `GET /orders`: pending ones unless another status is asked for. */
export const ListOrdersQuery = z.strictObject({ ...filters, account_id: z.optional(id("acc")) });

/** Query of `GET /accounts/{id}/orders`. */
export const ListAccountOrdersQuery = z.strictObject(filters);

/** A pending order as the API shows it. It reserves no margin. */
export const Order = z.object({
  id: z.string(),
  object: z.literal("order"),
  account_id: z.string(),
  client_id: z.string(),
  symbol: SymbolName,
  side: Side,
  type: OrderType,
  lots: Decimal,
  price: z.nullable(Decimal),
  stop_price: z.nullable(Decimal),
  limit_price: z.nullable(Decimal),
  stop_loss: z.nullable(Decimal),
  take_profit: z.nullable(Decimal),
  time_in_force: z.enum(["gtc", "gtd", "day"]),
  expires_at: z.nullable(Timestamp),
  status: OrderStatus,
  filled_at: z.nullable(Timestamp),
  trade_id: z.nullable(z.string()),
  reject_reason: z.nullable(RejectReason),
  source: z.string(),
  source_order_id: z.nullable(z.string()),
  created_at: Timestamp,
  updated_at: Timestamp,
  version: z.int(),
  _links: resourceFields._links,
});

/** An order on the wire. */
export type OrderBody = z.infer<typeof Order>;
/** One reason to reject. */
export type RejectReasonName = z.infer<typeof RejectReason>;
