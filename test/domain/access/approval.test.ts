import { describe, expect, it } from "vitest";
import { amendSettings, draftTenant } from "../../../shared/domain/access/tenant.ts";
import type { Actor } from "../../../shared/domain/kernel/decision.ts";
import { moveTransaction } from "../../../shared/domain/money/move.ts";
import type { AccountContext } from "../../../shared/domain/money/transaction.ts";
import type { Tenant } from "../../../shared/domain/records/tenant.ts";
import type { Transaction } from "../../../shared/domain/records/transaction.ts";
import { type Role, scopesOf } from "../../../shared/roles.ts";
import type { UpdateSettings } from "../../../shared/schema/settings.ts";
import {
  accepted,
  activeGivers,
  decisionContext,
  decisionTime,
  refused,
  tenantId,
} from "../../support/builders/decisions.ts";
import { standing } from "../transaction-cases.ts";

type Rules = NonNullable<UpdateSettings["approval_rules"]>;

const rule = (given: Partial<Rules[number]> = {}): Rules[number] => ({
  ...{ kind: "withdrawal", over: { USD: "5.00" }, approvers: 2, roles: ["finance", "owner"] },
  ...given,
});

/** An operator, as the context of their decision. */
function by(name: string, role: Role = "finance") {
  const actor: Actor = { type: "operator", id: `opr_${name}`, name };
  return decisionContext({ actor, role, scopes: scopesOf(role, "production") });
}

const [ana, eva, tom] = [by("Ana"), by("Eva"), by("Tom", "owner")];

/** A pending withdrawal of USD 100.00 by Ana, with what is known of its account under these rules. */
function pending(rules: Rules = [rule()], kind: "deposit" | "withdrawal" = "withdrawal") {
  const { transaction, accountContext } = standing(kind, "pending");
  const made: Transaction = { ...transaction, created_by: ana.actor };
  const ruled: AccountContext = { ...accountContext, tenant: { ...accountContext.tenant, approval_rules: rules } };
  const move = (from: Transaction, status: "approved" | "completed" | "rejected", context = eva) =>
    moveTransaction(
      from,
      { ...ruled, givers: activeGivers(from) },
      { status, ...(status === "rejected" ? { reason: { code: "fraud" } } : {}) },
      context,
    );
  return { made, move };
}

describe("a withdrawal above the amount of a rule", () => {
  const { made, move } = pending();

  it("is approved by two others, and each is named in the history, the approvals and the event", () => {
    const first = accepted(move(made, "approved", eva));
    expect(first.result).toMatchObject({ status: "pending", approved_by: null, version: made.version + 1 });
    expect(first.result.approvals).toMatchObject([{ actor: { name: "Eva" } }]);
    expect(first.result.expires_at).toBe(made.expires_at);
    expect(first.events.map(({ type }) => type)).toEqual(["transaction.updated"]);
    const second = accepted(move(first.result, "approved", tom)).result;
    expect(second).toMatchObject({ status: "approved", approved_by: tom.actor });
    expect(second.status_history.slice(-2).map(({ actor, to }) => [actor.name, to])).toEqual([
      ["Eva", "pending"],
      ["Tom", "approved"],
    ]);
    expect(accepted(move(second, "completed", eva)).result.status).toBe("completed");
  });

  it("counts the same person once", () => {
    const first = accepted(move(made, "approved", eva)).result;
    const again = accepted(move(first, "approved", eva));
    expect([again.result, again.changes]).toEqual([first, []]);
  });

  it("is not approved by its maker, in any place of the order", () => {
    expect(refused(move(made, "approved", ana)).code).toBe("four_eyes_required");
    const first = accepted(move(made, "approved", eva)).result;
    expect(refused(move(first, "approved", ana)).code).toBe("four_eyes_required");
  });

  it("is completed by no one before that", () => {
    for (const from of [made, accepted(move(made, "approved", eva)).result]) {
      const { code, extra } = refused(move(from, "completed", tom));
      expect([code, extra]).toMatchObject(["approval_required", { roles: ["finance", "owner"] }]);
    }
  });

  it("is approved by no other role and by no application", () => {
    const risk = { ...by("Ria", "risk"), scopes: eva.scopes };
    for (const context of [risk, decisionContext()]) {
      expect(refused(move(made, "approved", context)).code).toBe("approval_required");
    }
  });

  it("is rejected by one person", () => {
    expect(accepted(move(made, "rejected", eva)).result.status).toBe("rejected");
  });
});

