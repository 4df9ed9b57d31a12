import { isLeftToPeople } from "../../domain/money/legs.ts";
import { transferTurn } from "../../domain/money/transfers/state.ts";
import type { CorrectionLeg, UnjoinedLeg } from "../../domain/records/leg.ts";
import type { Transaction } from "../../domain/records/transaction.ts";
import type { TransferQuote } from "../../domain/records/transfer-quote.ts";
import { dueKeys, type Entity, type IndexKeys, type Key, ulidOf } from "./keys.ts";

/**
 * Transactions. Lists: all of a tenant (`list`); by status and kind (`state`); of an account (`owner`); of a client
 * (`client`); expiring (`due`).
 */
export const transactions = {
  et: "TXN",
  key: (tenant: string, id: string): Key => ({ pk: `${tenant}#${id}`, sk: "TXN" }),
  keyOf: (item: Transaction): Key => transactions.key(item.tenant_id, item.id),
  all: (tenant: string) => `${tenant}|TXN`,
  /** Kinds of platforms share a partition, so that a list by status need not ask one for each of them. */
  inState: (tenant: string, status: string, kind: string) =>
    `${tenant}|TXN|${status}|${ownKinds.has(kind) ? kind : "platform"}`,
  /** Those that have ended without the money that their platform has moved, whatever their state and kind are. */
  leftToPeople: (tenant: string) => `${tenant}|TXN|set_aside`,
  ofAccount: (tenant: string, accountId: string) => `${tenant}|${accountId}|TXN`,
  ofClient: (tenant: string, clientId: string) => `${tenant}|${clientId}|TXN`,
  indexesOf: (item: Transaction): IndexKeys => ({
    list_pk: transactions.all(item.tenant_id),
    list_sk: ulidOf(item.id),
    state_pk: isLeftToPeople(item)
      ? transactions.leftToPeople(item.tenant_id)
      : transactions.inState(item.tenant_id, item.status, item.kind),
    state_sk: ulidOf(item.id),
    owner_pk: transactions.ofAccount(item.tenant_id, item.account_id),
    owner_sk: ulidOf(item.id),
    client_pk: transactions.ofClient(item.tenant_id, item.client_id),
    client_sk: ulidOf(item.id),
    ...(item.completed_at === null ? {} : { facets: { completed_at: item.completed_at } }),
    ...transactionDue(item),
  }),
} satisfies Entity<Transaction> & Record<string, unknown>;

const ownKinds: ReadonlySet<string> = new Set(["deposit", "withdrawal", "negative_balance_correction"]);

/**
 * Undecided ones are due at their expiry, credit that was granted at its end. Those that the sandbox's provider moves
 * are due to it, in a kind of their own, by then at the latest. A transfer that the service takes further is due at
 * once, whenever it expires.
 */
function transactionDue(transaction: Transaction): IndexKeys {
  const { id, provider_at: at, updated_at } = transaction;
  if (transferTurn(transaction) !== undefined) return dueKeys("TRANSFER", id, updated_at);
  const end = endOf(transaction);
  if (at !== undefined) return dueKeys("PROVIDER", id, end !== null && end < at ? end : at);
  return end === null ? {} : dueKeys("TXN", id, end);
}

/** When an undecided transaction expires, or credit that was granted ends; null for one without an end. */
export function endOf({ status, expires_at, credit }: Transaction): string | null {
  return (status === "completed" && credit?.expired_at === null ? credit.expires_at : null) ?? expires_at;
}

/**
 * Unjoined legs of transactions, and commands that correct a balance, in a partition of their account, by amount:
 * whether money that a platform reports could be ours is one consistent query.
 */
export const unjoinedLegs = {
  et: "LEG",
  partition: (tenant: string, accountId: string) => `${tenant}#${accountId}|LEG`,
  /** Prefix of the sort keys of an amount. */
  prefixOf: (amountMinor: bigint) => `${amountMinor}#`,
  keyOf: (item: UnjoinedLeg | CorrectionLeg): Key => ({
    pk: unjoinedLegs.partition(item.tenant_id, item.account_id),
    sk: `${unjoinedLegs.prefixOf(item.amount_minor)}${nameOf(item)}`,
  }),
} satisfies Entity<UnjoinedLeg | CorrectionLeg> & Record<string, unknown>;

function nameOf(item: UnjoinedLeg | CorrectionLeg): string {
  return "command_id" in item ? `${ulidOf(item.command_id)}#command` : `${ulidOf(item.transaction_id)}#${item.leg}`;
}

/** The firm quote of a client: one at a time, in their own partition. */
export const transferQuotes = {
  et: "TRQ",
  key: (tenant: string, clientId: string): Key => ({ pk: `${tenant}#${clientId}`, sk: "TRQ" }),
  keyOf: (item: TransferQuote): Key => transferQuotes.key(item.tenant_id, item.client_id),
} satisfies Entity<TransferQuote> & Record<string, unknown>;
