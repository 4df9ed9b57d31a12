import type { ClosingBalancesBody, IncomeReportBody } from "../../schema/internal-money/closing.ts";
import { formatAmount } from "../kernel/money.ts";
import type { Account } from "../records/account.ts";
import { type Closing, cellsOf, type Figure, figuresIn, sumsOf } from "./closing.ts";

/** Of which days a report is, of which accounts, and of which currency; of all without it. */
export interface ClosingScope {
  readonly from: string;
  readonly to: string;
  readonly account_type: Account["type"];
  readonly currency: string | undefined;
}

type Of = (figure: Figure) => bigint;

/** The head of a report with a row for each closed day and currency. */
function reportOf<R>(
  name: string,
  { from, to, account_type, currency }: ClosingScope,
  closed: readonly Closing[],
  rowOf: (closing: Closing, of: Of, money: (minor: bigint) => string) => R,
) {
  const data = closed.flatMap((closing) =>
    cellsOf(closing.figures)
      .filter((cell) => cell.account_type === account_type && (currency ?? cell.currency) === cell.currency)
      .map((cell) => {
        const of = figuresIn(closing.figures, cell);
        const row = rowOf(closing, of, (minor) => formatAmount(minor, cell.currency));
        return { day: closing.day, currency: cell.currency, ...row };
      }),
  );
  const named = currency === undefined ? "" : `&currency=${currency}`;
  const href = `/v2/reports/${name}?from=${from}&to=${to}${named}&account_type=${account_type}`;
  return { from, to, account_type, data, _links: { self: { href } } };
}

/** The balances at the ends of closed days. */
export function closingBalances(scope: ClosingScope, closed: readonly Closing[]): ClosingBalancesBody {
  const report = reportOf("closing_balances", scope, closed, (closing, of, money) => {
    const { starts_at, ends_at, closed_at, reconciliation_id, difference_count } = closing;
    const { owed, closing: end, movement, difference } = sumsOf(of);
    return {
      ...{ starts_at, ends_at, closed_at, reconciliation_id, difference_count },
      accounts: Number(of("accounts")),
      owed_segregated: money(of("owed_segregated")),
      owed_title_transfer: money(of("owed_title_transfer")),
      owing: money(of("owing")),
      payouts_in_transit: money(of("carried_payouts")),
      transfers_in_transit: money(of("carried_transfers")),
      total_owed: money(owed + of("carried_payouts") + of("carried_transfers")),
      credit: money(of("credit_balance")),
      opening: money(of("opening")),
      movement: money(movement),
      closing: money(end),
      difference: money(difference),
    };
  });
  return { object: "closing_balances", ...report };
}

/** The members of a row of income that make up its total, with their control accounts. */
const incomes = {
  commission: "commission",
  swap: "swap",
  fees: "fee_income",
  conversion_income: "conversion_income",
  dividends: "dividend",
  adjustments: "adjustment",
  corrections: "negative_balance",
} as const;

/** The income of closed days by their control accounts. */
export function incomeReport(scope: ClosingScope, closed: readonly Closing[]): IncomeReportBody {
  const report = reportOf("income", scope, closed, (_closing, of, money) => {
    const names = Object.keys(incomes) as (keyof typeof incomes)[];
    const gained = Object.fromEntries(names.map((name) => [name, money(of(incomes[name]))]));
    return {
      ...(gained as Record<keyof typeof incomes, string>),
      total: money(names.reduce((sum, name) => sum + of(incomes[name]), 0n)),
      trading_result: money(of("realised_pnl")),
      credit_granted: money(of("credit")),
      exchanged: money(of("transfers")),
    };
  });
  return { object: "income_report", ...report };
}
