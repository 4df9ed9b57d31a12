import type { Booking } from "../posting.ts";
import type { Transaction } from "../transaction.ts";

type Credit = Pick<Transaction, "amount_minor" | "transfer_rounding_minor" | "transfer_income_minor">;

/** What the credit of a transfer books: the client gets less than the mid value by the mark-up and the rounding. */
export function transferCredit(credit: Credit): Booking {
  const { amount_minor: minor, transfer_rounding_minor: rounding = 0n, transfer_income_minor: income = 0n } = credit;
  return {
    kind: "transfer_in",
    customer_minor: minor,
    legs: [
      ["transfers", -(minor + rounding + income)],
      ["fx_rounding", rounding],
      ["conversion_income", income],
    ],
    captured_minor: 0n,
    final: true,
  };
}
