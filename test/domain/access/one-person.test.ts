import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  amendOperator,
  draftOperator,
  draftOperatorKey,
  inviteOperator,
  isThere,
  removeOperator,
  signIn,
} from "../../../shared/domain/access/operator.ts";
import type { Actor, Context } from "../../../shared/domain/kernel/decision.ts";
import { moveTransaction } from "../../../shared/domain/money/move.ts";
import type { Decision } from "../../../shared/domain/records/change.ts";
import type { Operator } from "../../../shared/domain/records/operator.ts";
import type { Transaction } from "../../../shared/domain/records/transaction.ts";
import { roles, scopesOf } from "../../../shared/roles.ts";
import { activeGivers, decisionContext, decisionTime, personKey, tenantId } from "../../support/builders/decisions.ts";
import { standing } from "../transaction-cases.ts";

const byAna: Actor = { type: "operator", id: "opr_ana", name: "ana" };
const byTerminal: Actor = { type: "application", id: "app_terminal", name: "CRM" };
const applicationOfAna: Actor = { type: "application", id: "app_ana", name: "Own", operator_ids: ["opr_ana"] };
const key = draftOperatorKey({ id: "opk_1", tenant_id: tenantId, api_key_seed: "seed" }, decisionTime);

function ownerOf(name: string): Operator {
  const email = `${name}@example.com`;
  const drawn = { id: `opr_${name}`, tenant_id: tenantId, audit_key: personKey.public_key, now: decisionTime };
  return { ...draftOperator({ email, name, role: "owner" }, drawn), status: "active", last_seen_at: decisionTime };
}

/** A brokerage with two owners, ana and eva. Ana does all that is done in it, and reads every mailbox but eva's. */
class Brokerage {
  readonly operators: Operator[] = [ownerOf("ana"), ownerOf("eva")];
  transaction: Transaction;
  readonly #context = standing("withdrawal", "pending");
  readonly #policy: object;

  constructor(policy: object, maker: Actor) {
    this.#policy = policy;
    this.transaction = { ...this.#context.transaction, created_by: maker };
  }

  get #counts() {
    const owners = this.operators.filter(({ role, status }) => role === "owner" && status === "active");
    return { operators: this.operators.filter(isThere).length, active_owners: owners.length };
  }

  /** An operator of ana's by name, while they are active, or the application that ana made as an owner. */
  #caller({ as, application }: Step): Context | undefined {
    const own = this.operators.filter(({ id }) => id !== "opr_eva");
    const operator = own[as % own.length];
    if (operator === undefined) return undefined;
    const newId = (prefix: string) => `${prefix}_${this.operators.length}`;
    if (application)
      return { ...decisionContext({ actor: applicationOfAna, scopes: scopesOf("owner", "production") }), newId };
    if (operator.status !== "active") return undefined;
    return {
      ...decisionContext({
        actor: actorOf(operator),
        role: operator.role,
        scopes: scopesOf(operator.role, "production"),
      }),
      newId,
    };
  }

  take(step: Step): void {
    const context = this.#caller(step);
    const target = this.operators[step.target % this.operators.length];
    if (context === undefined || target === undefined) return;
    if (step.does === "approved" || step.does === "completed") this.#move(step.does, context);
    // The routes of operators need this scope.
    else if (context.scopes.includes("operators:write")) this.#keep(this.#decide(step, target, context));
  }

  #keep(decision: Decision<Operator>): void {
    if (!decision.ok) return;
    const after = decision.result;
    const signed = after.id === "opr_eva" ? after : (signIn(after, decisionTime)?.after ?? after);
    const place = this.operators.findIndex(({ id }) => id === after.id);
    this.operators.splice(place < 0 ? this.operators.length : place, place < 0 ? 0 : 1, signed);
  }

  #decide({ does, role, email }: Step, target: Operator, context: Context): Decision<Operator> {
    const counts = this.#counts;
    if (does === "invite") {
      const holder = this.operators.findLast((one) => one.email === email);
      // The claim of an address that belongs to one who is there fails.
      if (isThere(holder)) return { ok: false, refusal: { code: "operator_exists", detail: "" } };
      const drawn = { counts, key, api_key_seed: "seed", keys: personKey, holder };
      return inviteOperator({ email, name: email, role }, drawn, context);
    }
    if (!isThere(target)) return { ok: false, refusal: { code: "not_found", detail: "" } };
    if (does === "remove") return removeOperator(target, counts, context);
    const patch = does === "promote" ? { role } : { status: does === "suspended" ? does : ("active" as const) };
    return amendOperator(target, patch, counts, context);
  }

  #move(status: "approved" | "completed", context: Context): void {
    const { accountContext } = this.#context;
    const ruled = { ...accountContext, tenant: { ...accountContext.tenant, ...this.#policy } };
    const decision = moveTransaction(this.transaction, ruled, { status }, context);
    if (decision.ok) this.transaction = decision.result;
  }
}

