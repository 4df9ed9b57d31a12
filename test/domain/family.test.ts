import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { draftApplication, secretLives } from "../../shared/domain/access/application.ts";
import { decideRefresh, familyLives, openFamily } from "../../shared/domain/access/family.ts";
import type { Application } from "../../shared/domain/records/application.ts";
import type { Family } from "../../shared/domain/records/family.ts";
import { limits } from "../../shared/limits.ts";
import { scopes } from "../../shared/schema/scope.ts";
import { decisionTime, tenantId } from "../support/builders/decisions.ts";

const startMs = Date.parse(decisionTime);
const application = (more: Partial<Application> = {}): Application => ({
  ...draftApplication(
    { tenant_id: tenantId, environment: "sandbox", name: "Test", scopes: [...scopes], allowed_ips: [] },
    {
      id: "app_01JD0000000000000000000001",
      client_id: "app_A",
      secret_sha256: "x",
      api_key_seed: "s",
      now: decisionTime,
    },
  ),
  ...more,
});
const own = application();
const family: Family = openFamily(
  { application: own, scopes: ["clients:read"], secret_number: 1 },
  { id: "fam_01JD0000000000000000000001", nowMs: startMs },
);
const { grace_seconds, token_seconds, family_seconds } = limits.refresh;
const decide = (of: Family, generation: number, seconds: number, by: Application = own) =>
  decideRefresh(of, generation, { application: by, secret_number: by.secret_number }, startMs + seconds * 1000);
const rotated = (of: Family, seconds: number): Family => {
  const decision = decide(of, of.generation, seconds);
  if (decision.kind !== "rotate") throw new Error(decision.kind);
  return decision.after;
};

describe("a refresh token", () => {
  it("of another application or environment ends the family, even after it was revoked", () => {
    const others = [application({ id: "app_01JD0000000000000000000002" }), application({ environment: "production" })];
    for (const other of others) {
      for (const each of [family, { ...family, revoked_at: decisionTime }]) {
        expect(decide(each, 1, 1, other)).toEqual({ kind: "refuse", revoke: "other_client" });
      }
    }
  });

  it.each([
    ["the current one", 2, 0, "rotate"],
    ["the current one at its last moment", 2, 10 + token_seconds - 0.001, "rotate"],
    ["the current one when its time is over", 2, 10 + token_seconds, "refuse"],
    ["the one before, at once", 1, 10, "repeat"],
    ["the one before, at the end of the grace", 1, 10 + grace_seconds, "repeat"],
    ["the one before, after the grace", 1, 10 + grace_seconds + 0.001, "reuse"],
    ["one that is not made yet", 3, 11, "refuse"],
    ["one of the far future", 4_294_967_295, 11, "refuse"],
  ] as const)("%s is decided by its number and the time", (_, generation, seconds, expected) => {
    const decision = decide(rotated(family, 10), generation, seconds);
    const kind = decision.kind === "refuse" && decision.revoke !== undefined ? decision.revoke : decision.kind;
    expect(kind).toBe(expected);
  });

  it("of a revoked family is refused and changes nothing, whichever it is", () => {
    const revoked = { ...rotated(rotated(family, 1), 2), revoked_at: decisionTime };
    for (const generation of [1, 2, 3, 4]) expect(decide(revoked, generation, 3)).toEqual({ kind: "refuse" });
  });

  it("in any order of uses leads to one chain: a number only rises, and no time outlives the family", () => {
    const uses = fc.array(fc.record({ age: fc.nat(3), wait: fc.nat(40 * 86_400) }), { maxLength: 40 });
    fc.assert(
      fc.property(uses, (steps) => {
        let current: Family = family;
        let seconds = 0;
        let ended = false;
        for (const { age, wait } of steps) {
          seconds += wait;
          const decision = decide(current, current.generation - age, seconds);
          expect(ended && decision.kind !== "refuse").toBe(false);
          if (decision.kind === "refuse" && decision.revoke !== undefined) {
            expect(age).toBeGreaterThan(0);
            current = { ...current, revoked_at: decisionTime };
            ended = true;
          }
          if (decision.kind === "repeat") expect([age, decision.family]).toEqual([1, current]);
          if (decision.kind !== "rotate") continue;
          expect([age, decision.after.generation]).toEqual([0, current.generation + 1]);
          expect(decision.after.scopes).toEqual(family.scopes);
          current = decision.after;
          expect(Date.parse(current.refresh_until)).toBeLessThanOrEqual(startMs + family_seconds * 1000);
          expect(current.expires_at * 1000).toBeGreaterThan(Date.parse(current.refresh_until) + 3_600_000);
        }
      }),
    );
  });
});

describe("the access tokens of a family", () => {
  it.each([
    ["there is none", undefined, own],
    ["it was revoked", { ...family, revoked_at: decisionTime }, own],
    ["it is another application's", family, application({ id: "app_01JD0000000000000000000002" })],
    ["it is of another environment", { ...family, environment: "production" } as Family, own],
    ["its secret was replaced at once", family, application({ secret_number: 2 })],
    ["its secret was replaced twice", family, application({ secret_number: 3 })],
  ])("end when %s", (_, each, by) => {
    expect(familyLives(each, by, startMs)).toBe(false);
    expect(familyLives(family, own, startMs)).toBe(true);
  });

  it("live as long as their secret does beside its successor", () => {
    const until = new Date(startMs + 1000).toISOString();
    const overlapping = application({ secret_number: 2, previous_secret_expires_at: until });
    expect([999, 1000].map((ms) => familyLives(family, overlapping, startMs + ms))).toEqual([true, false]);
    expect([0, 1, 2, 3].map((number) => secretLives(overlapping, number, startMs))).toEqual([false, true, true, false]);
  });
});