describe("a rule", () => {
  it.each([
    ["of the exact amount", [rule({ over: { USD: "100.00" } })], false],
    ["of a smaller amount", [rule({ over: { USD: "99.99" } })], true],
    ["of another currency", [rule({ over: { EUR: "5000.00" } })], true],
    ["of another kind", [rule({ kind: "deposit" })], false],
    ["with one approver", [rule({ approvers: 1 })], false],
    ["next to a stricter one", [rule({ approvers: 1 }), rule({ approvers: 3 })], true],
  ] as const)("%s", (_, rules, holds) => {
    const { made, move } = pending([...rules]);
    expect(accepted(move(made, "approved", eva)).result.status).toBe(holds ? "pending" : "approved");
  });

  it("without roles is met by operators of any role with the scope, and by no application", () => {
    const { roles: _roles, ...open } = rule();
    const { made, move } = pending([open]);
    expect(refused(move(made, "approved", decisionContext())).code).toBe("approval_required");
    const first = accepted(move(made, "approved", tom)).result;
    expect(accepted(move(first, "approved", eva)).result.status).toBe("approved");
  });
});

describe("a change of the rules", () => {
  const owners = (active_owners: number): Tenant => ({ ...draftTenant(tenantId, decisionTime), active_owners });
  const [max, mia] = [by("Max", "owner"), by("Mia", "owner")];
  const approval_rules = [rule()];

  it("holds at once while there is one owner", () => {
    expect(accepted(amendSettings(owners(1), { approval_rules }, max)).result).toMatchObject({ approval_rules });
  });

  it("waits for a second owner, who sends the same; the first one cannot accept it", () => {
    const proposed = accepted(amendSettings(owners(2), { approval_rules }, max)).result;
    expect(proposed).toMatchObject({ approval_rules: [], proposed_approval_rules: { by: max.actor } });
    const again = accepted(amendSettings(proposed, { approval_rules }, max));
    expect([again.result.approval_rules, again.changes]).toEqual([[], []]);
    const other = accepted(amendSettings(proposed, { approval_rules: [rule({ approvers: 1 })] }, mia)).result;
    expect(other).toMatchObject({ approval_rules: [], proposed_approval_rules: { by: mia.actor } });
    const held = accepted(amendSettings(proposed, { approval_rules }, mia)).result;
    expect(held).toMatchObject({ approval_rules, proposed_approval_rules: null });
    const withdrawn = accepted(amendSettings(proposed, { approval_rules: [] }, mia)).result;
    expect(withdrawn.proposed_approval_rules).toBeNull();
  });

  it("is made by no application where there are two owners", () => {
    expect(refused(amendSettings(owners(2), { approval_rules }, decisionContext())).code).toBe("four_eyes_required");
  });

  it("is made by no application of an operator, who could step down and leave one owner", () => {
    const actor: Actor = { type: "application", id: "app_own", name: "Own", operator_ids: [max.actor.id] };
    for (const count of [0, 1, 2]) {
      for (const patch of [{ approval_rules }, { four_eyes: true }]) {
        const decision = amendSettings(owners(count), patch, decisionContext({ actor }));
        expect([count, refused(decision).code]).toEqual([count, "four_eyes_required"]);
      }
    }
  });

  it("proposed by one owner has no effect after 72 hours, of four eyes and of the rules", () => {
    const both = { approval_rules, four_eyes: true };
    const proposed = accepted(amendSettings(owners(2), both, max)).result;
    expect(proposed).toMatchObject({ four_eyes: false, proposed_four_eyes: { four_eyes: true, by: max.actor } });
    const ends = proposed.proposed_four_eyes?.expires_at ?? "";
    expect(Date.parse(ends) - Date.parse(decisionTime)).toBe(72 * 3_600_000);
    const at = (now: string) => accepted(amendSettings(proposed, both, { ...mia, now })).result;
    const before = new Date(Date.parse(ends) - 1).toISOString();
    expect(at(before)).toMatchObject({ ...both, proposed_four_eyes: null, proposed_approval_rules: null });
    expect(at(ends)).toMatchObject({
      ...{ four_eyes: false, approval_rules: [] },
      ...{ proposed_four_eyes: { by: mia.actor, at: ends }, proposed_approval_rules: { by: mia.actor, at: ends } },
    });
  });
});
