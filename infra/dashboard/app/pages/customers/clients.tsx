import { command } from "../../api/client.ts";
import type { Schemas } from "../../api/types.ts";
import { ActionButton } from "../../parts/dialogs.tsx";
import { dayFilters } from "../../parts/filters.tsx";
import { FormDialog, textOf } from "../../parts/form-dialog.tsx";
import { ListView } from "../../parts/list.tsx";
import { PageHead } from "../../parts/page.tsx";
import { Status } from "../../parts/status.tsx";
import type { Column } from "../../parts/table.tsx";
import { Clock, Id, Maybe } from "../../parts/values.tsx";
import { useMay } from "../../session/caller.ts";
import { useExportAll } from "../money/export-all.ts";
import { nameOf } from "./client-name.ts";

type Client = Schemas["BrokerageClient"];

const columns: readonly Column<Client>[] = [
  { head: "Name", key: true, small: "name", cell: nameOf },
  { head: "Email", small: "purpose", cell: ({ email }) => email },
  { head: "Id", width: 130, cell: ({ id }) => <Id id={id} /> },
  { head: "Status", width: 120, cell: ({ status }) => <Status state={status} /> },
  {
    head: "Identity",
    width: 130,
    small: "amount",
    cell: ({ verification_status }) => <Status state={verification_status} />,
  },
  { head: "Country", width: 80, cell: ({ country }) => <Maybe value={country} /> },
  { head: "Accounts", width: 90, right: true, cell: ({ account_count }) => account_count },
  { head: "Created", width: 130, right: true, small: "age", cell: ({ created_at }) => <Clock at={created_at} /> },
];

const filters = [
  { name: "status", label: "Status", values: ["active", "suspended", "closed"] },
  {
    name: "verification_status",
    label: "Identity",
    values: ["unverified", "pending", "verified", "rejected", "expired"],
  },
  { name: "country", label: "Country" },
  { name: "email", label: "Email", wide: true },
  { name: "external_id", label: "Your reference" },
  { name: "tag", label: "Tag" },
  ...dayFilters("created", "Created"),
] as const;

/** The customers of the brokerage. */
export function ClientsPage() {
  const exportAll = useExportAll("clients");
  const may = useMay();
  const create = may("clients:write") && (
    <ActionButton word="Create client" icon="plus" primary dialog={(close) => <CreateClient onClose={close} />} />
  );
  return (
    <>
      <PageHead title="Clients" actions={create} />
      <ListView
        path="/clients"
        exportAll={exportAll}
        caption="Clients"
        filters={filters}
        columns={columns}
        idOf={({ id }) => id}
        to={({ id }) => `/clients/${id}`}
        empty={{ title: "No clients", text: "A client is a person or a company that holds accounts.", action: create }}
      />
    </>
  );
}

function CreateClient({ onClose }: { readonly onClose: () => void }) {
  return (
    <FormDialog
      title="Create client"
      fields={[
        { name: "email", label: "Email" },
        { name: "first_name", label: "First name", optional: true },
        { name: "last_name", label: "Last name", optional: true },
        {
          name: "company_name",
          label: "Company",
          optional: true,
          help: "For a corporate client, in place of the name.",
        },
        { name: "country", label: "Country", optional: true, placeholder: "DE", help: "Two letters (ISO 3166-1)." },
        { name: "external_id", label: "Your reference", optional: true },
      ]}
      submit="Create"
      run={(entered, key) => {
        const names = ["email", "first_name", "last_name", "company_name", "country", "external_id"];
        const given = names.flatMap((name) => (textOf(entered, name) ? [[name, textOf(entered, name)]] : []));
        const type = textOf(entered, "company_name") === undefined ? "individual" : "corporate";
        return command("POST", "/clients", { key, body: { type, email: "", ...Object.fromEntries(given) } });
      }}
      onClose={onClose}
    />
  );
}
