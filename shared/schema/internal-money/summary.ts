import * as z from "zod/mini";
import { described } from "../described.ts";
import { CalendarDate, Currency, currencyText, Money, ownFields } from "../fields.ts";
import { TransactionKind, TransactionStatus } from "../transaction.ts";

/** Query of `GET /transactions/summary`. */
export const SummarizeTransactionsQuery = z.strictObject({
  from: described(CalendarDate, "First day (UTC)."),
  to: described(CalendarDate, "Last day (UTC), at most 31 days with the first."),
});

/** Sums of transactions. */
export const TransactionSummary = z.object({
  object: described(z.literal("transaction_summary"), "Resource type; always this value."),
  from: described(CalendarDate, "First day (UTC)."),
  to: described(CalendarDate, "Last day (UTC)."),
  data: described(
    z.array(
      z.object({
        day: described(CalendarDate, "Day of creation (UTC)."),
        kind: described(TransactionKind, "Transaction type."),
        status: described(TransactionStatus, "Transaction status."),
        currency: described(Currency, currencyText),
        count: described(z.int(), "Number of transactions."),
        amount: described(Money, "Sum of the amounts before fees."),
        fee: described(Money, "Sum of the fees."),
        net_amount: described(Money, "Sum of the amounts minus fees."),
      }),
    ),
    "One entry per day, type, status and currency that has transactions, in this order.",
  ),
  _links: ownFields._links,
});

/** Sums of transactions on the wire. */
export type TransactionSummaryBody = z.infer<typeof TransactionSummary>;
