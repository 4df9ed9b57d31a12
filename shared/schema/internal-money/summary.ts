import * as z from "zod/mini";
import { described } from "../described.ts";
import {
  AccountType,
  CalendarDate,
  Currency,
  currencyText,
  Money,
  ownFields,
  Timestamp,
  tableFormat,
} from "../fields.ts";
import { TransactionKind, TransactionStatus } from "../transaction.ts";

/** Query of `GET /transactions/summary`. */
export const SummarizeTransactionsQuery = z.strictObject({
  from: described(CalendarDate, "First day (UTC)."),
  to: described(CalendarDate, "Last day (UTC), at most 92 days with the first."),
  format: tableFormat,
});

/** Members of sums of events: which of them are in the sums. */
export const asOfMembers = {
  as_of_sequence: described(z.string(), "Number of the last event that is in the sums: all up to it are."),
  as_of: described(Timestamp, "Time up to which the published events are in the sums."),
};

/** Sums of transactions. */
export const TransactionSummary = z.object({
  object: described(z.literal("transaction_summary"), "Resource type; always this value."),
  from: described(CalendarDate, "First day (UTC)."),
  to: described(CalendarDate, "Last day (UTC)."),
  ...asOfMembers,
  data: described(
    z.array(
      z.object({
        day: described(CalendarDate, "Day of creation (UTC)."),
        account_type: described(AccountType, "Type of the accounts."),
        kind: described(TransactionKind, "Transaction type."),
        status: described(TransactionStatus, "Transaction status."),
        currency: described(Currency, currencyText),
        count: described(z.int(), "Number of transactions."),
        amount: described(Money, "Sum of the amounts before fees."),
        fee: described(Money, "Sum of the fees."),
        net_amount: described(Money, "Sum of the amounts minus fees."),
      }),
    ),
    "One entry per day, account type, type, status and currency that has transactions, in this order.",
  ),
  _links: ownFields._links,
});

/** Sums of transactions on the wire. */
export type TransactionSummaryBody = z.infer<typeof TransactionSummary>;
