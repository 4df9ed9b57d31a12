import { describe, expect, it } from "vitest";
import { draftApplication, revokeApplication, rotateSecret } from "../../../shared/domain/access/application.ts";
import { knownSecret } from "../../../shared/domain/access/handover.ts";
import type { Actor } from "../../../shared/domain/kernel/decision.ts";
import type { Application } from "../../../shared/domain/records/application.ts";
import { scopes } from "../../../shared/schema/scope.ts";
import { accepted, decisionContext, decisionTime, tenantId } from "../../support/builders/decisions.ts";

const ana: Actor = { type: "operator", id: "opr_ana", name: "Ana" };
const max: Actor = { type: "operator", id: "opr_max", name: "Max" };
const hers: Actor = { type: "application", id: "app_1", name: "CRM", operator_ids: [ana.id] };
const request = { tenant_id: tenantId, environment: "sandbox", name: "CRM", allowed_ips: [], scopes } as const;
const draws = { id: "app_2", client_id: "app_A", secret_sha256: "0", api_key_seed: "seed", now: decisionTime };

const madeBy = (created_by?: Actor) => draftApplication({ ...request, ...(created_by && { created_by }) }, draws);
const rotatedBy = (application: Application, actor: Actor, grace_seconds: number) => {
  const context = decisionContext({ scopes, actor, role: "owner" });
  return accepted(rotateSecret(application, { grace_seconds }, { secret: "s", sha256: "1" }, context)).result
    .application;
};
const inAnHour = new Date(Date.parse(decisionTime) + 3_600_000).toISOString();

describe("a person who leaves knows of an application", () => {
  it.each([
    ["the secret that they made", madeBy(ana), "current_secret"],
    ["the secret that an application of theirs made", madeBy(hers), "current_secret"],
    ["the secret that they were shown at a rotation", rotatedBy(madeBy(max), ana, 0), "current_secret"],
    ["the previous secret while it works", rotatedBy(madeBy(ana), max, 7200), "previous_secret"],
    [
      "the previous secret that they were shown",
      rotatedBy(rotatedBy(madeBy(max), ana, 0), max, 7200),
      "previous_secret",
    ],
    ["no secret once its overlap has ended", rotatedBy(madeBy(ana), max, 60), undefined],
    ["no secret once another one rotated it without grace", rotatedBy(madeBy(ana), max, 0), undefined],
    ["no secret of what a terminal made", madeBy(), undefined],
    ["no secret of what others made", madeBy(max), undefined],
    [
      "no secret of what was revoked",
      accepted(revokeApplication(madeBy(ana), decisionContext({ scopes, actor: max, role: "owner" }))).result,
      undefined,
    ],
  ] as const)("%s", (_, application, known) => {
    expect(knownSecret(application, [ana.id], inAnHour)).toBe(known);
  });
});
