import type { CreateAdjustment } from "../../schema/internal-money/brokerage-money.ts";
import type { TransactionState } from "../../schema/transaction.ts";
import { isLinked } from "../accounts/account.ts";
import { isCommanded, refuseSource } from "../feed/command/money.ts";
import { type Context, type Requirement, refuseField } from "../kernel/decision.ts";
import type { Decision } from "../records/change.ts";
import type { Transaction } from "../records/transaction.ts";
import { adjustmentBooking, refuseAdjustment } from "./adjustment-booking.ts";
import { book } from "./booking.ts";
import { requestBrokerageMoney } from "./brokerage-money.ts";
import { type AccountContext, draftTransaction, refuseGate } from "./transaction.ts";

type Scope = Context["scopes"][number];

/**
 * The moves of an adjustment; another adjustment takes it back. It is in `processing` only while a platform is asked to
 * make it.
 */
export const adjustmentMoves: Readonly<Partial<Record<TransactionState, Partial<Record<TransactionState, Scope>>>>> = {
  pending: {
    approved: "transactions:approve",
    rejected: "transactions:approve",
    cancelled: "transactions:write",
  },
  approved: {
    completed: "transactions:settle",
    cancelled: "transactions:write",
    failed: "transactions:settle",
  },
  processing: { completed: "transactions:settle", failed: "transactions:settle" },
};

/** The refusal of money that only the API moves, on an account that a trading platform keeps too. */
export function refusePlatformAccount(field: string) {
  return refuseField(
    "platform_account",
    field,
    "A trading platform keeps the balance of this account; book the change there.",
  );
}

/**
 * Decides `POST /transactions/adjustment`: a signed amount, pending until another caller has approved it, whatever
 * the policy of the brokerage is. Nothing is held or booked before it is completed. The reason is that of its first
 * status.
 */
export function requestAdjustment(
  accountContext: AccountContext,
  request: CreateAdjustment,
  context: Context,
): Decision<Transaction> {
  const { account, balance } = accountContext;
  if (isLinked(account) && !isCommanded(account)) return refusePlatformAccount("account_id");
  const ended = isCommanded(account) ? refuseSource(accountContext) : undefined;
  if (ended !== undefined) return ended;
  if (balance.accepts === "none") return refuseGate(account);
  const { amount, reason, ...more } = request;
  const debit = amount.startsWith("-");
  const draft = draftTransaction("adjustment", accountContext, { ...more, amount: amount.replace("-", "") }, context);
  if (!draft.ok) return draft;
  const amount_minor = debit ? -draft.result.amount_minor : draft.result.amount_minor;
  return requestBrokerageMoney({ ...draft.result, amount_minor }, reason, accountContext, context);
}

/** Books an adjustment, which completes it; what it takes must be there. */
export function completeAdjustment(
  before: Transaction,
  after: Transaction,
  accountContext: AccountContext,
  context: Context,
): Decision<Transaction> {
  const amount = before.amount_minor;
  const booking = adjustmentBooking(before);
  if (amount > 0n) return book(before, after, accountContext, context, booking);
  const covered: Requirement = { attribute: "available_minor", is: "at_least", value: -amount };
  return refuseAdjustment(before, accountContext) ?? book(before, after, accountContext, context, booking, [covered]);
}
