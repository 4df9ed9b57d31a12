import { Button } from "@mantine/core";
import { type ReactNode, useEffect, useState } from "react";
import { command } from "../../api/client.ts";
import { useCommand, useResource } from "../../api/data.ts";
import { addressWith, useAddress } from "../../parts/address.ts";
import { Filters, queryOf } from "../../parts/filters.tsx";
import { FormDialog, textOf } from "../../parts/form-dialog.tsx";
import { dateOf, grouped, inWords } from "../../parts/format.ts";
import { useKeys } from "../../parts/keys.ts";
import { Rows, Split } from "../../parts/list.tsx";
import { OpenedHead, PageHead, Panel } from "../../parts/page.tsx";
import { ErrorNotice } from "../../parts/states-of-page.tsx";
import { Mark, Status } from "../../parts/status.tsx";
import type { Column } from "../../parts/table.tsx";
import { Age, Money, Waiting as WaitingSince } from "../../parts/values.tsx";
import { useCaller, useMay } from "../../session/caller.ts";
import { ActorName } from "../actor.tsx";
import { placeOf, useApprovals, type Waiting } from "./approval-data.ts";
import { ruleText } from "./approval-rule.ts";
import { Kind } from "./kind.tsx";
import { AmountHead, TransactionDetails } from "./transaction-parts.tsx";

const filters = [
  { name: "kind", label: "Kind", values: ["deposit", "withdrawal"] },
  { name: "account_id", label: "Account id", wide: true },
  { name: "client_id", label: "Client id", wide: true },
] as const;

const columns: readonly Column<Waiting>[] = [
  { head: "Kind", width: 150, key: true, small: "name", cell: ({ kind }) => <Kind kind={kind} /> },
  { head: "To or from", small: "purpose", cell: (row) => placeOf(row) },
  { head: "Approvals", width: 100, right: true, cell: (row) => `${given(row)} of ${needed(row)}` },
  {
    head: "Amount",
    width: 170,
    right: true,
    small: "amount",
    cell: ({ amount, currency }) => <Money amount={amount} currency={currency} />,
  },
  {
    head: "Waiting",
    width: 130,
    right: true,
    small: "age",
    cell: ({ created_at }) => <WaitingSince since={created_at} />,
  },
];

const given = ({ approvals = [] }: Waiting) => approvals.length;
const needed = (row: Waiting) => given(row) + row.approvals_missing;

/** What waits for the person's approval, oldest first; keys alone suffice: j, k, a, Enter, r. */
export function ApprovalsPage() {
  const [search, change] = useAddress();
  const list = useApprovals(queryOf(filters, search));
  const { rows } = list;
  const at = rows.findIndex(({ id }) => id === search["open"]);
  const opened = rows[at];
  const go = (step: 1 | -1) => {
    const next = rows[at === -1 ? 0 : Math.min(rows.length - 1, Math.max(0, at + step))];
    if (next !== undefined) change({ open: next.id }, true);
  };
  const close = () => change({ open: undefined });
  useKeys({ j: () => go(1), k: () => go(-1), Escape: close });
  return (
    <div className="full">
      <PageHead
        title="Approvals"
        note={<span className="dim">{`${rows.length}${list.hasMore ? "+" : ""} wait for you`}</span>}
        actions={<KeysLine />}
      />
      <Filters filters={filters}>
        <span className="dim">oldest first</span>
      </Filters>
      <Split
        queue
        list={
          <Rows
            list={list}
            caption="Waiting for approval"
            filters={filters}
            columns={columns}
            idOf={({ id }) => id}
            to={({ id }) => addressWith("/approvals", { ...search, open: id })}
            selected={opened?.id}
            empty={{
              title: "Nothing waits for you",
              text: "What another person or a program creates appears here, if it needs an approval.",
            }}
          />
        }
        opened={
          opened ? (
            <Decision key={opened.id} waiting={opened} place={`${at + 1} of ${rows.length}`} onClose={close} />
          ) : null
        }
      />
    </div>
  );
}

function KeysLine() {
  const keys = [
    [["j", "k"], "move"],
    [["a"], "approve"],
    [["r"], "reject"],
  ] as const;
  return (
    <span className="chips keys-line dim">
      {keys.map(([pressed, what]) => (
        <span key={what} className="with-icon">
          {pressed.map((key) => (
            <kbd key={key}>{key}</kbd>
          ))}
          {what}
        </span>
      ))}
    </span>
  );
}

interface DecisionProps {
  readonly waiting: Waiting;
  readonly place: string;
  readonly onClose: () => void;
}

const armedForMs = 5_000;

