import type { TransactionSummaryBody } from "../../schema/internal-money/summary.ts";
import { formatAmount } from "../money.ts";
import type { Transaction } from "../transaction.ts";

/** The calendar days of a summary, both included, in UTC. */
export interface SummaryDays {
  readonly from: string;
  readonly to: string;
}

type Row = TransactionSummaryBody["data"][number];

/** The sums of transactions by day, kind, status and currency, in this order; `-` signs of amounts are theirs. */
export function summaryOf({ from, to }: SummaryDays, transactions: readonly Transaction[]): TransactionSummaryBody {
  const groups = new Map<
    string,
    { readonly of: Transaction; day: string; count: number; gross: bigint; fee: bigint }
  >();
  for (const one of transactions) {
    // An identifier is drawn just after the moment of the decision: at midnight it may be of the next day.
    const created = one.created_at.slice(0, 10);
    const day = created < from ? from : created;
    const name = [day, one.kind, one.status, one.currency].join("|");
    const group = groups.get(name) ?? { of: one, day, count: 0, gross: 0n, fee: 0n };
    group.count += 1;
    group.gross += one.amount_minor;
    group.fee += one.fee_minor;
    groups.set(name, group);
  }
  const data = [...groups]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(
      ([
        ,
        {
          of: { kind, status, currency },
          day,
          count,
          gross,
          fee,
        },
      ]): Row => {
        const money = (minor: bigint) => formatAmount(minor, currency);
        return {
          day,
          kind,
          status,
          currency,
          count,
          amount: money(gross),
          fee: money(fee),
          net_amount: money(gross - fee),
        };
      },
    );
  return {
    object: "transaction_summary",
    from,
    to,
    data,
    _links: { self: { href: `/v2/transactions/summary?from=${from}&to=${to}` } },
  };
}
