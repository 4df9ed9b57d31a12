import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import type { Requirement } from "../../shared/domain/kernel/decision.ts";
import { moveTransaction } from "../../shared/domain/money/move.ts";
import { requestDeposit, requestWithdrawal } from "../../shared/domain/money/request.ts";
import type { AccountContext } from "../../shared/domain/money/transaction.ts";
import type { Balance } from "../../shared/domain/records/balance.ts";
import type { Decision } from "../../shared/domain/records/change.ts";
import type { Transaction } from "../../shared/domain/records/transaction.ts";
import { type CreateDeposit, type TransactionState, TransactionStatus } from "../../shared/schema/transaction.ts";
import { accepted, changesOf, decisionContext, someAccount, someClient } from "../support/builders/decisions.ts";

export type Body = Omit<CreateDeposit, "account_id">;

type Kind = "deposit" | "withdrawal";

/** Decides either kind with the same body on an account that has 1000.00 by default. */
export function request(
  kind: Kind,
  body: Body,
  on = someAccount({}, { balance_minor: 100_000n }),
  context = decisionContext(),
) {
  const whole = { account_id: on.account.id, ...body };
  return kind === "deposit" ? requestDeposit(on, whole, context) : requestWithdrawal(someClient(), on, whole, context);
}

export const kinds = ["deposit", "withdrawal"] as const;

export const states = TransactionStatus.def.entries
  ? (Object.keys(TransactionStatus.def.entries) as TransactionState[])
  : [];

/** How a transaction comes into each state. */
const ways: Readonly<Record<TransactionState, readonly TransactionState[]>> = {
  pending: [],
  approved: ["approved"],
  processing: ["processing"],
  completed: ["completed"],
  rejected: ["rejected"],
  cancelled: ["cancelled"],
  failed: ["approved", "failed"],
  returned: ["completed", "returned"],
};

/** A transaction that was moved into a state, with the account and the money that this left. */
export function standing(
  kind: Kind,
  status: TransactionState,
): { transaction: Transaction; accountContext: AccountContext } {
  const on = someAccount({}, { balance_minor: 100_000n });
  const made = accepted(request(kind, { amount: "100", fee: "1" }, on));
  let transaction = made.result;
  let accountContext = { ...on, balance: applied(on.balance, made.changes) };
  for (const to of ways[status]) {
    const step = accepted(moveTransaction(transaction, accountContext, { status: to, reason }, decisionContext()));
    transaction = step.result;
    accountContext = { ...accountContext, balance: applied(accountContext.balance, step.changes) };
  }
  return { transaction, accountContext };
}

export const reason = { code: "manual", message: "by hand" };

/** The balance after the adjustments among these changes; a requirement that does not hold fails the test. */
export function applied(balance: Balance, changes: Extract<Decision<unknown>, { ok: true }>["changes"]): Balance {
  let after = { ...balance } as Record<string, unknown>;
  for (const change of changesOf(changes, "adjust")) {
    const { require, set, add } = change;
    const read = change.entity === "balance" && isDeepStrictEqual(change.before, after);
    for (const requirement of require)
      if (!holds(after, requirement)) throw new Error(JSON.stringify(requirement.attribute));
    after = { ...after, ...set };
    for (const [name, more] of Object.entries(add ?? {})) {
      const now = after[name];
      after[name] = typeof now === "bigint" ? now + BigInt(more) : Number(now) + Number(more);
    }
    if (read && !isDeepStrictEqual(change.after, after))
      throw new Error("A change leaves another balance than it says.");
  }
  return after as unknown as Balance;
}

function holds(item: Record<string, unknown>, { attribute, is, value }: Requirement): boolean {
  const now = item[attribute] as typeof value;
  if (is === "equal") return now === value;
  if (is === "not") return now !== value;
  return is === "at_least" ? now >= value : now < value;
}

export const step = fc.record({
  what: fc.constantFrom("deposit", "withdrawal", ...states.filter((state) => state !== "pending")),
  minor: fc.bigInt({ min: 1n, max: 500_000n }),
  feeShare: fc.integer({ min: 0, max: 99 }),
  direct: fc.boolean(),
  which: fc.nat(20),
});
