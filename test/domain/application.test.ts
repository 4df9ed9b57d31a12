import { describe, expect, it } from "vitest";
import {
  amendApplication,
  draftApplication,
  registerApplication,
  revokeApplication,
  rotateSecret,
} from "../../shared/domain/access/application.ts";
import type { Context } from "../../shared/domain/kernel/decision.ts";
import type { Application } from "../../shared/domain/records/application.ts";
import type { Decision } from "../../shared/domain/records/change.ts";
import { type Role, scopesOf } from "../../shared/roles.ts";
import type { UpdateApplication } from "../../shared/schema/application.ts";
import type { Scope } from "../../shared/schema/scope.ts";
import { accepted, decisionContext, decisionTime, refused, tenantId } from "../support/builders/decisions.ts";

/** An application that approves and is bound to addresses. */
const strong: Application = draftApplication(
  {
    tenant_id: tenantId,
    environment: "sandbox",
    name: "Treasury",
    scopes: ["clients:read", "transactions:approve"],
    allowed_ips: ["203.0.113.0/24", "2001:db8::/32"],
  },
  {
    id: "app_01JD0000000000000000000001",
    client_id: "app_AAAAAAAAAAAAAAAAAAAAAAAA",
    secret_sha256: "00",
    api_key_seed: "seed",
    now: decisionTime,
  },
);

const ana = { type: "operator", id: "opr_1", name: "Ana" } as const;
const tenant = { applications: 0 };
const [live, demo, unknown] = ["src_01JD0000000000000000000001", "src_01JD0000000000000000000002", "src_unknown"];
const sources = { [live]: {}, [demo]: {} };
const drawn = { secret: "sec", sha256: "00", client_id: "app_BBBBBBBBBBBBBBBBBBBBBBBB", api_key_seed: "seed" };

const by =
  (scopes: readonly Scope[]) =>
  (patch: UpdateApplication, application = strong) =>
    amendApplication(application, patch, sources, decisionContext({ scopes }));
const byWeaker = by(["applications:write", "clients:read", "events:read"]);
const byEqual = by(["applications:write", "clients:read", "events:read", "transactions:approve"]);

describe("an application that holds more than the caller's token", () => {
  it.each([
    ["another name", { name: "CRM" }],
    ["no addresses but a part of its own", { allowed_ips: ["203.0.113.128/25", "203.0.113.7", "2001:db8:1::/48"] }],
    ["fewer scopes", { scopes: ["clients:read"] }],
    ["another scope, which the token holds", { scopes: [...strong.scopes, "events:read"] }],
    ["another scope in place of the one that the token lacks", { scopes: ["clients:read", "events:read"] }],
    ["every address", { allowed_ips: null }],
    ["every address, as an empty list", { allowed_ips: [] }],
    ["every address of IPv4", { allowed_ips: ["0.0.0.0/0"] }],
    ["a wider range", { allowed_ips: ["203.0.112.0/23", "2001:db8::/32"] }],
    ["a wider range of IPv6", { allowed_ips: ["2001:db8::/31"] }],
    ["one more address", { allowed_ips: [...strong.allowed_ips, "198.51.100.7"] }],
    ["another source", { source_ids: [live, demo] }, { ...strong, source_ids: [live] }],
    ["every source", { source_ids: null }, { ...strong, source_ids: [live] }],
    ["every source, as an empty list", { source_ids: [] }, { ...strong, source_ids: [live] }],
    ["another address under a new name", { name: "CRM", allowed_ips: ["198.51.100.7"] }],
  ] as const)("is not given %s", (_, patch, application: Application = strong) => {
    const { code, extra } = refused(byWeaker(patch as UpdateApplication, application));
    expect([code, extra]).toEqual(["insufficient_scope", { scope: "transactions:approve" }]);
    expect(accepted(byEqual(patch as UpdateApplication, application)).result.version).toBe(2);
  });

  it("is not revoked, nor rotated, and one that is revoked stays so for everybody", () => {
    const weaker = decisionContext({ scopes: ["applications:write", "clients:read"] });
    const equal = decisionContext({ scopes: ["applications:write", ...strong.scopes] });
    const lacks = { code: "insufficient_scope", extra: { scope: "transactions:approve" } };
    expect(refused(revokeApplication(strong, weaker))).toMatchObject(lacks);
    expect(refused(rotateSecret(strong, { grace_seconds: 0 }, { secret: "sec", sha256: "00" }, weaker))).toMatchObject(
      lacks,
    );
    const revoked = accepted(revokeApplication(strong, equal)).result;
    expect(accepted(revokeApplication(revoked, weaker)).result).toEqual(revoked);
  });

  it("is left as it is by a patch that says what is so", () => {
    expect(accepted(byWeaker({ name: strong.name })).result).toEqual(strong);
  });
});

