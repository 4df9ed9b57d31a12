import { Modal } from "@mantine/core";
import { command } from "../../api/client.ts";
import { useResource } from "../../api/data.ts";
import type { Schemas } from "../../api/types.ts";
import { type Entered, FormDialog, textOf } from "../../parts/form-dialog.tsx";
import { inWords } from "../../parts/format.ts";
import { Pairs } from "../../parts/page.tsx";
import { Status } from "../../parts/status.tsx";
import type { Column } from "../../parts/table.tsx";
import { Clock, Id, Maybe } from "../../parts/values.tsx";
import { useMay } from "../../session/caller.ts";
import { Named } from "../customers/client-column.tsx";
import { driftOptions } from "./drift-actions.ts";

type Drift = Schemas["Drift"];

/** Differences between the books of a platform and those of the service. */
export const driftColumns: readonly Column<Drift>[] = [
  { head: "Kind", key: true, small: "name", cell: ({ kind }) => inWords(kind) },
  { head: "Id", width: 130, cell: ({ id }) => <Id id={id} /> },
  {
    head: "Login",
    width: 260,
    small: "purpose",
    cell: ({ client, platform_login }) => <Named client={client} id={platform_login} />,
  },
  { head: "Symbol", width: 90, cell: ({ symbol }) => <Maybe value={symbol} /> },
  { head: "Here", width: 120, right: true, cell: ({ ours }) => <Maybe value={ours} /> },
  { head: "There", width: 120, right: true, cell: ({ theirs }) => <Maybe value={theirs} /> },
  { head: "Status", width: 110, small: "amount", cell: ({ status }) => <Status state={status} /> },
  { head: "Found", width: 120, right: true, small: "age", cell: ({ created_at }) => <Clock at={created_at} /> },
];

/** A drift, and what to do about it while it is open. */
export function ResolveDrift({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const { data } = useResource("/drift/{id}", { path: { id } });
  const may = useMay();
  if (data === undefined) return null;
  const intro = <About drift={data} />;
  const options = driftOptions(data);
  if (data.status === "resolved" || !may("transactions:settle") || options.length === 0) {
    return (
      <Modal opened onClose={onClose} title={inWords(data.kind)} size={648} centered={false}>
        {intro}
      </Modal>
    );
  }
  const chosen = (entered: Entered) => options.find(({ action }) => action === textOf(entered, "action"));
  return (
    <FormDialog
      title={inWords(data.kind)}
      wide
      intro={intro}
      fields={[
        {
          name: "action",
          label: "What to do",
          kind: "one",
          values: options.map(({ action, text }) => [action, text] as const),
        },
        ...(isUnknown(data) ? [accountField(data)] : []),
        { name: "code", label: "Reason", first: "reviewed", help: "A code." },
        { name: "message", label: "In words", optional: true },
      ]}
      submit={(entered) => chosen(entered)?.button ?? "Resolve"}
      run={(entered, key) => {
        const [message, account_id] = [textOf(entered, "message"), textOf(entered, "account_id")];
        const adopts = isUnknown(data) && textOf(entered, "action") === "adopt_platform";
        return command("POST", "/drift/{id}/resolve", {
          key,
          path: { id },
          body: {
            action: textOf(entered, "action"),
            reason: { code: textOf(entered, "code") ?? "", ...(message && { message }) },
            ...(adopts && account_id && { account_id }),
          },
        });
      }}
      onClose={onClose}
    />
  );
}

const isUnknown = ({ kind }: Drift) => kind === "account_unknown";

const accountField = ({ proposal }: Drift) => ({
  ...{ name: "account_id", label: "Account that is adopted", optional: true, placeholder: "acc_…" },
  first: proposal?.account_id ?? "",
  help: "Its id: an account that is not linked, on which nothing has been booked.",
});

/** A cause that the service names, before its id or its sequence number. */
const explanation: Readonly<Record<string, string>> = {
  possible_duplicate: "An item that may be a duplicate, number",
  reject: "An item that was rejected, number",
  command: "A command that has not ended,",
  transaction: "Money that no item of the platform has reported,",
};

function About({ drift }: { readonly drift: Drift }) {
  const { ours, theirs, platform_login, account_id, proposal, explained_by, resolution, resolved_at } = drift;
  return (
    <>
      <Pairs
        pairs={[
          ["Status", <Status key="status" state={drift.status} />],
          ["Login", platform_login],
          ["Account", account_id && <Id id={account_id} />],
          ["Here", ours],
          ["There", theirs],
          ...(proposal
            ? [["Proposed", `${inWords(proposal.action)} by ${proposal.by.name ?? proposal.by.id}`] as const]
            : []),
          ...(resolution ? [["Resolved", inWords(resolution.action)] as const] : []),
          ...(resolved_at ? [["At", <Clock key="at" at={resolved_at} />] as const] : []),
        ]}
      />
      {explained_by.length > 0 && (
        <>
          <p className="group-label">May be explained by</p>
          <ul className="checks">
            {explained_by.map(({ type, id }) => (
              <li key={type + id}>
                <span>{explanation[type]}</span> <code>{id}</code>
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}