function actorOf({ id, name, former_ids = [] }: Operator): Actor {
  return { type: "operator", id, name, ...(former_ids.length > 0 && { operator_ids: [...former_ids] }) };
}

const step = fc.record({
  as: fc.nat({ max: 5 }),
  application: fc.boolean(),
  does: fc.constantFrom(
    ...(["invite", "invite", "promote", "remove", "remove", "suspended", "active", "approved", "completed"] as const),
  ),
  target: fc.nat({ max: 3 }),
  role: fc.constantFrom(...roles, "owner" as const, "finance" as const),
  email: fc.constantFrom("ana@example.com", "ana+2@example.com", "ana+3@example.com"),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;
const steps = fc.array(step, { minLength: 1, maxLength: 24 });

const rule = (approvers: number) => ({
  approval_rules: [{ kind: "withdrawal" as const, over: { USD: "5.00" }, approvers }],
});
describe("one of two owners, with every operator and application that they can make alone", () => {
  it.each([
    ["what they made under four eyes", { four_eyes: true }, byAna],
    ["what they made under a rule of one", rule(1), byAna],
    ["what they made under a rule of two", rule(2), byAna],
    ["what a terminal made under a rule of two", rule(2), byTerminal],
  ])("never settles %s, and makes or removes no owner", (_, policy, maker) => {
    let again = 0;
    let invited = 0;
    fc.assert(
      fc.property(steps, (taken) => {
        const brokerage = new Brokerage(policy, maker);
        for (const each of taken) brokerage.take(each);
        const { operators, transaction } = brokerage;
        expect(transaction.status).toBe("pending");
        const owners = operators.filter(({ role, status }) => role === "owner" && status === "active");
        expect(owners.map(({ id }) => id).filter((id) => id !== "opr_ana")).toEqual(["opr_eva"]);
        invited += operators.length - 2;
        again += operators.filter(({ former_ids }) => former_ids?.includes("opr_ana")).length;
      }),
      { numRuns: 2000 },
    );
    expect(invited).toBeGreaterThan(500);
    expect(again).toBeGreaterThan(0);
  });
});

describe("a person who was removed and invited again under the same email address", () => {
  const ana = ownerOf("ana");
  const back = (former_ids: readonly string[]) => {
    const actor = actorOf({ ...ana, id: "opr_back", former_ids });
    return decisionContext({ actor, role: "finance", scopes: scopesOf("finance", "production") });
  };
  const approvedBy = (policy: object, maker: Actor, ...by: Context[]) => {
    const { transaction, accountContext } = standing("withdrawal", "pending");
    const ruled = { ...accountContext, tenant: { ...accountContext.tenant, ...policy } };
    return by.reduce<Transaction>(
      (now, context) => {
        const decision = moveTransaction(now, { ...ruled, givers: activeGivers(now) }, { status: "approved" }, context);
        return decision.ok ? decision.result : now;
      },
      { ...transaction, created_by: maker },
    );
  };
  const before = decisionContext({ actor: byAna, role: "owner", scopes: scopesOf("owner", "production") });

  it("does not approve what they made before, nor twice, and does approve what another one made", () => {
    const same = back([ana.id]);
    expect(approvedBy({ four_eyes: true }, byAna, same).status).toBe("pending");
    expect(approvedBy(rule(2), byTerminal, before, same).approvals).toHaveLength(1);
    expect(approvedBy({ four_eyes: true }, byTerminal, same).status).toBe("approved");
    expect(approvedBy(rule(2), byTerminal, before, back([])).status).toBe("approved");
  });
});
