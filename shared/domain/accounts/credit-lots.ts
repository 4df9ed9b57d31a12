import type { CurrencyCode } from "../../currencies.ts";
import { formatAmount, least } from "../kernel/money.ts";
import type { Balance, LotAmount } from "../records/balance.ts";
import type { CreditPolicy } from "../records/ledger.ts";

/** A part of the credit of an account, in minor units; with a sign where it is a change of one. */
export interface CreditLot {
  /** The transaction that granted it; null of credit that no transaction of this service has granted. */
  readonly transaction_id: string | null;
  readonly minor: bigint;
  /** When it ends, RFC 3339; null where it does not. */
  readonly expires_at: string | null;
}

/**
 * The lots of an account in the order in which they are consumed: the earliest expiry first, what does not end last.
 * Credit that no lot accounts for is one more, the last.
 */
export function lotsOf({ credit_minor, credit_lots = [] }: Pick<Balance, "credit_minor" | "credit_lots">): CreditLot[] {
  const lots = credit_lots.map(readLot);
  const rest = credit_minor - creditOf(lots);
  return ordered(rest === 0n ? lots : [...lots, { transaction_id: null, minor: rest, expires_at: null }]);
}

/** Whether an account has credit or had some once. */
export function hadCredit({ credit_minor, credit_lots }: Pick<Balance, "credit_minor" | "credit_lots">): boolean {
  return credit_minor !== 0n || credit_lots !== undefined;
}

/** The members of a balance that say what credit is left. */
export function creditFields(lots: readonly CreditLot[], currency: CurrencyCode) {
  const credit_lots = storedLots(
    lots.filter(({ transaction_id: id }) => id !== null),
    currency,
  );
  return { credit_minor: creditOf(lots), credit_lots } satisfies Partial<Balance>;
}

/** Lots as they are stored and shown. */
export function storedLots(lots: readonly CreditLot[], currency: CurrencyCode): LotAmount[] {
  return lots.map(({ minor, ...lot }) => ({ ...lot, amount: formatAmount(minor, currency) }));
}

/** A stored lot; its amount has all the digits of its currency. */
function readLot({ amount, ...lot }: LotAmount): CreditLot {
  return { ...lot, minor: BigInt(amount.replace(".", "")) };
}

function ordered(lots: readonly CreditLot[]): CreditLot[] {
  const text = (a: string | null, b: string | null) => {
    if (a === b) return 0;
    return a !== null && (b === null || a < b) ? -1 : 1;
  };
  return lots.toSorted(
    (a, b) => text(a.expires_at, b.expires_at) || text(a.transaction_id, b.transaction_id) || Number(a.minor - b.minor),
  );
}

/** Whether a lot counts for nothing any more: from its end on, also while no entry has taken it yet. */
function hasEnded({ expires_at: ends }: CreditLot, at: string): boolean {
  return ends !== null && ends <= at;
}

/** The credit of an account at a moment, in minor units. */
export function creditAt(balance: Pick<Balance, "credit_minor" | "credit_lots">, at: string): bigint {
  if (balance.credit_lots === undefined) return balance.credit_minor;
  return creditOf(liveLots(lotsOf(balance), at));
}

/** The lots that have not ended by a moment. */
export function liveLots(lots: readonly CreditLot[], at: string): CreditLot[] {
  return lots.filter((lot) => !hasEnded(lot, at));
}

/** The money of an account as it is shown at a moment: without credit that has ended. */
export function withoutEnded(balance: Balance, at: string): Balance {
  const lots = lotsOf(balance);
  const live = liveLots(lots, at);
  return live.length === lots.length ? balance : { ...balance, ...creditFields(live, balance.currency) };
}

/** When credit of an account ends next, RFC 3339; undefined where none does. */
export function nextCreditEnd(balance: Balance, at: string): string | undefined {
  // The lots are in the order of their ends.
  return liveLots(lotsOf(balance), at)[0]?.expires_at ?? undefined;
}

/** The sum of lots. */
export function creditOf(lots: readonly CreditLot[]): bigint {
  return lots.reduce((sum, { minor }) => sum + minor, 0n);
}

/**
 * The lots that remain after an amount was consumed of them at a moment, in their order. Lots that have ended by then
 * stay for the entry of their end.
 */
export function consumed(lots: readonly CreditLot[], amount: bigint, at: string): CreditLot[] {
  let rest = amount;
  return lots.flatMap((lot) => {
    const taken = hasEnded(lot, at) ? 0n : least(lot.minor, rest);
    rest -= taken;
    return taken === lot.minor ? [] : [{ ...lot, minor: lot.minor - taken }];
  });
}

/** The lots with one more. */
export function withLot(lots: readonly CreditLot[], lot: CreditLot): CreditLot[] {
  return ordered([...lots, lot]);
}

/**
 * The credit that remains after a withdrawal. `prorate` takes the part of it that the withdrawal takes of the balance,
 * rounded up: many small withdrawals together take no less than one.
 * @param amount what is withdrawn, in minor units
 * @param balance the balance before it
 * @param at when it is withdrawn, RFC 3339
 */
export function afterWithdrawal(
  lots: readonly CreditLot[],
  policy: CreditPolicy,
  amount: bigint,
  balance: bigint,
  at: string,
): CreditLot[] {
  const credit = creditOf(liveLots(lots, at));
  const removes = policy === "remove" || amount >= balance;
  return consumed(lots, removes ? credit : (credit * amount + balance - 1n) / balance, at);
}

/** Change of each lot between two moments, without those that are the same. */
export function lotChanges(before: readonly CreditLot[], after: readonly CreditLot[]): CreditLot[] {
  const removed = before.map((lot) => ({ ...lot, minor: -lot.minor }));
  return joined([...removed, ...after]);
}

/** The lots after these changes of them. */
export function withChanges(lots: readonly CreditLot[], changes: readonly LotAmount[]): CreditLot[] {
  return joined([...lots, ...changes.map(readLot)]);
}

/** The lots before these changes of them. */
export function withoutChanges(lots: readonly CreditLot[], changes: readonly LotAmount[]): CreditLot[] {
  return joined([...lots, ...changes.map(readLot).map((lot) => ({ ...lot, minor: -lot.minor }))]);
}

/** Amounts of the same lot as one; those that come to nothing are left out. */
function joined(parts: readonly CreditLot[]): CreditLot[] {
  const lots = new Map<string | null, CreditLot>();
  for (const part of parts) {
    const known = lots.get(part.transaction_id);
    lots.set(part.transaction_id, known === undefined ? part : { ...known, minor: known.minor + part.minor });
  }
  return ordered([...lots.values()].filter(({ minor }) => minor !== 0n));
}
