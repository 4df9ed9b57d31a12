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
import { Decimal, SignedDecimal, SymbolName, symbolNames } from "./symbol.ts";
import { Conversion, Side } from "./trade.ts";

const filters = {
  ...pageParameters,
  symbol: described(z.optional(symbolNames()), "Symbol names, separated by commas."),
  side: described(z.optional(setOf(Side.options)), "Sides, separated by commas."),
  opened_from: described(z.optional(TimestampInput), "Opened at or after this time."),
  opened_to: described(z.optional(TimestampInput), "Opened before this time."),
  sort: described(z.optional(z.enum(["-opened_at", "opened_at"])), "Sort order; a leading hyphen means descending."),
};

/** Query of `GET /positions`. */
export const ListPositionsQuery = z.strictObject({
  ...filters,
  account_id: described(z.optional(id("acc")), "Account identifier."),
  ...clientExpansion,
});

/** Query of `GET /accounts/{id}/positions`. */
export const ListAccountPositionsQuery = z.strictObject(filters);

/** An open position in responses, valued at the latest price; null if the symbol has never had one. */
export const Position = z.object({
  id: described(z.string(), "Identifier, assigned by the service."),
  object: described(z.literal("position"), "Resource type; always this value."),
  account_id: described(z.string(), "Account identifier."),
  client_id: described(z.string(), "Client identifier."),
  symbol: described(SymbolName, "Symbol name."),
  side: described(Side, "Side: `buy` or `sell`."),
  lots: described(Decimal, "Volume in lots."),
  open_price: described(SignedDecimal, "Opening price."),
  current_price: described(
    z.nullable(SignedDecimal),
    "Current closing price of the position; null if the symbol has never had a quote.",
  ),
  quote_at: described(z.nullable(Timestamp), "Time of the quote that was used."),
  stale: described(
    z.boolean(),
    "Whether the valuation is too old to decide on: a price is too old while its market is open, or its " +
      "source is silent.",
  ),
  currency: described(Currency, currencyText),
  gross_pnl: described(Money, "Profit before costs, in the currency of the account."),
  swap: described(Money, "Accrued swap that is not realised yet."),
  floating_pnl: described(Money, "Unrealised profit or loss at the latest price, including swap."),
  used_margin: described(
    Money,
    "Margin of this position alone; it moves with the leverage of the account, also within one version.",
  ),
  margin_rate: described(Decimal, "Conversion rate from the margin currency to the currency of the account."),
  conversion: described(
    z.nullable(Conversion),
    "Conversion path between currencies, so that every amount can be recomputed.",
  ),
  stop_loss: described(z.nullable(SignedDecimal), "Stop loss price; null if not set."),
  take_profit: described(z.nullable(SignedDecimal), "Take profit price; null if not set."),
  trade_ids: described(z.array(z.string()), "Open trades that make up the position."),
  opened_at: described(Timestamp, "Time of opening."),
  updated_at: described(Timestamp, "Time of the last change."),
  version: ownFields.version,
  _links: ownFields._links,
  ...expandedClient,
});

/** A position on the wire. */
export type PositionBody = z.infer<typeof Position>;
