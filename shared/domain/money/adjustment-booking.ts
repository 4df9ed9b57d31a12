import { least } from "../kernel/money.ts";
import type { Transaction } from "../records/transaction.ts";
import { type Booking, refuseMargin, refuseUnsettled } from "./posting.ts";
import { type AccountContext, refuseFunds } from "./transaction.ts";

/** Booking of an adjustment when it is completed. */
export function adjustmentBooking({ amount_minor: amount }: Pick<Transaction, "amount_minor">): Booking {
  return {
    kind: "adjustment",
    customer_minor: amount,
    legs: [["adjustment", -amount]],
    captured_minor: 0n,
    final: true,
  };
}

/**
 * Why an adjustment cannot be made now, without a hold of its own: what is available, and what open positions leave,
 * must cover what it takes. Undefined when it can.
 */
export function refuseAdjustment({ amount_minor }: Transaction, { balance, margin }: AccountContext) {
  const debit = -amount_minor;
  if (debit <= 0n) return undefined;
  const unsettled = refuseUnsettled(margin);
  if (unsettled !== undefined) return unsettled;
  if (balance.available_minor < debit) return refuseFunds(balance, 409);
  const payable = least(margin?.payable_minor ?? balance.balance_minor, balance.balance_minor) - balance.held_minor;
  return payable < debit ? refuseMargin(payable, balance) : undefined;
}
