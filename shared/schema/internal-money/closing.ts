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

/** Query of `GET /reports/closing_balances` and of `GET /reports/income`. */
export const ReportDaysQuery = z.strictObject({
  from: described(CalendarDate, "First day of the brokerage."),
  to: described(CalendarDate, "Last day of the brokerage, at most 92 days with the first."),
  currency: described(z.optional(Currency), "Currency; all if omitted."),
  format: tableFormat,
  account_type: described(z.optional(AccountType), "Type of the accounts: `live`, which is the default, or `demo`."),
});

const head = {
  day: described(CalendarDate, "Day of the brokerage; the settings say when days end."),
  currency: described(Currency, currencyText),
};

const named = {
  from: described(CalendarDate, "First day of the brokerage."),
  to: described(CalendarDate, "Last day of the brokerage."),
  account_type: described(AccountType, "Type of the accounts."),
};

const ClosingRow = z.object({
  ...head,
  starts_at: described(Timestamp, "Start of the day, the end of the day before it."),
  ends_at: described(Timestamp, "End of the day; what is booked at it is of the next one."),
  closed_at: described(Timestamp, "Time when it was closed."),
  reconciliation_id: described(z.string(), "Reconciliation that closed it."),
  difference_count: described(z.int(), "Number of differences that the reconciliation had found by then."),
  accounts: described(z.int(), "Number of accounts with a balance or credit."),
  owed_segregated: described(Money, "Sum of the balances above zero of accounts whose money is segregated."),
  owed_title_transfer: described(Money, "Sum of the balances above zero of the others."),
  owing: described(Money, "Sum of the balances below zero, as a positive amount; it is set against no other balance."),
  payouts_in_transit: described(Money, "Withdrawals that are debited and not paid out yet."),
  transfers_in_transit: described(Money, "Transfers that are debited and not credited yet."),
  total_owed: described(Money, "Both sums of balances above zero, and what is in transit."),
  credit: described(Money, "Sum of the credit, which is not owed."),
  opening: described(Money, "Balances and credit at the start of the day."),
  movement: described(Money, "What was booked during the day, by the control accounts."),
  closing: described(Money, "Balances and credit at the end of the day."),
  difference: described(Money, "`closing` less `opening` and `movement`: 0.00 if the books of the day agree."),
});

/** Balances of the accounts at the ends of closed days. */
export const ClosingBalances = z.object({
  object: described(z.literal("closing_balances"), "Resource type; always this value."),
  ...named,
  data: described(z.array(ClosingRow), "One entry per closed day and currency, in this order."),
  _links: ownFields._links,
});

const IncomeRow = z.object({
  ...head,
  commission: described(Money, "Commission."),
  swap: described(Money, "Swap, at the time when it is booked."),
  fees: described(Money, "Fees."),
  conversion_income: described(Money, "Mark-up of transfers between currencies."),
  dividends: described(Money, "Dividends."),
  adjustments: described(Money, "Adjustments of balances."),
  corrections: described(Money, "Negative balances that were corrected."),
  total: described(Money, "Sum of these."),
  trading_result: described(
    Money,
    "What clients lost by closed trades, less what they won: income of a brokerage that is the counterparty.",
  ),
  credit_granted: described(Money, "Credit that was taken back or has ended, less credit that was granted."),
  exchanged: described(
    Money,
    "What the brokerage took in this currency by transfers between currencies, less what it gave.",
  ),
});

/** Income by the control accounts. */
export const IncomeReport = z.object({
  object: described(z.literal("income_report"), "Resource type; always this value."),
  ...named,
  data: described(
    z.array(IncomeRow),
    "One entry per closed day and currency, in this order. Amounts above zero were gained, those below were spent.",
  ),
  _links: ownFields._links,
});

/** Balances of closed days on the wire. */
export type ClosingBalancesBody = z.infer<typeof ClosingBalances>;
/** Income on the wire. */
export type IncomeReportBody = z.infer<typeof IncomeReport>;
