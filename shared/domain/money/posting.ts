import { limits } from "../../limits.ts";
import { adjustBalance, equal } from "../accounts/balance.ts";
import { afterWithdrawal, type CreditLot, creditFields, creditOf, hadCredit, lotsOf } from "../accounts/credit-lots.ts";
import {
  afterPosting,
  isTrading,
  offsetMinor,
  realisedAfter,
  realisedChange,
  replay,
  type Standing,
  settledOwed,
  settledPaid,
  standingOf,
} from "../accounts/debt.ts";
import { type Context, later, type Requirement, refuse, refuseUnvalued, type Valued } from "../kernel/decision.ts";
import { formatAmount, greatest } from "../kernel/money.ts";
import type { Balance } from "../records/balance.ts";
import type { Change, Decision } from "../records/change.ts";
import type { Contra, CreditPolicy, Ledger } from "../records/ledger.ts";
import type { Transaction } from "../records/transaction.ts";
import { contraEntries, creditEntry, entryChanges, type Leg, ledgerEntry } from "./entries.ts";

/** A booking: the customer's side and its legs on control accounts, together zero. */
export interface Booking {
  readonly kind: Ledger["kind"];
  readonly customer_minor: bigint;
  readonly legs: readonly Leg[];
  /** How much of a hold is used up. */
  readonly captured_minor: bigint;
  /** The transaction no longer counts as pending on its account afterwards. */
  readonly final: boolean;
  /** It has happened on a trading platform: whether the account has the money is not asked. */
  readonly happened?: true;
  /** A platform decides for the account: what is below zero afterwards is not for this service to forgive. */
  readonly owed?: boolean;
  /** The debit that it takes back. */
  readonly reverses?: ReversedDebit;
  /**
   * When it happened on its platform, where a loss was corrected since then. A booking that takes a debit back has its
   * place at that debit, whenever it happened.
   */
  readonly late?: Late;
}

/** The place in the ledger where money belongs that a platform reported later. */
export interface Late {
  /** Number of the first entry after it happened. */
  readonly seq: number;
  /** The entries since then, and before it as far as {@link replay} needs. */
  readonly entries: readonly Ledger[];
}

/** A debit that is taken back, by the number of its entry. */
export interface ReversedDebit {
  readonly seq: number;
  /** The entries since then, and before it as far as {@link replay} needs; absent where the debit caused nothing. */
  readonly entries?: readonly Ledger[];
}

/** Booking of a completed transaction. */
export function completion({ kind, amount_minor: amount, fee_minor: fee }: Transaction): Booking {
  const income: Leg = ["fee_income", fee];
  return kind === "deposit"
    ? { kind, customer_minor: amount - fee, legs: [["clearing", -amount], income], captured_minor: 0n, final: true }
    : { kind, customer_minor: -amount, legs: [["payouts", amount - fee], income], captured_minor: amount, final: true };
}

/** Amounts that the open positions of an account leave at the newest prices. */
export interface MarginView extends Valued {
  /** Amount that may be paid out, including holds for others: neither credit nor floating profit (I5). */
  readonly payable_minor: bigint;
  /** Equity that is neither used as margin nor held; credit is part of it. */
  readonly free_minor?: bigint;
  /** Profit and loss of the open positions. */
  readonly floating_minor: bigint;
  /** The account is being liquidated. */
  readonly liquidating: boolean;
}

/** Why nothing may be taken from an account now, whatever it has; undefined when its margin can be told. */
export function refuseUnsettled(margin: MarginView | undefined) {
  if (margin?.liquidating) return refuse("liquidation_in_progress", "The account is being liquidated; try again.");
  return margin && refuseUnvalued(margin, "A price that the account depends on is too old; try again.");
}

/** Input to a booking in addition to the money of its account. */
export interface PostingTerms {
  readonly require?: readonly Requirement[];
  readonly margin?: MarginView | undefined;
  /** Effect of a withdrawal on credit. */
  readonly credit_policy?: CreditPolicy | undefined;
}

/** Result of a posting. */
export interface Posting {
  /** Number of the entry. */
  readonly seq: number;
  readonly balance_before_minor: bigint;
  readonly balance_after_minor: bigint;
  /** The money of the account once all of it is booked. */
  readonly balance: Balance;
  readonly changes: readonly Change[];
}

/**
 * The ledger side of a booking: one entry on the account, its legs on the control accounts, and the new balance on the
 * condition that no other posting came in between. A credit that takes a debit back first repays what that debit made
 * the service correct, in entries of their own (ADR 0025).
 */
