import { limits } from "../../limits.ts";
import type { CreateCredit } from "../../schema/internal-money/brokerage-money.ts";
import type { TransactionState } from "../../schema/transaction.ts";
import type { Balance } from "../account.ts";
import { standingOf } from "../debt.ts";
import { type Change, type Context, type Decision, later, refuse, refuseField } from "../decision.ts";
import { formatAmount, greatest } from "../money.ts";
import { adjustBalance, equal, postingTime, refuseUnsettled } from "../posting.ts";
import {
  type AccountContext,
  changed,
  draftTransaction,
  refuseGate,
  type Transaction,
  transactionEvent,
} from "../transaction.ts";
import { settled } from "../transaction-booking.ts";
import { isLinked } from "../transaction-legs.ts";
import { adjustmentMoves, refusePlatformAccount } from "./adjustment.ts";
import { requestBrokerageMoney } from "./brokerage-money.ts";
import { type CreditLot, consumed, creditFields, lotChanges, lotsOf, withLot } from "./credit-lots.ts";
import { creditLedgerEntry, entryChanges } from "./entries.ts";

/** Whether a transaction grants credit or takes it back. */
export function isCredit({ kind }: Pick<Transaction, "kind">): boolean {
  return kind === "credit_in" || kind === "credit_out";
}

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
  if (isLinked(account)) return refusePlatformAccount("account_id");
  if (balance.accepts === "none") return refuseGate(account);
  if (direction === "out" && ends !== undefined) {
    return refuseField("validation_failed", "expires_at", "is for credit that is granted", "not_allowed");
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
  const { balance } = accountContext;
  const { amount_minor: minor } = before;
  const grants = before.kind === "credit_in";
  const refusal = grants ? refuseGrant(balance, minor) : refuseTakingBack(accountContext, minor);
  if (refusal !== undefined) return refusal;
  const lots = lotsOf(balance);
  const lot: CreditLot = { transaction_id: before.id, minor, expires_at: before.credit?.expires_at ?? null };
  const left = grants ? withLot(lots, lot) : consumed(lots, minor);
  const done: Transaction = {
    ...after,
    balance_before_minor: balance.balance_minor,
    balance_after_minor: balance.balance_minor,
  };
  return settled(before, done, moveCredit(done, balance, left, { final: true }, context), ["transaction.completed"]);
}

/** Why no more credit can be granted to an account. */
function refuseGrant(balance: Balance, minor: bigint) {
  if (balance.credit_minor + minor > limits.money.max_traded_minor) {
    return refuse("amount_too_large", "The credit would be larger than the service can hold.");
  }
  if (lotsOf(balance).length < limits.money.max_credit_lots) return undefined;
  return refuse(
    "too_many_credit_lots",
    `An account has credit of at most ${limits.money.max_credit_lots} transactions at a time.`,
  );
}

/** Why credit cannot be taken back now: there is less, or open positions need it. */
function refuseTakingBack({ balance, margin }: AccountContext, minor: bigint) {
  const unsettled = refuseUnsettled(margin);
  if (unsettled !== undefined) return unsettled;
  const { credit_minor: credit, currency } = balance;
  if (minor > credit) {
    const extra = { credit: formatAmount(credit, currency), currency };
    return refuse("insufficient_credit", "The credit of the account is less than the amount.", { extra });
  }
  const free = margin?.free_minor;
  if (free === undefined || minor <= free) return undefined;
  const extra = { free_margin: formatAmount(greatest(0n, free), currency), currency };
  return refuse("insufficient_free_margin", "The free margin does not cover the amount.", { extra });
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
  const after = changed(before, { credit: { expires_at: ends, expired_at: later(ends, context.now) } }, context);
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

/** How credit is moved: whether its transaction is no longer pending, and what the entry says of itself. */
interface CreditBooking {
  readonly final?: true;
  readonly settlement?: "expiry";
}

/**
 * The ledger side of a change of credit: an entry that moves credit, its counter entry, and the lots that are left. An
 * entry is written for a lot of which nothing is left to end as well: a replay may find more of it.
 */
export function moveCredit(
  transaction: Transaction,
  balance: Balance,
  left: readonly CreditLot[],
  { final, ...more }: CreditBooking,
  context: Context,
): Change[] {
  const lots = lotsOf(balance);
  const posted_at = postingTime(balance, context);
  const booked = { ...context, now: posted_at };
  const { debt_minor, balance_minor } = standingOf(balance);
  const move = { lots, after: left, balance_minor, debt_minor, seq: balance.seq + 1 };
  const entry = creditLedgerEntry(transaction, move, lotChanges(lots, left), more, booked);
  return [
    adjustBalance(balance, context, {
      set: { seq: balance.seq + 1, posted_at, ...creditFields(left, balance.currency) },
      ...(final ? { add: { pending: -1 } } : {}),
      require: [equal("seq", balance.seq), equal("pos_version", balance.pos_version)],
    }),
    ...entryChanges(transaction, entry, "credit", booked),
  ];
}
