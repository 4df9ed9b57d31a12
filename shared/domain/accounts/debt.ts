import { greatest, least } from "../kernel/money.ts";
import type { Balance } from "../records/balance.ts";
import type { Ledger, Settlement } from "../records/ledger.ts";
import {
  afterWithdrawal,
  type CreditLot,
  consumed,
  creditOf,
  liveLots,
  withChanges,
  withoutChanges,
} from "./credit-lots.ts";

/**
 * How much of a negative balance is the client's own debt, and how much is a loss of trading that a protected account
 * does not owe (ADR 0025). `debt_minor` is what debits other than trading took below zero; it is never negative.
 */
export interface Standing {
  readonly balance_minor: bigint;
  readonly debt_minor: bigint;
}

/** The standing of an account. */
export function standingOf({ balance_minor, debt_minor }: Balance): Standing {
  return { balance_minor, debt_minor };
}

/** Kinds of what trading books. A loss of these may be forgiven, whatever else takes a balance below zero may not. */
const tradingKinds: ReadonlySet<Ledger["kind"]> = new Set(["realised_pnl", "commission", "swap", "dividend"]);

/** Whether a posting of this kind is a result of trading. */
export function isTrading(kind: Ledger["kind"]): boolean {
  return tradingKinds.has(kind);
}

/**
 * Part of a balance that offsets the other leg of a trade: profit realised since the account had no position, as far as
 * the open positions have lost it again (`floating`, in minor units).
 */
export function offsetMinor({ realised_minor = 0n }: Pick<Balance, "realised_minor">, floating: bigint): bigint {
  return greatest(0n, least(realised_minor, -floating));
}

/** A balance with the result of trading after one more entry; {@link realisedChange} says whether it is kept. */
export function realisedAfter<B extends Pick<Balance, "realised_minor">>(
  balance: B,
  { kind, amount_minor }: Pick<Ledger, "kind" | "amount_minor">,
): B {
  return isTrading(kind) ? { ...balance, realised_minor: (balance.realised_minor ?? 0n) + amount_minor } : balance;
}

/** Change of `realised_minor` by a decision: it is 0 again once the account has no position. */
export function realisedChange(
  { realised_minor: before = 0n }: Pick<Balance, "realised_minor">,
  { realised_minor: after = 0n, positions }: Pick<Balance, "realised_minor" | "positions">,
): Pick<Balance, "realised_minor"> {
  const kept = positions === 0 ? 0n : after;
  return kept === before ? {} : { realised_minor: kept };
}

/**
 * The standing after an amount was posted, before anything is settled. A debit can take what is there: the balance less
 * its `offset_minor`, since the profit of one leg of a hedge is not the client's while the other leg has lost it. The
 * rest of the debit is debt.
 */
export function afterPosting(
  before: Standing,
  { kind, amount_minor: amount, offset_minor = 0n }: Pick<Ledger, "kind" | "amount_minor" | "offset_minor">,
): Standing {
  const balance_minor = before.balance_minor + amount;
  if (isTrading(kind)) return { ...before, balance_minor };
  // A credit pays the debt: what trading took below zero stays open to be settled with the last position.
  if (amount >= 0n) return { balance_minor, debt_minor: greatest(0n, before.debt_minor - amount) };
  const there = greatest(0n, before.balance_minor - offset_minor);
  return { balance_minor, debt_minor: before.debt_minor + greatest(0n, -amount - there) };
}

const leaves: ReadonlySet<Settlement> = new Set(["due", "owed", "paid"]);

/** Loss of trading below zero, which a protected account does not owe. */
export function uncovered({ balance_minor, debt_minor }: Standing): bigint {
  return greatest(0n, -balance_minor - debt_minor);
}

/** The standing when no position is open: a debt is never more than what is below zero. */
export function settledPaid({ balance_minor, debt_minor }: Standing): Standing {
  return { balance_minor, debt_minor: least(debt_minor, greatest(0n, -balance_minor)) };
}

/** The standing once what is uncovered was corrected. */
export function settledDue(before: Standing): Standing {
  return settledPaid({ ...before, balance_minor: before.balance_minor + uncovered(before) });
}

/** The standing when all that is below zero stays owed, and nothing more. */
export function settledOwed({ balance_minor }: Standing): Standing {
  return { balance_minor, debt_minor: greatest(0n, -balance_minor) };
}

/**
 * An entry that has another place in a replay than in the ledger: it takes an earlier debit back, all of it or a part,
 * or it happened before an entry that was booked earlier.
 */
type Moved = Pick<Ledger, "kind" | "amount_minor"> & {
  readonly reverses_seq?: number | undefined;
  readonly precedes_seq?: number | undefined;
};

