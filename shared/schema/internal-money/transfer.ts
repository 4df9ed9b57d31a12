import * as z from "zod/mini";
import { described } from "../described.ts";
import { Currency, Money, ownFields, Timestamp } from "../fields.ts";
import { Conversion } from "../trade.ts";

const rate = {
  conversion: described(
    z.nullable(Conversion),
    "Conversion path before the mark-up, at the bid of what is sold and the ask of what is bought; null if both " +
      "accounts have the same currency.",
  ),
  mark_up_percent: described(z.string(), "Part of the converted amount that the brokerage keeps, in percent."),
};

/** The transfer that a transaction is a leg of; account and amount are those of the other leg. */
export const TransferLeg = z.object({
  transfer_id: described(z.string(), "Transfer identifier; both legs have it."),
  account_id: described(z.string(), "Account of the other leg."),
  transaction_id: described(
    z.nullable(z.string()),
    "Transaction identifier of the other leg; null of a debit before its credit begins.",
  ),
  status: described(
    z.enum(["pending", "debiting", "crediting", "completed", "failed", "needs_attention"]),
    "Status of the transfer. Between accounts of the service it is completed at once. `needs_attention`: the " +
      "platform did not bring the debited amount back; set the debit to `failed` to ask again.",
  ),
  amount: described(
    Money,
    "Amount of the other leg. The amount that is credited is fixed when the debit begins, or by the quote.",
  ),
  currency: described(Currency, "Currency of the other leg."),
  ...rate,
  quote_id: described(z.nullable(z.string()), "Firm quote that fixed the rate; null if there was none."),
});

/** A firm quote of a transfer in responses. */
export const TransferQuote = z.object({
  id: described(z.string(), "Identifier, assigned by the service."),
  object: described(z.literal("transfer_quote"), "Resource type; always this value."),
  from_account_id: described(z.string(), "Account that is debited."),
  to_account_id: described(z.string(), "Account that is credited."),
  amount: described(Money, "Amount that is debited."),
  currency: described(Currency, "Currency of the account that is debited."),
  credited_amount: described(Money, "Amount that is credited, rounded toward zero."),
  credited_currency: described(Currency, "Currency of the account that is credited."),
  ...rate,
  expires_at: described(Timestamp, "Time from which the quote is void."),
  created_at: described(Timestamp, "Time of creation."),
  _links: ownFields._links,
});
