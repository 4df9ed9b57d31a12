import type { Schemas } from "../../api/types.ts";
import { grouped, inWords } from "../../parts/format.ts";
import { ListView } from "../../parts/list.tsx";
import { PageHead } from "../../parts/page.tsx";
import { Status } from "../../parts/status.tsx";
import type { Column } from "../../parts/table.tsx";
import { Id, Money } from "../../parts/values.tsx";
import { useExportAll } from "../money/export-all.ts";
import { clientColumn, useClientNames } from "./client-column.tsx";

/** Columns of a list of accounts, wherever it stands. */
export const accountColumns: readonly Column<Schemas["TradingAccount"]>[] = [
  { head: "Number", width: 112, key: true, small: "name", cell: ({ number }) => number },
  { head: "Id", width: 124, wide: true, cell: ({ id }) => <Id id={id} /> },
  { head: "Status", width: 100, cell: ({ status }) => <Status state={status} /> },
  {
    head: "Kind",
    small: "purpose",
    cell: ({ type, leverage, platform }) => `${inWords(type)}, 1:${leverage}, ${inWords(platform)}`,
  },
  { head: "Margin", width: 116, cell: ({ margin_status }) => <Status state={margin_status} /> },
  {
    head: "Level %",
    width: 80,
    right: true,
    small: "age",
    cell: ({ margin_level }) => (margin_level === null ? <span className="faint">–</span> : grouped(margin_level)),
  },
  {
    head: "Equity",
    width: 142,
    right: true,
    small: "amount",
    cell: ({ equity, currency }) => <Money amount={equity} currency={currency} />,
  },
];

const filters = [
  { name: "status", label: "Status", values: ["active", "disabled", "closed"] },
  { name: "margin_status", label: "Margin", values: ["normal", "margin_call", "stop_out"] },
  { name: "type", label: "Kind", values: ["live", "demo"] },
  { name: "currency", label: "Currency" },
  { name: "number", label: "Number" },
  { name: "platform_login", label: "Login" },
  { name: "group_id", label: "Group" },
] as const;

const columns = [...accountColumns.slice(0, 1), clientColumn, ...accountColumns.slice(1)];

/** The accounts of all clients. */
export function AccountsPage() {
  const exportAll = useExportAll("accounts");
  const names = useClientNames();
  return (
    <>
      <PageHead title="Accounts" note={<span className="dim">newest first</span>} />
      <ListView
        path="/accounts"
        exportAll={exportAll}
        params={names}
        caption="Accounts"
        filters={filters}
        columns={columns}
        idOf={({ id }) => id}
        to={({ id }) => `/accounts/${id}`}
        empty={{ title: "No accounts", text: "An account is opened on the page of its client." }}
      />
    </>
  );
}
