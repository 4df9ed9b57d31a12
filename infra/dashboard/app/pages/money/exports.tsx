import { useEffect, useState } from "react";
import { command } from "../../api/client.ts";
import { useCommand, useResource } from "../../api/data.ts";
import type { Schemas } from "../../api/types.ts";
import { addressWith, useAddress } from "../../parts/address.ts";
import { openDialog } from "../../parts/dialog-host.tsx";
import { ActionButton, ConfirmDialog } from "../../parts/dialogs.tsx";
import { inWords, shortId } from "../../parts/format.ts";
import { useKeys } from "../../parts/keys.ts";
import { ListView, Split } from "../../parts/list.tsx";
import { OpenedHead, PageHead, Pairs } from "../../parts/page.tsx";
import { CommandError, Failed } from "../../parts/states-of-page.tsx";
import { Status } from "../../parts/status.tsx";
import type { Column } from "../../parts/table.tsx";
import { Age, Id } from "../../parts/values.tsx";
import { useMay } from "../../session/caller.ts";
import { NewExport } from "./export-form.tsx";
import { exportTypes } from "./export-shapes.ts";

type Job = Schemas["Job"];
type Links = Schemas["JobLinks"];

const ended: ReadonlySet<string> = new Set(["succeeded", "failed", "cancelled"]);

const columns: readonly Column<Job>[] = [
  { head: "Export", key: true, small: "name", cell: ({ type }) => inWords(type) },
  { head: "Status", width: 130, small: "amount", cell: ({ status }) => <Status state={status} /> },
  { head: "Progress", width: 140, small: "purpose", cell: (job) => <Progress job={job} /> },
  { head: "Rows", width: 110, right: true, wide: true, cell: ({ progress }) => progress.rows.toLocaleString("en") },
  { head: "Asked by", width: 130, wide: true, cell: ({ created_by }) => shortId(created_by) },
  { head: "Asked", width: 110, right: true, small: "age", cell: ({ created_at }) => <Age at={created_at} /> },
];

function Progress({ job: { status, progress } }: { readonly job: Job }) {
  if (ended.has(status)) return <span className="faint">{status === "succeeded" ? "Complete" : "–"}</span>;
  return (
    <span className="with-icon">
      <progress max={100} value={progress.percent} aria-label="Progress" /> {progress.percent} %
    </span>
  );
}

/** Exports, newest first, and a form for more. */
export function ExportsPage() {
  const may = useMay();
  const [search, change] = useAddress();
  const opened = search["open"];
  const { new: asked, with: given = "" } = search;
  const form = (close: () => void) => (
    <NewExport
      type={asked}
      filters={Object.fromEntries(new URLSearchParams(given))}
      onDone={({ id }) => change({ open: id, new: undefined, with: undefined })}
      onClose={() => {
        close();
        change({ new: undefined, with: undefined }, true);
      }}
    />
  );
  // The link of a list leads to the form.
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each list that leads here
  useEffect(() => {
    if (asked !== undefined && may("reports:write")) openDialog(form);
  }, [asked]);
  const add = may("reports:write") && <ActionButton word="New export" icon="plus" primary dialog={form} />;
  return (
    <div className="full">
      <PageHead title="Exports" note={<span className="dim">files for seven days</span>} actions={add} />
      <Split
        list={
          <ListView
            path="/jobs"
            caption="Exports"
            filters={[
              { name: "type", label: "Type", values: exportTypes },
              { name: "status", label: "Status", values: ["queued", "running", "succeeded", "failed", "cancelled"] },
            ]}
            columns={columns}
            idOf={({ id }) => id}
            to={({ id }) => addressWith("/exports", { type: search["type"], status: search["status"], open: id })}
            selected={opened}
            empty={{
              title: "No exports",
              text: "All rows of a list as files, for accounting and auditors.",
              action: add,
            }}
          />
        }
        opened={opened ? <JobPanel key={opened} id={opened} onClose={() => change({ open: undefined })} /> : null}
      />
    </div>
  );
}

