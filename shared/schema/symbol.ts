import * as z from "zod/mini";
import { resourceFields, Timestamp } from "./fields.ts";

/** Decimal string that is not negative, `"1.10010"` for one. */
export const Decimal = z.string().check(z.regex(/^(?:0|[1-9]\d{0,14})(?:\.\d{1,12})?$/, "decimal"));
/** Decimal string with a sign where it is below zero. */
const SignedDecimal = z.string().check(z.regex(/^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,12})?$/, "decimal"));
/** Key of a symbol: `EURUSD`, `GER40`. */
export const SymbolName = z.string().check(z.regex(/^[A-Z0-9._]{2,20}$/, "symbol"));
/** A currency that an instrument is made of; more than the ones that accounts have. */
export const InstrumentCurrency = z.string().check(z.regex(/^[A-Z]{3}$/, "currency"));

const Weekday = z.enum(["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]);
const TimeOfDay = z.string().check(z.regex(/^(?:(?:[01]\d|2[0-3]):[0-5]\d|24:00)$/, "time"));

/** Whether a symbol can be executed: its sessions say open or closed, its feed can halt it. */
export const MarketStatus = z.enum(["open", "closed", "halted"]);

/** A trading symbol as the API shows it. */
export const TradingSymbol = z.object({
  symbol: SymbolName,
  object: z.literal("symbol"),
  description: z.string(),
  asset_class: z.enum(["forex", "metal", "index", "commodity", "crypto", "equity"]),
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
  trading_mode: z.enum(["enabled", "close_only", "disabled"]),
  sessions: z.array(z.object({ day: Weekday, open: TimeOfDay, close: TimeOfDay })),
  holidays: z.array(z.string()),
  market_status: MarketStatus,
  next_open_at: z.nullable(Timestamp),
  next_close_at: z.nullable(Timestamp),
  created_at: Timestamp,
  updated_at: Timestamp,
  version: z.int(),
  _links: resourceFields._links,
});

/** A symbol on the wire. */
export type SymbolBody = z.infer<typeof TradingSymbol>;
/** One state of a market. */
export type MarketStatusName = z.infer<typeof MarketStatus>;
