import type { Schemas } from "../../api/types.ts";
import { ActionButton } from "../../parts/dialogs.tsx";
import { ListView } from "../../parts/list.tsx";
import { Crumb, PageHead } from "../../parts/page.tsx";
import { Status } from "../../parts/status.tsx";
import type { Column } from "../../parts/table.tsx";
import { Age, Id } from "../../parts/values.tsx";
import { CreateApplication } from "./application-forms.tsx";

const columns: readonly Column<Schemas["ApiApplication"]>[] = [
  { head: "Name", key: true, small: "name", cell: ({ name }) => name },
  { head: "Client id", width: 160, cell: ({ client_id }) => <Id id={client_id} /> },
  { head: "Scopes", width: 90, right: true, cell: ({ scopes }) => scopes.length },
  {
    head: "Allowed addresses",
    width: 200,
    small: "purpose",
    cell: ({ allowed_ips }) =>
      allowed_ips.length === 0 ? <span className="faint">Anywhere</span> : allowed_ips.join(", "),
  },
  { head: "Status", width: 120, small: "amount", cell: ({ status }) => <Status state={status} /> },
  {
    head: "Secret of",
    width: 140,
    right: true,
    cell: ({ secret_rotated_at, created_at }) => <Age at={secret_rotated_at ?? created_at} />,
  },
  { head: "Last token", width: 150, right: true, small: "age", cell: ({ last_used_at }) => <Age at={last_used_at} /> },
];

/** The applications of the brokerage: programs that call the API. */
export function ApplicationsPage() {
  const create = (
    <ActionButton
      word="Create Application"
      icon="plus"
      primary
      dialog={(close) => <CreateApplication onClose={close} />}
    />
  );
  return (
    <>
      <PageHead title="API" crumbs={<Crumb to="/settings" name="Settings" />} actions={create} />
      <ListView
        path="/applications"
        caption="Applications"
        filters={[{ name: "status", label: "Status", values: ["active", "revoked"] }]}
        columns={columns}
        idOf={({ id }) => id}
        to={({ id }) => `/settings/api/${id}`}
        empty={{
          title: "No applications",
          text: "A program that calls the API needs an application: its client id, its secret and its scopes.",
          action: create,
        }}
      />
    </>
  );
}