describe("an application that decides policies", () => {
  const actionsOf = (scope: Scope): Readonly<Record<string, (context: Context) => Decision<unknown>>> => {
    const holding: Application = { ...strong, scopes: [scope, "events:read"] };
    const events: Application = { ...strong, scopes: ["events:read"] };
    return {
      made: (context) => registerApplication({ name: "CRM", scopes: [scope] }, { tenant, sources }, drawn, context),
      "made of another": (context) => amendApplication(events, { scopes: [scope, "events:read"] }, {}, context),
      "given a new secret": (context) => rotateSecret(holding, {}, drawn, context),
    };
  };
  const as = (role: Role, environment: Context["environment"]) =>
    decisionContext({ environment, scopes: scopesOf(role, environment), role, actor: ana });

  it.each(["production", "sandbox"] as const)("in the %s is that of an owner, and of no developer", (environment) => {
    for (const scope of ["settings:write", "operators:write", "feed:write"] as const) {
      for (const act of Object.values(actionsOf(scope))) {
        expect(refused(act(as("developer", environment)))).toMatchObject({
          ...{ code: "insufficient_scope", extra: { scope } },
        });
        accepted(act(as("owner", environment)));
      }
    }
    for (const act of Object.values(actionsOf("applications:write"))) accepted(act(as("developer", environment)));
  });
});

describe("an application that is bound to feed sources", () => {
  const context = decisionContext({
    scopes: ["applications:write", "feed:write", "clients:read", "transactions:approve"],
  });
  const make = (request: object) =>
    registerApplication({ name: "Bridge", scopes: ["feed:write"], ...request }, { tenant, sources }, drawn, context);
  const pointers = (decision: Decision<unknown>) =>
    refused(decision).errors?.map(({ pointer, code }) => [pointer, code]);

  it("keeps each source once, and is bound to none without them", () => {
    expect(accepted(make({ source_ids: [live, demo, live] })).result.application.source_ids).toEqual([live, demo]);
    expect(accepted(make({ source_ids: [] })).result.application.source_ids).toBeUndefined();
    const bound = { ...strong, source_ids: [live] };
    expect(accepted(byEqual({ source_ids: null }, bound)).result.source_ids).toBeUndefined();
    expect(accepted(byEqual({ name: "Bridge" }, bound)).result.source_ids).toEqual([live]);
  });

  it("is not bound to one that is not there, and never administers, at its making or later", () => {
    expect(pointers(make({ source_ids: [live, unknown] }))).toEqual([["#/source_ids/1", "source_not_found"]]);
    expect(pointers(byEqual({ source_ids: [unknown] }))).toEqual([["#/source_ids/0", "source_not_found"]]);
    const never = [["#/source_ids", "not_allowed"]];
    expect(pointers(make({ scopes: ["applications:write"], source_ids: [live] }))).toEqual(never);
    expect(pointers(byEqual({ scopes: ["applications:write"] }, { ...strong, source_ids: [live] }))).toEqual(never);
    expect(pointers(byEqual({ source_ids: [live] }, { ...strong, scopes: ["applications:write"] }))).toEqual(never);
  });
});
