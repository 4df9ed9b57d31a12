import * as z from "zod/mini";
import { limits } from "../limits.ts";
import { Currency, id, listOf, pageParameters, resourceFields, setOf, Timestamp } from "./fields.ts";

/** Decimal string that is not negative, `"1.10010"` for one. */
export const Decimal = z
  .string()
  .check(z.regex(/^(?:0|[1-9]\d{0,14})(?:\.\d{1,12})?$/, "must be a plain decimal such as 1.10010"));
/** Decimal string with a sign where it is below zero. */
export const SignedDecimal = z
  .string()
  .check(z.regex(/^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,12})?$/, "must be a plain decimal such as 1.10010"));
/** What the key of a symbol looks like: `EURUSD`, `GER40`, and as platforms write theirs `EURUSD.r`, `EURUSDm`. */
export const symbolPattern = "[A-Za-z0-9._]{2,20}";
/** Key of a symbol. `EURUSDm` and `EURUSDM` are two. */
export const SymbolName = z
  .string()
  .check(z.regex(new RegExp(`^${symbolPattern}$`), "must be the name of a symbol such as EURUSD"));
/** One or more keys of symbols, separated by commas. */
// @__NO_SIDE_EFFECTS__
export function symbolNames(most: number = limits.page.max_filter_words) {
  return listOf(symbolPattern, most, `up to ${most} names of symbols such as EURUSD`);
}
/** A currency that an instrument is made of; more than the ones that accounts have. */
export const InstrumentCurrency = z
  .string()
  .check(z.regex(/^[A-Z]{3}$/, "must be a currency code of three capital letters (ISO 4217)"));

const Weekday = z.enum(["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]);
const TimeOfDay = z
  .string()
  .check(z.regex(/^(?:(?:[01]\d|2[0-3]):[0-5]\d|24:00)$/, "must be a time of day such as 22:00"));

/** Whether a symbol can be executed: its sessions say open or closed, its feed can halt it. */
export const MarketStatus = z.enum(["open", "closed", "halted"]);

const assetClasses = ["forex", "metal", "index", "commodity", "crypto", "equity"] as const;
const tradingModes = ["enabled", "close_only", "disabled"] as const;

/** The terms that a symbol is traded on, as a feed sends them and as the API shows them. */
export const symbolTerms = {
  asset_class: z.enum(assetClasses),
  base_currency: InstrumentCurrency,
  quote_currency: InstrumentCurrency,
  margin_currency: InstrumentCurrency,
  calc_mode: z.enum(["forex", "cfd"]),
  digits: z.int().check(z.minimum(0), z.maximum(8)),
  point: Decimal,
  pip_size: Decimal,
  contract_size: Decimal,
  lot_min: Decimal,
  lot_max: Decimal,
  lot_step: Decimal,
  max_leverage: z.nullable(z.int()),
  margin_factor: Decimal,
  commission: z.object({
    type: z.enum(["per_lot", "per_million", "percent", "none"]),
    amount: Decimal,
    currency: InstrumentCurrency,
  }),
  swap: z.object({
    type: z.enum(["points", "percent_annual", "none"]),
    long: SignedDecimal,
    short: SignedDecimal,
    triple_day: z.nullable(Weekday),
    rollover_time: TimeOfDay,
  }),
  stops_level: z.int(),
  max_deviation_percent: z.nullable(Decimal),
  trading_mode: z.enum(tradingModes),
  sessions: z.array(z.object({ day: Weekday, open: TimeOfDay, close: TimeOfDay })),
  holidays: z.array(z.string()),
};

/** A trading symbol as the API shows it. */
export const TradingSymbol = z.object({
  symbol: SymbolName,
  object: z.literal("symbol"),
  description: z.string(),
  ...symbolTerms,
  market_status: MarketStatus,
  next_open_at: z.nullable(Timestamp),
  next_close_at: z.nullable(Timestamp),
  created_at: Timestamp,
  updated_at: Timestamp,
  version: z.int(),
  _links: resourceFields._links,
});

/** Query of `GET /symbols`. */
export const ListSymbolsQuery = z.strictObject({
  ...pageParameters,
  asset_class: z.optional(setOf(assetClasses)),
  trading_mode: z.optional(setOf(tradingModes)),
  market_status: z.optional(setOf(MarketStatus.options)),
  sort: z.optional(z.enum(["symbol"])),
});

/** Query of `GET /symbols/{symbol}/margin`: an account, or the leverage and the currency of one. */
export const SymbolMarginQuery = z.strictObject({
  account_id: z.optional(id("acc")),
  leverage: z.optional(z.string().check(z.regex(/^(?:[1-9]\d{0,2}|1000)$/, "must be a whole number from 1 to 1000"))),
  currency: z.optional(Currency),
  side: z.optional(z.enum(["buy", "sell"])),
  lots: z.optional(Decimal),
});

/** A symbol on the wire. */
export type SymbolBody = z.infer<typeof TradingSymbol>;
/** One state of a market. */
export type MarketStatusName = z.infer<typeof MarketStatus>;
