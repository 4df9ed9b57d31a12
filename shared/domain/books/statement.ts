import type { StatementBody } from "../../schema/statement.ts";
import { formatAmount } from "../kernel/money.ts";
import type { Account } from "../records/account.ts";
import type { Ledger } from "../records/ledger.ts";
import type { ClosedDay } from "./closing.ts";

/** The figures of a statement, which its hash is of. */
export type Figures = StatementBody["figures"];

/** The period of a statement: its days, and from the start of the first to the end of the last one. */
export type Period = Pick<Figures, "from" | "to" | "starts_at" | "ends_at">;

/** Money of an account before an entry, in minor units. */
export interface Opening {
  readonly balance_minor: bigint;
  readonly credit_minor: bigint;
}

/** Rows of a statement as a table: the opening balance, each entry, and the closing balance with the hash. */
export const statementColumns = [
  ...["line", "version", "created_at", "kind", "moves", "amount", "balance_after", "credit_after"],
  ...["transaction_id", "trade_id", "content_sha256"],
] as const;

/**
 * The period of the days that were asked for, as far as they have begun; empty where the labels between two days, or
 * those before the first one, are asked for. Undefined where none of them has begun.
 */
export function periodOf(days: readonly ClosedDay[], { from, to }: Pick<Period, "from" | "to">): Period | undefined {
  const first = days.find(({ day }) => from <= day);
  const last = days.findLast(({ day }) => day <= to);
  return first && { from, to, starts_at: first.starts_at, ends_at: last?.ends_at ?? first.starts_at };
}

/**
 * The figures of a period: a function of the entries, so they stay as they are whatever happens afterwards.
 * @param entries those of the period
 */
export function figuresOf(
  { id, currency }: Pick<Account, "id" | "currency">,
  period: Period,
  opening: Opening,
  entries: readonly Ledger[],
): Figures {
  const money = (minor: bigint) => formatAmount(minor, currency);
  const shown = ({ balance_minor, credit_minor }: Opening) => ({
    balance: money(balance_minor),
    credit: money(credit_minor),
  });
  const totals = new Map<string, { readonly of: Ledger; readonly count: number; readonly minor: bigint }>();
  let at = opening;
  const lines = entries.map((entry) => {
    const { kind, amount_minor } = entry;
    const moves = movesOf(entry);
    at =
      moves === "credit"
        ? { ...at, credit_minor: at.credit_minor + amount_minor }
        : { ...at, balance_minor: at.balance_minor + amount_minor };
    const known = totals.get(`${kind}|${moves}`) ?? { of: entry, count: 0, minor: 0n };
    totals.set(`${kind}|${moves}`, { ...known, count: known.count + 1, minor: known.minor + amount_minor });
    return {
      version: entry.balance_version,
      created_at: entry.created_at,
      ...{ kind, moves },
      amount: money(amount_minor),
      balance_after: money(at.balance_minor),
      credit_after: money(at.credit_minor),
      transaction_id: entry.transaction_id,
      trade_id: entry.trade_id ?? null,
    };
  });
  const sorted = [...totals].toSorted(([one], [other]) => (one < other ? -1 : 1));
  return {
    figures_version: 1,
    account_id: id,
    currency,
    ...period,
    first_version: entries[0]?.balance_version ?? null,
    last_version: entries.at(-1)?.balance_version ?? null,
    opening: shown(opening),
    entries: lines,
    totals: sorted.map(([, { of, count, minor }]) => ({
      ...{ kind: of.kind, moves: movesOf(of), count, amount: money(minor) },
    })),
    closing: shown(at),
  };
}

function movesOf({ moves }: Ledger): "balance" | "credit" {
  return moves ?? "balance";
}

/** A statement as a table. */
export function statementRows({ figures, content_sha256 }: Pick<StatementBody, "figures" | "content_sha256">) {
  const { opening, closing, entries, starts_at, ends_at } = figures;
  const bare = ({ balance, credit }: Figures["opening"]) => ({ balance_after: balance, credit_after: credit });
  const rows: readonly Readonly<Record<string, unknown>>[] = [
    { line: "opening_balance", created_at: starts_at, ...bare(opening) },
    ...entries.map((entry) => ({ line: "entry", ...entry, ...emptied(entry) })),
    { line: "closing_balance", created_at: ends_at, ...bare(closing), content_sha256 },
  ];
  return rows;
}

function emptied({ transaction_id, trade_id }: Figures["entries"][number]) {
  return { transaction_id: transaction_id ?? "", trade_id: trade_id ?? "" };
}
