import { command, read } from "../../api/client.ts";
import { useResource } from "../../api/data.ts";
import type { Schemas } from "../../api/types.ts";
import { addressWith, useAddress } from "../../parts/address.ts";
import { ActionButton, ConfirmDialog } from "../../parts/dialogs.tsx";
import { EditDialog } from "../../parts/edit-dialog.tsx";
import { type Field, FormDialog, textOf } from "../../parts/form-dialog.tsx";
import { inWords } from "../../parts/format.ts";
import { useKeys } from "../../parts/keys.ts";
import { ListView, Split } from "../../parts/list.tsx";
import { OpenedHead, PageHead, Pairs, Panel } from "../../parts/page.tsx";
import { Failed } from "../../parts/states-of-page.tsx";
import { Status } from "../../parts/status.tsx";
import type { Column } from "../../parts/table.tsx";
import { Age, Clock, Go, Id } from "../../parts/values.tsx";
import { useCaller } from "../../session/caller.ts";
import { ActorName } from "../actor.tsx";
import { RotateSecret } from "./application-forms.tsx";
import { RoleTable } from "./role-table.tsx";
import { ScopeTags } from "./scope-tags.tsx";
import { roleScopes, roleWords } from "./scopes.ts";

type Operator = Schemas["Operator"];

const columns: readonly Column<Operator>[] = [
  { head: "Name", key: true, small: "name", cell: ({ name }) => name },
  { head: "Email", small: "purpose", cell: ({ email }) => email },
  { head: "Role", width: 120, cell: ({ role }) => inWords(role) },
  { head: "Status", width: 120, small: "amount", cell: ({ status }) => <Status state={status} /> },
  { head: "Last seen", width: 150, right: true, small: "age", cell: ({ last_seen_at }) => <Age at={last_seen_at} /> },
];

function fieldsOf(now?: Operator): Field[] {
  return [
    { name: "name", label: "Name", first: now?.name ?? "" },
    { name: "role", label: "Role", kind: "choice", values: roleWords, first: now?.role ?? "viewer" },
  ];
}

/** The people of the brokerage. */
export function OperatorsPage() {
  const [search, change] = useAddress();
  const opened = search["open"];
  const invite = (
    <ActionButton word="Invite operator" icon="plus" primary dialog={(close) => <Invite onClose={close} />} />
  );
  return (
    <div className="full">
      <PageHead title="Operators" actions={invite} />
      <Split
        list={
          <ListView
            path="/operators"
            caption="Operators"
            filters={[{ name: "status", label: "Status", values: ["invited", "active", "suspended"] }]}
            columns={columns}
            idOf={({ id }) => id}
            to={({ id }) => addressWith("/operators", { ...search, open: id })}
            selected={opened}
            empty={{
              title: "No operators",
              text: "An operator is a person who signs in to this dashboard.",
              action: invite,
            }}
          />
        }
        opened={opened ? <OperatorPanel id={opened} onClose={() => change({ open: undefined })} /> : null}
      />
    </div>
  );
}

function Invite({ onClose }: { readonly onClose: () => void }) {
  return (
    <FormDialog
      title="Invite operator"
      wide
      intro={<RoleTable />}
      fields={[{ name: "email", label: "Email", help: "The invitation is sent to this address." }, ...fieldsOf()]}
      submit="Invite"
      run={(entered, key) =>
        command("POST", "/operators", {
          key,
          body: Object.fromEntries(["email", "name", "role"].map((name) => [name, textOf(entered, name) ?? ""])),
        })
      }
      onClose={onClose}
    />
  );
}

