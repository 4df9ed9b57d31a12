import { Button } from "@mantine/core";
import { useState } from "react";
import { useResource } from "../../api/data.ts";
import type { Schemas } from "../../api/types.ts";
import { addressWith, useAddress } from "../../parts/address.ts";
import { grouped, inWords } from "../../parts/format.ts";
import { useKeys } from "../../parts/keys.ts";
import { ListView, Split } from "../../parts/list.tsx";
import { Json, OpenedHead, PageHead, Pairs, Panel } from "../../parts/page.tsx";
import { ErrorNotice, Failed } from "../../parts/states-of-page.tsx";
import { Status } from "../../parts/status.tsx";
import type { Column } from "../../parts/table.tsx";
import { Clock, Id } from "../../parts/values.tsx";
import { ActorName } from "../actor.tsx";

type Entry = Schemas["AuditEntry"];

const columns: readonly Column<Entry>[] = [
  { head: "UTC", width: 104, small: "age", cell: ({ at }) => <Clock at={at} /> },
  { head: "Action", key: true, small: "name", cell: ({ action }) => action },
  { head: "Actor", width: 140, small: "purpose", cell: ({ actor }) => <ActorName actor={actor} /> },
  { head: "Resource", width: 136, cell: ({ resource }) => (resource ? <Id id={resource.id} /> : null) },
  {
    head: "Outcome",
    width: 130,
    small: "amount",
    cell: ({ outcome, count }) => (
      <Status state={outcome} word={`${inWords(outcome)}${count > 1 ? ` × ${count}` : ""}`} />
    ),
  },
  { head: "Address", width: 140, wide: true, cell: ({ ip }) => ip ?? "" },
  { head: "Sequence", width: 100, right: true, wide: true, cell: ({ sequence }) => sequence },
];

const filters = [
  { name: "outcome", label: "Outcome", values: ["succeeded", "refused"] },
  { name: "action", label: "Action", wide: true },
  { name: "actor", label: "Actor id", wide: true },
  { name: "resource", label: "Resource id", wide: true },
] as const;

/** Entries of the audit, newest first, and whether their chain is intact. */
export function AuditPage() {
  const [search, change] = useAddress();
  const [checking, setChecking] = useState(false);
  const opened = search["open"];
  return (
    <div className="full">
      <PageHead
        title="Audit log"
        note={<span className="dim">newest first</span>}
        actions={
          <>
            {checking && <Verification />}
            <Button variant="default" onClick={() => setChecking(true)}>
              Verify the chain
            </Button>
          </>
        }
      />
      <Split
        list={
          <ListView
            path="/audit_log"
            params={{ query: { sort: "-sequence" } }}
            caption="Audit entries"
            filters={filters}
            columns={columns}
            idOf={({ id }) => id}
            to={({ id }) => addressWith("/audit", { ...search, open: id })}
            selected={opened}
            empty={{ title: "No entries", text: "Commands, sign-ins and refusals are recorded here." }}
          />
        }
        opened={opened ? <EntryPanel id={opened} onClose={() => change({ open: undefined })} /> : null}
      />
    </div>
  );
}

function Verification() {
  const { data, error } = useResource("/audit_log/verification", {}, { still: true });
  if (error) return <ErrorNotice error={error} />;
  if (data === undefined) return <span role="status">Verifying…</span>;
  const { intact, broken, checked } = data;
  return (
    <span role="status">
      <Status
        state={intact ? "intact" : "broken"}
        word={intact ? `Intact, ${grouped(String(checked))} entries` : `Entry ${broken?.sequence} was ${broken?.kind}`}
      />
    </span>
  );
}

function EntryPanel({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const { data, error, refetch } = useResource("/audit_log/{id}", { path: { id } }, { still: true });
  useKeys({ Escape: onClose });
  if (error && data === undefined) return <Failed error={error} again={() => void refetch()} />;
  if (data === undefined) return null;
  const { resource, request_id, code, changes } = data;
  return (
    <>
      <OpenedHead title={data.action} onClose={onClose} />
      <Panel>
        <Pairs
          pairs={[
            ["Entry", <Id key="id" id={id} />],
            ["Outcome", <Status key="outcome" state={data.outcome} />],
            ...(code ? [["Code", code] as const] : []),
            ["At", <Clock key="at" at={data.at} />],
            ["Actor", <ActorName key="actor" actor={data.actor} />],
            ["Address", data.ip],
            ["Program", data.user_agent],
            ["Resource", resource && <Id id={resource.id} />],
            ["Request", request_id && <Id id={request_id} />],
            ["Sequence", data.sequence],
            ["Hash", <code key="hash">{data.hash}</code>],
            ["Hash before", <code key="before">{data.previous_hash}</code>],
          ]}
        />
      </Panel>
      {changes.map((change) => (
        <Panel key={change.resource.id} title="Change" note={<Id id={change.resource.id} />}>
          <p className="dim">Before</p>
          <Json value={change.before} label="Before" />
          <p className="dim">After</p>
          <Json value={change.after} label="After" />
        </Panel>
      ))}
    </>
  );
}
