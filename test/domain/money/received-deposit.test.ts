import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { moveTransaction } from "../../../shared/domain/money/move.ts";
import { transactionBody } from "../../../shared/domain/money/transaction.ts";
import type { Transaction } from "../../../shared/domain/records/transaction.ts";
import type { TransactionState } from "../../../shared/schema/transaction.ts";
import { accepted, activeGivers, changesOf, decisionContext, refused } from "../../support/builders/decisions.ts";
import { applied, standing } from "../transaction-cases.ts";

const complete = (received_amount: string, more: object = {}) => ({
  status: "completed" as const,
  received_amount,
  ...more,
});

const approver = { type: "operator", id: "opr_eva", name: "Eva" } as const;

/** A deposit of 100 with a fee of 1, in a state, under policies; approved by another one than its maker. */
function announced(status: TransactionState, policies: object = {}) {
  const { transaction: made, accountContext } = standing("deposit", status);
  const transaction = status === "approved" ? { ...made, approved_by: approver } : made;
  const tenant = { ...accountContext.tenant, ...policies };
  return { transaction, on: { ...accountContext, tenant, givers: activeGivers(transaction) } };
}

const rule = (over: string) => ({ kind: "deposit" as const, over: { USD: over }, approvers: 1 });

describe("a deposit of which another amount arrived", () => {
  it.each(["pending", "approved", "processing"] as const)("is booked from %s as it arrived, and shows both", (from) => {
    const { transaction, on } = announced(from);
    const decision = accepted(moveTransaction(transaction, on, complete("97.50"), decisionContext()));
    expect(transactionBody(decision.result)).toMatchObject({
      ...{ status: "completed", announced_amount: "100.00", amount: "97.50", fee: "1.00", net_amount: "96.50" },
      ...{ balance_before: "1000.00", balance_after: "1096.50" },
    });
    const [update] = changesOf(decision.changes, "update");
    expect([update?.before, update?.after]).toEqual([transaction, decision.result]);
    expect(applied(on.balance, decision.changes)).toMatchObject({ balance_minor: 109_650n, pending: 0 });
    const again = moveTransaction(decision.result, on, complete("97.50"), decisionContext());
    expect(accepted(again)).toMatchObject({ result: decision.result, changes: [], events: [] });
    const other = moveTransaction(decision.result, on, complete("97.51"), decisionContext());
    expect(refused(other).code).toBe("illegal_transition");
  });

  it("has the announced fee, or the one that is given with it", () => {
    const { transaction, on } = announced("pending");
    const move = (fee: string) => moveTransaction(transaction, on, complete("97.50", { fee }), decisionContext());
    expect(transactionBody(accepted(move("2.50")).result)).toMatchObject({ amount: "97.50", net_amount: "95.00" });
    expect(refused(move("97.50")).code).toBe("fee_too_high");
    expect(refused(moveTransaction(transaction, on, complete("1.00"), decisionContext())).code).toBe("fee_too_high");
  });

  it("is one like others where the announced amount arrived", () => {
    const { transaction, on } = announced("pending");
    const decision = accepted(moveTransaction(transaction, on, complete("100.00"), decisionContext()));
    expect(transactionBody(decision.result)).not.toHaveProperty("announced_amount");
    const plain = accepted(moveTransaction(transaction, on, { status: "completed" }, decisionContext()));
    expect(decision.result).toEqual(plain.result);
  });

  it.each([
    [{ status: "completed", received_amount: "97.505" }, "amount_precision", "#/received_amount"],
    [{ status: "completed", received_amount: "0.00" }, "validation_failed", "#/received_amount"],
    [{ status: "approved", received_amount: "97.50" }, "validation_failed", "#/received_amount"],
    [{ received_amount: "97.50" }, "validation_failed", "#/received_amount"],
    [{ status: "completed", fee: "2.00" }, "validation_failed", "#/fee"],
  ] as const)("is refused as %j", (body, code, pointer) => {
    const { transaction, on } = announced("pending");
    expect(refused(moveTransaction(transaction, on, body, decisionContext()))).toMatchObject({
      code,
      errors: [{ pointer }],
    });
  });

  it("is no withdrawal", () => {
    const { transaction, accountContext: on } = standing("withdrawal", "pending");
    expect(refused(moveTransaction(transaction, on, complete("97.50"), decisionContext())).code).toBe(
      "validation_failed",
    );
  });

  it.each([
    ["pending", "97.50", { approval_rules: [rule("50.00")] }],
    ["pending", "97.50", { approval_rules: [rule("98.00")] }],
    ["pending", "150.00", { approval_rules: [rule("120.00")] }],
    ["approved", "150.00", { approval_rules: [rule("120.00")] }],
    ["approved", "150.00", { approval_rules: [rule("50.00")] }],
    ["processing", "150.00", { approval_rules: [rule("50.00")] }],
    ["approved", "100.01", { four_eyes: true }],
    ["processing", "100.01", { four_eyes: true }],
  ] as const)("needs approvals by the larger amount: %s with %s under %j", (from, received, policies) => {
    const { transaction, on } = announced(from, policies);
    expect(refused(moveTransaction(transaction, on, complete(received), decisionContext())).code).toBe(
      "approval_required",
    );
  });

  it.each([
    ["pending", "150.00", { approval_rules: [rule("150.00")] }],
    ["approved", "97.50", { approval_rules: [rule("50.00")] }],
    ["approved", "97.50", { four_eyes: true }],
    ["processing", "97.50", { approval_rules: [rule("50.00")] }],
    ["processing", "97.50", { four_eyes: true }],
  ] as const)("needs none, or no more: %s with %s under %j", (from, received, policies) => {
    const { transaction, on } = announced(from, policies);
    expect(accepted(moveTransaction(transaction, on, complete(received), decisionContext())).result.status).toBe(
      "completed",
    );
  });

  it.each([
    ["97.50", { approval_rules: [rule("50.00")] }, "approval_required", "require 1 more approval"],
    ["97.50", { four_eyes: true }, "four_eyes_required", "other than the creator"],
    ["150.00", { four_eyes: true }, "approval_required", "More arrived than was approved"],
  ] as const)("is judged again by approvals that still count: %s under %j", (received, policies, code, detail) => {
    const { transaction, on } = announced("approved", policies);
    const gone = { ...on, givers: new Map([[approver.id, { active: false }]]) };
    expect(refused(moveTransaction(transaction, gone, complete(received), decisionContext()))).toMatchObject({
      code,
      detail: expect.stringContaining(detail),
    });
  });

  it("and is returned gives back what arrived, whatever was announced", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 101n, max: 10n ** 9n }), fc.boolean(), (minor, keep_fee) => {
        const { transaction, on } = announced("pending");
        const text = `${minor / 100n}.${String(minor % 100n).padStart(2, "0")}`;
        const done = accepted(moveTransaction(transaction, on, complete(text), decisionContext()));
        const after = { ...on, balance: applied(on.balance, done.changes) };
        expect(after.balance.balance_minor - on.balance.balance_minor).toBe(minor - 100n);
        const back = { status: "returned", keep_fee, reason: { code: "by_test" } } as const;
        const gone = accepted(moveTransaction(done.result, after, back, decisionContext()));
        const left = applied(after.balance, gone.changes).balance_minor - on.balance.balance_minor;
        expect(left).toBe(keep_fee ? -100n : 0n);
      }),
    );
  });
});

