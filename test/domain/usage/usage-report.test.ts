import { describe, expect, it } from "vitest";
import { eventDollars } from "../../../shared/domain/usage/event-cost.ts";
import { countEvents } from "../../../shared/domain/usage/event-count.ts";
import { pricesOf } from "../../../shared/domain/usage/prices.ts";
import { noUsage } from "../../../shared/domain/usage/request-count.ts";
import { noStream, type StreamUsage } from "../../../shared/domain/usage/stream-count.ts";
import { hourOf, type UsageDay } from "../../../shared/domain/usage/usage-day.ts";
import { dollarsOf, pricedRegion, streamDollars, usageReport } from "../../../shared/domain/usage/usage-report.ts";

const used = (requests: number, more: Partial<typeof noUsage> = {}) => ({ ...noUsage, requests, ...more });
const stored = (day: string, actor_id: string, more: object): UsageDay => ({
  ...{ tenant_id: "brk_1", day, actor_id, expires_at: 0 },
  ...more,
});
const hour = (groups: object, stream?: StreamUsage) => ({
  ...{ read_at: "2026-11-21T13:00:00.000Z", groups },
  ...(stream && { stream }),
});
const streamed = (messages_sent: number, messages_received: number, connection_minutes: number) => ({
  ...{ messages_sent, messages_received, connection_minutes },
});
const scope = { from: "2026-11-21", to: "2026-11-22" };

