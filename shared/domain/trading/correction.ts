import type { CurrencyCode } from "../../currencies.ts";
import { consumed, creditAt, creditFields, lotChanges, lotsOf, storedLots } from "../accounts/credit-lots.ts";
import { settledDue, settledOwed, standingOf, uncovered } from "../accounts/debt.ts";
import type { Actor, Context, DomainEvent } from "../kernel/decision.ts";
import { formatAmount, least } from "../kernel/money.ts";
import { legChanges } from "../money/legs.ts";
import { postingTime } from "../money/posting.ts";
import type { Account } from "../records/account.ts";
import type { Liquidator } from "../records/feed-source.ts";
import type { Settlement } from "../records/ledger.ts";
import type { TradingChange } from "../records/trading-change.ts";
import { type Book, bookEntries, type Entry } from "./book.ts";

/** The transaction that brings the balance of a protected account back to zero, as it is stored: completed at once. */
export interface Correction {
  readonly id: string;
  readonly tenant_id: string;
  readonly kind: "negative_balance_correction";
  readonly account_id: string;
  readonly account_number: string;
  readonly account_type: Account["type"];
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
 * Settles a book that trading took below zero, as the last step of its decision (ADR 0025). While positions are left
 * nothing is settled: equity decides, and a winner among them may still pay the loss. Without positions, a protected
 * account that this service decides for owes no loss of trading: credit pays it first, a correction the rest. A balance
 * that stays below zero is the client's debt: the part of other debits, and all of it without protection or where a
 * platform decides, whose own correction is the only one then.
 */
export function settleBook(book: Book, liquidator: Liquidator, context: Context): Book {
  const { account, balance, positions } = book;
  const standing = standingOf(balance);
  const platform = liquidator === "platform";
  const settled = balance.balance_minor >= 0n && standing.debt_minor === 0n;
  if (settled || (positions.length > 0 && !platform)) return book;
  if (platform || !account.negative_balance_protection) {
    const { debt_minor } = settledOwed(standing);
    const noted = debt_minor > standing.debt_minor ? { below_zero_seq: balance.seq } : {};
    return { ...marked(book, "owed"), balance: { ...balance, debt_minor, ...noted } };
  }
  const loss = uncovered(standing);
  const { debt_minor } = settledDue(standing);
  const due = { ...marked(book, "due"), balance: { ...balance, debt_minor } };
  return loss === 0n ? due : corrected(due, loss, context);
}

/** The book with its last posting marked: what a replay of the ledger settles there. */
function marked(book: Book, settlement: Settlement): Book {
  const last = book.changes.findLastIndex((change) => change.op === "create" && change.entity === "ledger");
  const mark = (change: TradingChange): TradingChange =>
    change.op === "create" ? ({ ...change, item: { ...change.item, settlement } } as TradingChange) : change;
  return { ...book, changes: book.changes.map((change, place) => (place === last ? mark(change) : change)) };
}

/** Covers a loss: from the credit as far as that goes, the rest by a transaction, created and completed at once. */
function corrected(book: Book, loss: bigint, context: Context): Book {
  const credit = least(creditAt(book.balance, postingTime(book.balance, context)), loss);
  const spent = credit === 0n ? book : spendCredit(book, credit, context);
  const below_zero_seq = spent.balance.seq + (credit === loss ? 0 : 1);
  const noted = { ...spent, balance: { ...spent.balance, below_zero_seq } };
  return credit === loss ? noted : coverLoss(noted, loss - credit, context);
}

/** Credit that pays a loss leaves its lots and becomes part of the balance. */
function spendCredit(book: Book, amount_minor: bigint, context: Context): Book {
  const { currency } = book.account;
  const lots = lotsOf(book.balance);
  const left = consumed(lots, amount_minor, postingTime(book.balance, context));
  const entry = { kind: "credit_out", control: "credit", settlement: "credit" } as const;
  const taken = storedLots(lotChanges(lots, left), currency);
  const entries = [
    { ...entry, amount_minor: -amount_minor, lots: taken },
    { ...entry, amount_minor },
  ];
  const booked = settling(book, entries, context);
  return { ...booked, balance: { ...booked.balance, ...creditFields(left, currency) } };
}

/** Books entries that settle: the debt was settled before them and stays. */
function settling(book: Book, entries: readonly Entry[], context: Context): Book {
  const booked = bookEntries(book, entries, context);
  const { debt_minor } = standingOf(book.balance);
  return { ...booked, balance: { ...booked.balance, debt_minor } };
}

function coverLoss(book: Book, loss: bigint, context: Context): Book {
  const correction = draftCorrection(book, loss, context);
  const entry = {
    kind: "negative_balance_correction",
    control: "negative_balance",
    amount_minor: loss,
    transaction_id: correction.id,
    settlement: "correction",
  } as const;
  const booked = settling(book, [entry], context);
  return {
    ...booked,
    changes: [
      ...booked.changes,
      { op: "create", entity: "transaction", item: correction },
      ...legChanges(book.account, undefined, correction),
    ],
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
    account_number: account.number,
    account_type: account.type,
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
      related_to: null,
      platform_operations: [],
      transfer: null,
      _links: {
        self: { href: `/v2/transactions/${correction.id}` },
        account: { href: `/v2/accounts/${correction.account_id}` },
        client: { href: `/v2/clients/${correction.client_id}` },
      },
    },
    ...(created ? {} : { previous: { status: "pending" } }),
  };
}
