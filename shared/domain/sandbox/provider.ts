import { limits } from "../../limits.ts";
import type { TransactionState } from "../../schema/transaction.ts";
import type { Context } from "../decision.ts";
import { minorDigits } from "../money.ts";
import type { Transaction } from "../transaction.ts";

/** Name of the payment provider that only the sandbox has: it does what the cents of an amount say. */
const sandboxProvider = "sandbox";

/** What the provider does next with a transaction. */
export type ProviderMove = "decline" | "process" | "settle" | "return";

/** By the cents of the amount, what the provider does with a transaction that is in one of these states. */
const moves: Readonly<Record<string, Partial<Record<TransactionState, ProviderMove>>>> = {
  13: { pending: "decline", approved: "decline", processing: "decline" },
  17: { pending: "process", approved: "process" },
  19: { pending: "settle", approved: "settle", processing: "settle", completed: "return" },
};

/** What the provider of the sandbox does next; undefined when it leaves the transaction to others. */
export function nextMove({ provider, amount_minor, currency, status }: Transaction): ProviderMove | undefined {
  if (provider !== sandboxProvider || minorDigits[currency] !== 2) return undefined;
  return moves[String(amount_minor % 100n)]?.[status];
}

/**
 * The transaction with the moment of the provider's next move, which is at once but for a return. Nobody else moves a
 * transaction by itself, so in production, and with another provider, there is no such moment.
 */
export function withProvider(transaction: Transaction, context: Context): Transaction {
  const { provider_at: _before, ...others } = transaction;
  const move = context.environment === "sandbox" ? nextMove(transaction) : undefined;
  if (move === undefined) return others;
  return { ...others, provider_at: context.in(move === "return" ? limits.sandbox.returned_after_seconds : 0) };
}
