import { Button } from "@mantine/core";
import { useResource } from "../../api/data.ts";
import type { Answer } from "../../api/types.ts";
import { useAddress } from "../../parts/address.ts";
import { csvOf } from "../../parts/csv.ts";
import { Filters } from "../../parts/filters.tsx";
import { dateOf, isZero } from "../../parts/format.ts";
import { PageHead } from "../../parts/page.tsx";
import { saveFile } from "../../parts/save-file.ts";
import { Failed } from "../../parts/states-of-page.tsx";
import { Status } from "../../parts/status.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Money } from "../../parts/values.tsx";

type Closing = Answer<"/reports/closing_balances">["data"][number];
type Income = Answer<"/reports/income">["data"][number];

const dayMs = 86_400_000;
const longest = 92;
const filters = [
  { name: "report", label: "Report", values: ["income"], none: "closing balances" },
  { name: "days", label: "Days", values: ["1", "7", "31"], none: String(longest), verbatim: true },
  { name: "account_type", label: "Accounts", values: ["demo"], none: "live" },
] as const;

/** Reports of closed days: what is owed at their ends, and what was gained on them. */
export function ReportsPage() {
  const [search] = useAddress();
  const days = Math.min(longest, Number(search["days"] ?? longest) || longest);
  // The running day may have a later label than that of UTC.
  const to = new Date(Date.now() + dayMs).toISOString().slice(0, 10);
  const from = new Date(Date.parse(to) - (days - 1) * dayMs).toISOString().slice(0, 10);
  const query = { from, to, account_type: search["account_type"] === "demo" ? "demo" : "live" };
  return search["report"] === "income" ? <IncomeReport query={query} /> : <ClosingReport query={query} />;
}

interface ReportProps {
  readonly query: { readonly from: string; readonly to: string; readonly account_type: string };
}

function ClosingReport({ query }: ReportProps) {
  const found = useResource("/reports/closing_balances", { query });
  return <Report title="Closing balances" name="closing-balances" columns={closingColumns} query={query} {...found} />;
}

function IncomeReport({ query }: ReportProps) {
  const found = useResource("/reports/income", { query });
  return <Report title="Income" name="income" columns={incomeColumns} query={query} {...found} />;
}

interface RowsProps<T> extends ReportProps {
  readonly title: string;
  readonly name: string;
  readonly columns: readonly Column<T>[];
  readonly data: { readonly data: readonly T[] } | undefined;
  readonly error: Error | null;
  readonly refetch: () => unknown;
}

function Report<T extends Closing | Income>({ title, name, columns, query, data, error, refetch }: RowsProps<T>) {
  if (error && data === undefined) return <Failed error={error} again={() => void refetch()} />;
  const rows = (data?.data ?? []).toReversed();
  const file = `${name}-${query.from}-${query.to}.csv`;
  return (
    <>
      <PageHead
        title={title}
        note={<span className="dim">Closed days, the newest first; the settings say when days end.</span>}
        actions={
          <Button
            variant="default"
            disabled={rows.length === 0}
            onClick={() => saveFile(file, "text/csv", csvOf(data?.data ?? []))}
          >
            Save as CSV
          </Button>
        }
      />
      <Filters filters={filters} />
      {data !== undefined && rows.length === 0 && (
        <div className="empty">
          <h2>No day was closed yet</h2>
          <p className="dim">Each night the reconciliation closes a day, a quarter of an hour after its end.</p>
        </div>
      )}
      {rows.length > 0 && (
        <Table caption={title} rows={rows} columns={columns} idOf={(row) => `${row.day} ${row.currency}`} />
      )}
    </>
  );
}

/** A column of an amount of a row. */
function amount<T extends { readonly currency: string }>(head: string, name: keyof T & string, more: object = {}) {
  const cell = (row: T) => <Money amount={String(row[name])} />;
  return { head, width: 130, right: true, cell, ...more } satisfies Column<T>;
}

const closingColumns: readonly Column<Closing>[] = [
  { head: "Day", width: 110, small: "name", cell: ({ day }) => dateOf(day) },
  { head: "Currency", width: 90, small: "purpose", cell: ({ currency }) => currency },
  { head: "Accounts", width: 90, right: true, wide: true, cell: ({ accounts }) => accounts },
  amount("Opening", "opening", { wide: true }),
  amount("Movement", "movement", { wide: true }),
  amount("Closing", "closing"),
  amount("Owed to clients", "total_owed", { small: "amount" }),
  amount("Owed by clients", "owing", { wide: true }),
  amount("Credit", "credit", { wide: true }),
  {
    head: "Books",
    width: 150,
    small: "age",
    cell: ({ difference, difference_count: count }) =>
      isZero(difference) && count === 0 ? (
        <Status state="completed" word="agree" />
      ) : (
        <Status state="failed" word={`${count} differences`} />
      ),
  },
];

const incomeColumns: readonly Column<Income>[] = [
  { head: "Day", width: 110, small: "name", cell: ({ day }) => dateOf(day) },
  { head: "Currency", width: 90, small: "purpose", cell: ({ currency }) => currency },
  amount("Commission", "commission"),
  amount("Swap", "swap"),
  amount("Fees", "fees"),
  amount("Conversion", "conversion_income", { wide: true }),
  amount("Dividends", "dividends", { wide: true }),
  amount("Adjustments", "adjustments", { wide: true }),
  amount("Corrections", "corrections", { wide: true }),
  amount("Total", "total", { small: "amount" }),
  amount("Trading result", "trading_result"),
];
