import { describe, expect, it } from "vitest";
import { countEvents } from "../../../shared/domain/usage/event-count.ts";
import { pricesOf } from "../../../shared/domain/usage/prices.ts";
import { noUsage } from "../../../shared/domain/usage/request-count.ts";
import { hourOf, type UsageDay } from "../../../shared/domain/usage/usage-day.ts";
import { dollarsOf, pricedRegion, usageReport } from "../../../shared/domain/usage/usage-report.ts";

const used = (requests: number, more: Partial<typeof noUsage> = {}) => ({ ...noUsage, requests, ...more });
const stored = (day: string, actor_id: string, more: object): UsageDay => ({
  ...{ tenant_id: "brk_1", day, actor_id, expires_at: 0 },
  ...more,
});
const hour = (groups: object) => ({ read_at: "2026-11-21T13:00:00.000Z", groups });
const scope = { from: "2026-11-21", to: "2026-11-22" };

describe("a report", () => {
  const days = [
    stored("2026-11-21", "app_1", {
      h07: hour({ clients: used(2, { writes: 1, write_units: 3, read_units: 0.5, function_ms: 8 }) }),
      h23: hour({ clients: used(1, { read_units: 1 }), accounts: used(4) }),
      ...{ events: 3, deliveries: 6 },
    }),
    stored("2026-11-21", "market_watch", { events: 1, deliveries: 0 }),
    stored("2026-11-22", "opr_1", { h00: hour({ accounts: used(5) }) }),
  ];

  it("adds up the hours of a day by caller and route group", () => {
    const { data, events, total } = usageReport(scope, days, "us-east-1");
    expect(data.map(({ day, actor_id, route_group, requests }) => [day, actor_id, route_group, requests])).toEqual([
      ["2026-11-21", "app_1", "accounts", 4],
      ["2026-11-21", "app_1", "clients", 3],
      ["2026-11-22", "opr_1", "accounts", 5],
    ]);
    expect(data[1]).toMatchObject({ writes: 1, read_units: 1.5, write_units: 3, function_ms: 8 });
    expect(events).toEqual([
      { day: "2026-11-21", actor_id: "app_1", events: 3, deliveries: 6 },
      { day: "2026-11-21", actor_id: "market_watch", events: 1, deliveries: 0 },
    ]);
    expect(total).toMatchObject({ requests: 12, writes: 1, read_units: 1.5, write_units: 3, events: 4, deliveries: 6 });
  });

  it("shows of one actor or one route group what is theirs, and names both in its link", () => {
    const filters = { ...scope, actor_id: "app_1", route_group: "accounts" };
    const { data, events, total, _links } = usageReport(filters, days, "us-east-1");
    expect(data.map(({ actor_id, route_group }) => `${actor_id} ${route_group}`)).toEqual(["app_1 accounts"]);
    expect(events.map(({ actor_id }) => actor_id)).toEqual(["app_1"]);
    expect(total.requests).toBe(4);
    expect(_links?.["self"]?.href).toBe("/v2/usage?from=2026-11-21&to=2026-11-22&actor_id=app_1&route_group=accounts");
  });

  it("costs what its rows cost, in their sum", () => {
    const { data, total } = usageReport(scope, days, "eu-west-1");
    const sum = data.reduce((all, { cost_usd }) => all + Number(cost_usd), 0);
    expect(Math.abs(sum - Number(total.cost_usd))).toBeLessThan(1e-8);
  });
});

describe("dollars", () => {
  it("are those of the list: a million requests of 10 ms at 512 MB with one unit of each kind", () => {
    const million = 1_000_000;
    const usage = {
      ...{ requests: million, writes: 0, read_units: million, write_units: million },
      ...{ function_ms: 10 * million, memory_mb_ms: 512 * 10 * million },
    };
    // 3.50 + 0.20 + 10,000 s × 0.5 GB × 0.0000133334 + 0.125 + 0.625
    expect(dollarsOf(usage, pricesOf("us-east-1"))).toBeCloseTo(4.516667, 6);
  });

  it("are of the region itself where the list has it, or of its first", () => {
    expect(["eu-west-1", "mars-1", undefined].map(pricedRegion)).toEqual(["eu-west-1", "us-east-1", "us-east-1"]);
  });
});

describe("an hour", () => {
  it("has its day and its name by UTC", () => {
    expect(hourOf(Date.parse("2026-11-21T07:59:59.999Z"))).toEqual({ day: "2026-11-21", hour: "h07" });
    expect(hourOf(Date.parse("2026-11-22T00:00:00.000Z"))).toEqual({ day: "2026-11-22", hour: "h00" });
  });
});

describe("events", () => {
  const event = (sequence: number, day: string, actor_id: string, deliveries = 2) => ({
    ...{ sequence, published_at: `${day}T10:00:00.000Z`, actor_id, deliveries },
  });

  it("are counted by day and actor, with the endpoints that they went to", () => {
    const events = [
      ...[event(1, "2026-11-21", "app_1"), event(2, "2026-11-21", "opr_1", 0), event(3, "2026-11-21", "app_1")],
      event(4, "2026-11-22", "app_1"),
    ];
    expect(countEvents(events, 90)).toEqual({
      last: 4,
      days: [
        { day: "2026-11-21", actor_id: "app_1", events: 2, deliveries: 4 },
        { day: "2026-11-21", actor_id: "opr_1", events: 1, deliveries: 0 },
        { day: "2026-11-22", actor_id: "app_1", events: 1, deliveries: 2 },
      ],
    });
  });

  it("are taken as far as one transaction goes, and the next takes the others", () => {
    const events = [event(1, "2026-11-21", "a"), event(2, "2026-11-21", "b"), event(3, "2026-11-21", "a")];
    const first = countEvents([...events, event(4, "2026-11-21", "c"), event(5, "2026-11-21", "a")], 2);
    expect(first.last).toBe(3);
    expect(first.days.reduce((sum, day) => sum + day.events, 0)).toBe(3);
  });

  it("that are none move nothing", () => {
    expect(countEvents([], 90)).toEqual({ last: undefined, days: [] });
  });
});
