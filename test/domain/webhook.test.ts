import { describe, expect, it } from "vitest";
import type { WebhookEndpoint } from "../../shared/domain/records/webhook.ts";
import { amendEndpoint, openEndpoint } from "../../shared/domain/webhooks/decisions.ts";
import { subscribes } from "../../shared/domain/webhooks/webhook.ts";
import { eventScopes, standardScopes } from "../../shared/event-scopes.ts";
import { type EventType, eventTypes, optInEventTypes } from "../../shared/schema/event-types.ts";
import { type Scope, scopes } from "../../shared/schema/scope.ts";
import { accepted, decisionContext, refused, someEndpoint } from "../support/builders/decisions.ts";

const event = { type: "transaction.completed", account_id: "acc_1", group_id: "vip" } as const;
const gets = (fields: Partial<WebhookEndpoint>, more: object = {}) =>
  subscribes(someEndpoint(fields), { ...event, ...more }, eventTypes);

describe("an endpoint does not get", () => {
  it.each<readonly [string, Partial<WebhookEndpoint>, object]>([
    ["what it did not name", { event_types: ["client.created"] }, {}],
    ["anything while it is disabled", { status: "disabled" }, {}],
    ["anything after the service switched it off", { status: "auto_disabled" }, {}],
    ["anything once it is deleted", { status: "deleted" }, {}],
    ["events of other accounts than it named", { account_ids: ["acc_2"] }, {}],
    ["events of no account when it named some", { account_ids: ["acc_1"] }, { account_id: null }],
    ["events of other groups than it named", { group_ids: ["default"] }, {}],
    ["events of no group when it named some", { group_ids: ["vip"] }, { group_id: null }],
    ["what passes one filter and not the other", { account_ids: ["acc_1"], group_ids: ["default"] }, {}],
  ])("%s", (_, fields, more) => {
    expect(gets(fields, more)).toBe(false);
  });

  it("a kind beyond the nine by the star", () => {
    expect(eventTypes).toHaveLength(9);
    for (const type of optInEventTypes) {
      expect(gets({ event_types: ["*"] }, { type })).toBe(false);
      expect(gets({ event_types: ["*", type] }, { type })).toBe(true);
    }
  });
});

describe("an endpoint gets", () => {
  it.each<readonly [string, Partial<WebhookEndpoint>]>([
    ["each of the nine by the star", { event_types: ["*"] }],
    ["what it named", { event_types: ["client.created", "transaction.completed"] }],
    ["events of an account that it named", { account_ids: ["acc_2", "acc_1"] }],
    ["events of a group that it named", { group_ids: ["vip"] }],
    ["what passes both filters", { account_ids: ["acc_1"], group_ids: ["vip"] }],
  ])("%s", (_, fields) => {
    expect(gets(fields)).toBe(true);
  });
});

describe("an endpoint", () => {
  const drawn = { id: "whe_1", plain: "s", sealed: "s" } as unknown as Parameters<typeof openEndpoint>[2];
  const rules = { local: false, unknownAccounts: [] };
  const url = "https://hooks.example.com/broker";
  const by = (...held: Scope[]) => decisionContext({ scopes: held });
  const open = (event_types: (EventType | "*")[], context = by(...scopes)) =>
    openEndpoint({ url, event_types }, undefined, drawn, rules, context);
  const all = accepted(open(["*", "operator.ended"])).result;
  const amend = (patch: Parameters<typeof amendEndpoint>[1], ...held: Scope[]) =>
    amendEndpoint(all, patch, rules, by("webhooks:write", ...held));

  it.each(Object.entries(eventScopes) as [EventType, Scope][])("receives %s by who holds %s alone", (type, scope) => {
    const { code, extra } = refused(open([type], by(...scopes.filter((each) => each !== scope))));
    expect([code, extra]).toEqual(["insufficient_scope", { scope }]);
    expect(accepted(open([type], by("webhooks:write", scope))).result.endpoint.event_types).toEqual([type]);
  });

  it("of all standard types takes the scopes of all nine", () => {
    const four = [...standardScopes];
    expect(new Set(eventTypes.map((type) => eventScopes[type]))).toEqual(new Set(four));
    expect(accepted(open(["*"], by(...four))).ok).toBe(true);
    for (const missing of four) {
      const { extra } = refused(open(["*"], by(...four.filter((each) => each !== missing))));
      expect(extra).toEqual({ scope: missing });
    }
  });

  it.each([
    ["sent to another address", { url: "https://other.example.com/" }],
    ["given further types", { event_types: ["*", "operator.ended", "feed.stale"] }],
    ["given other filters", { group_ids: ["vip"] }],
  ] as const)("is not %s by who lacks a scope of what it sends, also while it is disabled", (_, patch) => {
    const given = patch as unknown as Parameters<typeof amendEndpoint>[1];
    expect(refused(amend(given, "clients:read")).code).toBe("insufficient_scope");
    const disabled = { ...all, endpoint: { ...all.endpoint, status: "disabled" as const } };
    const context = by("webhooks:write", "clients:read");
    expect(refused(amendEndpoint(disabled, given, rules, context)).code).toBe("insufficient_scope");
    expect(refused(amendEndpoint(disabled, { status: "enabled" }, rules, context)).code).toBe("insufficient_scope");
    expect(accepted(amendEndpoint(disabled, given, rules, by(...scopes))).ok).toBe(true);
  });

  it("is disabled, described and narrowed to what they may read by who holds less", () => {
    expect(accepted(amend({ status: "disabled" })).result.endpoint.status).toBe("disabled");
    expect(accepted(amend({ description: "CRM" })).result.endpoint.description).toBe("CRM");
    const narrowed = accepted(amend({ event_types: ["client.created"] }, "clients:read"));
    expect(narrowed.result.endpoint.event_types).toEqual(["client.created"]);
  });
});
