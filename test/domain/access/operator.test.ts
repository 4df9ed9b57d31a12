import { describe, expect, it } from "vitest";
import {
  amendOperator,
  type Counts,
  draftOperator,
  draftOperatorKey,
  inviteOperator,
  isThere,
  operatorBody,
  removeOperator,
  signIn,
} from "../../../shared/domain/access/operator.ts";
import type { Context } from "../../../shared/domain/kernel/decision.ts";
import type { Operator } from "../../../shared/domain/records/operator.ts";
import { type Role, roles, scopesOf } from "../../../shared/roles.ts";
import type { UpdateOperator } from "../../../shared/schema/people/operator.ts";
import { scopes } from "../../../shared/schema/scope.ts";
import {
  accepted,
  decisionContext,
  decisionTime,
  personKey,
  refused,
  tenantId,
} from "../../support/builders/decisions.ts";

const request = { email: "ana@example.com", name: "Ana Silva", role: "finance" } as const;

const inProduction = (given: Partial<Context> = {}) => decisionContext({ environment: "production", ...given });

/** An operator who has signed in, unless `given` says otherwise. */
function someOperator(given: Partial<Operator> = {}): Operator {
  const drafted = draftOperator(request, {
    id: "opr_01JD0000000000000000000001",
    tenant_id: tenantId,
    audit_key: personKey.public_key,
    now: decisionTime,
  });
  return { ...drafted, status: "active", last_seen_at: decisionTime, wake_at: null, ...given };
}

const counts = { operators: 2, active_owners: 1 };
const owner = someOperator({ role: "owner" });
const by = (role: Role) => inProduction({ scopes: scopesOf(role, "production") });
const amend = (operator: Operator, patch: UpdateOperator, context = by("owner"), held: Counts = counts) =>
  amendOperator(operator, patch, held, context);

describe("a role", () => {
  it("is a set of scopes that exist, each once, and the owner's holds all", () => {
    for (const role of roles) {
      const held: readonly string[] = scopesOf(role, "production");
      expect(held.filter((scope) => !(scopes as readonly string[]).includes(scope))).toEqual([]);
      expect(new Set(held).size).toBe(held.length);
    }
    expect(scopesOf("owner", "production")).toEqual(scopes);
  });

  it("moves money only for owners and finance, makes applications only for owners and developers", () => {
    const holding = (scope: string) =>
      roles.filter((role) => (scopesOf(role, "production") as readonly string[]).includes(scope));
    expect(holding("transactions:approve")).toEqual(["owner", "finance"]);
    expect(holding("transactions:settle")).toEqual(["owner", "finance", "risk"]);
    expect(holding("transactions:write")).toEqual(["owner", "finance", "support"]);
    expect(holding("applications:write")).toEqual(["owner", "developer"]);
    expect(holding("operators:write")).toEqual(["owner"]);
    expect(scopesOf("viewer", "production").every((scope) => scope.endsWith(":read"))).toBe(true);
  });
});

describe("an invitation", () => {
  const invite = (key: Parameters<typeof inviteOperator>[1]["key"], held: Counts = counts, context = by("owner")) =>
    inviteOperator(request, { counts: held, key, api_key_seed: "seed", keys: personKey, holder: undefined }, context);
  const key = draftOperatorKey({ id: "opk_1", tenant_id: tenantId, api_key_seed: "seed" }, decisionTime);

  it("waits for the user of the pool, and the first one for the API key of all operators", () => {
    const first = accepted(invite(undefined, { operators: 0, active_owners: 0 }));
    expect(first.result).toMatchObject({ status: "invited", pool_state: "pending", wake_at: decisionTime, version: 1 });
    expect(first.changes.map((change) => ("entity" in change ? change.entity : change.op))).toEqual([
      "operator",
      "person_key",
      "operator_key",
      "claim",
      "tenant",
    ]);
    expect(accepted(invite(key)).changes).toHaveLength(4);
  });

  it("is refused beyond the number of operators of a brokerage", () => {
    expect(refused(invite(key, { operators: 500, active_owners: 1 })).code).toBe("too_many_operators");
  });

  it.each(["developer", "viewer", "support", "risk"] as const)("to finance is refused to a %s", (role) => {
    expect(refused(invite(key, counts, by(role))).code).toBe("insufficient_scope");
  });
});

