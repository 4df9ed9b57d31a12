import type { ReactNode } from "react";
import { useResource } from "../../api/data.ts";
import type { Schemas } from "../../api/types.ts";
import { addressWith, useId } from "../../parts/address.ts";
import { ActionButton, MoreMenu } from "../../parts/dialogs.tsx";
import { dateOf, inWords } from "../../parts/format.ts";
import { byId, listPart } from "../../parts/list-part.tsx";
import { Crumb, PageHead, Pairs, Panel, Parts } from "../../parts/page.tsx";
import { FailedPage } from "../../parts/states-of-page.tsx";
import { Status } from "../../parts/status.tsx";
import { Clock, Go, Id } from "../../parts/values.tsx";
import { useCaller, useMay } from "../../session/caller.ts";
import { transactionColumns } from "../money/transaction-parts.tsx";
import { CreateAccount } from "./account-forms.tsx";
import { accountColumns } from "./accounts.tsx";
import {
  AddNote,
  EditClient,
  PendIdentity,
  RejectIdentity,
  SimulateIdentity,
  VerifyIdentity,
} from "./client-forms.tsx";
import { nameOf } from "./client-name.ts";
import { Reviews } from "./reviews.tsx";
import { tradeColumns } from "./trading-columns.tsx";

type Client = Schemas["BrokerageClient"];

/** One client: who they are, and what they hold. */
export function ClientPage() {
  const id = useId();
  const { data, error, refetch } = useResource("/clients/{id}", { path: { id } });
  const may = useMay();
  if (error && data === undefined) return <FailedPage error={error} again={() => void refetch()} />;
  if (data === undefined) return null;
  return (
    <>
      <PageHead
        title={nameOf(data)}
        crumbs={
          <Crumb to="/clients" name="Clients">
            <Id id={id} />
          </Crumb>
        }
        note={
          <>
            <Status state={data.status} />
            <Status state={data.verification_status} word={`Identity ${data.verification_status}`} />
          </>
        }
        actions={
          <>
            {may("accounts:write") && data.status === "active" && (
              <ActionButton
                word="Open account"
                icon="plus"
                dialog={(close) => <CreateAccount clientId={id} onClose={close} />}
              />
            )}
            {may("clients:write") && data.status !== "closed" && (
              <ActionButton word="Edit" dialog={(close) => <EditClient client={data} onClose={close} />} />
            )}
            <Identity client={data} />
          </>
        }
      />
      <div className="columns">
        <Holdings id={id} />
        <div className="side-column">
          <Details client={data} />
        </div>
      </div>
    </>
  );
}

/** The decisions about an identity that its state allows, and notes. */
function Identity({ client }: { readonly client: Client }) {
  const may = useMay();
  const { environment } = useCaller();
  const { status, verification_status: state } = client;
  if (status === "closed") return null;
  const action = (word: string, form: (close: () => void) => ReactNode) => ({ word, dialog: form });
  const verify = action(state === "verified" ? "Renew verification" : "Verify identity", (close) => (
    <VerifyIdentity client={client} onClose={close} />
  ));
  const decisions = [
    ...(state === "verified" ? [verify] : []),
    ...(state === "rejected"
      ? []
      : [action("Reject identity", (close) => <RejectIdentity client={client} onClose={close} />)]),
    ...(state === "pending" ? [] : [action("To pending", (close) => <PendIdentity client={client} onClose={close} />)]),
  ];
  const simulated = (["verify", "reject"] as const).map((result) =>
    action(result === "verify" ? "Simulate a passed check" : "Simulate a failed check", (close) => (
      <SimulateIdentity client={client} result={result} onClose={close} />
    )),
  );
  return (
    <>
      {may("clients:verify") && state !== "verified" && <ActionButton {...verify} />}
      {may("clients:write") && (
        <ActionButton word="Note" dialog={(close) => <AddNote client={client} onClose={close} />} />
      )}
      <MoreMenu
        actions={[
          ...(may("clients:verify") ? decisions : []),
          ...(environment === "sandbox" && may("sandbox") ? simulated : []),
        ]}
      />
    </>
  );
}

function Holdings({ id }: { readonly id: string }) {
  return (
    <Parts
      address={`/clients/${id}`}
      parts={[
        listPart(id, {
          name: "Accounts",
          scope: "accounts:read",
          path: "/clients/{id}/accounts",
          columns: accountColumns,
          to: (row) => `/accounts/${row.id}`,
          idOf: byId,
          empty: { title: "No accounts", text: "Open one to take deposits." },
        }),
        listPart(id, {
          name: "Transactions",
          scope: "transactions:read",
          path: "/clients/{id}/transactions",
          columns: transactionColumns,
          to: (row) => `/transactions?open=${row.id}`,
          idOf: byId,
          empty: { title: "No transactions", text: "Transactions of all accounts are listed here." },
        }),
        listPart(id, {
          name: "Trades",
          scope: "trading:read",
          path: "/clients/{id}/trades",
          columns: tradeColumns,
          idOf: byId,
          empty: { title: "No trades", text: "Trades of all accounts are listed here." },
        }),
      ]}
    />
  );
}

function Details({ client }: { readonly client: Client }) {
  const { address, verification, tags } = client;
  const place =
    address &&
    [address.line1, address.line2, address.postal_code, address.city, address.country].filter(Boolean).join(", ");
  return (
    <>
      <Panel title="Details">
        <Pairs
          pairs={[
            ["Email", client.email],
            ["Phone", client.phone],
            ["Type", inWords(client.type)],
            ["Born", client.date_of_birth === null ? null : dateOf(client.date_of_birth)],
            ["Nationality", client.nationality],
            ["Country", client.country],
            ["Address", place],
            ["Language", client.language],
            ["Class", inWords(client.classification)],
            ["Risk", inWords(client.risk_level)],
            ["Tags", tags.join(", ")],
            ["Your reference", client.external_id],
            ["Created", <Clock key="created" at={client.created_at} />],
          ]}
        />
      </Panel>
      <Panel title="Identity" side={<Status state={client.verification_status} />}>
        <Pairs
          pairs={[
            ["Level", inWords(verification?.level ?? "none")],
            ["Provider", verification?.provider ?? null],
            ["Reference", verification?.reference ?? null],
            ["Verified", <Clock key="verified" at={verification?.verified_at} />],
            ["Expires", verification?.expires_at ? dateOf(verification.expires_at) : null],
            ...(verification?.rejection_reasons.length
              ? [["Rejected for", verification.rejection_reasons.map(inWords).join(", ")] as const]
              : []),
            ...(verification?.retry_allowed === false ? [["Rejection", "Final"] as const] : []),
            ...(verification?.checks.length ? [["Checks", verification.checks.map(inWords).join(", ")] as const] : []),
            ...(verification?.comment ? [["For the client", verification.comment] as const] : []),
          ]}
        />
      </Panel>
      <Reviews clientId={client.id} />
      <Panel title="Timeline">
        <Go to={addressWith("/events", { client_id: client.id })}>All events of this client</Go>
      </Panel>
    </>
  );
}
