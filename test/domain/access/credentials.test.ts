import { describe, expect, it } from "vitest";
import { inviteAgain, resetCredentials } from "../../../shared/domain/access/credentials.ts";
import { type Counts, draftOperator, inviteOperator } from "../../../shared/domain/access/operator.ts";
import type { Actor, Context } from "../../../shared/domain/kernel/decision.ts";
import type { Operator } from "../../../shared/domain/records/operator.ts";
import { type Role, scopesOf } from "../../../shared/roles.ts";
import {
  accepted,
  decisionContext,
  decisionTime,
  personKey,
  refused,
  tenantId,
} from "../../support/builders/decisions.ts";

const request = { email: "ana@example.com", name: "Ana Silva", role: "finance" } as const;
const day = decisionTime.slice(0, 10);

/** An operator who has signed in, unless `given` says otherwise. */
function someOperator(given: Partial<Operator> = {}): Operator {
  const drawn = { id: "opr_ANA", tenant_id: tenantId, audit_key: personKey.public_key, now: decisionTime };
  const user = { pool_state: "ready", pool_subject: "sub", identity_sha256: "identity", wake_at: null } as const;
  const signedIn = { status: "active", last_seen_at: decisionTime } as const;
  return { ...draftOperator(request, drawn), ...user, ...signedIn, ...given };
}

const by = (id: string, role: Role = "owner", now = decisionTime): Context => {
  const actor: Actor = { type: "operator", id, name: id };
  return decisionContext({ environment: "production", actor, role, scopes: scopesOf(role, "production"), now });
};
const oneOwner = { operators: 2, active_owners: 1 };
const twoOwners = { operators: 3, active_owners: 2 };

describe("a reset of credentials", () => {
  it("takes the identity from the operator at once, and has the user of the pool replaced", () => {
    const operator = someOperator();
    const { result, changes, events } = accepted(resetCredentials(operator, oneOwner, by("opr_MAX")));
    expect(result).toMatchObject({
      ...{ status: "active", pool_state: "reset", identity_sha256: null, pool_subject: "sub" },
      ...{ wake_at: decisionTime, version: 2, mails: { day, count: 1 } },
    });
    expect(changes.map((change) => ("entity" in change ? change.entity : change.op))).toEqual(["operator", "tenant"]);
    expect(events).toEqual([]);
    expect(accepted(resetCredentials(result, oneOwner, by("opr_MAX"))).changes).toEqual([]);
  });

  it.each(["invited", "suspended"] as const)("is refused for one who is %s", (status) => {
    const decided = resetCredentials(someOperator({ status }), oneOwner, by("opr_MAX"));
    expect(refused(decided).code).toBe("illegal_transition");
  });

  it("is refused to the operator themselves, also by their former identifier and their application", () => {
    const operator = someOperator({ role: "owner", former_ids: ["opr_BEFORE"] });
    const application: Actor = { type: "application", id: "app_1", name: "CRM", operator_ids: ["opr_ANA"] };
    const own = decisionContext({ environment: "production", actor: application });
    for (const context of [by("opr_ANA"), by("opr_BEFORE"), own]) {
      expect(refused(resetCredentials(operator, oneOwner, context)).code).toBe("four_eyes_required");
    }
  });

  it("takes both owners where rights are at stake that two owners give, and one for the others", () => {
    for (const role of ["owner", "finance", "developer"] as const) {
      const first = accepted(resetCredentials(someOperator({ role }), twoOwners, by("opr_MAX")));
      expect(first.result).toMatchObject({ pool_state: "ready", identity_sha256: "identity", version: 2 });
      expect(first.result.proposed_reset).toMatchObject({ by: { id: "opr_MAX" }, at: decisionTime });
      expect(first.changes).toHaveLength(1);
      const again = accepted(resetCredentials(first.result, twoOwners, by("opr_MAX")));
      expect(again.changes).toEqual([]);
      const second = accepted(resetCredentials(first.result, twoOwners, by("opr_MIA")));
      expect(second.result).toMatchObject({ pool_state: "reset", identity_sha256: null, proposed_reset: null });
      const late = by("opr_MIA", "owner", first.result.proposed_reset?.expires_at);
      expect(accepted(resetCredentials(first.result, twoOwners, late)).result).toMatchObject({ pool_state: "ready" });
    }
    for (const role of ["support", "compliance", "risk", "viewer"] as const) {
      const alone = accepted(resetCredentials(someOperator({ role }), twoOwners, by("opr_MAX")));
      expect(alone.result.pool_state).toBe("reset");
    }
  });

  it("is refused to an application with a person behind it where two owners reset", () => {
    const actor: Actor = { type: "application", id: "app_1", name: "CRM", operator_ids: ["opr_MAX"] };
    const context = decisionContext({ environment: "production", actor });
    expect(refused(resetCredentials(someOperator(), twoOwners, context)).code).toBe("four_eyes_required");
    const ofTerminal = decisionContext({ environment: "production" });
    expect(accepted(resetCredentials(someOperator(), twoOwners, ofTerminal)).result.pool_state).toBe("reset");
  });

  it("needs every scope of the role", () => {
    const context = { ...by("opr_MAX"), scopes: scopesOf("support", "production") };
    expect(refused(resetCredentials(someOperator(), oneOwner, context)).code).toBe("insufficient_scope");
  });
});

