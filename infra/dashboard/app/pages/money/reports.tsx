import { daysAfter } from "../../../../../shared/calendar.ts";
import { readCsv } from "../../api/client.ts";
import { useResource } from "../../api/data.ts";
import type { Answer } from "../../api/types.ts";
import { useAddress } from "../../parts/address.ts";
import { Filters } from "../../parts/filters.tsx";
import { dateOf, isZero, today } from "../../parts/format.ts";
import { PageHead } from "../../parts/page.tsx";
import { SaveCsv } from "../../parts/save-csv.tsx";
import { Failed } from "../../parts/states-of-page.tsx";
import { Status } from "../../parts/status.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Money } from "../../parts/values.tsx";

type Closing = Answer<"/reports/closing_balances">["data"][number];
type Income = Answer<"/reports/income">["data"][number];
type MoneyOfDay = Answer<"/reports/money">["data"][number];

const longest = 92;
const filters = [
  { name: "report", label: "Report", values: ["income", "money_by_day"], none: "closing balances" },
  { name: "from", label: "From", day: true },
  { name: "to", label: "To", day: true },
  { name: "account_type", label: "Accounts", values: ["demo"], none: "live" },
] as const;

/** Reports of days: what is owed at their ends, what was gained on them, and the money that was settled. */
export function ReportsPage() {
  const [search] = useAddress();
  // The running day may have a later label than that of UTC.
  const to = search["to"] ?? daysAfter(today(), 1);
  const from = search["from"] ?? daysAfter(to, 1 - longest);
  const query = { from, to, account_type: search["account_type"] === "demo" ? "demo" : "live" };
  if (search["report"] === "income") return <IncomeReport query={query} />;
  return search["report"] === "money_by_day" ? <MoneyReport query={query} /> : <ClosingReport query={query} />;
}

interface ReportProps {
  readonly query: { readonly from: string; readonly to: string; readonly account_type: string };
}

function ClosingReport({ query }: ReportProps) {
  const found = useResource("/reports/closing_balances", { query });
  const path = "/reports/closing_balances";
  return <Report title="Closing balances" path={path} columns={closingColumns} query={query} {...found} />;
}

function IncomeReport({ query }: ReportProps) {
  const found = useResource("/reports/income", { query });
  return <Report title="Income" path="/reports/income" columns={incomeColumns} query={query} {...found} />;
}

function MoneyReport({ query }: ReportProps) {
  const found = useResource("/reports/money", { query });
  return <Report title="Money by day" path="/reports/money" columns={moneyColumns} query={query} {...found} />;
}

interface RowsProps<T> extends ReportProps {
  readonly title: string;
  readonly path: "/reports/closing_balances" | "/reports/income" | "/reports/money";
  readonly columns: readonly Column<T>[];
  readonly data: { readonly data: readonly T[] } | undefined;
  readonly error: Error | null;
  readonly refetch: () => unknown;
}

function Report<T extends Closing | Income | MoneyOfDay>(props: RowsProps<T>) {
  const { title, path, columns, query, data, error, refetch } = props;
  const rows = (data?.data ?? []).toReversed();
  const file = `${path.slice(path.lastIndexOf("/") + 1)}-${query.from}-${query.to}.csv`;
  return (
    <>
      <PageHead
        title={title}
        note={<span className="dim">The newest day first; the settings say when days end.</span>}
        actions={<SaveCsv name={file} read={() => readCsv(path, { query })} disabled={rows.length === 0} />}
      />
      <Filters filters={filters} />
      {error && data === undefined && <Failed error={error} again={() => void refetch()} />}
      {data !== undefined && rows.length === 0 && (
        <div className="empty">
          <h2>{path === "/reports/money" ? "No money was settled" : "No day was closed yet"}</h2>
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

const moneyColumns: readonly Column<MoneyOfDay>[] = [
  { head: "Day", width: 110, small: "name", cell: ({ day }) => dateOf(day) },
  { head: "Currency", width: 90, small: "purpose", cell: ({ currency }) => currency },
  amount("Deposits", "deposits"),
  { head: "Count", width: 80, right: true, wide: true, cell: ({ deposit_count }) => deposit_count },
  amount("Returned", "returned_deposits", { wide: true }),
  amount("Withdrawals", "withdrawals"),
  { head: "Count", width: 80, right: true, wide: true, cell: ({ withdrawal_count }) => withdrawal_count },
  amount("Came back", "returned_withdrawals", { wide: true }),
  amount("Net", "net", { small: "amount" }),
  { head: "Day is", width: 100, small: "age", cell: ({ final }) => (final ? "closed" : "open") },
];
