import type { Schemas } from "../../api/types.ts";
import { grouped, inWords, isZero } from "../../parts/format.ts";
import { Pairs, Panel } from "../../parts/page.tsx";
import { Status } from "../../parts/status.tsx";
import type { Column } from "../../parts/table.tsx";
import { Age, Clock, Go, Id, Money } from "../../parts/values.tsx";
import { ActorName } from "../actor.tsx";
import { ClientName } from "../customers/client-name-link.tsx";
import { counterpartyText } from "./approval-data.ts";
import { isOutward, Kind } from "./kind.tsx";

type Transaction = Schemas["Transaction"];

/** Columns of a list of transactions, wherever it stands. */
export const transactionColumns: readonly Column<Transaction>[] = [
  { head: "Kind", width: 130, key: true, small: "name", cell: ({ kind }) => <Kind kind={kind} /> },
  { head: "Id", width: 130, wide: true, cell: ({ id }) => <Id id={id} /> },
  { head: "Status", width: 130, small: "purpose", cell: ({ status }) => <Status state={status} /> },
  { head: "Account", width: 100, wide: true, cell: ({ account_number }) => account_number },
  { head: "To or from", cell: (row) => <span className="dim">{counterpartyText(row)}</span> },
  {
    head: "Amount",
    width: 170,
    right: true,
    small: "amount",
    cell: ({ amount, currency }) => <Money amount={amount} currency={currency} />,
  },
  { head: "Created", width: 110, right: true, small: "age", cell: ({ created_at }) => <Clock at={created_at} /> },
];

/** The amount to decide about, and what remains of it after the fee. */
export function AmountHead({ transaction }: { readonly transaction: Transaction }) {
  const { kind, status, amount, currency, fee, net_amount, id } = transaction;
  return (
    <Panel>
      <p className="with-icon">
        <Status state={status} /> <Id id={id} />
      </p>
      <p className="decide">
        {grouped(amount)} <small>{currency}</small>
      </p>
      {!isZero(fee) && (
        <p className="dim">
          {isOutward(kind) ? "Pays out" : "Books"} {grouped(net_amount)} {currency} after a fee of {grouped(fee)}{" "}
          {currency}
        </p>
      )}
    </Panel>
  );
}

/** Owner of the money, where it goes, and how it came to its state. */
export function TransactionDetails({ transaction }: { readonly transaction: Transaction }) {
  const {
    client_id,
    account_id,
    account_number,
    method,
    external_id,
    provider_reference,
    description,
    expires_at,
    created_by,
  } = transaction;
  const { source, destination, status_reason, created_at } = transaction;
  const holder = (destination ?? source)?.holder;
  return (
    <Panel>
      <Pairs
        pairs={[
          ["Client", <ClientName key="client" id={client_id} />],
          [
            "Account",
            <Go key="account" to={`/accounts/${account_id}`}>
              {account_number}
            </Go>,
          ],
          ["To or from", `${counterpartyText(transaction)}${holder ? `, holder ${holder}` : ""}`],
          [
            "Method",
            method === null ? null : (
              <span key="method" title={method}>
                {inWords(method)}
              </span>
            ),
          ],
          [
            "Created",
            <span key="created">
              <Age at={created_at} /> by <ActorName actor={created_by} />
            </span>,
          ],
          ...(expires_at ? [["Lapses", <Age key="lapses" at={expires_at} />] as const] : []),
          ...(external_id ? [["Your reference", external_id] as const] : []),
          ...(provider_reference ? [["Provider's", provider_reference] as const] : []),
          ...(description ? [["Description", description] as const] : []),
          ...(status_reason
            ? [["Reason", `${inWords(status_reason.code)}. ${status_reason.message ?? ""}`] as const]
            : []),
        ]}
      />
    </Panel>
  );
}

/** The steps of a transaction, oldest first. */
export function Steps({ transaction: { status_history } }: { readonly transaction: Transaction }) {
  return (
    <Panel title="History">
      <ul className="checks">
        {status_history.map(({ to, at, actor }) => (
          <li key={`${to} ${at}`}>
            <Status state={to} />
            <span className="dim">
              by <ActorName actor={actor} />
            </span>
            <Clock at={at} />
          </li>
        ))}
      </ul>
    </Panel>
  );
}
