import { Button } from "@mantine/core";
import { countOf, useList } from "../../api/data.ts";
import type { Schemas } from "../../api/types.ts";
import { addressWith, useAddress } from "../../parts/address.ts";
import { openDialog, useHeldWhileSending } from "../../parts/dialog-host.tsx";
import { dateOf, inWords } from "../../parts/format.ts";
import { useKeys } from "../../parts/keys.ts";
import { Rows, Split } from "../../parts/list.tsx";
import { KeysLine, OpenedHead, PageHead, Pairs, Panel } from "../../parts/page.tsx";
import { useQueue } from "../../parts/queue.ts";
import { Status } from "../../parts/status.tsx";
import type { Column } from "../../parts/table.tsx";
import { Age, Go, Id, Waiting } from "../../parts/values.tsx";
import { identityFacts, RejectIdentity, VerifyIdentity } from "./client-forms.tsx";
import { nameOf } from "./client-name.ts";
import { type IdentityQueue, useIdentities } from "./identities.ts";
import { Reviews } from "./reviews.tsx";

type Client = Schemas["BrokerageClient"];

const who: readonly Column<Client>[] = [
  { head: "Client", key: true, small: "name", cell: (row) => nameOf(row) },
  { head: "Country", width: 80, small: "purpose", cell: ({ country }) => country ?? "–" },
  { head: "Risk", width: 80, wide: true, cell: ({ risk_level }) => inWords(risk_level) },
];

const columns: Readonly<Record<IdentityQueue, readonly Column<Client>[]>> = {
  decision: [
    ...who,
    {
      head: "Waiting",
      width: 110,
      right: true,
      small: "age",
      cell: ({ verification, created_at }) => <Waiting since={verification.submitted_at ?? created_at} />,
    },
  ],
  renewal: [
    ...who,
    { head: "Identity", width: 110, cell: ({ verification_status }) => <Status state={verification_status} /> },
    {
      head: "Ends",
      width: 110,
      right: true,
      small: "age",
      cell: ({ verification: { expires_at } }) => (expires_at === null ? "–" : dateOf(expires_at)),
    },
  ],
};

const titles: Readonly<Record<IdentityQueue, string>> = { decision: "Decisions", renewal: "Renewals" };

const empty: Readonly<Record<IdentityQueue, { readonly title: string; readonly text: string }>> = {
  decision: { title: "No identity waits", text: "A client whose verification is requested appears here." },
  renewal: { title: "No verification ends soon", text: "Those that end within 30 days, or have ended, appear here." },
};

/** Identities to decide, and verifications to renew; keys alone suffice: j, k, v, r, f. */
export function CompliancePage() {
  const [search, change] = useAddress();
  const kind: IdentityQueue = search["kind"] === "renewal" ? "renewal" : "decision";
  const lists = { decision: useIdentities("decision"), renewal: useIdentities("renewal") };
  const { rows } = lists[kind];
  const { opened, at, close } = useQueue(rows);
  return (
    <div className="full">
      <PageHead
        title="Compliance"
        actions={
          <KeysLine
            keys={[
              [["j", "k"], "move"],
              [["v"], "verify"],
              [["r"], "ask again"],
              [["f"], "reject"],
            ]}
          />
        }
      />
      <nav className="tabs" aria-label="Queues">
        {(["decision", "renewal"] as const).map((one) => (
          <Go key={one} to={addressWith("/compliance", { kind: one })} current={one === kind}>
            {titles[one]} <span className="count">{countOf(lists[one])}</span>
          </Go>
        ))}
      </nav>
      <Split
        queue
        list={
          <Rows
            list={lists[kind]}
            caption={titles[kind]}
            columns={columns[kind]}
            idOf={({ id }) => id}
            to={({ id }) => addressWith("/compliance", { ...search, open: id })}
            selected={opened?.id}
            empty={empty[kind]}
          />
        }
        opened={
          opened ? (
            <Decision
              key={opened.id}
              client={opened}
              place={`${at + 1} of ${rows.length}`}
              onClose={close}
              // The client leaves the queue with its next reading; the one behind it is to be decided next.
              onDecided={() => change({ open: (rows[at + 1] ?? rows[at - 1])?.id }, true)}
            />
          ) : null
        }
      />
    </div>
  );
}

interface DecisionProps {
  readonly client: Client;
  readonly place: string;
  readonly onClose: () => void;
  readonly onDecided: () => void;
}

function Decision({ client, place, onClose, onDecided }: DecisionProps) {
  useHeldWhileSending();
  const verify = () => openDialog((close) => <VerifyIdentity client={client} onClose={close} onDone={onDecided} />);
  const reject = (retry: boolean) => () =>
    openDialog((close) => <RejectIdentity client={client} retry={retry} onClose={close} onDone={onDecided} />);
  useKeys({ v: verify, r: reject(true), f: reject(false) });
  const { verification, verification_status: state } = client;
  return (
    <>
      <div className="scrolled">
        <OpenedHead
          title={nameOf(client)}
          onClose={onClose}
          actions={<Go to={`/clients/${client.id}`}>Open client</Go>}
        />
        <Panel title="Identity" side={<Status state={state} />}>
          <Pairs
            pairs={[
              ...identityFacts(client).filter(([name]) => name !== "Identity"),
              ["Email", client.email],
              ["Phone", client.phone],
              ["Risk", inWords(client.risk_level)],
              ["Submitted", <Age key="submitted" at={verification.submitted_at} />],
              ["Provider", verification.provider],
              ["Reference", verification.reference],
              ["Id", <Id key="id" id={client.id} />],
            ]}
          />
        </Panel>
        <Lookalikes client={client} />
        <Reviews clientId={client.id} />
      </div>
      <div className="foot">
        <Button rightSection={<kbd>v</kbd>} onClick={verify}>
          {state === "verified" ? "Renew…" : "Verify…"}
        </Button>
        <Button variant="default" rightSection={<kbd>r</kbd>} onClick={reject(true)}>
          Ask again…
        </Button>
        <Button variant="default" rightSection={<kbd>f</kbd>} onClick={reject(false)}>
          Reject…
        </Button>
        <span className="dim place">{place}</span>
      </div>
    </>
  );
}

function isLike(one: Client, other: Client): boolean {
  const [born, alsoBorn] = [one.date_of_birth, other.date_of_birth];
  const isSameName = nameOf(one).toLowerCase() === nameOf(other).toLowerCase();
  if (one.email === other.email || (one.phone !== null && one.phone === other.phone)) return true;
  return isSameName && (born === null || alsoBorn === null || born === alsoBorn);
}

/** Other clients who may be the same person: nothing else finds one who was rejected for good and comes again. */
function Lookalikes({ client }: { readonly client: Client }) {
  const ofText = (search: string) => ({ query: { search, limit: 25 } });
  const found = [
    ...useList("/clients", ofText(nameOf(client))).rows,
    ...useList("/clients", ofText(client.phone ?? nameOf(client))).rows,
    ...useList("/clients", { query: { email: client.email, limit: 25 } }).rows,
  ];
  const others = new Map(
    found.filter((one) => one.id !== client.id && isLike(one, client)).map((one) => [one.id, one]),
  );
  if (others.size === 0) return null;
  return (
    <Panel title="May be the same person">
      <ul className="checks">
        {[...others.values()].map((one) => (
          <li key={one.id}>
            <Status state={one.verification_status} word="" />
            <Go to={`/clients/${one.id}`}>{nameOf(one)}</Go>
            <span>
              {inWords(one.verification_status)}, {inWords(one.status).toLowerCase()}
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