describe("the names of a transaction", () => {
  const named = (transaction: Transaction): Transaction => ({
    ...transaction,
    ...{ external_id: "e-1", provider: " Stripe ", provider_reference: "r-1" },
  });
  const freed = [
    { op: "release", kind: "transaction_external_id", value: "e-1", ended: true },
    { op: "release", kind: "provider_reference", value: '["stripe","r-1"]', ended: true },
  ];

  it.each([
    ["deposit", "pending", "rejected", true],
    ["deposit", "pending", "cancelled", true],
    ["deposit", "approved", "failed", true],
    ["deposit", "processing", "failed", true],
    ["deposit", "pending", "completed", false],
    ["deposit", "completed", "returned", false],
    ["withdrawal", "pending", "rejected", true],
    ["withdrawal", "approved", "cancelled", true],
    ["withdrawal", "processing", "failed", true],
    ["withdrawal", "approved", "processing", false],
    ["withdrawal", "completed", "returned", false],
  ] as const)("of a %s that goes from %s to %s are freed: %s", (kind, from, to, ends) => {
    const { transaction, accountContext } = standing(kind, from);
    const move = { status: to, reason: { code: "by_test" } };
    const decision = accepted(moveTransaction(named(transaction), accountContext, move, decisionContext()));
    const releases = decision.changes.filter(({ op }) => op === "release");
    expect(releases).toEqual(ends ? freed.map((each) => ({ ...each, owner: transaction.id })) : []);
  });
});
