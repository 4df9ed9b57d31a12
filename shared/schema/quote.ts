import * as z from "zod/mini";
import { limits } from "../limits.ts";
import { Currency, Links, resourceFields, setOf, Timestamp } from "./fields.ts";
import { Decimal, InstrumentCurrency, MarketStatus, SymbolName, symbolNames } from "./symbol.ts";
import { Conversion } from "./trade.ts";

/** The newest price of a symbol as the API shows it. `stale`: the market is open and the price is old. */
export const Quote = z.object({
  symbol: SymbolName,
  object: z.literal("quote"),
  bid: Decimal,
  ask: Decimal,
  mid: Decimal,
  spread_points: z.int(),
  time: Timestamp,
  received_at: Timestamp,
  age_ms: z.int(),
  stale: z.boolean(),
  market_status: MarketStatus,
  session_open: z.nullable(Decimal),
  day_high: z.nullable(Decimal),
  day_low: z.nullable(Decimal),
  sequence: z.string(),
  source: z.string(),
  _links: resourceFields._links,
});

/** Query of `GET /quotes`. */
export const ListQuotesQuery = z.strictObject({ symbols: symbolNames(limits.trading.max_quotes) });

/** The newest prices of the symbols that were asked for, and why the others have none. */
export const QuoteSet = z.object({
  object: z.literal("quote_set"),
  data: z.array(Quote),
  missing: z.array(z.object({ symbol: SymbolName, code: z.enum(["symbol_not_found", "no_quote"]) })),
  _links: Links,
});

/** Query of `GET /conversion_rates`. */
export const ConversionRatesQuery = z.strictObject({
  from: z.optional(InstrumentCurrency),
  to: z.optional(setOf(Currency.options)),
});

/** The rate that an amount is converted at now, with the way it is made of. */
export const ConversionRate = z.object({
  ...Conversion.shape,
  as_of: z.nullable(Timestamp),
  stale: z.boolean(),
});

/** The rates used now, per pair. A pair that cannot be converted is not among them. */
export const ConversionRates = z.object({
  object: z.literal("conversion_rates"),
  data: z.array(ConversionRate),
  _links: Links,
});

/** A quote on the wire. */
export type QuoteBody = z.infer<typeof Quote>;
/** A rate on the wire. */
export type ConversionRateBody = z.infer<typeof ConversionRate>;
/** Several quotes on the wire. */
export type QuoteSetBody = z.infer<typeof QuoteSet>;
/** Rates on the wire. */
export type ConversionRatesBody = z.infer<typeof ConversionRates>;
