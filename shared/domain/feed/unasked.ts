import { ruleOfMoney } from "../access/approval-rules.ts";
import type { Context } from "../kernel/decision.ts";
import { reportedFigure } from "../kernel/money.ts";
import { legChanges, takesMoney } from "../money/legs.ts";
import { changedTransaction, transactionEvent } from "../money/transaction.ts";
import type { Transaction } from "../records/transaction.ts";
import type { Made } from "./apply.ts";
import { awaitApproval, bookOperation, type Operation, type OperationState, type Unasked } from "./platform-money.ts";
import { claimed, type Reported } from "./reported.ts";
import type { ItemDecision, SetAside } from "./set-aside.ts";

/** Kinds of money that an approval rule covers also where no transaction asked for it. */
const ruled: ReadonlySet<Operation["kind"]> = new Set([
  ...(["deposit", "withdrawal", "adjustment", "correction", "credit_in", "credit_out"] as const),
]);

/**
 * Decides money that no transaction asked for. Above a rule it waits for approvals, unless the platform is what counts:
 * then it is booked as it happened, and announced.
 */
export function decideUnasked(
  state: OperationState,
  reported: Reported,
  unasked: Unasked,
  context: Context,
): ItemDecision<Made> {
  const { operation, minor, origin } = reported;
  const rule = ruleOfMoney(minor, state.account.currency, unasked.tenant);
  if (rule !== undefined && ruled.has(operation.kind) && origin.source.authoritative !== "platform") {
    return awaitFor(state, reported, unasked, context);
  }
  const decision = bookOperation(state, operation, minor, unasked, origin, context);
  if (!decision.ok) return decision;
  const { result, events } = decision;
  const told = rule === undefined ? events : [...events, transactionEvent("transaction.unapproved", result)];
  const made = { transaction_id: result.id, ...(unasked.related === null ? {} : { related_to: unasked.related }) };
  return claimed({ ...decision, events: told }, made, reported);
}

/** Sets an operation aside for a transaction of its own, which is pending. */
export function awaitFor(
  state: OperationState,
  reported: Reported,
  unasked: Unasked,
  context: Context,
): ItemDecision<Made> {
  const { operation, minor, origin } = reported;
  const decision = awaitApproval(state, operation, minor, unasked, origin, context);
  if (!decision.ok) return decision;
  const detail = `An approval rule covers its amount: it is booked once ${decision.result.id} is approved.`;
  return { ...claimed(decision, {}, reported), aside: asideOf(decision.result, detail, minor) };
}

/**
 * Sets an operation aside for the transaction whose money it is, and that still needs approvals: its leg and the
 * operation are claimed for each other, so no command of the leg is issued. Whatever moves the transaction on with
 * enough approvals joins it.
 */
export function setAsideFor(
  before: Transaction,
  { account }: OperationState,
  reported: Reported,
  context: Context,
): ItemDecision<Made> {
  const { operation, minor, origin } = reported;
  const { feed_seq: seq = "" } = context.cause ?? {};
  const figure = reportedFigure(operation.amount, account.currency);
  const item = { source_id: origin.source.id, operation_id: operation.operation_id, seq, at: origin.at, ...figure };
  const after = changedTransaction(before, { set_aside: { ...item, created_for_item: false } }, context);
  const decision = {
    ok: true,
    result: after,
    changes: [{ op: "update", entity: "transaction", before, after } as const, ...legChanges(account, before, after)],
    events: [transactionEvent("transaction.updated", after, { set_aside: null })],
  } as const;
  const detail = `It is the money of ${before.id}, which still needs approvals.`;
  return { ...claimed(decision, {}, reported), aside: asideOf(after, detail, minor) };
}

/** Effect of an operation on its account until it is booked: an amount that a transaction holds is held once. */
function asideOf(transaction: Transaction, detail: string, minor: bigint): SetAside {
  const { id: transaction_id, account_id } = transaction;
  return { transaction_id, account_id, detail, minor: takesMoney(transaction) ? 0n : minor };
}