describe("an operator who loses rights", () => {
  const ended = (operator: Operator, patch: UpdateOperator) =>
    accepted(amend(operator, patch, by("owner"), { operators: 3, active_owners: 3 })).events.filter(
      ({ type }) => type === "operator.ended",
    );
  const suspended = someOperator({ status: "suspended" });

  it.each([
    ["is suspended", someOperator(), { status: "suspended" }, "suspended"],
    ["is suspended and given another role", someOperator(), { status: "suspended", role: "viewer" }, "suspended"],
    ["is given a role without a scope of theirs", someOperator(), { role: "viewer" }, "role_lowered"],
    ["is given a role with other scopes", someOperator(), { role: "support" }, "role_lowered"],
    ["was not signed in yet", someOperator({ status: "invited" }), { role: "viewer" }, "role_lowered"],
  ] as const)("is announced with the reason: one who %s", (_, operator, patch, reason) => {
    const { role, version } = operator;
    expect(ended(operator, patch)).toMatchObject([
      { object: { reason, ...patch, version: version + 1 }, previous: { role, status: operator.status, version } },
    ]);
  });

  it("is announced when they are removed, and says nothing that names them", () => {
    const [event] = accepted(removeOperator(someOperator(), counts, by("owner"))).events;
    expect(event).toMatchObject({ type: "operator.ended", object: { reason: "removed", status: "removed" } });
    expect(JSON.stringify(event)).not.toContain(request.name);
    expect(JSON.stringify(event)).not.toContain(request.email);
  });

  it.each([
    ["gains scopes and loses none", someOperator({ role: "viewer" }), { role: "owner" }],
    ["is renamed", someOperator(), { name: "Ana" }],
    ["keeps the role", someOperator(), { role: "finance" }],
    ["was suspended, and has no rights to lose", suspended, { role: "viewer" }],
    ["is admitted again with a lower role", suspended, { role: "viewer", status: "active" }],
  ] as const)("is not announced: one who %s", (_, operator, patch) => {
    expect(ended(operator, patch)).toEqual([]);
  });

  it("of the sandbox is judged by the scopes that the role has there", () => {
    const context = decisionContext({ environment: "sandbox", scopes: scopesOf("owner", "sandbox") });
    const moved = (from: Role, to: Role) =>
      accepted(amend(someOperator({ role: from }), { role: to }, context)).events.length;
    expect([moved("developer", "viewer"), moved("viewer", "developer")]).toEqual([1, 0]);
  });

  it("has the event in the order of both owners' requests: the proposal of the first one announces nothing", () => {
    const held = { operators: 3, active_owners: 2 };
    const max = inProduction({
      scopes: scopesOf("owner", "production"),
      actor: { type: "operator", id: "opr_01JD0000000000000000000009", name: "Max" },
      role: "owner",
    });
    const proposed = accepted(amend(owner, { role: "viewer" }, max, held));
    expect([proposed.result.role, proposed.events]).toEqual(["owner", []]);
  });
});

describe("the last active owner", () => {
  it.each([
    ["suspended", { status: "suspended" }],
    ["given another role", { role: "viewer" }],
  ] as const)("cannot be %s", (_, patch) => {
    expect(refused(amend(owner, patch)).code).toBe("last_owner");
    const decided = accepted(amend(owner, patch, by("owner"), { operators: 2, active_owners: 2 }));
    expect(decided.changes.at(-1)).toMatchObject({
      ...{ op: "adjust", entity: "tenant", add: { active_owners: -1 } },
      require: [{ attribute: "active_owners", is: "at_least", value: 2 }],
    });
  });

  it("cannot be removed; another one takes both counts along", () => {
    expect(refused(removeOperator(owner, counts, by("owner"))).code).toBe("last_owner");
    const { changes, result } = accepted(removeOperator(owner, { operators: 2, active_owners: 2 }, by("owner")));
    expect(changes.filter(({ op }) => op === "adjust")).toMatchObject([{ add: { active_owners: -1, operators: -1 } }]);
    expect(isThere(result)).toBe(false);
    expect(() => operatorBody(result, "production")).toThrow();
  });

  it("is not one who is invited or suspended", () => {
    for (const status of ["invited", "suspended"] as const) {
      expect(accepted(amend({ ...owner, status }, { role: "viewer" })).changes).toHaveLength(1);
    }
  });
});

describe("a change of an operator", () => {
  it("is refused to a caller who lacks a scope of the role before or after", () => {
    expect(refused(amend(owner, { name: "Eva" }, by("developer"))).code).toBe("insufficient_scope");
    const developer = someOperator({ role: "developer" });
    expect(refused(amend(developer, { role: "owner" }, by("developer"))).code).toBe("insufficient_scope");
    expect(refused(removeOperator(owner, counts, by("developer"))).code).toBe("insufficient_scope");
    expect(accepted(amend(developer, { name: "Eva" }, by("developer"))).result.version).toBe(2);
  });

  it("that says what is so already changes nothing", () => {
    expect(accepted(amend(owner, { name: owner.name, status: "active", role: "owner" })).changes).toEqual([]);
  });

  it("leaves it to the invited person to become active, also after a suspension", () => {
    const invited = someOperator({ status: "invited", last_seen_at: null });
    expect(refused(amend(invited, { status: "active" })).code).toBe("illegal_transition");
    const suspended = accepted(amend(invited, { status: "suspended" })).result;
    expect(accepted(amend(suspended, { status: "active" })).result.status).toBe("invited");
  });

  it("counts an owner who is active again", () => {
    const { changes } = accepted(amend({ ...owner, status: "suspended" }, { status: "active" }));
    expect(changes.at(-1)).toMatchObject({ add: { active_owners: 1 }, require: [] });
  });
});