/** Input to the replay of a late credit: the entries since its debit, in their order and without a gap. */
export interface Span {
  readonly entries: readonly Ledger[];
  /** The late credit; absent where it is booked already, as the last of the entries. */
  readonly reversal?: Moved;
  /** The credit after the last of the entries. */
  readonly lots: readonly CreditLot[];
}

/** Where a replay must begin so that no entry among these has its place before it. */
export function replayFrom(entries: readonly Ledger[], from: number): number {
  const places = entries.flatMap(({ reverses_seq: seq, precedes_seq: next }) => seq ?? next ?? []);
  return Math.min(from, ...places);
}

/** Result of a replay. */
export interface Replayed extends Standing {
  readonly lots: readonly CreditLot[];
  /** How much of the credit that was spent need not have been. */
  readonly unspent_minor: bigint;
}

/**
 * The standing as it would be had the reversed debits never been made, and what happened late been booked at its time:
 * the same entries once more, each reversal at the place of its debit, and every loss settled again where it was
 * settled, by the credit that is there then. That is what a late credit must lead to: it first repays the corrections,
 * and the credit, that its own debit or its absence has caused.
 */
export function replay({ entries, reversal, lots: now }: Span): Replayed {
  const [first] = entries;
  const moved: readonly Moved[] = reversal === undefined ? entries : [...entries, reversal];
  const reversed = new Map<number, bigint>();
  for (const { reverses_seq: seq, amount_minor } of moved) {
    if (seq !== undefined) reversed.set(seq, (reversed.get(seq) ?? 0n) + amount_minor);
  }
  let standing: Standing = {
    balance_minor: first?.balance_before_minor ?? 0n,
    debt_minor: first?.debt_before_minor ?? 0n,
  };
  let lots = entries.reduce<readonly CreditLot[]>((each, entry) => withoutChanges(each, entry.lots ?? []), now);
  let unspent_minor = 0n;
  const late = moved.filter(({ precedes_seq: seq }) => seq !== undefined);
  for (const entry of entries) {
    const { settlement, reverses_seq, precedes_seq, kind, balance_version, credit_policy } = entry;
    for (const each of late) if (each.precedes_seq === balance_version) standing = afterPosting(standing, each);
    if (entry.moves === "credit") {
      lots = movedAgain(lots, entry);
      continue;
    }
    // A payout that was given back before has restored its part of the credit already.
    if (settlement === "credit" || (settlement === "repayment" && kind === "credit_in")) {
      unspent_minor += entry.amount_minor;
    }
    const elsewhere = reverses_seq !== undefined || precedes_seq !== undefined;
    if ((settlement !== undefined && !leaves.has(settlement)) || elsewhere) continue;
    const back = reversed.get(balance_version);
    const amount_minor = entry.amount_minor + (back ?? 0n);
    // The part of a reversed debit that is kept is a fee, which removes no credit.
    if (credit_policy !== undefined && back === undefined) {
      lots = afterWithdrawal(lots, credit_policy, -amount_minor, standing.balance_minor, entry.created_at);
    }
    if (amount_minor !== 0n) standing = afterPosting(standing, { ...entry, amount_minor });
    if (staysOpen(entries, entry)) continue;
    if (settlement === "owed") standing = settledOwed(standing);
    if (settlement === "paid") standing = settledPaid(standing);
    if (settlement !== "due") continue;
    const spent = least(uncovered(standing), creditOf(liveLots(lots, entry.created_at)));
    lots = consumed(lots, spent, entry.created_at);
    unspent_minor -= spent;
    standing = settledDue(standing);
  }
  return { ...standing, lots, unspent_minor };
}

/**
 * Whether a position was open at an entry that was closed then: the deal that closed it was taken back later, so that
 * nothing was to be settled in between.
 */
function staysOpen(entries: readonly Ledger[], { balance_version: seq, settlement }: Ledger): boolean {
  return (
    settlement !== undefined &&
    settlement !== "owed" &&
    entries.some(
      ({ kind, reverses_seq: from, balance_version: to }) =>
        isTrading(kind) && from !== undefined && from <= seq && seq < to,
    )
  );
}

/** The lots after an entry that moved credit; what a replay settles itself moves nothing again. */
function movedAgain(lots: readonly CreditLot[], { settlement, amount_minor, lots: changes = [], ...entry }: Ledger) {
  if (settlement === "expiry") return lots.filter(({ transaction_id: id }) => id !== entry.transaction_id);
  if (settlement !== undefined) return lots;
  return amount_minor < 0n ? consumed(lots, -amount_minor, entry.created_at) : withChanges(lots, changes);
}
