import type { CurrencyCode } from "../../currencies.ts";
import type { BookDifferenceBody } from "../../schema/internal-money/reconciliation.ts";
import { formatAmount } from "../kernel/money.ts";

/** A place where two books of a brokerage do not agree, as it is stored and shown. */
export type Difference = Omit<BookDifferenceBody, "found_at">;

/** The object that differs. */
export type BookObject = Pick<Difference, "object_type" | "object_id" | "account_id">;

/** A difference between two amounts of one currency, in minor units. */
export function amountDifference(
  about: BookObject,
  field: Difference["field"],
  currency: CurrencyCode,
  [expected, found]: readonly [expected: bigint, found: bigint],
): Difference[] {
  if (expected === found) return [];
  const [wanted, stored] = [expected, found].map((minor) => formatAmount(minor, currency));
  return [{ ...about, field, expected: wanted ?? null, found: stored ?? null }];
}

/** A difference between two numbers. */
export function countDifference(
  about: BookObject,
  field: Difference["field"],
  [expected, found]: readonly [expected: number, found: number],
): Difference[] {
  return expected === found ? [] : [{ ...about, field, expected: String(expected), found: String(found) }];
}

/** The difference of an object that is missing. */
export function missing(about: BookObject, field: Difference["field"], expected: string): Difference {
  return { ...about, field, expected, found: null };
}