describe("a sign-in", () => {
  const now = "2026-11-22T06:30:00.000Z";

  it("makes the invited active, and counts an owner", () => {
    const invited = someOperator({ status: "invited", last_seen_at: null });
    expect(signIn(invited, now)).toMatchObject({
      after: { status: "active", last_seen_at: now, version: 2 },
      more_owners: 0,
    });
    expect(signIn({ ...invited, role: "owner" }, now)?.more_owners).toBe(1);
  });

  it("of the active changes nothing, and that of anyone else is refused", () => {
    expect(signIn(owner, now)).toEqual({ after: owner, more_owners: 0 });
    for (const status of ["suspended", "removed"] as const) expect(signIn({ ...owner, status }, now)).toBeUndefined();
  });
});

const person = (id: string) =>
  inProduction({
    scopes: scopesOf("owner", "production"),
    role: "owner",
    actor: { type: "operator", id, name: "Owner" },
  });
const [max, mia, target] = [person("opr_max"), person("opr_mia"), person(owner.id)];
const application = (operator_ids: string[]) =>
  inProduction({
    scopes: scopesOf("owner", "production"),
    actor: { type: "application", id: "app_1", name: "CRM", ...(operator_ids.length > 0 && { operator_ids }) },
  });
const held = { operators: 3, active_owners: 3 };

describe("a proposal to take the rights of an owner", () => {
  const proposed = accepted(amend(owner, { status: "suspended" }, max, held)).result;

  it("expires after 72 hours, and is then a new one of the owner who repeats it", () => {
    const ends = proposed.proposed_change?.expires_at ?? "";
    expect(Date.parse(ends) - Date.parse(decisionTime)).toBe(72 * 3_600_000);
    const before = { ...mia, now: new Date(Date.parse(ends) - 1).toISOString() };
    expect(accepted(amend(proposed, { status: "suspended" }, before, held)).result.status).toBe("suspended");
    const late = accepted(amend(proposed, { status: "suspended" }, { ...mia, now: ends }, held)).result;
    expect(late).toMatchObject({ status: "active", proposed_change: { by: { id: "opr_mia" }, at: ends } });
  });

  it("holds for the same change only, and a name changes without an agreement", () => {
    const other = accepted(amend(proposed, { role: "viewer" }, mia, held)).result;
    expect(other).toMatchObject({ role: "owner", proposed_change: { role: "viewer", status: "active" } });
    const removal = accepted(removeOperator(proposed, held, mia)).result;
    expect(removal).toMatchObject({ status: "active", proposed_change: { status: "removed", by: { id: "opr_mia" } } });
    const named = accepted(amend(proposed, { name: "Eva" }, mia, held)).result;
    expect(named).toMatchObject({ name: "Eva", proposed_change: proposed.proposed_change });
  });

  it("is withdrawn by another owner, and not by the one whom it is about, who may step down alone", () => {
    expect(accepted(amend(proposed, { status: "active" }, mia, held)).result.proposed_change).toBeNull();
    expect(accepted(amend(proposed, { status: "active" }, target, held)).changes).toEqual([]);
    const down = accepted(amend(proposed, { role: "finance" }, target, held)).result;
    expect(down).toMatchObject({ role: "finance", proposed_change: null });
  });

  it("is made by no application that a person made, and not needed by one of a terminal", () => {
    for (const maker of ["opr_max", owner.id]) {
      expect(refused(amend(owner, { status: "suspended" }, application([maker]), held)).code).toBe(
        "four_eyes_required",
      );
      expect(refused(removeOperator(owner, held, application([maker]))).code).toBe("four_eyes_required");
    }
    expect(accepted(amend(owner, { status: "suspended" }, application([]), held)).result.status).toBe("suspended");
  });
});

