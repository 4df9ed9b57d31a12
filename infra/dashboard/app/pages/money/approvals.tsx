import { Button } from "@mantine/core";
import { type ReactNode, useEffect, useState } from "react";
import { command } from "../../api/client.ts";
import { countOf, isSending, useCommand, useResource } from "../../api/data.ts";
import type { Schemas } from "../../api/types.ts";
import { addressWith, useAddress } from "../../parts/address.ts";
import { announce, openDialog, useHeldWhileSending } from "../../parts/dialog-host.tsx";
import { Filters, queryOf } from "../../parts/filters.tsx";
import { FormDialog, textOf } from "../../parts/form-dialog.tsx";
import { grouped, inWords, isNegative, less, shortId } from "../../parts/format.ts";
import { useKeys } from "../../parts/keys.ts";
import { Rows, Split } from "../../parts/list.tsx";
import { KeysLine, OpenedHead, PageHead, Panel } from "../../parts/page.tsx";
import { useQueue } from "../../parts/queue.ts";
import { CommandError } from "../../parts/states-of-page.tsx";
import { Mark, Status } from "../../parts/status.tsx";
import type { Column } from "../../parts/table.tsx";
import { Age, Go, Money, Waiting as WaitingSince } from "../../parts/values.tsx";
import { useCaller, useMay } from "../../session/caller.ts";
import { ActorName } from "../actor.tsx";
import { counterpartyText, useApprovals, type Waiting } from "./approval-data.ts";
import { ruleText } from "./approval-rule.ts";
import { isSameName } from "./holder.ts";
import { isOutward, Kind } from "./kind.tsx";
import { AmountHead, TransactionDetails } from "./transaction-parts.tsx";

const filters = [
  {
    name: "kind",
    label: "Kind",
    values: ["deposit", "withdrawal", "transfer_out", "adjustment", "credit_in", "credit_out"],
  },
  { name: "account_id", label: "Account id", wide: true },
  { name: "client_id", label: "Client id", wide: true },
] as const;

const columns: readonly Column<Waiting>[] = [
  { head: "Kind", width: 136, key: true, small: "name", cell: ({ kind }) => <Kind kind={kind} /> },
  { head: "Client", small: "purpose", cell: ({ client, client_id }) => client?.name ?? shortId(client_id) },
  { head: "Account", width: 92, cell: ({ account_number }) => account_number },
  { head: "To or from", wide: true, cell: (row) => counterpartyText(row) },
  { head: "Approvals", width: 90, right: true, wide: true, cell: (row) => `${given(row)} of ${needed(row)}` },
  {
    head: "Amount",
    width: 160,
    right: true,
    small: "amount",
    cell: ({ amount, currency }) => <Money amount={amount} currency={currency} />,
  },
  {
    head: "Waiting",
    width: 100,
    right: true,
    small: "age",
    cell: ({ created_at }) => <WaitingSince since={created_at} />,
  },
];

const given = ({ approvals = [] }: Waiting) => approvals.length;
const needed = (row: Waiting) => given(row) + row.approvals_missing;

