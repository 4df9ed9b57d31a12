import * as z from "zod/mini";
import { limits } from "../limits.ts";
import { AccountBalance } from "./account.ts";
import { described } from "./described.ts";
import { EventTypeSchema } from "./event.ts";
import { id, Percent, Timestamp, TimestampInput, text } from "./fields.ts";
import { Decimal, SignedDecimal, SymbolName } from "./symbol.ts";
import { Side } from "./trade.ts";

const PriceMode = z.enum(["frozen", "walk"]);

/**
 * A price to set: bid, ask or both. With only one of them the spread stays, with neither the price stays. With `walk`
 * the price then moves along the path of its seed.
 */
export const SandboxPriceChange = z.strictObject({
  symbol: described(SymbolName, "Symbol name."),
  bid: described(z.optional(SignedDecimal), "Bid: the price to sell at."),
  ask: described(z.optional(SignedDecimal), "Ask: the price to buy at."),
  mode: described(z.optional(PriceMode), "`frozen`, the default, keeps the price; `walk` makes it move from there."),
  seed: described(
    z.optional(text(64)),
    "With `walk`: seed of the price path; the same seed and price give the same path. Default `1`.",
  ),
});

/** `POST /sandbox/prices` */
export const SetSandboxPrices = z.strictObject({
  prices: described(
    z.array(SandboxPriceChange).check(z.minLength(1), z.maxLength(limits.sandbox.max_prices)),
    "Prices, at most one per symbol.",
  ),
});

/** The price of a symbol in the sandbox market. */
export const SandboxPrice = z.object({
  symbol: described(SymbolName, "Symbol name."),
  bid: described(SignedDecimal, "Bid: the price to sell at."),
  ask: described(SignedDecimal, "Ask: the price to buy at."),
  time: described(Timestamp, "Time at which the price was set."),
  sequence: described(z.string(), "Sequence number of the price, incremented per symbol."),
  mode: described(PriceMode, "`frozen` until it is set again, or `walk`: one step per minute for up to a week."),
  seed: described(z.nullable(z.string()), "Seed of the price path; null for a frozen price."),
});

/** Effects of prices that were applied within the request. */
export const SandboxEffects = z.object({
  orders_filled: described(z.array(z.string()), "Pending orders that were filled."),
  orders_ended: described(z.array(z.string()), "Pending orders that were rejected at their price or had expired."),
  trades_closed: described(z.array(z.string()), "Trades closed by stop loss or take profit."),
  accounts_evaluated: described(z.array(z.string()), "Accounts whose margin was evaluated."),
  complete: described(z.boolean(), "False if processing continues asynchronously."),
});

/** Result of setting prices. */
export const SandboxPrices = z.object({
  object: described(z.literal("sandbox_prices"), "Resource type; always this value."),
  data: described(z.array(SandboxPrice), "The prices, in the order of the request."),
  effects: described(SandboxEffects, "Effects that were applied within the request."),
});

/** `POST /sandbox/accounts/{id}/drive` */
export const DriveSandboxAccount = z.strictObject({
  margin_level: described(Percent, "Target margin level: equity as a percentage of the used margin."),
  symbol: described(z.optional(SymbolName), "Symbol whose price is moved; by default that of the largest position."),
});

/** An event that the request caused, with its sequence number. */
export const SandboxEvent = z.object({
  id: described(z.string(), "Event identifier."),
  type: described(EventTypeSchema, "Event type."),
  sequence: described(z.string(), "Sequence number of the event."),
});

/** Result of moving an account to a margin level. */
export const SandboxDrive = z.object({
  object: described(z.literal("sandbox_drive"), "Resource type; always this value."),
  account_id: described(z.string(), "Account identifier."),
  reached_margin_level: described(
    z.nullable(z.string()),
    "Margin level at that price, before any position was closed.",
  ),
  price: described(SandboxPrice, "The price that was set."),
  before: described(AccountBalance, "Margin figures of the account before."),
  after: described(AccountBalance, "Margin figures of the account after all effects of the price."),
  effects: described(SandboxEffects, "Effects of the price that were applied within the request."),
  events: described(z.array(SandboxEvent), "Events of the account and other events that the request caused, in order."),
  events_complete: described(z.boolean(), "False if some events are not numbered yet; they follow by webhook."),
});

const stops = {
  stop_loss: described(z.optional(z.nullable(SignedDecimal)), "Stop loss price; null if not set."),
  take_profit: described(z.optional(z.nullable(SignedDecimal)), "Take profit price; null if not set."),
};

/** `POST /sandbox/trades` */
export const OpenSandboxTrade = z.strictObject({
  account_id: described(id("acc"), "Account identifier."),
  symbol: described(SymbolName, "Symbol name."),
  side: described(Side, "Side: `buy` or `sell`."),
  lots: described(Decimal, "Volume in lots."),
  ...stops,
});

/** `POST /sandbox/trades/{id}/close`: closes the given lots, or the whole trade if omitted. */
export const CloseSandboxTrade = z.strictObject({
  lots: described(z.optional(Decimal), "Volume to close, in lots; the whole trade if omitted."),
});

/** `POST /sandbox/orders` */
export const PlaceSandboxOrder = z.strictObject({
  account_id: described(id("acc"), "Account identifier."),
  symbol: described(SymbolName, "Symbol name."),
  side: described(Side, "Side: `buy` or `sell`."),
  type: described(
    z.enum(["limit", "stop", "stop_limit"]),
    "`limit` waits for a better price, `stop` for a worse one, `stop_limit` becomes a limit order at its " +
      "stop price.",
  ),
  lots: described(Decimal, "Volume in lots."),
  price: described(z.optional(z.nullable(SignedDecimal)), "Price that triggers a limit or stop order."),
  stop_price: described(
    z.optional(z.nullable(SignedDecimal)),
    "Trigger price of a stop limit order; null for other types.",
  ),
  limit_price: described(
    z.optional(z.nullable(SignedDecimal)),
    "Limit price of a stop limit order, active once the stop price is reached; null for other types.",
  ),
  ...stops,
  time_in_force: described(
    z.optional(z.enum(["gtc", "gtd", "day"])),
    "How long the order is valid: until cancelled (`gtc`), until `expires_at` (`gtd`), or until the end " +
      "of the UTC day (`day`).",
  ),
  expires_at: described(z.optional(z.nullable(TimestampInput)), "Time of expiry, with `gtd`."),
});

/** A trade to open, on the wire. */
export type OpenSandboxTradeBody = z.infer<typeof OpenSandboxTrade>;
/** Volume of a trade to close, on the wire. */
export type CloseSandboxTradeBody = z.infer<typeof CloseSandboxTrade>;
/** An order to place, on the wire. */
export type PlaceSandboxOrderBody = z.infer<typeof PlaceSandboxOrder>;
/** Effects of prices, on the wire. */
export type SandboxEffectsBody = z.infer<typeof SandboxEffects>;
/** A target margin level of an account, on the wire. */
export type DriveSandboxAccountBody = z.infer<typeof DriveSandboxAccount>;
/** Result of moving an account to a margin level, on the wire. */
export type SandboxDriveBody = z.infer<typeof SandboxDrive>;
/** Prices to set, on the wire. */
export type SetSandboxPricesBody = z.infer<typeof SetSandboxPrices>;
/** A price in the sandbox market, on the wire. */
export type SandboxPriceBody = z.infer<typeof SandboxPrice>;
