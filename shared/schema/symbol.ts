import * as z from "zod/mini";
import { limits } from "../limits.ts";
import { described } from "./described.ts";
import { Currency, id, listOf, ownFields, pageParameters, setOf, Timestamp } from "./fields.ts";

/** Non-negative decimal string: `"1.10010"`. */
export const Decimal = z
  .string()
  .check(z.regex(/^(?:0|[1-9]\d{0,14})(?:\.\d{1,12})?$/, "must be a plain decimal such as 1.10010"));
/** Decimal string, negative with a leading minus sign. */
export const SignedDecimal = z
  .string()
  .check(z.regex(/^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,12})?$/, "must be a plain decimal such as 1.10010"));
const nameCharacters = String.raw`[\p{L}\d._\-/#@+()&!$]+`;
/**
 * Pattern of a symbol name, for the flag `u`: `EURUSD`, `US30.cash`, `BTC/USD`, `GER40 (Mar)`. Whole names alone, or
 * between commas; `.` and `..` are none, since clients remove them from an address.
 */
export const symbolPattern = String.raw`(?=[^,]{1,31}(?:,|$))(?!\.\.?(?:,|$))${nameCharacters}(?: ${nameCharacters})*`;
/** Symbol name; case-sensitive: `EURUSDm` and `EURUSDM` are different symbols. */
export const SymbolName = z
  .string()
  .check(
    z.normalize("NFC"),
    z.regex(
      new RegExp(`^${symbolPattern}$`, "u"),
      "must be a symbol name: 1 to 31 letters, digits, single inner spaces and . _ - / # @ + ( ) & ! $",
    ),
  );
/** One or more symbol names, separated by commas. */
// @__NO_SIDE_EFFECTS__
export function symbolNames(most: number = limits.page.max_filter_words) {
  return listOf(symbolPattern, most, `up to ${most} names of symbols such as EURUSD`);
}
/** Currency of an instrument; there are more of them than account currencies. Tokens have up to five letters. */
export const InstrumentCurrency = z
  .string()
  .check(z.regex(/^[A-Z]{3}$|^[A-Z]{4,5}$|^GBp$/, "must be a currency code of three to five capital letters, or GBp"));

