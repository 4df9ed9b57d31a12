import { formatAmount } from "../kernel/money.ts";
import { isCredit } from "../money/credit-booking.ts";
import { takesMoney } from "../money/legs.ts";
import { awaitsPlatform } from "../money/transaction.ts";
import type { Ledger } from "../records/ledger.ts";
import type { Transaction } from "../records/transaction.ts";
import { amountDifference, type Difference } from "./difference.ts";

/** Compared members of a ledger entry. */
type Entry = Pick<Ledger, "transaction_id" | "kind" | "amount_minor" | "currency" | "settlement">;

/** Sum of the entries of each transaction, in minor units, by its identifier. */
export type BookedSums = Map<string, Pick<Ledger, "currency" | "amount_minor">>;

/**
 * Adds an entry to the sum of its transaction. Repayments of late money, and credit that a withdrawal removes, follow
 * from other entries, so they are no part of the transaction's sum.
 */
export function addBooked(sums: BookedSums, { transaction_id: id, amount_minor, currency, settlement }: Entry): void {
  if (id === null || settlement === "repayment" || settlement === "policy") return;
  sums.set(id, { currency, amount_minor: (sums.get(id)?.amount_minor ?? 0n) + amount_minor });
}

/** Amount that a transaction has moved on its account, by its state, in minor units with its sign. */
function movedBy(transaction: Transaction): bigint {
  const { kind, status, amount_minor: amount, fee_minor: fee, reverse_minor: back } = transaction;
  const isSettled = status === "completed" || status === "returned";
  if (takesMoney(transaction)) {
    const isInTransit = status === "processing" && !awaitsPlatform(transaction);
    return isSettled || isInTransit || back !== undefined ? (back ?? 0n) - amount : 0n;
  }
  return isSettled ? (kind === "deposit" ? amount - fee : amount) + (back ?? 0n) : 0n;
}

/**
 * Where settled transactions of an account and the entries of its ledger do not agree: each has moved what its entries
 * add up to. Of credit, what is left of it at its end, and what a platform took, may be less than the amount: it has an
 * entry or none.
 */
export function compareBooked(
  account_id: string,
  sums: BookedSums,
  transactions: ReadonlyMap<string, Transaction>,
): Difference[] {
  const ids = [...new Set([...sums.keys(), ...transactions.keys()])];
  return ids.flatMap((id) => {
    const [sum, transaction] = [sums.get(id), transactions.get(id)];
    const about = { object_type: "transaction", object_id: id, account_id, field: "ledger_entries" } as const;
    if (transaction === undefined) {
      return sum === undefined
        ? []
        : [{ ...about, expected: null, found: formatAmount(sum.amount_minor, sum.currency) }];
    }
    const { currency } = transaction;
    const found = sum === undefined ? null : formatAmount(sum.amount_minor, currency);
    if (isCredit(transaction)) {
      const isBooked = transaction.status === "completed";
      const expected = isBooked ? formatAmount(transaction.amount_minor, currency) : null;
      return isBooked === (sum !== undefined) ? [] : [{ ...about, expected, found }];
    }
    const difference = amountDifference(about, about.field, currency, [movedBy(transaction), sum?.amount_minor ?? 0n]);
    return difference.map((each) => ({ ...each, found }));
  });
}
