import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Actor } from "../../../shared/domain/kernel/decision.ts";
import { approvalRuleOf, demandOf, isCounted } from "../../../shared/domain/money/approval.ts";
import { queuedBody, queuedFor } from "../../../shared/domain/money/approval-queue.ts";
import { moveTransaction } from "../../../shared/domain/money/move.ts";
import type { Transaction } from "../../../shared/domain/records/transaction.ts";
import { type Role, scopesOf } from "../../../shared/roles.ts";
import { TransactionKind } from "../../../shared/schema/transaction.ts";
import { decisionContext } from "../../support/builders/decisions.ts";
import { standing, states } from "../transaction-cases.ts";

const names = ["Ana", "Eva", "Tom"] as const;

function actorOf(name: string, type: "operator" | "application"): Actor {
  return { type, id: `${type === "operator" ? "opr" : "app"}_${name}`, name };
}

const actors = fc.record({
  name: fc.constantFrom(...names),
  type: fc.constantFrom("operator" as const, "application" as const),
  role: fc.constantFrom<Role>("owner", "finance"),
});

const rules = fc.array(
  fc.record(
    {
      kind: fc.constantFrom("deposit" as const, "withdrawal" as const),
      over: fc.constantFrom({}, { USD: "5.00" }, { USD: "100.00" }),
      approvers: fc.integer({ min: 1, max: 3 }),
      roles: fc.constantFrom<Role[]>(["finance"], ["owner"], ["finance", "owner"]),
    },
    { requiredKeys: ["kind", "over", "approvers"] },
  ),
  { maxLength: 3 },
);

describe("the queue of a caller", () => {
  it("holds exactly what the caller can approve, by the decision about the approval itself", () => {
    const given = {
      caller: actors,
      maker: actors,
      approved: fc.uniqueArray(fc.constantFrom(...names), { maxLength: 2 }),
      kind: fc.constantFrom(...TransactionKind.options),
      status: fc.constantFrom("pending" as const, "pending" as const, ...states),
      four_eyes: fc.boolean(),
      rules,
    };
    let asked = 0;
    fc.assert(
      fc.property(fc.record(given), ({ caller, maker, approved, kind, status, four_eyes, rules: approval_rules }) => {
        const { transaction, accountContext } = standing(kind === "deposit" ? "deposit" : "withdrawal", "pending");
        const made: Transaction = {
          ...{ ...transaction, kind, status, created_by: actorOf(maker.name, maker.type) },
          approvals: approved.map((name) => ({ actor: actorOf(name, "operator"), at: transaction.created_at })),
        };
        const tenant = { ...accountContext.tenant, four_eyes, approval_rules };
        const person = caller.type === "operator";
        const context = decisionContext({
          actor: actorOf(caller.name, caller.type),
          ...(person ? { role: caller.role } : {}),
          scopes: scopesOf("owner", "production"),
        });
        const rule = approvalRuleOf(made, tenant);
        const givers = new Map(names.map((name) => [`opr_${name}`, { active: true, role: "finance" as Role }]));
        // Enough are left, so that a transaction waits for those alone who can approve it.
        const operators = Array.from({ length: 5 }, (_, place) => [
          { id: `opr_fin${place}`, role: "finance", status: "active" } as const,
          { id: `opr_own${place}`, role: "owner", status: "active" } as const,
        ]).flat();
        const people = { tenant, givers, operators, environment: context.environment };
        const queued = queuedFor(made, people, context);
        const decision = moveTransaction(made, { ...accountContext, tenant, givers }, { status: "approved" }, context);
        const demand = demandOf(made, tenant);
        const known = demand !== undefined && isCounted(made, context.actor, demand, givers);
        const taken = decision.ok && decision.changes.length > 0 && !known;
        expect(queued !== undefined).toBe(taken && demand !== undefined);
        if (queued === undefined || !decision.ok) return;
        asked += 1;
        const last = queued.approvals_missing <= 1;
        expect([queued.rule, decision.result.status]).toEqual([rule, last ? "approved" : status]);
      }),
      { numRuns: 2000 },
    );
    expect(asked).toBeGreaterThan(30);
  });

  it("shows the age in whole seconds, never below zero, and null where no rule applies", () => {
    const { transaction } = standing("deposit", "pending");
    const of = (seconds: number) =>
      queuedBody(
        { transaction, rule: undefined, approvals_missing: 1, approvers_left: null },
        new Date(Date.parse(transaction.created_at) + seconds * 1000).toISOString(),
      );
    expect([of(-5), of(0.999), of(61.5)].map(({ age_seconds }) => age_seconds)).toEqual([0, 0, 61]);
    expect(of(1)).toMatchObject({ id: transaction.id, status: "pending", rule: null, approvals_missing: 1 });
  });
});
