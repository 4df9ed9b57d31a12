import type { TransactionSummaryBody } from "../../schema/internal-money/summary.ts";
import { formatAmount } from "../kernel/money.ts";
import type { DaySums } from "./event-sums.ts";

/** The calendar days of a summary, both included, in UTC. */
export interface SummaryDays {
  readonly from: string;
  readonly to: string;
}

/** The events in the sums: all up to this number. */
export interface AsOf {
  readonly as_of_sequence: string;
  readonly as_of: string;
}

type Row = TransactionSummaryBody["data"][number];

/** The sums of transactions by day, account type, kind, status and currency, in this order; amounts keep their sign. */
export function summaryOf({ from, to }: SummaryDays, days: readonly DaySums[], asOf: AsOf): TransactionSummaryBody {
  const rows = days.flatMap(({ day, currency, cells }) =>
    [...cells].map(([cell, { count, amount_minor, fee_minor }]): Row => {
      const money = (minor: bigint) => formatAmount(minor, currency);
      const [, account_type, kind, status] = /^([a-z]+)_(\w+)_([a-z]+)$/.exec(cell) ?? [];
      return {
        day,
        ...({ account_type, kind, status } as Pick<Row, "account_type" | "kind" | "status">),
        ...{ currency, count, amount: money(amount_minor), fee: money(fee_minor) },
        net_amount: money(amount_minor - fee_minor),
      };
    }),
  );
  const places = new Map(rows.map((row) => [row, placeOf(row)]));
  const self = { href: `/v2/transactions/summary?from=${from}&to=${to}` };
  return {
    object: "transaction_summary",
    ...{ from, to, ...asOf },
    data: rows.toSorted((a, b) => ((places.get(a) ?? "") < (places.get(b) ?? "") ? -1 : 1)),
    _links: { self },
  };
}

function placeOf({ day, account_type, kind, status, currency }: Row): string {
  return [day, account_type === "live" ? 0 : 1, kind, status, currency].join("|");
}