describe("a report", () => {
  const days = [
    stored("2026-11-21", "app_1", {
      h07: hour({ clients: used(2, { writes: 1, write_units: 3, read_units: 0.5, function_ms: 8 }) }),
      h08: hour({}, streamed(20, 3, 120)),
      h23: hour({ clients: used(1, { read_units: 1 }), accounts: used(4) }, streamed(5, 0, 7)),
      ...{ events: 3, deliveries: 6 },
    }),
    stored("2026-11-21", "market_watch", { events: 1, deliveries: 0 }),
    stored("2026-11-22", "opr_1", { h00: hour({ accounts: used(5) }) }),
    stored("2026-11-22", "opr_2", { h01: hour({}, streamed(1, 1, 0)) }),
  ];

  it("adds up the hours of a day by caller and route group", () => {
    const { data, events, total } = usageReport(scope, days, "us-east-1");
    expect(data.map(({ day, actor_id, route_group, requests }) => [day, actor_id, route_group, requests])).toEqual([
      ["2026-11-21", "app_1", "accounts", 4],
      ["2026-11-21", "app_1", "clients", 3],
      ["2026-11-22", "opr_1", "accounts", 5],
    ]);
    expect(data[1]).toMatchObject({ writes: 1, read_units: 1.5, write_units: 3, function_ms: 8 });
    expect(events).toMatchObject([
      { day: "2026-11-21", actor_id: "app_1", events: 3, deliveries: 6 },
      { day: "2026-11-21", actor_id: "market_watch", events: 1, deliveries: 0 },
    ]);
    expect(total).toMatchObject({ requests: 12, writes: 1, read_units: 1.5, write_units: 3, events: 4, deliveries: 6 });
  });

  it("adds up the messages and the minutes of a day by who held the connections", () => {
    const { stream, total } = usageReport(scope, days, "us-east-1");
    expect(stream).toMatchObject([
      { day: "2026-11-21", actor_id: "app_1", ...streamed(25, 3, 127) },
      { day: "2026-11-22", actor_id: "opr_2", ...streamed(1, 1, 0) },
    ]);
    expect(total).toMatchObject(streamed(26, 4, 127));
    expect(usageReport({ ...scope, actor_id: "opr_1" }, days, "us-east-1")).toMatchObject({
      stream: [],
      total: noStream,
    });
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
    const { data, events, stream, total } = usageReport(scope, days, "eu-west-1");
    const sumOf = (rows: readonly { cost_usd: string }[]) =>
      rows.reduce((all, { cost_usd }) => all + Number(cost_usd), 0);
    expect(Math.abs(sumOf(data) - Number(total.requests_cost_usd))).toBeLessThan(1e-8);
    expect(Math.abs(sumOf(events) - Number(total.events_cost_usd))).toBeLessThan(1e-8);
    expect(Math.abs(sumOf(stream) - Number(total.stream_cost_usd))).toBeLessThan(1e-8);
    expect(Math.abs(sumOf([...data, ...events, ...stream]) - Number(total.cost_usd))).toBeLessThan(1e-8);
  });

  it("prices events by the endpoints that each of them went to, and those without that count by their average", () => {
    const prices = pricesOf("us-east-1");
    const of = (more: object) => usageReport(scope, [stored("2026-11-21", "app_1", more)], "us-east-1");
    const priced = of({ events: 5, deliveries: 46, events_to_2: 3, events_to_20: 2 }).total.events_cost_usd;
    expect(priced).toBe((3 * eventDollars(2, prices) + 2 * eventDollars(20, prices)).toFixed(9));
    const mixed = of({ events: 7, deliveries: 46 + 6, events_to_2: 3, events_to_20: 2 }).total.events_cost_usd;
    expect(mixed).toBe((Number(priced) + 2 * eventDollars(3, prices)).toFixed(9));
    expect(of({ events: 0 }).total).toMatchObject({ events_cost_usd: "0.000000000", cost_usd: "0.000000000" });
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

  it("of the stream are those of its messages in both directions and of its minutes", () => {
    const million = 1_000_000;
    expect(streamDollars(streamed(2 * million, million, 0), pricesOf("us-east-1"))).toBeCloseTo(3, 9);
    expect(streamDollars(streamed(0, 0, million), pricesOf("us-east-1"))).toBeCloseTo(0.25, 9);
    expect(streamDollars(streamed(million, 0, million), pricesOf("eu-west-1"))).toBeCloseTo(1.425, 9);
  });

  it("of an event are those of its work, by hand from the public prices", () => {
    // 29.36 write and 13.2 read units, 1.77 runs of 0.169803 GB-seconds together, the calls of the queues, 3 KB.
    const database = 29.36 * 0.625 + 13.2 * 0.125;
    const functions = 1.77 * 0.2 + 0.169803 * 13.3334;
    const queues = 2 * 3 * 0.5 + 0.59 * 3 * 0.5;
    const byHand = database + functions + queues + 2 * 1.5 * 0.09;
    expect(Math.abs((eventDollars(2, pricesOf("us-east-1")) * 1_000_000) / byHand - 1)).toBeLessThan(0.01);
  });

  it("of an event lie on a line between two counts, and on that of the last two beyond them", () => {
    const of = (endpoints: number) => eventDollars(endpoints, pricesOf("us-east-1"));
    expect(of(3)).toBeCloseTo(of(2) + (of(5) - of(2)) / 3, 12);
    expect(of(35)).toBeCloseTo(2 * of(20) - of(5), 12);
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
      ...[event(1, "2026-11-21", "app_1"), event(2, "2026-11-21", "opr_1", 0), event(3, "2026-11-21", "app_1", 3)],
      ...[event(4, "2026-11-22", "app_1"), event(5, "2026-11-22", "app_1")],
    ];
    const to = (...counts: [endpoints: number, events: number][]) => new Map(counts);
    expect(countEvents(events, 90)).toEqual({
      last: 5,
      days: [
        { day: "2026-11-21", actor_id: "app_1", events: 2, deliveries: 5, by_endpoints: to([2, 1], [3, 1]) },
        { day: "2026-11-21", actor_id: "opr_1", events: 1, deliveries: 0, by_endpoints: to([0, 1]) },
        { day: "2026-11-22", actor_id: "app_1", events: 2, deliveries: 4, by_endpoints: to([2, 2]) },
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
