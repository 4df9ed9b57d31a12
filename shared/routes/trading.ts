import { Exposure, ExposureQuery } from "../schema/exposure.ts";
import { page } from "../schema/fields.ts";
import { ListOrdersQuery, Order } from "../schema/order.ts";
import { ListPositionsQuery, Position } from "../schema/position.ts";
import { ListTradesQuery, Trade } from "../schema/trade.ts";
import { route } from "./route.ts";

/** `GET /trades` */
export const listTrades = route({
  id: "list_trades",
  method: "GET",
  path: "/trades",
  tag: "Trading",
  summary: "List trades",
  description:
    "Newest first. Sorted by `-close_at`, the list contains closed trades only. A partial close is a separate trade.",
  file: "trading/list-trades",
  scope: "trading:read",
  grants: ["query:list", "query:state", "query:owner", "query:client", "read"],
  query: ListTradesQuery,
  reply: page(Trade),
  refusals: ["invalid_cursor", "insufficient_scope"],
});

/** `GET /trades/{id}` */
export const getTrade = route({
  id: "get_trade",
  method: "GET",
  path: "/trades/{id}",
  tag: "Trading",
  summary: "Get a trade",
  description: "Returns an open or closed trade. A closed trade never changes.",
  file: "trading/get-trade",
  scope: "trading:read",
  grants: ["read"],
  reply: Trade,
});

/** `GET /positions` */
export const listPositions = route({
  id: "list_positions",
  method: "GET",
  path: "/positions",
  tag: "Trading",
  summary: "List open positions",
  description:
    "Newest first, each valued at the latest price. `quote_at` is the time of that price; `stale` is true if it is " +
    "too old.",
  file: "trading/list-positions",
  scope: "trading:read",
  grants: ["query:list", "query:state", "query:owner", "read", "query", "read:quotes"],
  query: ListPositionsQuery,
  reply: page(Position),
  refusals: ["invalid_cursor", "insufficient_scope"],
});

/** `GET /positions/{id}` */
export const getPosition = route({
  id: "get_position",
  method: "GET",
  path: "/positions/{id}",
  tag: "Trading",
  summary: "Get an open position",
  description: "Valued at the latest price. A closed position answers 404; its trades remain.",
  file: "trading/get-position",
  scope: "trading:read",
  grants: ["read", "query", "read:quotes"],
  reply: Position,
});

/** `GET /orders` */
export const listOrders = route({
  id: "list_orders",
  method: "GET",
  path: "/orders",
  tag: "Trading",
  summary: "List orders",
  description: "Newest first. Pending orders only, unless `status` names other states.",
  file: "trading/list-orders",
  scope: "trading:read",
  grants: ["query:list", "query:owner", "read"],
  query: ListOrdersQuery,
  reply: page(Order),
  refusals: ["invalid_cursor", "insufficient_scope"],
});

/** `GET /orders/{id}` */
export const getOrder = route({
  id: "get_order",
  method: "GET",
  path: "/orders/{id}",
  tag: "Trading",
  summary: "Get an order",
  description: "Returns a pending, filled, cancelled, expired or rejected order.",
  file: "trading/get-order",
  scope: "trading:read",
  grants: ["read"],
  reply: Order,
});

/** `GET /exposure` */
export const getExposure = route({
  id: "get_exposure",
  method: "GET",
  path: "/exposure",
  tag: "Trading",
  summary: "Get the exposure of the brokerage",
  description:
    "Open lots of all accounts by symbol and side, of live accounts unless `account_type` says otherwise. Lots and " +
    "average prices are summed once a minute: `as_of` is the beginning of that sum, and `age_seconds` its age, which " +
    "grows when a sum fails. Prices and floating profits are of now. Between the first position of a brokerage and " +
    "its first sum it answers 503 `not_ready`.",
  file: "trading/exposure",
  scope: "trading:read",
  grants: ["read", "query:list", "read:quotes", "read:open_interest"],
  query: ExposureQuery,
  reply: Exposure,
  refusals: ["not_ready"],
});

/** Rows of trades, positions and orders. */
export const tradingRoutes = [
  listTrades,
  getTrade,
  listPositions,
  getPosition,
  listOrders,
  getOrder,
  getExposure,
] as const;
