import { Order } from "../schema/order.ts";
import {
  CloseSandboxTrade,
  DriveSandboxAccount,
  OpenSandboxTrade,
  PlaceSandboxOrder,
  SandboxDrive,
  SandboxPrices,
  SetSandboxPrices,
} from "../schema/sandbox.ts";
import { Trade } from "../schema/trade.ts";
import { route } from "./route.ts";

/** Events that opening or closing a trade may write, including effects on the margin of the account. */
const tradeEvents = [
  "trade.opened",
  "trade.closed",
  "margin.call",
  "margin.recovered",
  "transaction.created",
  "transaction.completed",
  "transaction.updated",
] as const;

/** Events that a price may write. */
const priceEvents = [...tradeEvents, "stop.out"] as const;

/** Grants for applying a price to orders, positions and margins. */
const actingGrants = [
  "read",
  "query",
  "query:state",
  "query:client",
  "put",
  "update",
  "delete",
  "read:quotes",
  "put:quotes",
] as const;

/** `POST /sandbox/prices` */
export const setSandboxPrices = route({
  id: "set_sandbox_prices",
  method: "POST",
  path: "/sandbox/prices",
  tag: "Sandbox",
  summary: "Set prices",
  description:
    "The market of the sandbox is your own: a price moves only when you set it. Set the bid, the ask or both; with " +
    "only one, the spread stays the same. If one price is not valid, none is set. They take effect at once: on " +
    "stop losses, take profits and pending orders first, then on margin calls and liquidations. Effects that one " +
    "call cannot finish are completed asynchronously. With `mode: walk`, the price then moves once a minute, along " +
    "the same path for the same seed.",
  file: "sandbox/set-prices",
  scope: "sandbox",
  grants: actingGrants,
  body: SetSandboxPrices,
  named: true,
  reply: SandboxPrices,
  example: { prices: [{ symbol: "EURUSD", bid: "1.08500" }] },
  refusals: ["symbol_not_found", "market_closed"],
  emits: priceEvents,
  stages: ["sandbox"],
});

/** `POST /sandbox/trades` */
export const openSandboxTrade = route({
  id: "open_sandbox_trade",
  method: "POST",
  path: "/sandbox/trades",
  tag: "Sandbox",
  summary: "Open a trade",
  description:
    "At the latest price, the ask for a buy and the bid for a sell, as on a trading platform; requires sufficient " +
    "margin. On a netting account the trade may increase, reduce or reverse the position in the symbol.",
  file: "sandbox/open-trade",
  scope: "sandbox",
  grants: ["read", "read:quotes", "query", "put", "update", "delete"],
  body: OpenSandboxTrade,
  reply: Trade,
  status: 201,
  example: {
    account_id: "acc_01JD0000000000000000000002",
    symbol: "EURUSD",
    side: "buy",
    lots: "0.50",
    stop_loss: "1.09000",
  },
  refusals: [
    "account_not_found",
    "account_closed",
    "account_disabled",
    "account_close_only",
    "client_suspended",
    "platform_account",
    "symbol_not_found",
    "symbol_disabled",
    "market_closed",
    "no_quote",
    "metrics_stale",
    "invalid_price",
    "insufficient_margin",
    "too_many_positions",
    "exposure_too_large",
    "no_conversion_path",
    "liquidation_in_progress",
  ],
  emits: tradeEvents,
  stages: ["sandbox"],
});

/** `POST /sandbox/trades/{id}/close` */
export const closeSandboxTrade = route({
  id: "close_sandbox_trade",
  method: "POST",
  path: "/sandbox/trades/{id}/close",
  tag: "Sandbox",
  summary: "Close a trade or part of it",
  description:
    "At the latest price. Returns the closed trade. A partial close creates a separate closed trade, and the open " +
    "trade keeps its id with fewer lots.",
  file: "sandbox/close-trade",
  scope: "sandbox",
  grants: ["read", "read:quotes", "query", "put", "update", "delete"],
  body: CloseSandboxTrade,
  reply: Trade,
  example: { lots: "0.20" },
  refusals: [
    "illegal_transition",
    "platform_account",
    "market_closed",
    "no_quote",
    "metrics_stale",
    "no_conversion_path",
    "liquidation_in_progress",
  ],
  emits: tradeEvents,
  stages: ["sandbox"],
});

/** `POST /sandbox/orders` */
export const placeSandboxOrder = route({
  id: "place_sandbox_order",
  method: "POST",
  path: "/sandbox/orders",
  tag: "Sandbox",
  summary: "Place a pending order",
  description:
    "The order waits for its price and is then filled at the latest price: a limit order at its price or better, a " +
    "stop order possibly at a worse price. It reserves no margin; if margin is insufficient at that time, the order " +
    "is rejected.",
  file: "sandbox/place-order",
  scope: "sandbox",
  grants: ["read", "read:quotes", "put", "update"],
  body: PlaceSandboxOrder,
  reply: Order,
  status: 201,
  example: {
    account_id: "acc_01JD0000000000000000000002",
    symbol: "EURUSD",
    side: "buy",
    type: "limit",
    lots: "0.50",
    price: "1.09000",
  },
  refusals: [
    "account_not_found",
    "account_closed",
    "account_disabled",
    "account_close_only",
    "client_suspended",
    "platform_account",
    "symbol_not_found",
    "symbol_disabled",
    "no_quote",
    "invalid_price",
  ],
  stages: ["sandbox"],
});

/** `POST /sandbox/orders/{id}/cancel` */
export const cancelSandboxOrder = route({
  id: "cancel_sandbox_order",
  method: "POST",
  path: "/sandbox/orders/{id}/cancel",
  tag: "Sandbox",
  summary: "Cancel a pending order",
  description: "Cancelling a cancelled order returns it unchanged. A filled order cannot be cancelled.",
  file: "sandbox/cancel-order",
  scope: "sandbox",
  grants: ["read", "put", "update"],
  reply: Order,
  refusals: ["illegal_transition", "platform_account"],
  stages: ["sandbox"],
});

/** `POST /sandbox/accounts/{id}/drive` */
export const driveSandboxAccount = route({
  id: "drive_sandbox_account",
  method: "POST",
  path: "/sandbox/accounts/{id}/drive",
  tag: "Sandbox",
  summary: "Drive an account to a margin level",
  description:
    "Finds the price of one symbol at which the account has this margin level, sets it and applies its effects: " +
    "with default levels, `80.00` causes a margin call and `40.00` a stop-out. Returns the price, the metrics of the " +
    "account before and after, and the events that were written.",
  file: "sandbox/drive-account",
  scope: "sandbox",
  grants: actingGrants,
  body: DriveSandboxAccount,
  named: true,
  reply: SandboxDrive,
  example: { margin_level: "80.00", symbol: "EURUSD" },
  refusals: [
    "margin_level_unreachable",
    "platform_account",
    "symbol_not_found",
    "market_closed",
    "no_quote",
    "metrics_stale",
    "no_conversion_path",
  ],
  emits: priceEvents,
  stages: ["sandbox"],
});

/** Rows of the sandbox's own market. */
export const sandboxMarketRoutes = [
  setSandboxPrices,
  driveSandboxAccount,
  openSandboxTrade,
  closeSandboxTrade,
  placeSandboxOrder,
  cancelSandboxOrder,
] as const;
