import { useState } from "react";
import { command } from "../../api/client.ts";
import { useResource } from "../../api/data.ts";
import type { Schemas } from "../../api/types.ts";
import { ActionButton, SecretDialog } from "../../parts/dialogs.tsx";
import { type Entered, type Field, FormDialog, textOf, wordsOf } from "../../parts/form-dialog.tsx";
import { ListView } from "../../parts/list.tsx";
import { PageHead } from "../../parts/page.tsx";
import { Mark, Status } from "../../parts/status.tsx";
import type { Column } from "../../parts/table.tsx";
import { Age, Id } from "../../parts/values.tsx";
import { useMay } from "../../session/caller.ts";

type Endpoint = Schemas["WebhookEndpoint"];
type Issued = Schemas["IssuedWebhookEndpoint"];

const columns: readonly Column<Endpoint>[] = [
  { head: "Address", key: true, small: "name", cell: ({ url }) => url },
  { head: "Id", width: 140, cell: ({ id }) => <Id id={id} /> },
  { head: "Status", width: 140, small: "amount", cell: ({ status }) => <Status state={status} /> },
  {
    head: "Events",
    width: 120,
    small: "purpose",
    cell: ({ event_types }) => (event_types.includes("*") ? "All but opt-in" : `${event_types.length} types`),
  },
  {
    head: "Failures in a row",
    width: 140,
    right: true,
    cell: ({ consecutive_failures: failures }) =>
      failures === 0 ? (
        <span className="faint">0</span>
      ) : (
        <span className="with-icon">
          <Mark shape="half" tone="warn" /> {failures}
        </span>
      ),
  },
  {
    head: "Last success",
    width: 140,
    right: true,
    small: "age",
    cell: ({ last_success_at }) => <Age at={last_success_at} />,
  },
];

/** The addresses that receive events. */
export function WebhooksPage() {
  const may = useMay();
  const add = may("webhooks:write") && (
    <ActionButton word="Add endpoint" icon="plus" primary dialog={(close) => <AddEndpoint onClose={close} />} />
  );
  return (
    <>
      <PageHead title="Webhooks" actions={add} />
      <ListView
        path="/webhook_endpoints"
        caption="Webhook endpoints"
        filters={[{ name: "status", label: "Status", values: ["enabled", "disabled", "auto_disabled"] }]}
        columns={columns}
        idOf={({ id }) => id}
        to={({ id }) => `/webhooks/${id}`}
        empty={{
          title: "No webhook endpoints",
          text: "An endpoint receives events by POST, signed, with six attempts in 26 hours.",
          action: add,
        }}
      />
    </>
  );
}

/** The fields of an endpoint, with the values that it has. */
export function useEndpointFields(): (now?: Endpoint) => Field[] {
  const { data } = useResource("/event_types", {}, { still: true });
  const types = data?.data.map(({ type, opt_in }) => [type, opt_in ? `${type} (opt-in)` : type] as const) ?? [];
  return (now) => [
    {
      name: "url",
      label: "URL",
      first: now?.url ?? "",
      placeholder: "https://hooks.example.com/broker",
      help: "Receives events by POST. It begins with https://.",
    },
    { name: "description", label: "Description", first: now?.description ?? "", optional: true },
    {
      name: "event_types",
      label: "Events",
      kind: "ticks",
      first: now?.event_types ?? ["*"],
      values: [["*", "All but opt-in"], ...types],
    },
    {
      name: "account_ids",
      label: "Accounts",
      first: now?.account_ids.join(", ") ?? "",
      optional: true,
      help: "Ids separated by commas. Empty: all.",
    },
    {
      name: "group_ids",
      label: "Groups",
      first: now?.group_ids.join(", ") ?? "",
      optional: true,
      help: "Groups of accounts, separated by commas. Empty: all.",
    },
  ];
}

/** The body of a request from the fields of an endpoint. */
export function endpointBody(entered: Entered) {
  return {
    url: textOf(entered, "url") ?? "",
    description: textOf(entered, "description") ?? null,
    event_types: wordsOf(entered, "event_types"),
    account_ids: wordsOf(entered, "account_ids"),
    group_ids: wordsOf(entered, "group_ids"),
  };
}

function AddEndpoint({ onClose }: { readonly onClose: () => void }) {
  const [issued, setIssued] = useState<Issued>();
  const fields = useEndpointFields()();
  if (issued !== undefined) return <SigningSecret issued={issued} title="The endpoint was added" onClose={onClose} />;
  return (
    <FormDialog<Issued>
      title="Add endpoint"
      wide
      keepOpen
      fields={fields}
      submit="Add"
      foot="The signing secret is shown once, in the next step."
      run={(entered, key) => {
        const { account_ids, group_ids, ...body } = endpointBody(entered);
        return command("POST", "/webhook_endpoints", {
          key,
          body: { ...body, ...(account_ids.length > 0 && { account_ids }), ...(group_ids.length > 0 && { group_ids }) },
        });
      }}
      onDone={setIssued}
      onClose={onClose}
    />
  );
}

interface SigningSecretProps {
  readonly issued: Issued;
  readonly title: string;
  readonly onClose: () => void;
}

/** The signing secret of an endpoint, once. */
export function SigningSecret({ issued, title, onClose }: SigningSecretProps) {
  return (
    <SecretDialog
      title={title}
      values={[
        ["Endpoint", issued.url],
        ["Signing secret", issued.secret],
      ]}
      file={{ name: ".env", lines: [`WEBHOOK_SECRET=${issued.secret}`] }}
      onClose={onClose}
    />
  );
}
