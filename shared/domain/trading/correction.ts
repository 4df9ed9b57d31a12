import type { CurrencyCode } from "../../schema/fields.ts";
import type { Actor, Context, DomainEvent } from "../decision.ts";
import { formatAmount } from "../money.ts";
import { type Book, bookEntries } from "./book.ts";

/** The transaction that brings the balance of a protected account back to zero, as it is stored: completed at once. */
export interface Correction {
  readonly id: string;
  readonly tenant_id: string;
  readonly kind: "negative_balance_correction";
  readonly account_id: string;
  readonly client_id: string;
  readonly amount_minor: bigint;
  readonly fee_minor: bigint;
  readonly currency: CurrencyCode;
  readonly method: "internal";
  readonly provider: null;
  readonly provider_reference: null;
  readonly external_id: null;
  readonly source: null;
  readonly destination: null;
  readonly description: null;
  readonly status: "completed";
  readonly status_reason: null;
  readonly status_history: readonly {
    readonly from: "pending" | null;
    readonly to: "pending" | "completed";
    readonly at: string;
    readonly actor: Actor;
    readonly reason: null;
  }[];
  readonly balance_before_minor: bigint;
  readonly balance_after_minor: bigint;
  readonly created_by: Actor;
  readonly approved_by: null;
  readonly approved_at: null;
  readonly completed_at: string;
  readonly expires_at: null;
  readonly created_at: string;
  readonly updated_at: string;
  readonly version: number;
  readonly metadata: Readonly<Record<string, string>>;
}

/**
 * Covers the debt that trading left on a protected account: a transaction of its own, created and completed at once. A
 * book without a debt, or of an account without protection, stays as it is.
 */
export function coverDebt(book: Book, context: Context): Book {
  const debt = -book.balance.balance_minor;
  if (debt <= 0n || !book.account.negative_balance_protection) return book;
  const correction = draftCorrection(book, debt, context);
  const booked = bookEntries(
    book,
    [
      {
        kind: "negative_balance_correction",
        control: "negative_balance",
        amount_minor: debt,
        transaction_id: correction.id,
      },
    ],
    context,
  );
  return {
    ...booked,
    changes: [...booked.changes, { op: "create", entity: "transaction", item: correction }],
    events: [
      ...booked.events,
      correctionEvent("transaction.created", correction),
      correctionEvent("transaction.completed", correction),
      correctionEvent("transaction.updated", correction),
    ],
  };
}

function draftCorrection({ account, balance }: Book, debt: bigint, context: Context): Correction {
  const { actor, now } = context;
  return {
    id: context.newId("txn"),
    tenant_id: context.tenant_id,
    kind: "negative_balance_correction",
    account_id: account.id,
    client_id: account.client_id,
    amount_minor: debt,
    fee_minor: 0n,
    currency: account.currency,
    method: "internal",
    provider: null,
    provider_reference: null,
    external_id: null,
    source: null,
    destination: null,
    description: null,
    status: "completed",
    status_reason: null,
    status_history: [
      { from: null, to: "pending", at: now, actor, reason: null },
      { from: "pending", to: "completed", at: now, actor, reason: null },
    ],
    balance_before_minor: balance.balance_minor,
    balance_after_minor: balance.balance_minor + debt,
    created_by: actor,
    approved_by: null,
    approved_at: null,
    completed_at: now,
    expires_at: null,
    created_at: now,
    updated_at: now,
    version: 2,
    metadata: {},
  };
}

/** The correction as GET shows it, and as it was when it was created. */
function correctionEvent(
  type: "transaction.created" | "transaction.completed" | "transaction.updated",
  correction: Correction,
): DomainEvent {
  const {
    tenant_id: _tenant,
    amount_minor,
    fee_minor,
    balance_before_minor,
    balance_after_minor,
    ...fields
  } = correction;
  const created = type === "transaction.created";
  const money = (minor: bigint) => formatAmount(minor, correction.currency);
  const version = created ? 1 : 2;
  return {
    type,
    resource: { type: "transaction", id: correction.id, version },
    client_id: correction.client_id,
    account_id: correction.account_id,
    object: {
      ...fields,
      ...(created
        ? { status: "pending", status_history: correction.status_history.slice(0, 1), completed_at: null, version }
        : {}),
      object: "transaction",
      amount: money(amount_minor),
      fee: money(fee_minor),
      net_amount: money(amount_minor - fee_minor),
      balance_before: created ? null : money(balance_before_minor),
      balance_after: created ? null : money(balance_after_minor),
      _links: {
        self: { href: `/v2/transactions/${correction.id}` },
        account: { href: `/v2/accounts/${correction.account_id}` },
        client: { href: `/v2/clients/${correction.client_id}` },
      },
    },
    ...(created ? {} : { previous: { status: "pending" } }),
  };
}