const Zone = z.string().check(z.minLength(1), z.maxLength(64));
const Weekday = z.enum(["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]);
const TimeOfDay = z
  .string()
  .check(z.regex(/^(?:(?:[01]\d|2[0-3]):[0-5]\d|24:00)$/, "must be a time of day such as 22:00"));

/** Market status: `open` or `closed` by the sessions of the symbol, or `halted` by its feed. */
export const MarketStatus = z.enum(["open", "closed", "halted"]);

const assetClasses = ["forex", "metal", "index", "commodity", "crypto", "equity"] as const;
const tradingModes = ["enabled", "close_only", "disabled"] as const;

/** Trading terms of a symbol, the same in feed items and responses. */
export const symbolTerms = {
  asset_class: described(z.enum(assetClasses), "Asset class."),
  base_currency: described(InstrumentCurrency, "Currency or metal that `contract_size` is measured in."),
  quote_currency: described(InstrumentCurrency, "Currency that prices are quoted in."),
  margin_currency: described(InstrumentCurrency, "Currency that margin is computed in."),
  calc_mode: described(
    z.enum(["forex", "cfd"]),
    "How margin is computed: `forex` in the base currency, `cfd` in the quote currency.",
  ),
  digits: described(z.int().check(z.minimum(0), z.maximum(8)), "Number of decimals in a price."),
  point: described(Decimal, "Smallest price increment."),
  pip_size: described(Decimal, "Size of a pip."),
  contract_size: described(Decimal, "Units of the base currency in one lot."),
  lot_min: described(Decimal, "Minimum volume of one deal, in lots."),
  lot_max: described(Decimal, "Maximum volume of one deal, in lots."),
  lot_step: described(Decimal, "Volume step: volumes are multiples of it."),
  max_leverage: described(z.nullable(z.int()), "Maximum leverage for the symbol; null if only the account limits it."),
  margin_factor: described(Decimal, "Factor that margin is multiplied by; usually 1."),
  commission: described(
    z.strictObject({
      type: described(z.enum(["per_lot", "per_million", "percent", "none"]), "How commission is computed."),
      amount: described(
        Decimal,
        "Commission per side: in `currency` for `per_lot` and `per_million`, in percent for `percent`.",
      ),
      currency: described(InstrumentCurrency, "Currency code."),
    }),
    "Terms of the commission per side.",
  ),
  swap: described(
    z.strictObject({
      type: described(
        z.enum(["points", "percent_annual", "none"]),
        "How swap is computed: in points or in percent per year.",
      ),
      long: described(SignedDecimal, "Swap for long positions."),
      short: described(SignedDecimal, "Swap for short positions."),
      triple_day: described(z.nullable(Weekday), "Day on which three nights of swap are charged; null for none."),
      rollover_time: described(TimeOfDay, "Time of day in `rollover_zone` at which swap is charged."),
      rollover_zone: described(
        z.optional(Zone),
        "Time zone of `rollover_time` and of the days, by its name in the IANA database such as `America/New_York`; " +
          "UTC if omitted.",
      ),
    }),
    "Terms of the overnight charge or credit.",
  ),
  stops_level: described(z.int(), "Minimum distance of stop loss and take profit from the price, in points."),
  max_deviation_percent: described(
    z.nullable(Decimal),
    "Largest deviation from the previous feed price, in percent. A price that deviates more is held " +
      "until a second one confirms it within 10 seconds; null disables the filter.",
  ),
  trading_mode: described(z.enum(tradingModes), "Allowed trading: `enabled`, `close_only` or `disabled`."),
  sessions: described(
    z.array(
      z.strictObject({
        day: described(Weekday, "Day of the week in `zone`."),
        open: described(TimeOfDay, "Start of the session, a time of day in `zone`."),
        close: described(TimeOfDay, "End of the session, a time of day in `zone`; `24:00` is the end of the day."),
      }),
    ),
    "Trading sessions. A time that a change to summer time leaves out is that much later, and one that comes twice " +
      "is the first.",
  ),
  holidays: described(z.array(z.string()), "Days without a session in `zone`, `YYYY-MM-DD`."),
  zone: described(
    z.optional(Zone),
    "Time zone of `sessions` and `holidays`, by its name in the IANA database such as `America/New_York`; UTC if " +
      "omitted.",
  ),
};

/** A trading symbol in responses. */
export const TradingSymbol = z.object({
  symbol: described(SymbolName, "Symbol name."),
  object: described(z.literal("symbol"), "Resource type; always this value."),
  description: described(z.string(), "Display name."),
  ...symbolTerms,
  market_status: described(
    MarketStatus,
    "Whether orders can be executed now: `open` or `closed` by the sessions, or `halted` by the feed.",
  ),
  next_open_at: described(z.nullable(Timestamp), "Next time the market opens; null while it is open."),
  next_close_at: described(
    z.nullable(Timestamp),
    "Next time the market closes; null while it is closed or if it never closes.",
  ),
  ...ownFields,
});

/** Query of `GET /symbols`. */
export const ListSymbolsQuery = z.strictObject({
  ...pageParameters,
  symbol: described(z.optional(symbolNames()), "Symbol names, separated by commas."),
  asset_class: described(z.optional(setOf(assetClasses)), "Asset classes, separated by commas."),
  trading_mode: described(z.optional(setOf(tradingModes)), "Trading modes, separated by commas."),
  market_status: described(z.optional(setOf(MarketStatus.options)), "Market statuses, separated by commas."),
  sort: described(z.optional(z.enum(["symbol"])), "Sort order; a leading hyphen means descending."),
});

/** Query of `GET /symbols/{symbol}/margin`: an account, or the leverage and the currency of one. */
export const SymbolMarginQuery = z.strictObject({
  account_id: described(z.optional(id("acc")), "Account identifier."),
  leverage: described(
    z.optional(z.string().check(z.regex(/^(?:[1-9]\d{0,2}|1000)$/, "must be a whole number from 1 to 1000"))),
    "Leverage, if no account is given: 100 means 1:100.",
  ),
  currency: described(z.optional(Currency), "Currency code, if no account is given."),
  side: described(z.optional(z.enum(["buy", "sell"])), "Side: `buy` or `sell`."),
  lots: described(z.optional(Decimal), "Volume in lots."),
});

/** A symbol on the wire. */
export type SymbolBody = z.infer<typeof TradingSymbol>;
/** One state of a market. */
export type MarketStatusName = z.infer<typeof MarketStatus>;
