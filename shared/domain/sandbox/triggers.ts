import type { UpdateClient } from "../../schema/client.ts";
import type { Scope } from "../../schema/scope.ts";
import { amendClient } from "../accounts/client.ts";
import { type Context, unchanged } from "../kernel/decision.ts";
import { declineTransaction, moveTransaction } from "../money/move.ts";
import type { AccountContext } from "../money/transaction.ts";
import type { Decision } from "../records/change.ts";
import type { Client } from "../records/client.ts";
import type { Transaction } from "../records/transaction.ts";
import { nextMove } from "./provider.ts";

/**
 * A trigger stands for an outsider in production: an identity check or a payment provider. Each takes the moves that a
 * PATCH could take, under the policies of the tenant, so that a sandbox never shows a state that production could not
 * reach. The scope `sandbox` stands for those that the moves need.
 */
function withScopes(context: Context, ...scopes: readonly Scope[]): Context {
  return { ...context, scopes: [...context.scopes, ...scopes] };
}

/** Decides `POST /sandbox/clients/{id}/verify`: an identity check that succeeds, without an end in the past. */
export function verifyClient(client: Client, context: Context): Decision<Client> {
  const { expires_at } = client.verification;
  const isOver = expires_at !== null && expires_at <= context.now;
  const outcome = { verification_status: "verified", ...(isOver && { verification: { expires_at: null } }) } as const;
  return amendClient(client, outcome, withScopes(context, "clients:verify"));
}

/** Decides `POST /sandbox/clients/{id}/reject`: an identity check that fails. */
export function rejectClient(client: Client, context: Context): Decision<Client> {
  if (client.verification_status === "rejected") return unchanged(client);
  const verification: UpdateClient["verification"] = { rejection_reasons: ["identity_verification"] };
  const outcome = { verification_status: "rejected", verification } as const;
  return amendClient(client, outcome, withScopes(context, "clients:verify"));
}

/** Effect of a trigger on a transaction, with the account, its money and the policies that apply to it. */
export type TransactionTrigger = (
  transaction: Transaction,
  accountContext: AccountContext,
  context: Context,
) => Decision<Transaction>;

/** Decides `POST /sandbox/transactions/{id}/settle`: the money has arrived, or was paid out. */
export const settleTransaction: TransactionTrigger = (transaction, accountContext, context) =>
  moveTransaction(transaction, accountContext, { status: "completed" }, withScopes(context, "transactions:settle"));

/** Decides `POST /sandbox/transactions/{id}/fail`: the provider declines it, whether it was approved yet or not. */
export const failTransaction: TransactionTrigger = (transaction, accountContext, context) =>
  declineTransaction(transaction, accountContext, providerReason("declined"), context);

function providerReason(what: "declined" | "returned") {
  return { code: `provider_${what}`, message: `The provider of the sandbox ${what} it.` };
}

/** Decides `POST /sandbox/transactions/{id}/return`: the money of a completed transaction goes back. */
export const returnTransaction: TransactionTrigger = (transaction, accountContext, context) => {
  const reason = providerReason("returned");
  return moveTransaction(
    transaction,
    accountContext,
    { status: "returned", reason },
    withScopes(context, "transactions:settle"),
  );
};

/**
 * Decides what the provider does with a transaction that is due to it; undefined when that is nothing. A return is
 * forced, as a chargeback is, whether or not the money is still there.
 */
export function simulateProvider(
  transaction: Transaction,
  accountContext: AccountContext,
  context: Context,
): Decision<Transaction> | undefined {
  const { provider_at: at } = transaction;
  if (at === undefined || at > context.now) return undefined;
  const simulated = withScopes(context, "transactions:settle", "transactions:approve");
  switch (nextMove(transaction)) {
    case "decline":
      return failTransaction(transaction, accountContext, context);
    case "process":
      return moveTransaction(transaction, accountContext, { status: "processing" }, simulated);
    case "settle":
      return settleTransaction(transaction, accountContext, context);
    case "return":
      return moveTransaction(
        transaction,
        accountContext,
        { status: "returned", reason: providerReason("returned"), force: true },
        simulated,
      );
    default:
      return undefined;
  }
}
