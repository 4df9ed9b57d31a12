import { command } from "../../api/client.ts";
import { useResource } from "../../api/data.ts";
import type { Schemas } from "../../api/types.ts";
import { addressWith, useAddress } from "../../parts/address.ts";
import { ActionButton } from "../../parts/dialogs.tsx";
import { dayFilters } from "../../parts/filters.tsx";
import { FormDialog, textOf } from "../../parts/form-dialog.tsx";
import { inWords } from "../../parts/format.ts";
import { useKeys } from "../../parts/keys.ts";
import { ListView, Split } from "../../parts/list.tsx";
import { OpenedHead, PageHead } from "../../parts/page.tsx";
import { Failed } from "../../parts/states-of-page.tsx";
import { useMay } from "../../session/caller.ts";
import { clientColumn, useClientNames } from "../customers/client-column.tsx";
import { useExportAll } from "./export-all.ts";
import { AmountHead, Steps, TransactionDetails, transactionColumns } from "./transaction-parts.tsx";

type Transaction = Schemas["Transaction"];

const statuses = [
  "pending",
  "approved",
  "processing",
  "completed",
  "rejected",
  "cancelled",
  "failed",
  "returned",
] as const;

/** The filters of every list of transactions. */
export const transactionFilters = [
  { name: "status", label: "Status", values: statuses },
  {
    name: "kind",
    label: "Kind",
    values: [
      "deposit",
      "withdrawal",
      "transfer_out",
      "transfer_in",
      "credit_in",
      "credit_out",
      "adjustment",
      "negative_balance_correction",
      "fee",
      "commission",
      "dividend",
      "swap",
      "correction",
    ],
  },
  {
    name: "method",
    label: "Method",
    values: ["bank_transfer", "card", "crypto", "e_wallet", "cash", "internal", "other"],
  },
  { name: "currency", label: "Currency" },
  { name: "external_id", label: "Your reference" },
  { name: "provider_reference", label: "Provider reference", wide: true },
  ...dayFilters("completed", "Completed"),
] as const;

const columns = [...transactionColumns.slice(0, 2), clientColumn, ...transactionColumns.slice(2)];

/** Money of all clients, newest first. */
export function TransactionsPage() {
  const exportAll = useExportAll("transactions");
  const [search, change] = useAddress();
  const names = useClientNames();
  const opened = search["open"];
  return (
    <div className="full">
      <PageHead title="Transactions" note={<span className="dim">newest first</span>} />
      <Split
        list={
          <ListView
            path="/transactions"
            exportAll={exportAll}
            params={names}
            caption="Transactions"
            filters={transactionFilters}
            columns={columns}
            idOf={({ id }) => id}
            to={({ id }) => addressWith("/transactions", { ...search, open: id })}
            selected={opened}
            empty={{
              title: "No transactions",
              text: "Deposits, withdrawals and transfers of the accounts are listed here.",
            }}
          />
        }
        opened={opened ? <TransactionPanel id={opened} onClose={() => change({ open: undefined })} /> : null}
      />
    </div>
  );
}

function TransactionPanel({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const { data, error, refetch } = useResource("/transactions/{id}", { path: { id } });
  useKeys({ Escape: onClose });
  if (error && data === undefined) return <Failed error={error} again={() => void refetch()} />;
  if (data === undefined) return null;
  return (
    <>
      <OpenedHead title={inWords(data.kind)} onClose={onClose} actions={<Move transaction={data} />} />
      <AmountHead transaction={data} />
      <TransactionDetails transaction={data} />
      <Steps transaction={data} />
    </>
  );
}

/** Moves by hand of each status, with the scope that each takes in addition to that of every change. */
const moves: Readonly<Record<string, readonly (readonly [status: string, scope: string])[]>> = {
  pending: [
    ["completed", "transactions:settle"],
    ["cancelled", "transactions:write"],
  ],
  approved: [
    ["processing", "transactions:settle"],
    ["completed", "transactions:settle"],
    ["failed", "transactions:settle"],
  ],
  processing: [
    ["completed", "transactions:settle"],
    ["failed", "transactions:settle"],
  ],
  completed: [["returned", "transactions:settle"]],
};

function Move({ transaction }: { readonly transaction: Transaction }) {
  const may = useMay();
  const open = (moves[transaction.status] ?? []).filter(([, scope]) => may("transactions:write") && may(scope));
  const [first] = open;
  if (first === undefined) return null;
  return (
    <ActionButton
      word="Move…"
      dialog={(close) => (
        <FormDialog
          title={`Move the ${inWords(transaction.kind).toLowerCase()}`}
          fields={[
            { name: "status", label: "To", kind: "choice", values: open.map(([status]) => status), first: first[0] },
            {
              name: "code",
              label: "Reason",
              optional: true,
              placeholder: "client_request",
              help: "A code, for a move that ends it without success.",
            },
            { name: "message", label: "In words", optional: true },
          ]}
          submit={(entered) =>
            `${inWords(textOf(entered, "status") ?? "")} ${transaction.amount} ${transaction.currency}`
          }
          run={(entered, key) => {
            const code = textOf(entered, "code");
            const message = textOf(entered, "message");
            return command("PATCH", "/transactions/{id}", {
              key,
              path: { id: transaction.id },
              body: {
                status: textOf(entered, "status"),
                ...(code && { reason: { code, ...(message && { message }) } }),
              },
            });
          }}
          onClose={close}
        />
      )}
    />
  );
}