export function post(
  transaction: Transaction,
  balance: Balance,
  context: Context,
  booking: Booking,
  { require = [], margin, credit_policy }: PostingTerms = {},
): Decision<Posting> {
  const { customer_minor: change, captured_minor: captured } = booking;
  const late = lateOf(booking);
  const before = balance.balance_minor;
  const refusal = refusePosting(balance, booking, margin);
  if (refusal !== undefined) return refusal;
  const seq = balance.seq + 1;
  const posted_at = postingTime(balance, context);
  const booked = { ...context, now: posted_at };
  const standing = standingOf(balance);
  const posted = postedOn(balance, booking, margin);
  const policy = hadCredit(balance) && withdraws(booking) ? credit_policy : undefined;
  const entry = ledgerEntry(transaction, booked, {
    ...{ kind: booking.kind, change, before, seq, debt: standing.debt_minor, credit: balance.credit_minor },
    more: {
      ...posted.noted,
      ...(policy === undefined ? {} : { credit_policy: policy }),
      ...(booking.reverses === undefined ? {} : { reverses_seq: booking.reverses.seq }),
      ...(late === undefined ? {} : { precedes_seq: late.seq }),
    },
  });
  const follows = { standing: posted.standing, lots: lotsOf(balance), seq };
  const repaid =
    policy === undefined
      ? repayments(transaction, booking, follows, booked)
      : removal(transaction, booking, { ...follows, before }, policy, booked);
  const end = repaid.standing;
  // Whether it removes credit also depends on the withdrawals before it, which may still be given back.
  const caused = end.debt_minor > standing.debt_minor || policy !== undefined;
  const set = {
    balance_minor: end.balance_minor,
    seq: seq + repaid.entries.length,
    ...postedAt(balance, posted_at),
    ...(end.debt_minor === balance.debt_minor ? {} : { debt_minor: end.debt_minor }),
    ...realisedChange(balance, realisedAfter(balance, { kind: booking.kind, amount_minor: change })),
    ...(caused ? { below_zero_seq: seq + (policy === undefined ? 0 : 1) } : {}),
    ...(repaid.lots === follows.lots ? {} : creditFields(repaid.lots, balance.currency)),
  };
  const moved = end.balance_minor - before + captured;
  const adjustment = adjustBalance(balance, context, {
    set,
    add: {
      available_minor: moved,
      ...(captured === 0n ? {} : { held_minor: -captured }),
      ...(booking.final ? { pending: -1 } : {}),
    },
    require: [equal("seq", balance.seq), equal("pos_version", balance.pos_version), ...require],
  });
  const changes: Change[] = [
    adjustment,
    { op: "create", entity: "ledger", item: entry },
    ...contraEntries(transaction, booking.legs, booked, entry.id),
    ...repaid.entries.flatMap(({ item, control }) => entryChanges(transaction, item, control, booked)),
  ];
  const after = { balance_before_minor: before, balance_after_minor: before + change, balance: adjustment.after };
  return { ok: true, result: { seq, ...after, changes }, changes: [], events: [] };
}

/** The place of a booking that happened before it is booked: an entry with two places would be replayed twice. */
function lateOf({ reverses, late }: Booking): Late | undefined {
  return reverses === undefined ? late : undefined;
}

/** Why a booking cannot be made now. A booking that has happened on a platform is checked for its size alone. */
function refusePosting(balance: Balance, booking: Booking, margin: MarginView | undefined) {
  const { customer_minor: change, kind } = booking;
  const asked = booking.happened !== true && (kind === "deposit" || kind === "transfer_in" || kind === "adjustment");
  const most = asked && balance.positions > 0 ? "max_traded_minor" : "max_minor";
  if (change > 0n && balance.balance_minor + change > limits.money[most]) {
    return refuse("amount_too_large", "The balance would be larger than the service can hold.");
  }
  if (kind !== "withdrawal" || change >= 0n || booking.happened === true) return undefined;
  return refusePayment(balance, -change, margin);
}

/** Why an amount that is held cannot be paid now; undefined when it can. */
export function refusePayment(balance: Balance, amount: bigint, margin: MarginView | undefined) {
  const unsettled = refuseUnsettled(margin);
  if (unsettled !== undefined) return unsettled;
  const payable = margin?.payable_minor ?? balance.balance_minor;
  return amount > payable ? refuseMargin(payable, balance) : undefined;
}

/** The standing after a booking, and what its entry notes of it for a replay. */
function postedOn(balance: Balance, booking: Booking, margin: MarginView | undefined) {
  const { kind, customer_minor: amount_minor } = booking;
  const before = standingOf(balance);
  const offset_minor = offsetMinor(balance, margin?.floating_minor ?? 0n);
  const posted = afterPosting(before, { kind, amount_minor, offset_minor });
  const raised = posted.debt_minor > before.debt_minor && offset_minor > 0n ? { offset_minor } : {};
  if (booking.owed === true && (posted.balance_minor < 0n || before.debt_minor > 0n)) {
    return { standing: settledOwed(posted), noted: { ...raised, settlement: "owed" } } as const;
  }
  if (isTrading(kind) && balance.positions === 0 && before.debt_minor > 0n) {
    return { standing: settledPaid(posted), noted: { settlement: "paid" } } as const;
  }
  return { standing: posted, noted: raised };
}

