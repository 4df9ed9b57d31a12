import type { TransactionState } from "../../schema/transaction.ts";
import type { Refusal, UniqueKind } from "../kernel/decision.ts";
import type { Change } from "../records/change.ts";
import type { Transaction } from "../records/transaction.ts";
import { isLeftToPeople } from "./legs.ts";

/** A name that one transaction of a brokerage has at a time. */
interface TransactionName {
  readonly kind: UniqueKind;
  readonly value: string;
  readonly refusal: Refusal;
}

/**
 * The names of a transaction. A payment is reported by `Stripe` and by `stripe`: the case of a provider says nothing.
 */
function namesOf({ external_id, provider, provider_reference }: Transaction): TransactionName[] {
  const taken = (code: Refusal["code"], field: string, detail: string): Refusal => ({
    code,
    detail,
    errors: [{ pointer: `#/${field}`, code: "taken", detail: "belongs to another transaction" }],
  });
  const own: TransactionName = {
    kind: "transaction_external_id",
    value: external_id ?? "",
    refusal: taken("external_id_taken", "external_id", "Another transaction has this external id."),
  };
  const detail = "A transaction with this provider and reference exists.";
  const provided: TransactionName = {
    kind: "provider_reference",
    value: JSON.stringify([provider?.trim().toLowerCase() ?? null, provider_reference]),
    refusal: taken("duplicate_provider_reference", "provider_reference", detail),
  };
  return [...(external_id === null ? [] : [own]), ...(provider_reference === null ? [] : [provided])];
}

/** The markers that keep the names of a transaction unique in a brokerage. */
export function transactionMarkers(transaction: Transaction): Change[] {
  return namesOf(transaction).map((name) => ({ op: "claim", ...name, owner: transaction.id }));
}

/** States of a transaction that ended without money, or with its money given back. */
export const unbooked: ReadonlySet<string> = new Set<TransactionState>(["rejected", "cancelled", "failed"]);

/** Whether a transaction has ended without money, also on its platform: an item that is left to people is money. */
function protectsNone(transaction: Transaction): boolean {
  return unbooked.has(transaction.status) && !isLeftToPeople(transaction);
}

/**
 * The names that a change frees: what ended without money, or with its money given back, protects no payment, and the
 * same one is made again under the same names. One that was created for an item has claimed none.
 */
export function freedNames(before: Transaction, after: Transaction): Change[] {
  if (before.set_aside?.created_for_item === true || protectsNone(before) || !protectsNone(after)) return [];
  return namesOf(after).map(({ kind, value }) => ({ op: "release", kind, value, owner: after.id, ended: true }));
}