function OperatorPanel({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const { tenant_id } = useCaller();
  const { data, error, refetch } = useResource("/operators/{id}", { path: { id } });
  useKeys({ Escape: onClose });
  if (error && data === undefined) return <Failed error={error} again={() => void refetch()} />;
  if (data === undefined) return null;
  return (
    <>
      <OpenedHead title={data.name} onClose={onClose} />
      <Panel>
        <Pairs
          pairs={[
            ["Id", <Id key="id" id={id} />],
            ["Email", data.email],
            ["Role", inWords(data.role)],
            ["Status", <Status key="status" state={data.status} />],
            ...(data.status === "invited"
              ? [["Sign-in link", `${window.location.origin}/?brokerage=${tenant_id}`] as const]
              : []),
            ["Last seen", <Age key="seen" at={data.last_seen_at} />],
            ["Invited", <Clock key="created" at={data.created_at} />],
            ["Scopes", <ScopeTags key="scopes" scopes={data.scopes} />],
            [
              "What they did",
              <Go key="audit" to={addressWith("/audit", { actor: id })}>
                Audit log
              </Go>,
            ],
          ]}
        />
      </Panel>
      <Panel title="What they hand over">
        <Handover id={id} />
      </Panel>
      {data.proposed_change && <Proposed operator={data} proposed={data.proposed_change} onRemoved={onClose} />}
      <div className="panel chips">
        <Actions operator={data} onRemoved={onClose} />
      </div>
    </>
  );
}

type Proposed = NonNullable<Operator["proposed_change"]>;

function wordOf({ role, status }: Proposed): string {
  if (status === "active") return `Role: ${inWords(role)}`;
  return status === "removed" ? "Remove" : "Suspend";
}

/** The change that one owner proposed for this operator; another owner agrees by the same request. */
function Proposed(given: { readonly operator: Operator; readonly proposed: Proposed; readonly onRemoved: () => void }) {
  const { operator, proposed, onRemoved } = given;
  const { role, status, by, at, expires_at } = proposed;
  const path = { id: operator.id };
  const removal = status === "removed";
  const admission = operator.status === "suspended" && status === "active";
  const what = admission ? `Admit as ${inWords(role)}` : wordOf(proposed);
  const takes = operator.role === "owner" && !admission;
  return (
    <Panel title="Proposed">
      <p>
        {what}, by <ActorName actor={by} />, <Age at={at} />. Another owner has to agree until <Clock at={expires_at} />
        .
      </p>
      <ActionButton
        word="Agree"
        dialog={(close) => (
          <ConfirmDialog
            title={`Agree: ${what} ${operator.name}`}
            text={
              takes
                ? "Their rights as an owner end within 60 seconds."
                : "They get rights that only two owners give within 60 seconds."
            }
            word="Agree"
            danger
            version={operator.version}
            run={async (key) => {
              if (removal) return await command("DELETE", "/operators/{id}", { key, path });
              // One who has not signed in yet becomes active by that alone.
              const body = { role, ...((status === "suspended" || admission) && { status }) };
              return await command("PATCH", "/operators/{id}", { key, path, body });
            }}
            onDone={removal ? onRemoved : undefined}
            onClose={close}
          />
        )}
      />
    </Panel>
  );
}

/**
 * Everything that a person who leaves may still act through, and how it ends: their applications stay when their own
 * access ends.
 */
function Handover({ id }: { readonly id: string }) {
  const { data, error, refetch } = useResource("/operators/{id}/handover", { path: { id } });
  if (error && data === undefined) return <Failed error={error} again={() => void refetch()} />;
  if (data === undefined) return null;
  const { applications, proposals, transactions, more_transactions } = data;
  const open = `${transactions.length}${more_transactions ? " or more" : ""}`;
  return (
    <div className="form">
      <p>
        {applications.length === 0
          ? "They know the secret of no application."
          : "They know the secrets of these applications, which stay. Rotate each without grace, or revoke it."}
      </p>
      {applications.map((application) => (
        <div key={application.id} className="chips">
          <Go to={`/settings/api/${application.id}`}>{application.name}</Go>
          <span className="dim">{inWords(application.knows)}</span>
          <ActionButton
            word={`Rotate ${application.name}`}
            dialog={(close) => <RotateSecret application={application} first="0" onClose={close} />}
          />
          <ActionButton
            word={`Revoke ${application.name}`}
            dialog={(close) => (
              <ConfirmDialog
                title={`Revoke ${application.name}`}
                text="It gets no more tokens, and those that it has end within 60 seconds. This cannot be undone."
                word="Revoke"
                danger
                run={(key) => command("DELETE", "/applications/{id}", { key, path: { id: application.id } })}
                onClose={close}
              />
            )}
          />
        </div>
      ))}
      {proposals.map((proposal) => (
        <p key={`${proposal.resource_id} ${proposal.change}`}>
          Open proposal: <Go to={pathOf(proposal)}>{nounOf(proposal.change)}</Go>, {nounOf(proposal.part)}, until{" "}
          <Clock at={proposal.expires_at} />.
        </p>
      ))}
      {transactions.length > 0 && <p>{open} undecided transactions:</p>}
      {transactions.map(({ id: transaction, kind, part }) => (
        <p key={transaction}>
          <Go to={addressWith("/transactions", { open: transaction })}>{inWords(kind)}</Go>, {nounOf(part)}
        </p>
      ))}
    </div>
  );
}

type Place = Schemas["OperatorHandover"]["proposals"][number];

const ownWords: Readonly<Record<string, string>> = {
  made: "made by them",
  approved: "approved by them",
  needed: "which no one else could decide",
  proposed_change: "role or status of an operator",
  proposed_approval_rules: "approval rules",
  proposed_four_eyes: "four eyes",
  proposed_link: "link of an account",
  proposed_authoritative: "authority of a feed source",
  proposal: "resolution of a drift",
};

/** A proposal, or an operator's part in it, in words. */
const nounOf = (name: string) => ownWords[name] ?? inWords(name);

/** Where a proposal is decided. */
function pathOf({ resource_type, resource_id: id, source_id }: Place): string {
  if (resource_type === "operator") return addressWith("/operators", { open: id });
  if (resource_type === "settings") return "/settings";
  if (resource_type === "account") return `/accounts/${id}`;
  return resource_type === "drift" ? addressWith(`/feeds/${source_id}`, { tab: "drift", open: id }) : `/feeds/${id}`;
}

/** A lower role does not reach applications: each keeps the scopes that it was given. */
function LoweredRole({ operator, role }: { readonly operator: Operator; readonly role: string | undefined }) {
  const { environment } = useCaller();
  const kept: readonly string[] = roleWords.flatMap(([each]) => (each === role ? roleScopes(each, environment) : []));
  if (operator.scopes.every((scope) => kept.includes(scope))) return null;
  return <Handover id={operator.id} />;
}

function InviteAgain({ operator: { id, name } }: { readonly operator: Operator }) {
  return (
    <ActionButton
      word="Invite again"
      dialog={(close) => (
        <ConfirmDialog
          title={`Invite ${name} again`}
          text="They get another temporary password by email, and the previous one stops working."
          word="Invite"
          run={(key) => command("POST", "/operators/{id}/invite", { key, path: { id } })}
          onClose={close}
        />
      )}
    />
  );
}

function ResetCredentials({ operator: { id, name, proposed_reset: proposed } }: { readonly operator: Operator }) {
  return (
    <ActionButton
      word={proposed === null ? "Reset credentials" : "Agree: reset credentials"}
      dialog={(close) => (
        <ConfirmDialog
          title={`Reset the credentials of ${name}`}
          text={
            "Their password, second factor and sessions end, and they get a temporary password by email. Where two " +
            "owners give their rights, it waits for a second owner. At other brokerages they need a reset there too."
          }
          more={
            proposed && (
              <p>
                Proposed by <ActorName actor={proposed.by} />, <Age at={proposed.at} />, until{" "}
                <Clock at={proposed.expires_at} />.
              </p>
            )
          }
          word="Reset"
          danger
          run={(key) => command("POST", "/operators/{id}/reset_credentials", { key, path: { id } })}
          onClose={close}
        />
      )}
    />
  );
}

function Actions({ operator, onRemoved }: { readonly operator: Operator; readonly onRemoved: () => void }) {
  const { id, name, status, version } = operator;
  const { operator: caller } = useCaller();
  const path = { id };
  const suspended = status === "suspended";
  return (
    <>
      <ActionButton
        word="Edit"
        dialog={(close) => (
          <EditDialog
            title={`Edit ${name}`}
            resource={operator}
            read={() => read("/operators/{id}", { path })}
            fieldsOf={fieldsOf}
            bodyOf={(entered) => ({ name: textOf(entered, "name") ?? "", role: textOf(entered, "role") })}
            send={(body, options) => command("PATCH", "/operators/{id}", { ...options, path, body })}
            more={(entered) => <LoweredRole operator={operator} role={textOf(entered, "role")} />}
            onClose={close}
          />
        )}
      />
      {status === "invited" && <InviteAgain operator={operator} />}
      {status === "active" && id !== caller?.id && <ResetCredentials operator={operator} />}
      {status !== "invited" && (
        <ActionButton
          word={suspended ? "Admit again" : "Suspend"}
          dialog={(close) => (
            <ConfirmDialog
              title={suspended ? `Admit ${name} again` : `Suspend ${name}`}
              text={suspended ? "They can sign in again." : "Their access ends within 60 seconds."}
              more={!suspended && <Handover id={id} />}
              word={suspended ? "Admit" : "Suspend"}
              danger={!suspended}
              version={version}
              run={(key) =>
                command("PATCH", "/operators/{id}", { key, path, body: { status: suspended ? "active" : "suspended" } })
              }
              onClose={close}
            />
          )}
        />
      )}
      <ActionButton
        word="Remove"
        dialog={(close) => (
          <ConfirmDialog
            title={`Remove ${name}`}
            text={
              "Their access ends within 60 seconds. Their actions stay in the audit log, but their name, email " +
              "address, IP addresses and user agents are erased from it. This cannot be undone; suspend an operator " +
              "whose actions are still to be examined. Removing one of two or more owners waits for a second owner."
            }
            more={<Handover id={id} />}
            word="Remove"
            danger
            version={version}
            run={(key) => command("DELETE", "/operators/{id}", { key, path })}
            onDone={({ deleted }: Schemas["RemovedOperator"]) => deleted && onRemoved()}
            onClose={close}
          />
        )}
      />
    </>
  );
}
