import { describe, expect, it } from "vitest";
import { type ApprovalRule, strictestRule } from "../../../shared/domain/access/approval-rules.ts";
import { draftTenant } from "../../../shared/domain/access/tenant.ts";
import { amendAccount } from "../../../shared/domain/accounts/amend-account.ts";
import { amendSource, registerSource } from "../../../shared/domain/feed/source.ts";
import type { Context } from "../../../shared/domain/kernel/decision.ts";
import type { FeedSource } from "../../../shared/domain/records/feed-source.ts";
import type { Tenant } from "../../../shared/domain/records/tenant.ts";
import { type Role, scopesOf } from "../../../shared/roles.ts";
import { scopes } from "../../../shared/schema/scope.ts";
import {
  accepted,
  decisionContext,
  decisionTime,
  refused,
  someAccount,
  someClient,
  tenantId,
} from "../../support/builders/decisions.ts";

const rule = (kind: ApprovalRule["kind"], approvers: number, roles?: Role[]): ApprovalRule => ({
  ...{ kind, over: { USD: "100.00" }, approvers },
  ...(roles && { roles }),
});
const tenant = draftTenant(tenantId, decisionTime);
const byFinance: Tenant = {
  ...tenant,
  approval_rules: [rule("deposit", 3, ["owner"]), rule("withdrawal", 2, ["finance"])],
};
const byFour: Tenant = { ...tenant, four_eyes: true };

const as = (name: string, role: Role): Context =>
  decisionContext({ actor: { type: "operator", id: `opr_${name}`, name }, role, scopes: [...scopes] });
const [ana, eva, tom] = [as("ana", "finance"), as("eva", "finance"), as("tom", "owner")];
const zoe = as("zoe", "risk");
const application = decisionContext({ actor: { type: "application", id: "app_2", name: "CRM" } });
const invite = "if there is none, invite an operator with the role finance.";

const registered = registerSource({ name: "mt5:live-1", platform: "mt5" }, 0, ana);
if (!registered.ok) throw new Error(registered.refusal.detail);
const source: FeedSource = registered.result;

/** An account that is linked to the source, with this money. */
function linked(balance_minor: bigint) {
  const link = { platform: "mt5", platform_login: "50000001", source_id: source.id } as const;
  const { account, balance } = someAccount(link, { balance_minor, available_minor: balance_minor });
  return { account, balance, client: someClient(), source: undefined, corrections: [] };
}

describe("the rule that covers what has no amount", () => {
  it("is that of withdrawals with most approvers, or else that of deposits", () => {
    const [low, high, deposits] = [rule("withdrawal", 1), rule("withdrawal", 2), rule("deposit", 5)];
    expect(strictestRule({ approval_rules: [deposits, low, high] })).toBe(high);
    expect(strictestRule({ approval_rules: [deposits] })).toBe(deposits);
    expect(strictestRule({})).toBeUndefined();
  });
});

describe("the link of an account with money", () => {
  const unlink = { source_id: null } as const;
  const patched = (policies: Tenant, ...callers: Context[]) => {
    let owned = { ...linked(900_000n), tenant: policies };
    const last = callers.at(-1) as Context;
    for (const each of callers.slice(0, -1)) {
      owned = { ...owned, account: accepted(amendAccount(owned, unlink, each)).result.account };
    }
    return amendAccount(owned, unlink, last);
  };

  it("ends when a second one agrees whom the rule accepts, and by no one else", () => {
    expect(accepted(patched(byFinance, ana)).result.account.proposed_link).toMatchObject({ source_id: null });
    for (const other of [zoe, application]) {
      expect(refused(patched(byFinance, ana, other))).toMatchObject({
        code: "four_eyes_required",
        detail: expect.stringContaining(invite),
        extra: { roles: ["finance"] },
      });
    }
    const { account } = accepted(patched(byFinance, ana, eva)).result;
    expect([account.source_id, account.proposed_link]).toEqual([null, undefined]);
    // The proposer needs no role of the rule.
    expect(accepted(patched(byFinance, zoe, eva)).result.account.source_id).toBeNull();
    // Of the operators, owners alone hold the scopes of the request in production.
    expect(accepted(patched(byFinance, zoe, tom)).result.account.source_id).toBeNull();
  });

  it("ends under four eyes when any second one agrees who has the scope", () => {
    expect(accepted(patched(byFour, ana, application)).result.account.source_id).toBeNull();
    const viewer = { ...as("uma", "viewer"), scopes: scopesOf("viewer", "production") };
    expect(refused(patched(byFour, ana, viewer)).code).toBe("insufficient_scope");
  });

  it("ends freely where the account is quiet, or no policy asks for two", () => {
    for (const [minor, policies] of [
      [0n, byFinance],
      [0n, byFour],
      [900_000n, tenant],
    ] as const) {
      const { account } = accepted(amendAccount({ ...linked(minor), tenant: policies }, unlink, ana)).result;
      expect([account.source_id, account.proposed_link]).toEqual([null, undefined]);
    }
  });
});

describe("another authority of a source", () => {
  const flipped = (policies: Tenant, ...callers: Context[]) => {
    let seen = { source, pulse: undefined };
    const asked = { authoritative: "service" } as const;
    let last = amendSource(seen, asked, policies, callers[0] as Context);
    for (const each of callers.slice(1)) {
      if (!last.ok) throw new Error(last.refusal.detail);
      seen = { source: last.result.source, pulse: undefined };
      last = amendSource(seen, asked, policies, each);
    }
    return last;
  };

  it("holds when a second one agrees whom the rule accepts, and freely where no policy asks for two", () => {
    const waits = { source: { authoritative: "platform", proposed_authoritative: { authoritative: "service" } } };
    expect(flipped(byFinance, ana)).toMatchObject({ ok: true, result: waits });
    for (const other of [zoe, application]) {
      expect(flipped(byFinance, ana, other)).toMatchObject({
        ok: false,
        refusal: { code: "four_eyes_required", detail: expect.stringContaining(invite) },
      });
    }
    const holds = { ok: true, result: { source: { authoritative: "service" } } };
    expect(flipped(byFinance, ana, eva)).toMatchObject(holds);
    expect(flipped(byFour, ana, application)).toMatchObject(holds);
    expect(flipped(tenant, ana)).toMatchObject(holds);
  });
});
