import * as z from "zod/mini";
import { resourceFields, Timestamp } from "./fields.ts";
import { Decimal, MarketStatus, SymbolName } from "./symbol.ts";

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

/** A quote on the wire. */
export type QuoteBody = z.infer<typeof Quote>;
