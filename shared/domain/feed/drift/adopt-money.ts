import type { Context } from "../../kernel/decision.ts";
import { formatAmount } from "../../kernel/money.ts";
import { type Booking, post } from "../../money/posting.ts";
import { draftTransaction, moved, transactionEvent } from "../../money/transaction.ts";
import type { Change, Decision } from "../../records/change.ts";
import type { Drift } from "../../records/drift.ts";
import type { FeedSource } from "../../records/feed-source.ts";
import type { Tenant } from "../../records/tenant.ts";
import type { Transaction } from "../../records/transaction.ts";
import { metricsAt } from "../../trading/margin.ts";
import { operationMarker } from "../operation-marker.ts";
import { bookCredit } from "../platform-money.ts";
import type { Books } from "./adopt-position.ts";
import { deltaMinor } from "./drift.ts";

/** A drift of money with what booking it needs, and the application that proposed it. */
interface AdoptingMoney {
  readonly drift: Drift;
  readonly source: FeedSource;
  readonly tenant: Tenant;
  readonly books: Books;
  readonly by: Transaction["created_by"];
}

/**
 * Books the difference of a drift as a transaction that is completed at once, as money that the platform has moved
 * already: its entry has the number of the snapshot, and no operation that is reported later is the same money. That of
 * a balance is an adjustment. Credit that the platform has in addition does not end here, since the platform decides
 * when it does; credit that it does not have is taken from the lots in their order.
 */
export function adoptMoney(
  { drift, source, tenant, books, by }: AdoptingMoney,
  reason: NonNullable<Transaction["status_reason"]>,
  context: Context,
): Decision<Transaction> {
  const { account } = books.state;
  const minor = deltaMinor(drift);
  const size = minor < 0n ? -minor : minor;
  const amount = formatAmount(size, account.currency);
  const kind = drift.kind === "balance" ? "adjustment" : minor < 0n ? "credit_out" : "credit_in";
  const named = { method: "internal", provider: source.name, provider_reference: drift.id } as const;
  const draft = draftTransaction(kind, { account, tenant }, { account_id: account.id, amount, ...named }, context);
  if (!draft.ok) return draft;
  const cause = { source_id: source.id, feed_seq: drift.as_of_seq };
  const operation = { ...cause, operation_id: drift.id, leg: "forward", at: drift.taken_at, confirmed: true } as const;
  const pending: Transaction = {
    ...draft.result,
    amount_minor: kind === "adjustment" ? minor : size,
    created_by: by,
    platform_operations: [operation],
    status_history: [{ from: null, to: "pending", at: context.now, actor: by, reason }],
  };
  const completed = moved(pending, "completed", context, null);
  const done = { ...completed, approved_by: context.actor, approved_at: completed.updated_at };
  const booked =
    kind === "adjustment"
      ? bookBalance(done, minor, { source, books }, { ...context, cause })
      : bookCredit(done, books.state.balance, minor, { ...context, cause });
  if (!booked.ok) return booked;
  const transaction = booked.result;
  const previous = { status: "pending" };
  const create: Change = { op: "create", entity: "transaction", item: transaction };
  return {
    ok: true,
    result: transaction,
    changes: [create, claimOf(drift, transaction), ...booked.changes],
    events: [
      transactionEvent("transaction.created", pending),
      transactionEvent("transaction.completed", transaction, previous),
      transactionEvent("transaction.updated", transaction, previous),
    ],
  };
}

function bookBalance(
  done: Transaction,
  minor: bigint,
  { source, books }: Pick<AdoptingMoney, "source" | "books">,
  context: Context,
): Decision<Transaction> {
  const { floating_minor } = metricsAt(books.market, books.state, context.now);
  const booking: Booking = {
    kind: "adjustment",
    customer_minor: minor,
    legs: [["adjustment", -minor]],
    captured_minor: 0n,
    final: false,
    happened: true,
    owed: source.authoritative === "platform",
  };
  const margin = { payable_minor: 0n, floating_minor, stale: false, liquidating: false };
  const posting = post(done, books.state.balance, context, booking, { margin });
  if (!posting.ok) return posting;
  const { balance_before_minor, balance_after_minor, changes } = posting.result;
  return { ok: true, result: { ...done, balance_before_minor, balance_after_minor }, changes, events: [] };
}

function claimOf({ id, source_id }: Drift, { id: owner }: Transaction): Change {
  const refusal = { code: "illegal_transition", detail: "The drift is resolved already." } as const;
  const value = operationMarker({ id: source_id }, id);
  return { op: "claim", kind: "source_operation", value, owner, refusal };
}
