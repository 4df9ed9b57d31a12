import * as z from "zod/mini";
import { clientExpansion, expandedClient } from "./client.ts";
import { described } from "./described.ts";
import {
  Currency,
  currencyText,
  id,
  Money,
  ownFields,
  pageParameters,
  setOf,
  Timestamp,
  TimestampInput,
} from "./fields.ts";
import { Decimal, InstrumentCurrency, SignedDecimal, SymbolName, symbolNames } from "./symbol.ts";

/** The side of a trade, a position or an order. */
export const Side = z.enum(["buy", "sell"]);

/** Why a trade was closed. */
export const CloseReason = z.enum([
  "client",
  "dealer",
  "stop_loss",
  "take_profit",
  "stop_out",
  "partial_close",
  "expiry",
  "platform",
  "reversed",
]);

/** Conversion path between two currencies, so that every amount can be recomputed. */
export const Conversion = z.object({
  from: described(InstrumentCurrency, "Source currency."),
  to: described(Currency, "Target currency."),
  via: described(
    z.array(
      z.object({
        symbol: described(SymbolName, "Symbol name; for a fixed ratio, the code of the cent currency."),
        op: described(z.enum(["multiply", "divide"]), "Whether an amount is multiplied or divided by the price."),
        price: described(Decimal, "Price."),
        mid: described(
          z.optional(Decimal),
          "Mid of the quote, only where `price` is its bid or its ask: in the conversion of a transfer.",
        ),
      }),
    ),
    "Quotes on the conversion path, in order.",
  ),
  rate: described(
    Decimal,
    "Amount of `to` for one unit of `from`, with twelve digits and for information; the prices in `via` " +
      "are exact.",
  ),
});

const TradeStatus = z.enum(["open", "closed"]);

const filters = {
  ...pageParameters,
  status: described(z.optional(setOf(TradeStatus.options)), "Trade statuses, separated by commas."),
  symbol: described(z.optional(symbolNames()), "Symbol names, separated by commas."),
  side: described(z.optional(setOf(Side.options)), "Sides, separated by commas."),
  close_reason: described(z.optional(setOf(CloseReason.options)), "Closing reasons, separated by commas."),
  open_from: described(z.optional(TimestampInput), "Opened at or after this time."),
  open_to: described(z.optional(TimestampInput), "Opened before this time."),
  close_from: described(z.optional(TimestampInput), "Closed at or after this time."),
  close_to: described(z.optional(TimestampInput), "Closed before this time."),
  sort: described(
    z.optional(z.enum(["-open_at", "open_at", "-close_at"])),
    "Sort order; a leading hyphen means descending.",
  ),
};

/** Query of `GET /trades` and `GET /clients/{id}/trades`. */
export const ListTradesQuery = z.strictObject({
  ...filters,
  account_id: described(z.optional(id("acc")), "Account identifier."),
  ...clientExpansion,
});

/** Query of `GET /accounts/{id}/trades`. */
export const ListAccountTradesQuery = z.strictObject(filters);

/** A trade in responses. Closing a part creates a separate closed trade with a `parent_trade_id`. */
export const Trade = z.object({
  id: described(z.string(), "Identifier, assigned by the service."),
  object: described(z.literal("trade"), "Resource type; always this value."),
  account_id: described(z.string(), "Account identifier."),
  client_id: described(z.string(), "Client identifier."),
  symbol: described(SymbolName, "Symbol name."),
  side: described(Side, "Side: `buy` or `sell`."),
  status: described(TradeStatus, "Trade status: `open` or `closed`."),
  lots: described(Decimal, "Open volume, or closed volume of a closed trade, in lots."),
  initial_lots: described(Decimal, "Volume opened, in lots: the sum of this trade and the parts closed from it."),
  parent_trade_id: described(
    z.nullable(z.string()),
    "The open trade that this trade is a closed part of; null if it is not a part.",
  ),
  position_id: described(
    z.nullable(z.string()),
    "The open position that contains the trade; null when the trade is closed.",
  ),
  order_id: described(z.nullable(z.string()), "The order that the trade resulted from; null if there is none."),
  currency: described(Currency, currencyText),
  open_price: described(SignedDecimal, "Opening price."),
  open_at: described(Timestamp, "Time of opening."),
  close_price: described(z.nullable(SignedDecimal), "Closing price; null while the trade is open."),
  close_at: described(z.nullable(Timestamp), "Time of closing; null while the trade is open."),
  close_reason: described(z.nullable(CloseReason), "Reason for closing; null while the trade is open."),
  stop_loss: described(z.nullable(SignedDecimal), "Stop loss price; null if not set."),
  take_profit: described(z.nullable(SignedDecimal), "Take profit price; null if not set."),
  gross_pnl: described(z.nullable(Money), "Profit before costs, in the currency of the account."),
  commission: described(Money, "Commission of opening and closing; zero or negative."),
  swap: described(Money, "Swap realised with the trade."),
  conversion_fee: described(Money, "Fee of the currency conversion; zero or negative."),
  net_pnl: described(
    z.nullable(Money),
    "Profit after commission, swap and conversion fee; null while the trade is open.",
  ),
  margin_rate: described(
    Decimal,
    "Conversion rate from the margin currency to the currency of the account, fixed at opening.",
  ),
  conversion: described(z.nullable(Conversion), "Conversion path of the profit; null while the trade is open."),
  pnl_source: described(
    z.enum(["service", "platform"]),
    "Origin of the booked profit: computed by this service or reported by the platform.",
  ),
  source: described(z.string(), "Where the trade was executed: `internal` or the name of a platform."),
  source_trade_id: described(z.nullable(z.string()), "Identifier of the trade on the platform; null if there is none."),
  ...ownFields,
  ...expandedClient,
});

/** Margin required to open a volume of a symbol now, without other positions. */
export const SymbolMargin = z.object({
  object: described(z.literal("symbol_margin"), "Resource type; always this value."),
  symbol: described(SymbolName, "Symbol name."),
  account_id: described(
    z.nullable(z.string()),
    "The account that margin was computed for; null if leverage and currency were given.",
  ),
  currency: described(Currency, currencyText),
  leverage: described(z.int(), "Effective leverage: the lower of the account's and the symbol's."),
  side: described(Side, "Side: `buy` or `sell`."),
  lots: described(Decimal, "Volume in lots."),
  price: described(SignedDecimal, "Price."),
  quote_at: described(Timestamp, "Time of the quote that was used."),
  stale: described(
    z.boolean(),
    "Whether the price is too old while its market is open. A price set in the sandbox is never stale.",
  ),
  margin: described(Money, "Margin required, in the currency of the account."),
  margin_rate: described(Decimal, "Conversion rate from the margin currency to the currency of the account."),
  conversion: described(Conversion, "Conversion path between currencies, so that every amount can be recomputed."),
  _links: ownFields._links,
});

/** A trade on the wire. */
export type TradeBody = z.infer<typeof Trade>;
/** A conversion path on the wire. */
export type ConversionBody = z.infer<typeof Conversion>;
/** One side. */
export type SideName = z.infer<typeof Side>;
/** One closing reason. */
export type CloseReasonName = z.infer<typeof CloseReason>;
/** A margin on the wire. */
export type SymbolMarginBody = z.infer<typeof SymbolMargin>;
