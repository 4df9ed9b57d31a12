import { limits } from "../../limits.ts";
import { adjustBalance, equal } from "../accounts/balance.ts";
import {
  type CreditLot,
  consumed,
  creditAt,
  creditFields,
  liveLots,
  lotChanges,
  lotsOf,
  withLot,
} from "../accounts/credit-lots.ts";
import { standingOf } from "../accounts/debt.ts";
import { type Context, refuse } from "../kernel/decision.ts";
import { formatAmount, greatest } from "../kernel/money.ts";
import type { Balance } from "../records/balance.ts";
import type { Change, Decision } from "../records/change.ts";
import type { Transaction } from "../records/transaction.ts";
import { settled } from "./booking.ts";
import { creditLedgerEntry, entryChanges } from "./entries.ts";
import { postedAt, postingTime, refuseUnsettled } from "./posting.ts";
import type { AccountContext } from "./transaction.ts";

/** Whether a transaction grants credit or takes it back. */
export function isCredit({ kind }: { readonly kind: string }): boolean {
  return kind === "credit_in" || kind === "credit_out";
}

/**
 * Books credit, which completes its transaction: a lot of its own, or what is taken of the lots that end first. Whether
 * it may is not asked, since a platform may have done it already: of less credit than the amount all of it is taken.
 */
export function bookCredit(
  before: Transaction,
  after: Transaction,
  { balance }: AccountContext,
  context: Context,
): Decision<Transaction> {
  const lots = lotsOf(balance);
  const { amount_minor: minor } = before;
  const lot: CreditLot = { transaction_id: before.id, minor, expires_at: before.credit?.expires_at ?? null };
  const at = postingTime(balance, context);
  const left = before.kind === "credit_in" ? withLot(lots, lot) : consumed(lots, minor, at);
  const done: Transaction = {
    ...after,
    balance_before_minor: balance.balance_minor,
    balance_after_minor: balance.balance_minor,
  };
  return settled(before, done, moveCredit(done, balance, left, { final: true }, context), ["transaction.completed"]);
}

/** Why credit cannot be granted or taken back now; undefined when it can. */
export function refuseCredit(
  { kind, amount_minor: minor }: Transaction,
  accountContext: AccountContext,
  context: Context,
) {
  const at = postingTime(accountContext.balance, context);
  return kind === "credit_in"
    ? refuseGrant(accountContext.balance, minor, at)
    : refuseTakingBack(accountContext, minor, at);
}

/** Why no more credit can be granted to an account. */
function refuseGrant(balance: Balance, minor: bigint, at: string) {
  if (balance.credit_minor + minor > limits.money.max_traded_minor) {
    return refuse("amount_too_large", "The credit would be larger than the service can hold.");
  }
  if (liveLots(lotsOf(balance), at).length < limits.money.max_credit_lots) return undefined;
  return refuse(
    "too_many_credit_lots",
    `An account has credit of at most ${limits.money.max_credit_lots} transactions at a time.`,
  );
}

/** Why credit cannot be taken back now: there is less, or open positions need it. */
function refuseTakingBack({ balance, margin }: AccountContext, minor: bigint, at: string) {
  const unsettled = refuseUnsettled(margin);
  if (unsettled !== undefined) return unsettled;
  const [credit, currency] = [creditAt(balance, at), balance.currency];
  if (minor > credit) {
    const extra = { credit: formatAmount(credit, currency), currency };
    return refuse("insufficient_credit", "The credit of the account is less than the amount.", { extra });
  }
  const free = margin?.free_minor;
  if (free === undefined || minor <= free) return undefined;
  const extra = { free_margin: formatAmount(greatest(0n, free), currency), currency };
  return refuse("insufficient_free_margin", "The free margin does not cover the amount.", { extra });
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
      set: { seq: balance.seq + 1, ...postedAt(balance, posted_at), ...creditFields(left, balance.currency) },
      ...(final ? { add: { pending: -1 } } : {}),
      require: [equal("seq", balance.seq), equal("pos_version", balance.pos_version)],
    }),
    ...entryChanges(transaction, entry, "credit", booked),
  ];
}