/** Entries that follow a booking at once, and the money of the account after them. */
interface Repaid {
  readonly standing: Standing;
  readonly lots: readonly CreditLot[];
  readonly entries: readonly { readonly item: Ledger; readonly control: Contra["control_account"] }[];
}

/** Repayments of a late credit: the credit and the corrections that its debit, or its absence, has caused. */
function repayments(
  transaction: Transaction,
  booking: Booking,
  { standing: posted, lots, seq }: Follows,
  context: Context,
): Repaid {
  const { kind, reverses, customer_minor } = booking;
  const late = lateOf(booking);
  const since = reverses?.entries ?? late?.entries;
  if (since === undefined) return { standing: posted, lots, entries: [] };
  const place = reverses === undefined ? { precedes_seq: late?.seq } : { reverses_seq: reverses.seq };
  const end = replay({ entries: since, reversal: { kind, amount_minor: customer_minor, ...place }, lots });
  const credit = end.unspent_minor;
  const correction = posted.balance_minor - credit - end.balance_minor;
  const parts = [
    { kind: "credit_in", control: "credit", amount: credit },
    { kind: "negative_balance_correction", control: "negative_balance", amount: correction },
  ] as const;
  let before = posted.balance_minor;
  const entries = parts
    .filter(({ amount }) => amount !== 0n)
    .map(({ control, amount, ...part }, place) => {
      const item = ledgerEntry(transaction, context, {
        ...{ kind: part.kind, change: -amount, before, seq: seq + 1 + place, debt: end.debt_minor },
        credit: creditOf(lots),
        more: { settlement: "repayment" },
      });
      before -= amount;
      return { item, control };
    });
  const credited = creditEntry(
    transaction,
    { lots, after: end.lots, balance_minor: before, seq: seq + 1 + entries.length, debt_minor: end.debt_minor },
    { settlement: "repayment" },
    context,
  );
  if (credited === undefined) return { standing: end, lots, entries };
  return { standing: end, lots: end.lots, entries: [...entries, { item: credited, control: "credit" }] };
}

/** State before the entries that follow a booking. */
interface Follows {
  readonly standing: Standing;
  readonly lots: readonly CreditLot[];
  readonly seq: number;
}

/** Whether a booking takes money out on request of the client: what a platform reports is not asked for here. */
function withdraws({ kind, customer_minor, happened }: Booking): boolean {
  return (kind === "withdrawal" || kind === "transfer_out") && customer_minor < 0n && happened !== true;
}

/** The credit that a withdrawal removes, in an entry of its own. */
function removal(
  transaction: Transaction,
  { customer_minor }: Booking,
  { standing, lots, seq, before }: Follows & { readonly before: bigint },
  policy: CreditPolicy,
  context: Context,
): Repaid {
  const after = afterWithdrawal(lots, policy, -customer_minor, before, context.now);
  const { balance_minor, debt_minor } = standing;
  const moved = { lots, after, balance_minor, seq: seq + 1, debt_minor };
  const item = creditEntry(transaction, moved, { settlement: "policy" }, context);
  if (item === undefined) return { standing, lots, entries: [] };
  return { standing, lots: after, entries: [{ item, control: "credit" }] };
}

/** The refusal of a payment that the open positions need; it says what may be paid. */
export function refuseMargin(payable: bigint, balance: Balance) {
  return refuse("insufficient_free_margin", "The free margin does not cover the amount.", {
    extra: { withdrawable: formatAmount(greatest(0n, payable), balance.currency), currency: balance.currency },
  });
}

/** The time of the last posting of an account, and whether that is earlier than the one of the posting before. */
export function postedAt(before: Pick<Balance, "posted_at">, posted_at: string): Partial<Balance> {
  return { posted_at, ...(posted_at < (before.posted_at ?? "") ? { unordered: 1 } : {}) };
}

/**
 * The time of a posting: never before the posting that precedes it, so that the entries of an account are in the order
 * of their times also where two machines' clocks differ. A time that no difference of clocks explains is not followed.
 */
export function postingTime({ posted_at, updated_at }: Balance, { now, in: after }: Context): string {
  const latest = posted_at ?? updated_at;
  return latest > after(limits.money.clock_skew_seconds) ? now : later(latest, now);
}