function JobPanel({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const { data, error, refetch } = useResource("/jobs/{id}", { path: { id } });
  useKeys({ Escape: onClose });
  if (error && data === undefined) return <Failed error={error} again={() => void refetch()} />;
  if (data === undefined) return null;
  const { type, status, progress, parameters, result } = data;
  const asked = Object.entries(parameters).map(([name, value]) => [inWords(name), String(value)] as const);
  return (
    <>
      <OpenedHead title={inWords(type)} onClose={onClose} actions={<Cancel job={data} />} />
      <Pairs
        pairs={[
          ["Status", <Status key="status" state={status} />],
          ["Progress", <Progress key="progress" job={data} />],
          ["Rows", progress.rows.toLocaleString("en")],
          ...(data.error === null ? [] : [["Why it failed", data.error.detail] as const]),
          ...asked,
          ["As of", <Age key="as-of" at={data.as_of} />],
          ["Asked by", <Id key="by" id={data.created_by} />],
          ["Ended", <Age key="ended" at={data.completed_at} none="–" />],
          ["Downloads", data.downloads],
          ...(result === null ? [] : [["Files until", result.expires_at.slice(0, 10)] as const]),
        ]}
      />
      {result !== null && <Files job={data} />}
    </>
  );
}

function Cancel({ job: { id, status, version } }: { readonly job: Job }) {
  const may = useMay();
  if (ended.has(status) || !may("reports:write")) return null;
  const run = (key: string) => command("POST", "/jobs/{id}/cancel", { key, path: { id } });
  const text = "What it has written cannot be had.";
  return (
    <button
      type="button"
      className="plain"
      onClick={() =>
        openDialog((close) => (
          <ConfirmDialog title="Cancel the export" text={text} word="End it" {...{ version, run }} onClose={close} />
        ))
      }
    >
      Cancel export
    </button>
  );
}

/** The files of an export with their hashes, and addresses of them for five minutes. */
function Files({ job: { id, result, downloads } }: { readonly job: Job }) {
  const may = useMay();
  const [links, setLinks] = useState<Links["files"]>([]);
  const sending = useCommand(`Links ${id} ${downloads}`, (_: string, key) =>
    command<Links>("POST", "/jobs/{id}/links", { key, path: { id } }),
  );
  const [manifest, ...addresses] = links;
  const get = () => sending.mutate(id, { onSuccess: ({ files }) => setLinks(files) });
  return (
    <section className="export-files">
      <h3>Files</h3>
      {sending.error !== null && <CommandError error={sending.error} />}
      {result?.files.map(({ name, rows, bytes, sha256 }, at) => (
        <FileRow key={name} {...{ name, sha256, address: addresses[at]?.signed_url }}>
          {rows.toLocaleString("en")} rows, {sizeOf(bytes)}
        </FileRow>
      ))}
      <FileRow name="Manifest" sha256={result?.sha256 ?? ""} address={manifest?.signed_url}>
        Each file with its rows and its hash
      </FileRow>
      {may("reports:write") && (
        <button type="button" className="plain" disabled={sending.isPending} onClick={get}>
          {links.length === 0 ? "Get links" : "Get new links"}
        </button>
      )}
      {links.length > 0 && (
        <p className="dim" role="status">
          The links work for five minutes. Anybody who has one can read the file.
        </p>
      )}
    </section>
  );
}

interface FileRowProps {
  readonly name: string;
  readonly sha256: string;
  readonly address: string | undefined;
  readonly children: React.ReactNode;
}

function FileRow({ name, sha256, address, children }: FileRowProps) {
  return (
    <div className="export-file">
      <div>{address === undefined ? name : <a href={address}>{name}</a>}</div>
      <div className="dim">{children}</div>
      <code title="SHA-256">{sha256}</code>
    </div>
  );
}

function sizeOf(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  return bytes < 1_048_576 ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / 1_048_576).toFixed(1)} MiB`;
}
