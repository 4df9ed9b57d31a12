import type { CurrencyCode } from "../../currencies.ts";
import type { MoneyReportBody } from "../../schema/internal-money/report.ts";
import { type Closing, cellsOf, figuresIn } from "../books/closing.ts";
import { formatAmount } from "../kernel/money.ts";
import type { Account } from "../records/account.ts";
import type { DaySums, Settlement, Sum } from "./event-sums.ts";
import type { AsOf, SummaryDays } from "./summary.ts";

/** Of which days a report of money is, of which accounts, and of which currencies; of all without them. */
export interface MoneyScope extends SummaryDays {
  readonly account_type: Account["type"];
  readonly currencies?: readonly string[] | undefined;
}

type Row = MoneyReportBody["data"][number];

/** Sums of one kind of settled money. */
type SettledSum = Pick<Sum, "count" | "amount_minor">;

const nothing: SettledSum = { count: 0, amount_minor: 0n };

/**
 * The sums of settled money by day and currency, in this order: of closed days by their control accounts, of the others
 * by the events.
 */
export function moneyReport(
  scope: MoneyScope,
  days: readonly DaySums[],
  closed: readonly Closing[],
  asOf: AsOf,
): MoneyReportBody {
  const { from, to, account_type, currencies } = scope;
  const final = new Set(closed.map(({ day }) => day));
  const open = days.filter(({ day }) => !final.has(day));
  const data = [...closed.flatMap((day) => closedRows(day, account_type)), ...openRows(open, account_type)]
    .filter(({ currency }) => currencies?.includes(currency) ?? true)
    .toSorted((a, b) => (`${a.day}|${a.currency}` < `${b.day}|${b.currency}` ? -1 : 1));
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

/** Settled money of days by the events. */
export function openRows(days: readonly DaySums[], type: Account["type"]): readonly Row[] {
  return days.flatMap(({ day, currency, cells }) =>
    rowOf({ day, currency, final: false }, (name) => cells.get(`${type}_${name}`) ?? nothing),
  );
}

/** Settled money of a closed day by its control accounts. */
export function closedRows({ day, figures }: Closing, type: Account["type"]): readonly Row[] {
  const cells = cellsOf(figures).filter(({ account_type }) => account_type === type);
  return cells.flatMap((cell) => {
    const of = figuresIn(figures, cell);
    return rowOf({ day, currency: cell.currency, final: true }, (name) => ({
      count: Number(of(counts[name])),
      amount_minor: of(name),
    }));
  });
}

const counts = {
  deposits: "deposit_count",
  returned_deposits: "returned_deposit_count",
  withdrawals: "withdrawal_count",
  returned_withdrawals: "returned_withdrawal_count",
} as const satisfies Readonly<Record<Settlement, string>>;

/** None where nothing was settled. */
function rowOf(
  { day, currency, final }: Pick<Row, "day" | "currency" | "final">,
  sumOf: (name: Settlement) => SettledSum,
): Row[] {
  const [deposits, back] = [sumOf("deposits"), sumOf("returned_deposits")];
  const [withdrawals, again] = [sumOf("withdrawals"), sumOf("returned_withdrawals")];
  if (![deposits, back, withdrawals, again].some(({ count }) => count > 0)) return [];
  const money = (minor: bigint) => formatAmount(minor, currency);
  return [
    {
      ...{ day, currency, final },
      deposits: money(deposits.amount_minor),
      deposit_count: deposits.count,
      returned_deposits: money(back.amount_minor),
      returned_deposit_count: back.count,
      withdrawals: money(withdrawals.amount_minor),
      withdrawal_count: withdrawals.count,
      returned_withdrawals: money(again.amount_minor),
      returned_withdrawal_count: again.count,
      net: money(deposits.amount_minor - back.amount_minor - withdrawals.amount_minor + again.amount_minor),
    },
  ];
}
