import type { CreateAdjustment } from "../../schema/internal-money/brokerage-money.ts";
import { adjustBalance, equal } from "../accounts/balance.ts";
import type { Context } from "../kernel/decision.ts";
import type { Decision } from "../records/change.ts";
import type { Transaction } from "../records/transaction.ts";
import { legChanges } from "./legs.ts";
import { type AccountContext, refuseReceipt, transactionEvent } from "./transaction.ts";
import { transactionMarkers } from "./transaction-names.ts";

/**
 * Decides money that a brokerage asks for and that is undecided until a person decides about it: nothing is held or
 * booked before. The reason is that of its first status.
 */
export function requestBrokerageMoney(
  draft: Transaction,
  reason: CreateAdjustment["reason"],
  accountContext: AccountContext,
  context: Context,
): Decision<Transaction> {
  const { account, balance } = accountContext;
  const refusal = refuseReceipt(draft, accountContext);
  if (refusal !== undefined) return refusal;
  const pending: Transaction = {
    ...draft,
    method: "internal",
    status_history: draft.status_history.map((step) => ({
      ...step,
      reason: { code: reason.code, message: reason.message ?? null },
    })),
  };
  return {
    ok: true,
    result: pending,
    changes: [
      { op: "create", entity: "transaction", item: pending },
      // Closing the account, or linking it to a platform, moves this number.
      adjustBalance(balance, context, { add: { pending: 1 }, require: [equal("pos_version", balance.pos_version)] }),
      ...transactionMarkers(pending),
      ...legChanges(account, undefined, pending),
    ],
    events: [transactionEvent("transaction.created", pending)],
  };
}
