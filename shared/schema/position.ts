import * as z from "zod/mini";
import { Currency, Money, resourceFields, Timestamp } from "./fields.ts";
import { Decimal, SymbolName } from "./symbol.ts";
import { Conversion, Side } from "./trade.ts";

/** An open position as the API shows it, valued at the newest price; null where there never was one. */
export const Position = z.object({
  id: z.string(),
  object: z.literal("position"),
  account_id: z.string(),
  client_id: z.string(),
  symbol: SymbolName,
  side: Side,
  lots: Decimal,
  open_price: Decimal,
  current_price: z.nullable(Decimal),
  quote_at: z.nullable(Timestamp),
  stale: z.boolean(),
  currency: Currency,
  gross_pnl: Money,
  swap: Money,
  floating_pnl: Money,
  used_margin: Money,
  margin_rate: Decimal,
  conversion: z.nullable(Conversion),
  stop_loss: z.nullable(Decimal),
  take_profit: z.nullable(Decimal),
  trade_ids: z.array(z.string()),
  opened_at: Timestamp,
  updated_at: Timestamp,
  version: z.int(),
  _links: resourceFields._links,
});

/** A position on the wire. */
export type PositionBody = z.infer<typeof Position>;
