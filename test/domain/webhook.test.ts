import { describe, expect, it } from "vitest";
import { subscribes, type WebhookEndpoint } from "../../shared/domain/webhook.ts";
import { eventTypes, optInEventTypes } from "../../shared/schema/event-types.ts";
import { someEndpoint } from "../support/builders/decisions.ts";

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
