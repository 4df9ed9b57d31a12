import { type Context, type Decision, later, refuse } from "../decision.ts";
import { type Booking, completion } from "../posting.ts";
import type { Tenant } from "../tenant.ts";
import type { TradingChange, TradingDecision } from "../trading/changes.ts";
import { moved, type Transaction, transactionEvent } from "../transaction.ts";
import { book, withdrawalIntoTransit } from "../transaction-booking.ts";
import { type Leg, legChanges, unjoinedLegsOf } from "../transaction-legs.ts";
import type { Made } from "./apply.ts";
import type { Origin } from "./mirror-order.ts";
import { asHappened, bookOperation, type Operation, type OperationState, operationMinor } from "./platform-money.ts";
import type { FeedSource } from "./source.ts";

/** What is known of the transactions that an operation could be the money of. */
export interface OperationLinks {
  readonly tenant: Tenant;
  /** The transaction that the operation names, or the person who tries it again. */
  readonly named: Transaction | undefined;
  /** Transactions of the account with an unjoined leg of the same amount; looked for where none is named. */
  readonly candidates: readonly string[];
  /** What a person says who tries the operation again: it is the money of the named transaction, or new money. */
  readonly said: "is_named" | "is_new" | undefined;
}

/** Who owns an operation of a source is found by this: the transaction that it made or was joined with. */
export function operationMarker(source: Pick<FeedSource, "id">, operationId: string): string {
  return JSON.stringify([source.id, operationId]);
}

/**
 * Decides what money that a platform moved is here. An operation that names a transaction joins the unjoined leg of the
 * same account and amount, so that the same money is booked once; whatever else it names, it is booked as it happened,
 * in addition to the transaction. One that names none and could be ours is put aside until a person says what it is.
 */
export function applyOperation(
  state: OperationState,
  operation: Operation,
  links: OperationLinks,
  origin: Origin,
  context: Context,
): TradingDecision<Made> {
  const amount = operationMinor(operation, state.account);
  if (!amount.ok) return amount;
  const { named, candidates, said, tenant } = links;
  const leg = named?.account_id === state.account.id ? legOf(named, amount.result) : undefined;
  if (named !== undefined && leg !== undefined) {
    const decision = joinLeg(state, tenant, named, leg, operation, origin, context);
    return decision.ok ? claimed(decision, { transaction_id: named.id }, operation, origin) : decision;
  }
  if (said === "is_named") {
    return refuse("transaction_mismatch", "No unjoined money of this transaction has this account and amount.");
  }
  if (named === undefined && said !== "is_new" && candidates.length > 0) {
    const detail = `It could be the money of ${candidates.join(", ")}, which the platform has not reported yet.`;
    return refuse("possible_duplicate", detail, { extra: { candidates } });
  }
  const related = named?.id ?? null;
  const decision = bookOperation(state, operation, amount.result, { tenant, related }, origin, context);
  if (!decision.ok) return decision;
  const made = { transaction_id: decision.result.id, ...(related === null ? {} : { related_to: related }) };
  return claimed(decision, made, operation, origin);
}

function legOf(transaction: Transaction, minor: bigint): Leg | undefined {
  return unjoinedLegsOf(transaction).find((leg) => leg.minor === minor);
}

/** The decision with the claim that makes an operation one of a kind for good, whatever expires. */
function claimed(
  decision: Extract<Decision<Transaction>, { ok: true }>,
  made: Made,
  { operation_id }: Operation,
  { source }: Origin,
): TradingDecision<Made> {
  const claim: TradingChange = {
    op: "claim",
    kind: "source_operation",
    value: operationMarker(source, operation_id),
    owner: decision.result.id,
    refusal: { code: "illegal_transition", detail: "The operation is known." },
    drawn: true,
  };
  return { ...decision, result: made, changes: [...decision.changes, claim] };
}

/** What the platform did with a transaction that was still open here. */
interface Overtaken {
  readonly to: "completed" | "processing";
  readonly booking: Booking;
}

/**
 * A deposit is completed. A withdrawal is debited and in processing, since the platform has released the money and the
 * bank has not paid it yet; one that is in processing has been debited.
 */
function overtakenBy(transaction: Transaction, { name }: Leg): Overtaken | undefined {
  const { kind, status } = transaction;
  const undecided = status === "pending" || status === "approved";
  if (name === "reverse" || !(undecided || status === "processing")) return undefined;
  if (kind === "deposit") return { to: "completed", booking: completion(transaction) };
  return undecided ? { to: "processing", booking: withdrawalIntoTransit(transaction) } : undefined;
}

/** Joins an operation with a leg: nothing is booked twice, and what was still open here follows the platform. */
function joinLeg(
  state: OperationState,
  tenant: Tenant,
  before: Transaction,
  leg: Leg,
  { operation_id }: Operation,
  { source, at }: Origin,
  context: Context,
): Decision<Transaction> {
  const { account, balance } = state;
  const { booking, margin } = asHappened(state, { source });
  const known = before.platform_operations ?? [];
  const joined = { source_id: source.id, operation_id, leg: leg.name, at };
  const platform_operations = [...known, joined];
  const overtaken = overtakenBy(before, leg);
  const decision =
    overtaken === undefined
      ? noted(before, platform_operations, context)
      : book(
          before,
          { ...moved(before, overtaken.to, context, null), platform_operations },
          { tenant, account, balance, margin },
          context,
          { ...overtaken.booking, ...booking },
        );
  if (!decision.ok) return decision;
  return { ...decision, changes: [...decision.changes, ...legChanges(account, before, decision.result)] };
}

/** The transaction with the operation beside it: its money was booked before. */
function noted(
  before: Transaction,
  platform_operations: Transaction["platform_operations"],
  context: Context,
): Decision<Transaction> {
  const updated_at = later(before.updated_at, context.now);
  const after: Transaction = { ...before, platform_operations, updated_at, version: before.version + 1 };
  return {
    ok: true,
    result: after,
    changes: [{ op: "update", entity: "transaction", before, after }],
    events: [transactionEvent("transaction.updated", after, { platform_operations: before.platform_operations ?? [] })],
  };
}
