import { takesMoney } from "../money/legs.ts";
import { awaitsPlatform, returningOf } from "../money/transaction.ts";
import type { Balance } from "../records/balance.ts";
import type { Transaction } from "../records/transaction.ts";
import { amountDifference, countDifference, type Difference } from "./difference.ts";
import { accountObject } from "./ledger.ts";

/** Statuses from which a transaction still moves. */
export const openStatuses = ["pending", "approved", "processing"] as const satisfies readonly Transaction["status"][];

/** Whether a transaction counts as pending on its account. */
export function isOpen(transaction: Transaction): boolean {
  const open: readonly string[] = openStatuses;
  return open.includes(transaction.status) || returningOf(transaction) !== undefined;
}

/** Hold of a transaction on its account, in minor units. */
function heldBy(transaction: Transaction): bigint {
  const returning = returningOf(transaction);
  if (returning !== undefined) return returning.held_minor;
  const { status, amount_minor } = transaction;
  const holds = status === "pending" || status === "approved" || awaitsPlatform(transaction);
  return takesMoney(transaction) && holds ? amount_minor : 0n;
}

/**
 * Where the holds of an account and its open transactions do not agree. `aside` is what operations that a platform
 * reported and that are put aside would take, in minor units.
 */
export function compareHolds(balance: Balance, transactions: readonly Transaction[], aside: bigint): Difference[] {
  const open = transactions.filter(isOpen);
  const about = accountObject(balance.account_id);
  const held = open.reduce((sum, each) => sum + heldBy(each), aside);
  return [
    ...amountDifference(about, "held", balance.currency, [held, balance.held_minor]),
    ...countDifference(about, "pending_transactions", [open.length, balance.pending]),
  ];
}
