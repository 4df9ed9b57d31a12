import * as z from "zod/mini";
import { Currency, id, Money, pageParameters, resourceFields, setOf, Timestamp, TimestampInput } from "./fields.ts";
import { Decimal, InstrumentCurrency, SymbolName, symbolNames } from "./symbol.ts";

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
]);

/** The path from one currency to another, so that a reader can compute every cent again. */
export const Conversion = z.object({
  from: InstrumentCurrency,
  to: Currency,
  via: z.array(z.object({ symbol: SymbolName, op: z.enum(["multiply", "divide"]), price: Decimal })),
  rate: Decimal,
});

const TradeStatus = z.enum(["open", "closed"]);

const filters = {
  ...pageParameters,
  status: z.optional(setOf(TradeStatus.options)),
  symbol: z.optional(symbolNames()),
  side: z.optional(setOf(Side.options)),
  close_reason: z.optional(setOf(CloseReason.options)),
  open_from: z.optional(TimestampInput),
  open_to: z.optional(TimestampInput),
  close_from: z.optional(TimestampInput),
  close_to: z.optional(TimestampInput),
  sort: z.optional(z.enum(["-open_at", "open_at", "-close_at"])),
};

/** Query of `GET /trades` and `GET /clients/{id}/trades`. */
export const ListTradesQuery = z.strictObject({ ...filters, account_id: z.optional(id("acc")) });

/** Query of `GET /accounts/{id}/trades`. */
export const ListAccountTradesQuery = z.strictObject(filters);

/** A trade as the API shows it. A part that is closed becomes a closed trade with a `parent_trade_id`. */
export const Trade = z.object({
  id: z.string(),
  object: z.literal("trade"),
  account_id: z.string(),
  client_id: z.string(),
  symbol: SymbolName,
  side: Side,
  status: TradeStatus,
  lots: Decimal,
  initial_lots: Decimal,
  parent_trade_id: z.nullable(z.string()),
  position_id: z.nullable(z.string()),
  order_id: z.nullable(z.string()),
  currency: Currency,
  open_price: Decimal,
  open_at: Timestamp,
  close_price: z.nullable(Decimal),
  close_at: z.nullable(Timestamp),
  close_reason: z.nullable(CloseReason),
  stop_loss: z.nullable(Decimal),
  take_profit: z.nullable(Decimal),
  gross_pnl: z.nullable(Money),
  commission: Money,
  swap: Money,
  conversion_fee: Money,
  net_pnl: z.nullable(Money),
  margin_rate: Decimal,
  conversion: z.nullable(Conversion),
  pnl_source: z.enum(["service", "platform"]),
  source: z.string(),
  source_trade_id: z.nullable(z.string()),
  created_at: Timestamp,
  updated_at: Timestamp,
  version: z.int(),
  _links: resourceFields._links,
});

/** The margin that lots of a symbol take by themselves, opened now. */
export const SymbolMargin = z.object({
  object: z.literal("symbol_margin"),
  symbol: SymbolName,
  account_id: z.nullable(z.string()),
  currency: Currency,
  leverage: z.int(),
  side: Side,
  lots: Decimal,
  price: Decimal,
  quote_at: Timestamp,
  stale: z.boolean(),
  margin: Money,
  margin_rate: Decimal,
  conversion: Conversion,
  _links: resourceFields._links,
});

/** A trade on the wire. */
export type TradeBody = z.infer<typeof Trade>;
/** A conversion path on the wire. */
export type ConversionBody = z.infer<typeof Conversion>;
/** One side. */
export type SideName = z.infer<typeof Side>;
/** One reason to close. */
export type CloseReasonName = z.infer<typeof CloseReason>;
/** A margin on the wire. */
export type SymbolMarginBody = z.infer<typeof SymbolMargin>;
