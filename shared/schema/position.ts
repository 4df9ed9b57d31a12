import * as z from "zod/mini";
import { Currency, id, Money, pageParameters, resourceFields, setOf, Timestamp } from "./fields.ts";
import { Decimal, SymbolName, symbolNames } from "./symbol.ts";
import { Conversion, Side } from "./trade.ts";

const filters = {
  ...pageParameters,
  symbol: z.optional(symbolNames()),
  side: z.optional(setOf(Side.options)),
  sort: z.optional(z.enum(["-opened_at", "opened_at"])),
};

/** Query of `GET /positions`. */
export const ListPositionsQuery = z.strictObject({ ...filters, account_id: z.optional(id("acc")) });

/** Query of `GET /accounts/{id}/positions`. */
export const ListAccountPositionsQuery = z.strictObject(filters);

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
