import { command, read } from "../../api/client.ts";
import { useResource } from "../../api/data.ts";
import type { Schemas } from "../../api/types.ts";
import { addressWith, useAddress, useId } from "../../parts/address.ts";
import { openDialog } from "../../parts/dialog-host.tsx";
import { ActionButton, ConfirmDialog, MoreMenu } from "../../parts/dialogs.tsx";
import { EditDialog } from "../../parts/edit-dialog.tsx";
import { FormDialog, textOf } from "../../parts/form-dialog.tsx";
import { ListView, Split } from "../../parts/list.tsx";
import { Crumb, Facts, PageHead } from "../../parts/page.tsx";
import { FailedPage } from "../../parts/states-of-page.tsx";
import { Status } from "../../parts/status.tsx";
import type { Column } from "../../parts/table.tsx";
import { Age, Clock, Id } from "../../parts/values.tsx";
import { useMay } from "../../session/caller.ts";
import { DeliveryPanel } from "./delivery.tsx";
import { endpointBody, SigningSecret, useEndpointFields } from "./webhooks.tsx";

type Endpoint = Schemas["WebhookEndpoint"];
type Delivery = Schemas["WebhookDelivery"];

/** How often it was tried: the attempt of a delivery that goes on is the next one. */
function attemptsOf({ attempt, status }: Delivery): number {
  return status === "pending" || status === "retrying" ? attempt - 1 : attempt;
}

const columns: readonly Column<Delivery>[] = [
  { head: "UTC", width: 104, small: "age", cell: ({ created_at }) => <Clock at={created_at} /> },
  { head: "Event", key: true, small: "name", cell: ({ event_type }) => event_type },
  { head: "Status", width: 130, small: "amount", cell: ({ status }) => <Status state={status} /> },
  {
    head: "Attempts",
    width: 90,
    right: true,
    small: "purpose",
    cell: (row) => `${attemptsOf(row)} of ${row.max_retries + 1}`,
  },
  {
    head: "Next",
    width: 120,
    right: true,
    cell: ({ next_attempt_at, status }) =>
      status === "succeeded" || next_attempt_at === null ? null : <Age at={next_attempt_at} />,
  },
];

const filters = [
  { name: "status", label: "Status", values: ["pending", "retrying", "succeeded", "exhausted", "cancelled"] },
  { name: "event_type", label: "Type" },
] as const;

/** One endpoint and its delivery log. */
export function WebhookPage() {
  const id = useId();
  const [search, change] = useAddress();
  const { data, error, refetch } = useResource("/webhook_endpoints/{id}", { path: { id } });
  if (error && data === undefined) return <FailedPage error={error} again={() => void refetch()} />;
  if (data === undefined) return null;
  const opened = search["open"];
  return (
    <div className="full">
      <Head endpoint={data} />
      <Split
        list={
          <ListView
            path="/webhook_endpoints/{id}/deliveries"
            params={{ path: { id } }}
            caption="Deliveries"
            filters={filters}
            columns={columns}
            idOf={(one) => one.id}
            to={(one) => addressWith(`/webhooks/${id}`, { ...search, open: one.id })}
            selected={opened}
            empty={{ title: "No deliveries", text: "Send a test event to see one." }}
          />
        }
        opened={
          opened ? (
            <DeliveryPanel
              key={opened}
              id={opened}
              onClose={() => change({ open: undefined })}
              onRepeated={(next) => change({ open: next })}
            />
          ) : null
        }
      />
    </div>
  );
}

function Head({ endpoint }: { readonly endpoint: Endpoint }) {
  const { id, url, status, consecutive_failures: failures, event_types, account_ids, disabled_reason } = endpoint;
  const may = useMay();
  return (
    <>
      <PageHead
        title={url}
        crumbs={
          <Crumb to="/webhooks" name="Webhooks">
            <Id id={id} />
          </Crumb>
        }
        note={
          <>
            <Status state={status} />
            {failures > 0 && status === "enabled" && <Status state="failing" />}
          </>
        }
        actions={may("webhooks:write") && <Actions endpoint={endpoint} />}
      />
      <Facts
        facts={[
          [
            "Failures in a row",
            <span key="failures" className={failures > 0 ? "bad" : undefined}>
              {failures}
            </span>,
          ],
          ["Last success", <Age key="success" at={endpoint.last_success_at} />],
          ["Last failure", <Age key="failure" at={endpoint.last_failure_at} />],
          ["Events", event_types.includes("*") ? "All but opt-in" : `${event_types.length} types`],
          ["Accounts", account_ids.length === 0 ? "All" : account_ids.length],
          ...(disabled_reason ? [["Disabled because", disabled_reason] as const] : []),
        ]}
      />
    </>
  );
}

