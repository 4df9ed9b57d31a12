import * as z from "zod/mini";
import { described } from "../described.ts";
import { AccountType, CalendarDate, Currency, currencyText, Money, ownFields, setOf, tableFormat } from "../fields.ts";
import { asOfMembers } from "./summary.ts";

/** Query of `GET /reports/money`. */
export const ReportMoneyQuery = z.strictObject({
  from: described(CalendarDate, "First day of the brokerage."),
  to: described(CalendarDate, "Last day of the brokerage, at most 92 days with the first."),
  currency: described(z.optional(setOf(Currency.options)), "Currencies, separated by commas; all if omitted."),
  format: tableFormat,
  account_type: described(z.optional(AccountType), "Type of the accounts: `live`, which is the default, or `demo`."),
});

const count = (what: string) => described(z.int(), `Number of ${what}.`);

/** Money that was settled, by day. */
export const MoneyReport = z.object({
  object: described(z.literal("money_report"), "Resource type; always this value."),
  from: described(CalendarDate, "First day of the brokerage."),
  to: described(CalendarDate, "Last day of the brokerage."),
  currency: described(z.nullable(Currency), "The currency that was asked for; null unless it was one."),
  account_type: described(AccountType, "Type of the accounts."),
  ...asOfMembers,
  data: described(
    z.array(
      z.object({
        day: described(CalendarDate, "Day of the settlement; the settings say when days end."),
        currency: described(Currency, currencyText),
        final: described(z.boolean(), "Whether the day is closed: then the sums are those of the control accounts."),
        deposits: described(Money, "Sum of the deposits before fees."),
        deposit_count: count("deposits"),
        returned_deposits: described(Money, "Sum of the deposits that went back, before fees."),
        returned_deposit_count: count("deposits that went back"),
        withdrawals: described(Money, "Sum of what withdrawals paid out, after fees."),
        withdrawal_count: count("withdrawals that were paid out"),
        returned_withdrawals: described(Money, "Sum of the payouts that came back, after fees."),
        returned_withdrawal_count: count("payouts that came back"),
        net: described(Money, "Deposits less payouts, with what went and came back; negative if more was paid out."),
      }),
    ),
    "One entry per day and currency in which money was settled, in this order.",
  ),
  _links: ownFields._links,
});

/** Money that was settled, on the wire. */
export type MoneyReportBody = z.infer<typeof MoneyReport>;