/** One transaction to decide about. `a` arms the button for 5 seconds, and Enter presses it. */
function Decision({ waiting, place, onClose }: DecisionProps) {
  const [armed, setArmed] = useState(false);
  const [rejecting, setRejecting] = useState(false);
  const { id, amount, currency } = waiting;
  const sending = useCommand((path: { readonly id: string }, key) =>
    command("POST", "/transactions/{id}/approve", { key, path }),
  );
  const approve = () => {
    setArmed(false);
    sending.mutate({ id });
  };
  useEffect(() => {
    if (!armed) return undefined;
    const timer = window.setTimeout(() => setArmed(false), armedForMs);
    return () => window.clearTimeout(timer);
  }, [armed]);
  useKeys({ a: () => setArmed(true), Enter: armed ? approve : undefined, r: () => setRejecting(true) });
  const sum = `${grouped(amount)} ${currency}`;
  return (
    <>
      <div className="scrolled">
        <OpenedHead title={inWords(waiting.kind)} onClose={onClose} />
        {sending.error !== null && (
          <div className="panel">
            <ErrorNotice error={sending.error} />
          </div>
        )}
        <AmountHead transaction={waiting} />
        <Checks waiting={waiting} />
        <TransactionDetails transaction={waiting} />
        <Approvals waiting={waiting} />
      </div>
      <div className="foot">
        <Button
          className={armed ? "armed" : undefined}
          rightSection={<kbd>{armed ? "Enter" : "a"}</kbd>}
          disabled={sending.isPending}
          onClick={approve}
        >
          Approve {sum}
        </Button>
        <Button variant="default" rightSection={<kbd>r</kbd>} onClick={() => setRejecting(true)}>
          Reject…
        </Button>
        <span className="dim place">{place}</span>
      </div>
      {rejecting && <Reject waiting={waiting} onClose={() => setRejecting(false)} />}
    </>
  );
}

function Reject({ waiting, onClose }: { readonly waiting: Waiting; readonly onClose: () => void }) {
  return (
    <FormDialog
      title={`Reject ${grouped(waiting.amount)} ${waiting.currency}`}
      fields={[
        {
          name: "code",
          label: "Reason",
          kind: "choice",
          values: ["suspected_fraud", "wrong_details", "client_request", "compliance", "other"],
          first: "wrong_details",
        },
        { name: "message", label: "In words", kind: "area", optional: true, help: "The maker reads it." },
      ]}
      submit={`Reject ${grouped(waiting.amount)} ${waiting.currency}`}
      danger
      run={(entered, key) => {
        const message = textOf(entered, "message");
        const reason = { code: textOf(entered, "code"), ...(message && { message }) };
        return command("POST", "/transactions/{id}/reject", { key, path: { id: waiting.id }, body: { reason } });
      }}
      onClose={onClose}
    />
  );
}

/** What speaks for and against, warnings first. */
function Checks({ waiting }: { readonly waiting: Waiting }) {
  const may = useMay();
  const { client_id, account_id, created_by, kind, currency } = waiting;
  const path = { id: client_id };
  const { data: client } = useResource("/clients/{id}", { path }, { enabled: may("clients:read") });
  const { data: account } = useResource(
    "/accounts/{id}",
    { path: { id: account_id } },
    { enabled: may("accounts:read") },
  );
  const checks: (readonly [fine: boolean, text: string, value: ReactNode])[] = [
    [
      true,
      "You did not create it",
      <span key="by">
        by <ActorName actor={created_by} />
      </span>,
    ],
  ];
  if (client !== undefined) {
    const verified = client.verification_status === "verified";
    const since = client.verification?.verified_at;
    checks.push([
      verified,
      verified ? "Client is verified" : "Client is not verified",
      verified && since ? dateOf(since) : inWords(client.verification_status),
    ]);
    if (client.status !== "active") checks.push([false, "Client is not active", inWords(client.status)]);
  }
  if (account !== undefined) {
    if (kind === "withdrawal") checks.push([true, "Held on the account", `${grouped(account.held)} ${currency}`]);
    const normal = account.margin_status === "normal";
    const level = account.margin_level === null ? "no open position" : `${grouped(account.margin_level)}%`;
    checks.push([
      normal,
      "Margin level",
      <>
        {level}, <Age at={account.metrics_as_of} />
      </>,
    ]);
    if (account.metrics_stale)
      checks.push([false, "Prices of the account are stale", <Age key="age" at={account.metrics_as_of} />]);
    if (account.status !== "active") checks.push([false, "Account is not active", inWords(account.status)]);
  }
  return (
    <Panel title="Checks">
      <ul className="checks">
        {checks
          .toSorted(([one], [other]) => Number(one) - Number(other))
          .map(([fine, text, value]) => (
            <li key={text}>
              <Mark shape={fine ? "tick" : "triangle"} tone={fine ? "ok" : "warn"} />
              <span className={fine ? undefined : "strong"}>{text}</span>
              <span>{value}</span>
            </li>
          ))}
      </ul>
    </Panel>
  );
}

/** Why the transaction needs an approval, in words. */
function reasonOf({ rule, kind }: Waiting): string {
  if (rule !== null) return ruleText(rule);
  return kind === "deposit" || kind === "withdrawal"
    ? "Four eyes: the maker does not approve"
    : "Another one than the maker";
}

function Approvals({ waiting }: { readonly waiting: Waiting }) {
  const { operator } = useCaller();
  const { approvals = [] } = waiting;
  return (
    <Panel title="Approvals" note={`${given(waiting)} of ${needed(waiting)}`}>
      <p className="dim">{reasonOf(waiting)}</p>
      <ul className="checks">
        {approvals.map(({ actor, at }) => (
          <li key={actor.id}>
            <Status state="approved" word="" />
            <ActorName actor={actor} />
            <Age at={at} />
          </li>
        ))}
        <li>
          <Mark shape="ring" tone="accent" />
          <span>
            You <span className="dim">{operator?.role}</span>
          </span>
          <span>not yet</span>
        </li>
      </ul>
    </Panel>
  );
}