/** Transactions that wait for the person's approval, oldest first; keys alone suffice: j, k, a, Enter, r. */
export function ApprovalsPage() {
  const [search] = useAddress();
  const list = useApprovals(queryOf(filters, search));
  const { rows } = list;
  const { opened, at, close } = useQueue(rows);
  const count = countOf(list);
  return (
    <div className="full">
      <PageHead
        title="Approvals"
        note={<span className="dim">{count === "–" ? "" : `${count} wait for you`}</span>}
        actions={
          <KeysLine
            keys={[
              [["j", "k"], "move"],
              [["a"], "approve"],
              [["r"], "reject"],
            ]}
          />
        }
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

interface DecisionProps {
  readonly waiting: Waiting;
  readonly place: string;
  readonly onClose: () => void;
}

const armedForMs = 5_000;

/** One transaction to decide about. `a` arms the button for 5 seconds, and Enter presses it. */
function Decision({ waiting, place, onClose }: DecisionProps) {
  const [armed, setArmed] = useState(false);
  const { id, amount, currency } = waiting;
  const sending = useCommand("Approve", (path: { readonly id: string }, key) =>
    command("POST", "/transactions/{id}/approve", { key, path }),
  );
  // An approved transaction is gone with the next reading of the queue.
  const busy = sending.isPending || sending.isSuccess;
  useHeldWhileSending();
  const sum = `${grouped(amount)} ${currency}`;
  const approve = () => {
    setArmed(false);
    if (!busy && !isSending()) sending.mutate({ id }, { onSuccess: () => announce(`Approved ${sum}.`) });
  };
  const reject = () => openDialog((close) => <Reject waiting={waiting} onClose={close} />);
  useEffect(() => {
    if (!armed) return undefined;
    const timer = window.setTimeout(() => setArmed(false), armedForMs);
    return () => window.clearTimeout(timer);
  }, [armed]);
  // One that has ended, or that any move takes on, is not decided here.
  const open = waiting.approvals_missing > 0 && !busy;
  useKeys({
    a: open ? () => setArmed(true) : undefined,
    Enter: armed ? approve : undefined,
    r: open ? reject : undefined,
  });
  return (
    <>
      <div className="scrolled">
        <OpenedHead title={inWords(waiting.kind)} onClose={onClose} />
        {sending.error !== null && (
          <div className="panel">
            <CommandError error={sending.error} />
          </div>
        )}
        <AmountHead transaction={waiting} />
        <Attention waiting={waiting} />
        <Checks waiting={waiting} />
        <TransactionDetails transaction={waiting} />
        <Approvals waiting={waiting} />
      </div>
      <div className="foot">
        <Button
          className={armed ? "armed" : undefined}
          rightSection={<kbd>{armed ? "Enter" : "a"}</kbd>}
          disabled={!open}
          onClick={approve}
        >
          {sending.isPending ? "Approving" : "Approve"} {sum}
        </Button>
        <Button variant="default" rightSection={<kbd>r</kbd>} disabled={!open} onClick={reject}>
          Reject…
        </Button>
        <span className="dim place">{place}</span>
      </div>
    </>
  );
}

/** Actions of the trading platform so far, and whether anybody is left who could approve. */
function Attention({
  waiting: { set_aside, approvals_missing: missing, approvers_left: left },
}: Pick<DecisionProps, "waiting">) {
  const few = left !== null && left < missing;
  if (set_aside === null && !few) return null;
  return (
    <Panel title="Needs attention">
      {set_aside !== null && (
        <p>
          The trading platform has moved this money already.{" "}
          {missing > 0 ? "The last approval books it." : "It has ended here: book it, or take it back."}{" "}
          <Go to={`/feeds/${set_aside.source_id}?tab=rejects`}>Rejected items of the feed</Go>
        </p>
      )}
      {few && <p>Fewer operators than are needed could still approve it: invite one, or change the rule.</p>}
    </Panel>
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

/** A check: whether it is fine, undefined while that is not known; what it says; and the value. */
type Check = readonly [fine: boolean | undefined, text: string, value: ReactNode];

/** Checks against and for, warnings first; who the money goes to before all. */
function Checks({ waiting }: { readonly waiting: Waiting }) {
  const may = useMay();
  const { account_id, created_by } = waiting;
  const path = { id: account_id };
  const { data: account } = useResource("/accounts/{id}", { path }, { enabled: may("accounts:read") });
  const checks: readonly Check[] = [
    ...holderChecks(waiting),
    [
      true,
      "You did not create it",
      <span key="by">
        by <ActorName actor={created_by} />
      </span>,
    ],
    ...(waiting.client ? clientChecks(waiting.client) : []),
    ...(may("accounts:read") ? accountChecks(waiting, account) : []),
  ];
  const rank = ([fine]: Check) => (fine === false ? 0 : fine === undefined ? 1 : 2);
  return (
    <Panel title="Checks">
      <ul className="checks">
        {checks
          .toSorted((one, other) => rank(one) - rank(other))
          .map(([fine, text, value]) => (
            <li key={text}>
              {fine === undefined ? (
                <Mark shape="ring" tone="text-3" />
              ) : (
                <Mark shape={fine ? "tick" : "triangle"} tone={fine ? "ok" : "warn"} />
              )}
              <span className={fine === false ? "strong" : undefined}>{text}</span>
              <span>{value}</span>
            </li>
          ))}
      </ul>
    </Panel>
  );
}

function holderChecks({ client, destination, source }: Waiting): readonly Check[] {
  const holder = (destination ?? source)?.holder;
  if (!holder || !client) return [];
  return isSameName(holder, client.name)
    ? [[true, "The holder is the client", holder]]
    : [[false, "The holder is not the client", `${holder}, not ${client.name}`]];
}

function clientChecks({ status, verification_status: state }: NonNullable<Waiting["client"]>): readonly Check[] {
  const verified = state === "verified";
  return [
    [verified, verified ? "Client is verified" : "Client is not verified", inWords(state)],
    ...(status === "active" ? [] : [[false, "Client is not active", inWords(status)] as const]),
  ];
}

function accountChecks(
  { kind, amount, account_number }: Waiting,
  account: Schemas["TradingAccount"] | undefined,
): readonly Check[] {
  if (account === undefined) return [[undefined, `Account ${account_number}`, "not known yet"]];
  const { balance, withdrawable, currency, margin_level, margin_status, metrics_as_of, metrics_stale, status } =
    account;
  const after = less(balance, amount);
  const level = margin_level === null ? "no open position" : `${grouped(margin_level)}%`;
  return [
    [true, `Balance of account ${account_number}`, `${grouped(balance)} ${currency}`],
    // The amount that the transaction holds is not withdrawable any more, so nothing of it is counted twice.
    ...(isOutward(kind)
      ? [
          [!isNegative(withdrawable), "Withdrawable beside this", `${grouped(withdrawable)} ${currency}`] as const,
          [!isNegative(after), "Balance after", `${grouped(after)} ${currency}`] as const,
        ]
      : []),
    [
      margin_status === "normal",
      "Margin level",
      <>
        {level}, <Age at={metrics_as_of} />
      </>,
    ],
    ...(metrics_stale
      ? [[false, "Prices of the account are stale", <Age key="age" at={metrics_as_of} />] as const]
      : []),
    ...(status === "active" ? [] : [[false, "Account is not active", inWords(status)] as const]),
  ];
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