describe("rights to approve or to administer", () => {
  const key = draftOperatorKey({ id: "opk_1", tenant_id: tenantId, api_key_seed: "seed" }, decisionTime);
  const invited = (role: Role, context = max, counted: Counts = held, holder?: Operator) => {
    const drawn = { key, api_key_seed: "seed", keys: personKey, holder };
    return inviteOperator({ ...request, role }, { counts: counted, ...drawn }, context);
  };
  const guarded = ["owner", "finance", "developer"] as const;
  const viewer = someOperator({ role: "viewer" });

  it("are given by two of several owners to the invited, who are viewers until then", () => {
    for (const role of guarded) {
      const { result } = accepted(invited(role));
      expect(result).toMatchObject({ role: "viewer", status: "invited", proposed_change: { role, status: "active" } });
      const repeated = accepted(amend(result, { role }, max, held));
      expect(repeated.changes).toEqual([]);
      expect(accepted(amend(result, { role }, mia, held)).result).toMatchObject({ role, proposed_change: null });
      const signed = signIn(result, decisionTime)?.after ?? result;
      const agreed = accepted(amend(signed, { role }, mia, held));
      expect(agreed.result).toMatchObject({ role, status: "active", proposed_change: null });
      const counted = agreed.changes.filter(({ op }) => op === "adjust");
      expect(counted).toMatchObject(role === "owner" ? [{ add: { active_owners: 1 } }] : []);
    }
    for (const role of ["support", "risk", "viewer"] as const) expect(accepted(invited(role)).result.role).toBe(role);
  });

  it("are given by two of several owners to those who are there, and by the only owner alone", () => {
    for (const role of guarded) {
      const proposed = accepted(amend(viewer, { role }, max, held)).result;
      expect(proposed).toMatchObject({ role: "viewer", proposed_change: { role, by: { id: "opr_max" } } });
      expect(accepted(amend(proposed, { role }, mia, held)).result.role).toBe(role);
      expect(accepted(amend(proposed, { role: "viewer" }, mia, held)).result.proposed_change).toBeNull();
      expect(accepted(amend(viewer, { role }, max)).result.role).toBe(role);
      expect(accepted(invited(role, max, counts)).result).toMatchObject({ role, status: "invited" });
    }
    const developer = someOperator({ role: "developer" });
    expect(accepted(amend(developer, { role: "finance" }, max, held)).result.role).toBe("developer");
    expect(accepted(amend(owner, { role: "finance" }, target, held)).result.role).toBe("finance");
  });

  it("are given back by two to the suspended, whatever role they got meanwhile", () => {
    const suspended = someOperator({ status: "suspended", role: "viewer" });
    const raised = accepted(amend(suspended, { role: "owner" }, max, held)).result;
    expect(raised).toMatchObject({ role: "owner", status: "suspended" });
    const proposed = accepted(amend(raised, { status: "active" }, max, held)).result;
    expect(proposed).toMatchObject({ status: "suspended", proposed_change: { role: "owner", status: "active" } });
    expect(accepted(amend(proposed, { status: "active" }, mia, held)).result.status).toBe("active");
    expect(accepted(amend(suspended, { status: "active" }, max, held)).result.status).toBe("active");
  });

  it("are given by no application that a person made, nor by a developer, and by one of a terminal alone", () => {
    const developer = inProduction({ ...max, role: "developer", scopes: scopesOf("developer", "production") });
    expect(refused(invited("developer", developer)).code).toBe("four_eyes_required");
    for (const role of guarded) {
      expect(refused(invited(role, application(["opr_max"]))).code).toBe("four_eyes_required");
      expect(refused(amend(viewer, { role }, application(["opr_max"]), held)).code).toBe("four_eyes_required");
      expect(refused(invited(role, application(["opr_max"]), counts)).code).toBe("four_eyes_required");
      expect(accepted(invited(role, application([]))).result.role).toBe(role);
      expect(accepted(amend(viewer, { role }, application([]), held)).result.role).toBe(role);
    }
  });

  it("expire as a proposal after 72 hours", () => {
    const { result } = accepted(invited("owner"));
    const now = result.proposed_change?.expires_at ?? "";
    const late = accepted(amend(result, { role: "owner" }, { ...mia, now }, held)).result;
    expect(late).toMatchObject({ role: "viewer", proposed_change: { by: { id: "opr_mia" }, at: now } });
  });

  it("know a removed person again by the email address, for so many removals", () => {
    const removed = { ...viewer, status: "removed", former_ids: ["opr_0"] } as const;
    const { result, changes } = accepted(invited("viewer", max, held, removed));
    expect(result.former_ids).toEqual([viewer.id, "opr_0"]);
    expect(changes).toContainEqual(expect.objectContaining({ op: "claim", instead_of: viewer.id }));
    const many = { ...removed, former_ids: Array.from({ length: 60 }, (_, at) => `opr_${at}`) };
    expect(accepted(invited("viewer", max, held, many)).result.former_ids).toHaveLength(50);
    const there = accepted(invited("viewer", max, held, viewer));
    expect(there.result).not.toHaveProperty("former_ids");
    expect(there.changes.find(({ op }) => op === "claim")).not.toHaveProperty("instead_of");
  });
});
