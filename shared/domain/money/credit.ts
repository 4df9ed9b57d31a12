import type { CreateCredit } from "../../schema/internal-money/brokerage-money.ts";
import type { TransactionState } from "../../schema/transaction.ts";
import { isLinked } from "../accounts/account.ts";
import { lotsOf } from "../accounts/credit-lots.ts";
import { isCommanded, refuseSource } from "../feed/command/money.ts";
import { type Context, later, refuseField } from "../kernel/decision.ts";
import type { Decision } from "../records/change.ts";
import type { Transaction } from "../records/transaction.ts";
import { adjustmentMoves, refusePlatformAccount } from "./adjustment.ts";
import { requestBrokerageMoney } from "./brokerage-money.ts";
import { bookCredit, moveCredit, refuseCredit } from "./credit-booking.ts";
import {
  type AccountContext,
  changedTransaction,
  draftTransaction,
  refuseGate,
  transactionEvent,
} from "./transaction.ts";

/** The moves of credit: those of an adjustment, and without four eyes it is completed without an approval. */
export function creditMoves(
  from: TransactionState,
  fourEyes: boolean,
): NonNullable<(typeof adjustmentMoves)[typeof from]> {
  const known = adjustmentMoves[from] ?? {};
  return from === "pending" && !fourEyes ? { ...known, completed: "transactions:settle" } : known;
}

/**
 * Decides `POST /transactions/credit`: credit that is granted or taken back once the transaction is completed. Nothing
 * is booked before. A grant that ends is undecided no longer than until then.
 */
export function requestCredit(
  accountContext: AccountContext,
  request: CreateCredit,
  context: Context,
): Decision<Transaction> {
  const { account, balance } = accountContext;
  const { direction, reason, expires_at: ends, ...more } = request;
  if (isLinked(account) && !isCommanded(account)) return refusePlatformAccount("account_id");
  const ended = isCommanded(account) ? refuseSource(accountContext) : undefined;
  if (ended !== undefined) return ended;
  if (balance.accepts === "none") return refuseGate(account);
  if (direction === "out" && ends !== undefined) {
    return refuseField("validation_failed", "expires_at", "is for credit that is granted", "not_allowed");
  }
  if (isCommanded(account) && ends !== undefined) {
    const detail = "is decided by the trading platform that the account is linked to";
    return refuseField("validation_failed", "expires_at", detail, "not_allowed");
  }
  const kind = direction === "in" ? "credit_in" : "credit_out";
  const draft = draftTransaction(kind, accountContext, more, context);
  if (!draft.ok) return draft;
  const expires_at = ends === undefined ? null : new Date(ends).toISOString();
  if (expires_at !== null && expires_at <= context.now) {
    return refuseField("validation_failed", "expires_at", "must be in the future", "out_of_range");
  }
  const { expires_at: decided_by } = draft.result;
  const credit = {
    ...draft.result,
    ...(direction === "in" ? { credit: { expires_at, expired_at: null } } : {}),
    expires_at: expires_at !== null && decided_by !== null && expires_at < decided_by ? expires_at : decided_by,
  };
  return requestBrokerageMoney(credit, reason, accountContext, context);
}

/** Books credit, which completes it: a lot of its own, or what is taken of the lots that end first. */
export function completeCredit(
  before: Transaction,
  after: Transaction,
  accountContext: AccountContext,
  context: Context,
): Decision<Transaction> {
  return refuseCredit(before, accountContext, context) ?? bookCredit(before, after, accountContext, context);
}

/**
 * Decides the end of credit that was granted until now: what is left of its lot is taken, whatever the open positions
 * need. Undefined when its time has not come or it has ended before.
 */
export function expireCredit(
  before: Transaction,
  { balance }: AccountContext,
  context: Context,
): Decision<Transaction> | undefined {
  const ends = before.credit?.expires_at ?? null;
  const over = before.status === "completed" && ends !== null && ends <= context.now;
  if (!over || before.credit?.expired_at !== null) return undefined;
  const after = changedTransaction(
    before,
    { credit: { expires_at: ends, expired_at: later(ends, context.now) } },
    context,
  );
  const left = lotsOf(balance).filter(({ transaction_id: id }) => id !== before.id);
  return {
    ok: true,
    result: after,
    changes: [
      { op: "update", entity: "transaction", before, after },
      ...moveCredit(after, balance, left, { settlement: "expiry" }, context),
    ],
    events: [transactionEvent("transaction.updated", after, { credit: before.credit })],
  };
}