function Actions({ endpoint }: { readonly endpoint: Endpoint }) {
  const { id, version } = endpoint;
  const enabled = endpoint.status === "enabled";
  return (
    <>
      <ActionButton word="Send test" dialog={(close) => <SendTest id={id} onClose={close} />} />
      <ActionButton word="Replay from…" dialog={(close) => <ReplayEvents id={id} onClose={close} />} />
      <MoreMenu
        actions={[
          { word: "Edit", dialog: (close) => <EditEndpoint endpoint={endpoint} onClose={close} /> },
          rotation(id),
          {
            word: enabled ? "Disable" : "Enable",
            dialog: (close) => (
              <ConfirmDialog
                title={enabled ? "Disable the endpoint" : "Enable the endpoint"}
                text={
                  enabled
                    ? "Events are not delivered until it is enabled. They can be replayed then."
                    : "New events are delivered from now on. Replay those that it missed."
                }
                word={enabled ? "Disable" : "Enable"}
                version={version}
                run={(key) =>
                  command("PATCH", "/webhook_endpoints/{id}", {
                    key,
                    path: { id },
                    body: { status: enabled ? "disabled" : "enabled" },
                  })
                }
                onClose={close}
              />
            ),
          },
          {
            word: "Delete",
            dialog: (close) => (
              <ConfirmDialog
                title="Delete the endpoint"
                text="Its deliveries that are still to be made are cancelled. This cannot be undone."
                word="Delete"
                danger
                version={version}
                run={(key) => command("DELETE", "/webhook_endpoints/{id}", { key, path: { id } })}
                onDone={() => window.history.back()}
                onClose={close}
              />
            ),
          },
        ]}
      />
    </>
  );
}

const graceHours = [
  ["0", "At once"],
  ["3600", "After 1 hour"],
  ["86400", "After 24 hours"],
] as const;

function rotation(id: string) {
  return {
    word: "Rotate signing secret",
    dialog: (close: () => void) => (
      <FormDialog<Schemas["IssuedWebhookEndpoint"]>
        title="Rotate the signing secret"
        fields={[
          {
            name: "grace_seconds",
            label: "The previous secret ends",
            kind: "choice",
            values: graceHours,
            first: "86400",
            help: "Deliveries are signed with both until then. Choose at once when the secret has leaked.",
          },
        ]}
        submit="Rotate"
        foot="The secret is shown once, in the next step."
        run={(entered, key) =>
          command("POST", "/webhook_endpoints/{id}/rotate_secret", {
            key,
            path: { id },
            body: { grace_seconds: Number(textOf(entered, "grace_seconds")) },
          })
        }
        onDone={(issued) =>
          openDialog((closeSecret) => (
            <SigningSecret issued={issued} title="The endpoint has another secret" onClose={closeSecret} />
          ))
        }
        onClose={close}
      />
    ),
  };
}

function EditEndpoint({ endpoint, onClose }: { readonly endpoint: Endpoint; readonly onClose: () => void }) {
  const path = { id: endpoint.id };
  return (
    <EditDialog
      title="Edit the endpoint"
      wide
      resource={endpoint}
      read={() => read("/webhook_endpoints/{id}", { path })}
      fieldsOf={useEndpointFields()}
      bodyOf={endpointBody}
      send={(body, options) => command("PATCH", "/webhook_endpoints/{id}", { ...options, path, body })}
      onClose={onClose}
    />
  );
}

function SendTest({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const { data } = useResource("/event_types", {}, { still: true });
  const types = data?.data.map(({ type }) => type) ?? [];
  const [first = ""] = types;
  const [, change] = useAddress();
  if (first === "") return null;
  return (
    <FormDialog<Delivery>
      title="Send a sample event"
      fields={[
        { name: "type", label: "Type", kind: "choice", values: types.map((type) => [type, type] as const), first },
      ]}
      submit="Send"
      run={(entered, key) =>
        command("POST", "/webhook_endpoints/{id}/test", { key, path: { id }, body: { type: textOf(entered, "type") } })
      }
      onDone={(delivery) => change({ open: delivery.id })}
      onClose={onClose}
    />
  );
}

function ReplayEvents({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  return (
    <FormDialog
      title="Replay events"
      fields={[
        { name: "from", label: "From (UTC)", placeholder: "2026-11-20T00:00:00Z", optional: true },
        { name: "to", label: "Before (UTC)", placeholder: "2026-11-21T00:00:00Z", optional: true },
        {
          name: "after_sequence",
          label: "After sequence",
          optional: true,
          help: "In place of a time: the last event that arrived.",
        },
      ]}
      submit="Replay"
      foot="Events that were delivered are delivered again."
      run={(entered, key) => {
        const names = ["from", "to", "after_sequence"];
        const body = Object.fromEntries(
          names.flatMap((name) => (textOf(entered, name) ? [[name, textOf(entered, name)]] : [])),
        );
        return command("POST", "/webhook_endpoints/{id}/replay", { key, path: { id }, body });
      }}
      onClose={onClose}
    />
  );
}
