import * as z from "zod/mini";
import { limits } from "../limits.ts";
import { described } from "./described.ts";
import { Currency, ownFields, setOf, Timestamp } from "./fields.ts";
import { InstrumentCurrency, MarketStatus, SignedDecimal, SymbolName, symbolNames } from "./symbol.ts";
import { Conversion } from "./trade.ts";

/** The latest price of a symbol. `stale`: the market is open and the price is too old. */
export const Quote = z.object({
  symbol: described(SymbolName, "Symbol name."),
  object: described(z.literal("quote"), "Resource type; always this value."),
  bid: described(SignedDecimal, "Bid: the price to sell at."),
  ask: described(SignedDecimal, "Ask: the price to buy at."),
  mid: described(SignedDecimal, "Mid price: the average of bid and ask, used for conversions."),
  spread_points: described(z.int(), "Difference between ask and bid, in points."),
  time: described(Timestamp, "Time of the quote at its source."),
  received_at: described(Timestamp, "Time at which the service received the quote."),
  age_ms: described(z.int(), "Age of the quote in milliseconds, from the older of `time` and `received_at`."),
  stale: described(
    z.boolean(),
    "Whether the price is too old while its market is open. A price set in the sandbox is never stale.",
  ),
  market_status: described(
    MarketStatus,
    "Whether orders can be executed now: `open` or `closed` by the sessions, or `halted` by the feed.",
  ),
  session_open: described(z.nullable(SignedDecimal), "First bid of the UTC day; null before it."),
  day_high: described(z.nullable(SignedDecimal), "Highest bid of the UTC day; null before the first quote."),
  day_low: described(z.nullable(SignedDecimal), "Lowest bid of the UTC day; null before the first quote."),
  sequence: described(
    z.string(),
    "Sequence number assigned by the source; only a higher number of the same source replaces the quote.",
  ),
  source: described(z.string(), "Source of the quote."),
  _links: ownFields._links,
});

/** Query of `GET /quotes`. */
export const ListQuotesQuery = z.strictObject({
  symbols: described(symbolNames(limits.trading.max_quotes), "Symbol names, separated by commas; at most 50."),
});

/** The latest prices of the requested symbols, and the reason why others have none. */
export const QuoteSet = z.object({
  object: described(z.literal("quote_set"), "Resource type; always this value."),
  data: described(z.array(Quote), "The quotes, in the requested order."),
  missing: described(
    z.array(
      z.object({
        symbol: described(SymbolName, "Symbol name."),
        code: described(
          z.enum(["symbol_not_found", "no_quote"]),
          "Whether the symbol does not exist or has no quote yet.",
        ),
      }),
    ),
    "Requested symbols without a quote.",
  ),
  _links: ownFields._links,
});

/** Query of `GET /conversion_rates`. */
export const ConversionRatesQuery = z.strictObject({
  from: described(z.optional(InstrumentCurrency), "Source currency."),
  to: described(z.optional(setOf(Currency.options)), "Target currency."),
});

/** A current conversion rate, with its conversion path. */
export const ConversionRate = z.object({
  ...Conversion.shape,
  as_of: described(z.nullable(Timestamp), "Time of the oldest quote that was used; null if none was needed."),
  stale: described(
    z.boolean(),
    "Whether the price is too old while its market is open. A price set in the sandbox is never stale.",
  ),
});

/** Current conversion rates, one per pair. Pairs that cannot be converted are left out. */
export const ConversionRates = z.object({
  object: described(z.literal("conversion_rates"), "Resource type; always this value."),
  data: described(z.array(ConversionRate), "One entry per currency pair."),
  _links: ownFields._links,
});

/** A quote on the wire. */
export type QuoteBody = z.infer<typeof Quote>;
/** A rate on the wire. */
export type ConversionRateBody = z.infer<typeof ConversionRate>;
/** Several quotes on the wire. */
export type QuoteSetBody = z.infer<typeof QuoteSet>;
/** Rates on the wire. */
export type ConversionRatesBody = z.infer<typeof ConversionRates>;
