import { describe, expect, it } from "vitest";
import { amendSettings, draftTenant, settingsBody } from "../../shared/domain/access/tenant.ts";
import { accepted, changesOf, decisionContext, decisionTime, tenantId } from "../support/builders/decisions.ts";

const tenant = draftTenant(tenantId, decisionTime);

describe("the policies of a new tenant", () => {
  it("ask for nothing that an integrator who only knows the endpoints would not do", () => {
    expect(settingsBody(tenant)).toEqual({
      object: "settings",
      tenant_id: tenantId,
      name: null,
      require_verified_client: "none",
      four_eyes: false,
      currencies: ["USD", "EUR", "GBP", "CHF", "JPY", "AUD"],
      default_leverage: 100,
      max_leverage_retail: 30,
      min_stop_out_retail: "50.00",
      transaction_expiry_days: 7,
      created_at: decisionTime,
      updated_at: decisionTime,
      version: 1,
      transfer_mark_up_percent: "0.50",
      credit_on_withdrawal: "keep",
      day_end: { time: "00:00", zone: "UTC" },
      brokerage: {
        ...{ name: null, address: null, registration_number: null, licence: null },
        ...{ contact: null, website: null },
      },
      approval_rules: [],
      proposed_approval_rules: null,
      proposed_four_eyes: null,
      _links: { self: { href: "/v2/settings" } },
    });
  });
});

describe("a patch of the policies", () => {
  it.each([
    {},
    { four_eyes: false },
    { transfer_mark_up_percent: "0.5" },
    { min_stop_out_retail: "50" },
    { max_leverage_retail: 30 },
    { currencies: [...tenant.currencies, "USD" as const] },
  ])("that says what is so, %o, changes nothing", (patch) => {
    const decision = accepted(amendSettings(tenant, patch, decisionContext()));
    expect([decision.result, decision.changes, decision.events]).toEqual([tenant, [], []]);
  });

  it("changes what it names alone, once, from the version that was read", () => {
    const later = "2026-11-21T07:00:00.000Z";
    const patch = { four_eyes: true, currencies: ["EUR", "EUR", "JPY"] as ("EUR" | "JPY")[] };
    const { result, changes, events } = accepted(amendSettings(tenant, patch, decisionContext({ now: later })));
    expect(result).toEqual({ ...tenant, four_eyes: true, currencies: ["EUR", "JPY"], updated_at: later, version: 2 });
    expect(changes).toEqual([{ op: "update", entity: "tenant", before: tenant, after: result }]);
    expect(events).toEqual([]);
  });

  it("never takes the time of the last change back", () => {
    const early = decisionContext({ now: "2020-01-01T00:00:00.000Z" });
    const { changes } = accepted(amendSettings(tenant, { default_leverage: 1 }, early));
    expect(changesOf(changes, "update").map(({ after }) => after)).toMatchObject([{ updated_at: decisionTime }]);
  });
});
