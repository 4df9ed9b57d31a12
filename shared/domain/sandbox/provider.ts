import { minorDigits } from "../../currencies.ts";
import { limits } from "../../limits.ts";
import type { TransactionState } from "../../schema/transaction.ts";
import type { Payment } from "../kernel/decision.ts";

/** Name of the payment provider that only the sandbox has: it does what the cents of an amount say. */
const sandboxProvider = "sandbox";

/** Moves of the provider. */
export type ProviderMove = "decline" | "process" | "settle" | "return";

/** By the cents of the amount, what the provider does with a transaction that is in one of these states. */
const moves: Readonly<Record<string, Partial<Record<TransactionState, ProviderMove>>>> = {
  13: { pending: "decline", approved: "decline", processing: "decline" },
  17: { pending: "process", approved: "process" },
  19: { pending: "settle", approved: "settle", processing: "settle", completed: "return" },
};

/** The provider's next move; undefined when it leaves the transaction to others. */
export function nextMove({ provider, amount_minor, currency, status }: Payment): ProviderMove | undefined {
  if (provider !== sandboxProvider || minorDigits[currency] !== 2) return undefined;
  return moves[String(amount_minor % 100n)]?.[status];
}

/**
 * When the provider makes its next move, which is at once but for a return; undefined when it makes none. `after` is
 * the moment so many business seconds from now.
 */
export function nextMoveAt(payment: Payment, after: (seconds: number) => string): string | undefined {
  const move = nextMove(payment);
  return move && after(move === "return" ? limits.sandbox.returned_after_seconds : 0);
}
