import * as z from "zod/mini";
import { clientExpansion, expandedClient } from "./client.ts";
import { described } from "./described.ts";
import { createdRange, id, ownFields, pageParameters, setOf, Timestamp } from "./fields.ts";
import { Decimal, SignedDecimal, SymbolName, symbolNames } from "./symbol.ts";
import { Side } from "./trade.ts";

/** Order types: `limit` waits for a better price, `stop` for a worse one, `stop_limit` for one and then the other. */
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
  status: described(z.optional(setOf(OrderStatus.options)), "Order statuses, separated by commas."),
  symbol: described(z.optional(symbolNames()), "Symbol names, separated by commas."),
  side: described(z.optional(setOf(Side.options)), "Sides, separated by commas."),
  type: described(z.optional(setOf(OrderType.options)), "Order types, separated by commas."),
  sort: described(z.optional(z.enum(["-created_at", "created_at"])), "Sort order; a leading hyphen means descending."),
};

/** Query of `GET /orders`: pending ones unless another status is asked for. */
export const ListOrdersQuery = z.strictObject({
  ...filters,
  account_id: described(z.optional(id("acc")), "Account identifier."),
  ...clientExpansion,
});

/** Query of `GET /accounts/{id}/orders`. */
export const ListAccountOrdersQuery = z.strictObject(filters);

/** An order in responses. Pending orders reserve no margin. */
export const Order = z.object({
  id: described(z.string(), "Identifier, assigned by the service."),
  object: described(z.literal("order"), "Resource type; always this value."),
  account_id: described(z.string(), "Account identifier."),
  client_id: described(z.string(), "Client identifier."),
  symbol: described(SymbolName, "Symbol name."),
  side: described(Side, "Side: `buy` or `sell`."),
  type: described(
    OrderType,
    "`limit` waits for a better price, `stop` for a worse one, `stop_limit` becomes a limit order at its " +
      "stop price.",
  ),
  lots: described(Decimal, "Volume in lots."),
  price: described(z.nullable(SignedDecimal), "Price that triggers the order; null for a stop limit order."),
  stop_price: described(z.nullable(SignedDecimal), "Trigger price of a stop limit order; null for other types."),
  limit_price: described(
    z.nullable(SignedDecimal),
    "Limit price of a stop limit order, active once the stop price is reached; null for other types.",
  ),
  stop_loss: described(z.nullable(SignedDecimal), "Stop loss price; null if not set."),
  take_profit: described(z.nullable(SignedDecimal), "Take profit price; null if not set."),
  time_in_force: described(
    z.enum(["gtc", "gtd", "day"]),
    "How long the order is valid: until cancelled (`gtc`), until `expires_at` (`gtd`), or until the end " +
      "of the UTC day (`day`).",
  ),
  expires_at: described(z.nullable(Timestamp), "Time of expiry; null if the order is valid until cancelled."),
  status: described(OrderStatus, "Order status."),
  filled_at: described(z.nullable(Timestamp), "Time of filling; null before."),
  trade_id: described(z.nullable(z.string()), "The trade that resulted from the order; null before."),
  reject_reason: described(
    z.nullable(RejectReason),
    "Reason why the order was not filled when its price was reached; null unless it was rejected.",
  ),
  source: described(z.string(), "Where the order was placed: `internal` or the name of a platform."),
  source_order_id: described(z.nullable(z.string()), "Identifier of the order on the platform; null if there is none."),
  ...ownFields,
  ...expandedClient,
});

/** An order on the wire. */
export type OrderBody = z.infer<typeof Order>;
/** One rejection reason. */
export type RejectReasonName = z.infer<typeof RejectReason>;
