import { Button } from "@mantine/core";
import { command, post } from "../../api/client.ts";
import { useCommand, useResource } from "../../api/data.ts";
import type { Schemas } from "../../api/types.ts";
import { addressWith, useAddress, useId } from "../../parts/address.ts";
import { ActionButton, ConfirmDialog, MoreMenu } from "../../parts/dialogs.tsx";
import { FormDialog, textOf } from "../../parts/form-dialog.tsx";
import { inWords, lengthOf } from "../../parts/format.ts";
import { ListView } from "../../parts/list.tsx";
import { byId, listPart } from "../../parts/list-part.tsx";
import { Crumb, Facts, Json, PageHead, Parts } from "../../parts/page.tsx";
import { FailedPage } from "../../parts/states-of-page.tsx";
import { Status } from "../../parts/status.tsx";
import type { Column } from "../../parts/table.tsx";
import { Age, Clock, Id, Maybe, Waiting } from "../../parts/values.tsx";
import { useMay } from "../../session/caller.ts";
import { useClientNames } from "../customers/client-column.tsx";
import { driftColumns, ResolveDrift } from "./drift.tsx";
import { feedState } from "./feed-state.ts";

type Source = Schemas["FeedSource"];

/** One feed: its lag, what it rejected, its commands, snapshots and drift. */
export function FeedPage() {
  const id = useId();
  const { data, error, refetch } = useResource("/feed/sources/{id}", { path: { id } });
  const may = useMay();
  if (error && data === undefined) return <FailedPage error={error} again={() => void refetch()} />;
  if (data === undefined) return null;
  const { name, display_name, lag_ms, accepted_through } = data;
  return (
    <>
      <PageHead
        title={display_name ?? name}
        crumbs={
          <Crumb to="/feeds" name="Feeds">
            <Id id={id} />
          </Crumb>
        }
        note={<Status state={feedState(data)} />}
        actions={may("feed:write") && data.status === "active" && <Actions source={data} />}
      />
      <Facts
        facts={[
          ["Name", name],
          ["Last batch", <Age key="batch" at={data.last_batch_at} />],
          ["Lag", lag_ms === null ? "–" : lengthOf(lag_ms)],
          ["Accepted through", accepted_through ?? "–"],
          ["Expects", data.expected_next_seq],
          ["Price epoch", data.quote_epoch],
          ["Platform", inWords(data.platform)],
          ["Closes positions at the stop-out level", inWords(data.authoritative)],
          ["Snapshots", <Snapshots key="snapshots" source={data} />],
          ["Clock", <PlatformClock key="clock" source={data} />],
        ]}
      />
      <Exchanged id={id} />
    </>
  );
}

/** How often the books are compared, or since when no snapshot comes. */
function Snapshots({ source }: { readonly source: Source }) {
  const { snapshot_interval_seconds: seconds, snapshots_late_since: since } = source;
  if (since === null) return `Every ${lengthOf(seconds * 1000)}`;
  return (
    <span className="warn">
      Late for <Waiting since={since} />
    </span>
  );
}

/** Whether the times of its items are believed, or since when not and what the first of them said. */
function PlatformClock({ source: { clock_off } }: { readonly source: Source }) {
  if (clock_off === null) return "Right";
  return (
    <span className="warn">
      Off since <Clock at={clock_off.since} />: an item says <Clock at={clock_off.reported_at} />
    </span>
  );
}

function Actions({ source: { id, name, paused, version } }: { readonly source: Source }) {
  return (
    <MoreMenu
      actions={[
        {
          word: paused ? "Resume" : "Pause",
          dialog: (close) => (
            <ConfirmDialog
              title={paused ? `Resume ${name}` : `Pause ${name}`}
              text={
                paused
                  ? "Its commands are handed out again."
                  : "Its commands wait until it is resumed. Its batches and prices are still taken."
              }
              word={paused ? "Resume" : "Pause"}
              version={version}
              run={(key) => command("PATCH", "/feed/sources/{id}", { key, path: { id }, body: { paused: !paused } })}
              onClose={close}
            />
          ),
        },
        {
          word: "End",
          dialog: (close) => (
            <ConfirmDialog
              title={`End ${name}`}
              text="The platform cannot send anything any more. This cannot be undone."
              word="End"
              danger
              version={version}
              run={(key) => command("DELETE", "/feed/sources/{id}", { key, path: { id } })}
              onClose={close}
            />
          ),
        },
      ]}
    />
  );
}