describe("emails of a day", () => {
  const invited = (mails?: Operator["mails"]) =>
    someOperator({ status: "invited", last_seen_at: null, ...(mails && { mails }) });
  const again = (operator: Operator, counts: Counts, now = decisionTime) =>
    inviteAgain(operator, counts, by("opr_MAX", "owner", now));

  it("are three at most to an operator, whatever asks for them", () => {
    const { retry_after_seconds, ...first } = refused(again(invited({ day, count: 3 }), oneOwner));
    expect(first).toMatchObject({
      code: "rate_limit_exceeded",
      detail: expect.stringMatching(/^At most 3 emails a day/),
    });
    // From 06:30 to midnight.
    expect(retry_after_seconds).toBe(63_000);
    expect(accepted(again(invited({ day, count: 2 }), oneOwner)).result.mails).toEqual({ day, count: 3 });
    expect(accepted(again(invited({ day: "2026-11-20", count: 3 }), oneOwner)).result.mails).toEqual({ day, count: 1 });
    const reset = resetCredentials(someOperator({ mails: { day, count: 3 } }), oneOwner, by("opr_MAX"));
    expect(refused(reset).code).toBe("rate_limit_exceeded");
  });

  it("count on where an address is removed and invited again", () => {
    const holder = someOperator({ status: "removed", mails: { day, count: 3 } });
    const invite = (mails: Operator["mails"]) =>
      inviteOperator(
        request,
        {
          counts: oneOwner,
          key: undefined,
          api_key_seed: "seed",
          keys: personKey,
          holder: { ...holder, ...(mails && { mails }) },
        },
        by("opr_MAX"),
      );
    expect(refused(invite({ day, count: 3 })).code).toBe("rate_limit_exceeded");
    expect(accepted(invite({ day, count: 2 })).result.mails).toEqual({ day, count: 3 });
  });

  it("are a hundred at most to a brokerage, counted on the condition that they are fewer", () => {
    const full = { ...oneOwner, operator_mail_day: day, operator_mails: 100 };
    expect(refused(again(invited(), full)).detail).toMatch(/^At most 100 emails a day .* of a brokerage/);
    const below = accepted(again(invited(), { ...full, operator_mails: 99 }));
    expect(below.changes.at(-1)).toMatchObject({
      add: { operator_mails: 1 },
      require: [
        { attribute: "operator_mail_day", is: "equal", value: day },
        { attribute: "operator_mails", is: "below", value: 100 },
      ],
    });
    const next = accepted(again(invited(), { ...full, operator_mail_day: "2026-11-20" }));
    expect(next.changes.at(-1)).toMatchObject({
      set: { operator_mail_day: day, operator_mails: 1 },
      require: [{ attribute: "operator_mail_day", is: "not", value: day }],
    });
  });
});
