import type { CurrencyCode } from "../../currencies.ts";
import type { MoneyReportBody } from "../../schema/internal-money/report.ts";
import type { Contra } from "../account.ts";
import { formatAmount } from "../money.ts";
import type { SummaryDays } from "./summary.ts";

/** Settled money of an entry of a control account. */
export type Settlement = Pick<Contra, "control_account" | "amount_minor" | "created_at">;

/** The control accounts that deposits come from and withdrawals are paid to. */
export const settlingControls = ["clearing", "payouts"] as const;

interface Sum {
  minor: bigint;
  count: number;
}

/** Where an entry counts: a deposit takes money from clearing, a payout adds to payouts; a return is the reverse. */
function nameOf({ control_account, amount_minor }: Settlement) {
  if (control_account === "clearing") return amount_minor < 0n ? "deposits" : "returned_deposits";
  return amount_minor > 0n ? "withdrawals" : "returned_withdrawals";
}

/** The sums of settled money by day, from the entries of the control accounts; entries of other days are left out. */
export function moneyReport(
  { from, to }: SummaryDays,
  currency: CurrencyCode,
  entries: readonly Settlement[],
): MoneyReportBody {
  const days = new Map<string, Record<ReturnType<typeof nameOf>, Sum>>();
  for (const entry of entries) {
    const day = entry.created_at.slice(0, 10);
    if (day < from || day > to) continue;
    const sums = days.get(day) ?? {
      ...{ deposits: { minor: 0n, count: 0 }, returned_deposits: { minor: 0n, count: 0 } },
      ...{ withdrawals: { minor: 0n, count: 0 }, returned_withdrawals: { minor: 0n, count: 0 } },
    };
    const sum = sums[nameOf(entry)];
    sum.minor += entry.amount_minor < 0n ? -entry.amount_minor : entry.amount_minor;
    sum.count += 1;
    days.set(day, sums);
  }
  const money = (minor: bigint) => formatAmount(minor, currency);
  const data = [...days]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([day, { deposits, returned_deposits: back, withdrawals, returned_withdrawals: again }]) => ({
      day,
      deposits: money(deposits.minor),
      deposit_count: deposits.count,
      returned_deposits: money(back.minor),
      returned_deposit_count: back.count,
      withdrawals: money(withdrawals.minor),
      withdrawal_count: withdrawals.count,
      returned_withdrawals: money(again.minor),
      returned_withdrawal_count: again.count,
      net: money(deposits.minor - back.minor - withdrawals.minor + again.minor),
    }));
  const self = { href: `/v2/reports/money?from=${from}&to=${to}&currency=${currency}` };
  return { object: "money_report", from, to, currency, data, _links: { self } };
}
