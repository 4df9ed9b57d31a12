import type { CurrencyCode } from "../../currencies.ts";
import type { MoneyReportBody } from "../../schema/internal-money/report.ts";
import { formatAmount } from "../kernel/money.ts";
import type { Account } from "../records/account.ts";
import type { DaySums, Settlement, Sum } from "./event-sums.ts";
import type { AsOf, SummaryDays } from "./summary.ts";

/** Of which days a report of money is, of which accounts, and of which currencies; of all without them. */
export interface MoneyScope extends SummaryDays {
  readonly account_type: Account["type"];
  readonly currencies?: readonly string[] | undefined;
}

const nothing: Pick<Sum, "count" | "amount_minor"> = { count: 0, amount_minor: 0n };

/** The sums of settled money by day and currency, in this order. */
export function moneyReport(scope: MoneyScope, days: readonly DaySums[], asOf: AsOf): MoneyReportBody {
  const { from, to, account_type, currencies } = scope;
  const asked = days.filter(({ currency }) => currencies?.includes(currency) ?? true);
  const data = asked
    .toSorted((a, b) => (`${a.day}|${a.currency}` < `${b.day}|${b.currency}` ? -1 : 1))
    .flatMap((day) => rowOf(day, account_type) ?? []);
  const [only, ...others] = currencies ?? [];
  const named = currencies === undefined ? "" : `&currency=${currencies.join()}`;
  const self = { href: `/v2/reports/money?from=${from}&to=${to}${named}&account_type=${account_type}` };
  return {
    object: "money_report",
    ...{ from, to, account_type },
    currency: only === undefined || others.length > 0 ? null : (only as CurrencyCode),
    ...asOf,
    data,
    _links: { self },
  };
}

/** Undefined where accounts of this type settled nothing. */
function rowOf({ day, currency, cells }: DaySums, type: Account["type"]): MoneyReportBody["data"][number] | undefined {
  const sumOf = (name: Settlement) => cells.get(`${type}_${name}`) ?? nothing;
  const [deposits, back] = [sumOf("deposits"), sumOf("returned_deposits")];
  const [withdrawals, again] = [sumOf("withdrawals"), sumOf("returned_withdrawals")];
  if (![deposits, back, withdrawals, again].some(({ count }) => count > 0)) return undefined;
  const money = (minor: bigint) => formatAmount(minor, currency);
  return {
    day,
    currency,
    deposits: money(deposits.amount_minor),
    deposit_count: deposits.count,
    returned_deposits: money(back.amount_minor),
    returned_deposit_count: back.count,
    withdrawals: money(withdrawals.amount_minor),
    withdrawal_count: withdrawals.count,
    returned_withdrawals: money(again.amount_minor),
    returned_withdrawal_count: again.count,
    net: money(deposits.amount_minor - back.amount_minor - withdrawals.amount_minor + again.amount_minor),
  };
}
