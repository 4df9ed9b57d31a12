import * as z from "zod/mini";
import { described } from "./described.ts";
import { AccountType, ownFields, Timestamp } from "./fields.ts";
import { Decimal, InstrumentCurrency, SignedDecimal, SymbolName } from "./symbol.ts";
import { Side } from "./trade.ts";

/** Query of `GET /exposure`. */
export const ExposureQuery = z.strictObject({
  account_type: described(z.optional(AccountType), "Type of the accounts: `live`, which is the default, or `demo`."),
});

/** Open positions of all accounts of a type by symbol and side, with the net lots of each symbol. */
export const Exposure = z.object({
  object: described(z.literal("exposure"), "Resource type; always this value."),
  account_type: described(AccountType, "Type of the accounts."),
  as_of: described(Timestamp, "Time at which the sum of the positions began."),
  age_seconds: described(z.int(), "Age of the sum, in seconds."),
  data: described(
    z.array(
      z.object({
        symbol: described(SymbolName, "Symbol name."),
        side: described(Side, "Side: `buy` or `sell`."),
        lots: described(Decimal, "Sum of the lots."),
        positions: described(z.int(), "Number of open positions."),
        average_price: described(SignedDecimal, "Mean of the opening prices, weighted by lots, to twelve decimals."),
        price: described(
          z.nullable(SignedDecimal),
          "Current closing price of the side; null if the symbol has never had a quote.",
        ),
        floating_pnl: described(
          z.nullable(SignedDecimal),
          "Profit or loss before costs at that price, in `currency`, exact to twelve decimals; null without a price.",
        ),
        currency: described(InstrumentCurrency, "Quote currency of the symbol."),
      }),
    ),
    "One entry per symbol and side with open positions, in this order.",
  ),
  net: described(
    z.array(
      z.object({
        symbol: described(SymbolName, "Symbol name."),
        lots: described(SignedDecimal, "Bought lots less sold lots."),
      }),
    ),
    "One entry per symbol with open positions, by name.",
  ),
  _links: ownFields._links,
});

/** The exposure of a brokerage, on the wire. */
export type ExposureBody = z.infer<typeof Exposure>;