const rejectColumns: readonly Column<Schemas["FeedReject"]>[] = [
  { head: "Sequence", width: 110, key: true, small: "name", cell: ({ seq }) => seq },
  { head: "Code", width: 200, small: "purpose", cell: ({ code }) => inWords(code) },
  { head: "Detail", cell: ({ detail }) => <span title={detail}>{detail}</span> },
  { head: "Status", width: 110, small: "amount", cell: ({ status }) => <Status state={status} /> },
  { head: "Tries", width: 70, right: true, cell: ({ tries }) => tries },
  { head: "At", width: 130, right: true, small: "age", cell: ({ created_at }) => <Clock at={created_at} /> },
  {
    head: "Action",
    width: 190,
    right: true,
    cell: (row) => (row.status === "open" ? <RejectActions reject={row} /> : null),
  },
];

/** Applies a rejected item again, or takes it off the list with a reason, beside what was booked under its name. */
function RejectActions({ reject }: { readonly reject: Schemas["FeedReject"] }) {
  const may = useMay();
  const { source_id: id, reject_id: seq } = reject;
  const sending = useCommand("Retry a reject", (path: { readonly id: string; readonly seq: string }) =>
    post("/feed/sources/{id}/rejects/{seq}/retry", { path }, {}),
  );
  if (!may("transactions:settle")) return null;
  return (
    <span className="with-icon">
      <Button
        variant="default"
        disabled={sending.isPending}
        title={sending.error?.message}
        onClick={() => sending.mutate({ id, seq })}
      >
        {sending.error === null ? "Retry" : "Refused"}
      </Button>
      {reject.code === "approval_required" ? (
        <ActionButton word="Settle…" dialog={(close) => <SettleReject reject={reject} onClose={close} />} />
      ) : (
        <ActionButton word="Dismiss…" dialog={(close) => <DismissReject reject={reject} onClose={close} />} />
      )}
    </span>
  );
}

/** Decides on money that the platform moved for a transaction which has ended here. */
function SettleReject({ reject, onClose }: DismissProps) {
  const { source_id: id, reject_id: seq } = reject;
  return (
    <FormDialog
      title={`Settle the item ${reject.seq}`}
      intro={<p>{reject.detail}</p>}
      fields={[
        {
          name: "how",
          label: "Do",
          kind: "choice",
          values: [
            ["take_back", "Ask the platform to take it back"],
            ["confirm_new", "Make a new transaction of it, to be approved"],
          ],
          first: "take_back",
        },
      ]}
      submit="Settle"
      run={(entered) => {
        const how = textOf(entered, "how") ?? "";
        return post("/feed/sources/{id}/rejects/{seq}/retry", { path: { id, seq } }, { [how]: true });
      }}
      onClose={onClose}
    />
  );
}

interface DismissProps {
  readonly reject: Schemas["FeedReject"];
  readonly onClose: () => void;
}

function DismissReject({ reject, onClose }: DismissProps) {
  const { source_id: id, reject_id: seq, item, booked } = reject;
  return (
    <FormDialog
      title={`Dismiss the rejected item ${reject.seq}`}
      wide
      intro={
        <>
          <p>{reject.detail} It will never be applied.</p>
          <Json value={item} label="Rejected item" />
          {booked && <Json value={booked} label="What was booked under its name" />}
        </>
      }
      fields={[
        { name: "code", label: "Reason", first: "reviewed", help: "A code." },
        { name: "message", label: "In words", optional: true },
      ]}
      submit="Dismiss"
      run={(entered, key) => {
        const message = textOf(entered, "message");
        const reason = { code: textOf(entered, "code") ?? "", ...(message && { message }) };
        return command("POST", "/feed/sources/{id}/rejects/{seq}/dismiss", {
          key,
          path: { id, seq },
          body: { reason },
        });
      }}
      onClose={onClose}
    />
  );
}

