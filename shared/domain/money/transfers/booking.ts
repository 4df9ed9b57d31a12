import type { Transaction } from "../../records/transaction.ts";
import type { Booking } from "../posting.ts";

type Credit = Pick<Transaction, "amount_minor" | "transfer_income_minor">;

/** Booking of the credit of a transfer: the client gets less than the mid value by the income of the brokerage. */
export function transferCredit({ amount_minor: minor, transfer_income_minor: income = 0n }: Credit): Booking {
  return {
    kind: "transfer_in",
    customer_minor: minor,
    legs: [
      ["transfers", -(minor + income)],
      ["conversion_income", income],
    ],
    captured_minor: 0n,
    final: true,
  };
}