const commandColumns: readonly Column<Schemas["Command"]>[] = [
  { head: "Type", key: true, small: "name", cell: ({ type }) => inWords(type) },
  { head: "Id", width: 130, cell: ({ id }) => <Id id={id} /> },
  { head: "Account", width: 130, cell: ({ account_id }) => <Id id={account_id} /> },
  { head: "Status", width: 120, small: "purpose", cell: ({ status }) => <Status state={status} /> },
  { head: "Attempt", width: 90, right: true, small: "amount", cell: ({ attempt }) => attempt },
  { head: "Error", width: 160, cell: ({ error }) => <Maybe value={error && inWords(error.code)} /> },
  { head: "Issued", width: 130, right: true, small: "age", cell: ({ issued_at }) => <Clock at={issued_at} /> },
];

const snapshotColumns: readonly Column<Schemas["FeedSnapshot"]>[] = [
  { head: "Snapshot", key: true, small: "name", cell: ({ snapshot_id }) => snapshot_id },
  {
    head: "Complete",
    width: 110,
    small: "purpose",
    cell: ({ complete, received_parts, parts }) => (complete ? "Complete" : `${received_parts} of ${parts}`),
  },
  { head: "Equal", width: 90, right: true, cell: ({ equal }) => equal },
  { head: "Moved on", width: 90, right: true, cell: ({ moved_on }) => moved_on },
  {
    head: "Drifting",
    width: 90,
    right: true,
    small: "amount",
    cell: ({ drifting }) => <span className={drifting > 0 ? "warn strong" : undefined}>{drifting}</span>,
  },
  { head: "Missing", width: 90, right: true, cell: ({ missing }) => <Maybe value={missing} /> },
  { head: "Taken", width: 130, right: true, small: "age", cell: ({ taken_at }) => <Clock at={taken_at} /> },
];

function Exchanged({ id }: { readonly id: string }) {
  return (
    <Parts
      address={`/feeds/${id}`}
      parts={[
        listPart(id, {
          name: "Rejects",
          path: "/feed/sources/{id}/rejects",
          caption: "Rejected items",
          columns: rejectColumns,
          idOf: ({ reject_id }) => reject_id,
          empty: { title: "No rejected items", text: "Items that could not be applied appear here, with a retry." },
        }),
        listPart(id, {
          name: "Commands",
          path: "/feed/sources/{id}/commands",
          columns: commandColumns,
          idOf: byId,
          empty: { title: "No commands", text: "What the service asks the platform to do appears here." },
        }),
        listPart(id, {
          name: "Snapshots",
          path: "/feed/sources/{id}/snapshots",
          columns: snapshotColumns,
          idOf: ({ snapshot_id }) => snapshot_id,
          empty: { title: "No snapshots", text: "A snapshot compares the books of the platform with ours." },
        }),
        { value: "drift", name: "Drift", scope: "transactions:read", content: <Drifts source={id} /> },
      ]}
    />
  );
}

function Drifts({ source }: { readonly source: string }) {
  const [search, change] = useAddress();
  const names = useClientNames();
  const opened = search["open"];
  return (
    <>
      <ListView
        dense
        path="/drift"
        params={{ query: { source_id: source, ...names.query } }}
        caption="Drift"
        filters={[{ name: "status", label: "Status", values: ["open", "resolved"] }]}
        columns={driftColumns}
        idOf={({ id }) => id}
        to={({ id }) => addressWith(`/feeds/${source}`, { ...search, open: id })}
        selected={opened}
        empty={{
          title: "No drift",
          text: "Differences between the books of the platform and those of the service appear here.",
        }}
      />
      {opened && <ResolveDrift id={opened} onClose={() => change({ open: undefined })} />}
    </>
  );
}
