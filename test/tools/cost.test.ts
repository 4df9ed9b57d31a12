import { describe, expect, it } from "vitest";
import { backgroundOf } from "../../infra/background/index.ts";
import { memoryOf } from "../../infra/function-memory.ts";
import { dollarsOf, only, sumOf, times } from "../../infra/tools/cost/amounts.ts";
import { type Bill, billOf } from "../../infra/tools/cost/bill.ts";
import { mix, readTraffic, usualMonth } from "../../infra/tools/cost/mix.ts";
import { eventsOf } from "../../infra/tools/cost/month.ts";
import { billPicture } from "../../infra/tools/cost/picture.ts";
import { comparedText, monthText } from "../../infra/tools/cost/report.ts";
import type { CostedStage } from "../../infra/tools/cost/template.ts";
import { measuredUnits } from "../../infra/tools/cost/units.ts";
import { eventAmounts, requestAmounts } from "../../infra/tools/cost/work.ts";
import { eventDollars } from "../../shared/domain/usage/event-cost.ts";
import { priceList, pricesOf, pricesReadOn, regions } from "../../shared/domain/usage/prices.ts";
import { routes } from "../../shared/routes/index.ts";

const units = measuredUnits();
const ids = [...routes, ...backgroundOf("production")].map(({ id }) => id);
const costed: CostedStage = {
  memory_mb: new Map(ids.map((id) => [id.replaceAll("_", "-"), memoryOf(id)])),
  ...{ alarm_metrics: 100, alarms: 40, dashboards: 1, secrets: 3, keys: 0, recovery: true, log_days: 90 },
  schedules: [{ id: "sweep-events", runs_per_minute: 1 }],
  ...{ warmed: new Set<string>(), copies: 0 },
  polled: { standard: 7, fifo: 1 },
};
const billWith = (more: Partial<CostedStage> = {}, traffic = usualMonth): Bill =>
  billOf({ stage: "production", costed: { ...costed, ...more }, units, region: "us-east-1", traffic });

describe("prices", () => {
  it("are above 0 in both regions, confirmed in one of them at least, and have a date", () => {
    for (const [name, { usd, confirmed }] of Object.entries(priceList)) {
      expect([name, usd.length, usd.every((price) => price > 0)]).toEqual([name, regions.length, true]);
      expect([name, confirmed.length > 0]).toEqual([name, true]);
    }
    expect(pricesReadOn).toMatch(/^\d{4}-\d\d-\d\d$/);
    expect(pricesOf("eu-west-1").dynamodb_per_million_write_units).toBe(0.705);
  });
});

describe("amounts", () => {
  it("add up, multiply and have their dollars", () => {
    const one = { gateway_per_million_requests: 2, traces_per_million: 1 };
    const both = sumOf([one, times(one, 2)]);
    expect(both).toEqual({ gateway_per_million_requests: 6, traces_per_million: 3 });
    expect(dollarsOf(both, pricesOf("us-east-1"))).toBe(6 * 3.5 + 3 * 5);
    expect(only(both, (name) => name.startsWith("traces"))).toEqual({ traces_per_million: 3 });
  });
});

describe("the units", () => {
  it("have every route and every scheduled function, so that nothing is without a price", () => {
    expect(Object.keys(units.routes).sort()).toEqual(routes.map(({ id }) => id).sort());
    const scheduled = backgroundOf("sandbox", true).filter(({ trigger }) => trigger.schedule !== undefined);
    expect(Object.keys(units.sweeps).sort()).toEqual(scheduled.map(({ id }) => id).sort());
  });

  it("of an event lie on a line between two counts, and grow with every endpoint", () => {
    const dollars = [0, 1, 2, 3, 5, 20, 40].map((count) =>
      dollarsOf(eventAmounts(costed, units, count), pricesOf("us-east-1")),
    );
    expect(dollars).toEqual([...dollars].sort((one, other) => one - other));
    const [, , two = 0, three = 0, five = 0] = dollars;
    expect(three).toBeCloseTo(two + (five - two) / 3, 9);
  });
});

describe("an event in GET /usage", () => {
  it.each([0, 1, 2, 5, 20])("to %i endpoints costs what the command says without logs and traces", (endpoints) => {
    const amounts = eventAmounts(costed, units, endpoints);
    const shown = only(amounts, (name) => !/^(?:logs|traces)_/.test(name));
    const prices = pricesOf("eu-west-1");
    expect(eventDollars(endpoints, prices) * 1_000_000).toBeCloseTo(dollarsOf(shown, prices), 6);
  });
});

describe("a month", () => {
  it("costs its lines, the fixed ones without traffic, and for twice as many requests at most twice as much", () => {
    const { month, idle_month } = billWith();
    expect(month.dollars).toBeCloseTo(
      month.lines.reduce((sum, { dollars }) => sum + dollars, 0),
      9,
    );
    const fixed = month.lines.filter((line) => line.fixed).reduce((sum, { dollars }) => sum + dollars, 0);
    expect(fixed).toBeCloseTo(idle_month.dollars, 9);
    const none = billWith({}, { ...usualMonth, requests: 0 }).month.dollars;
    const twice = billWith({}, { ...usualMonth, requests: 2 * usualMonth.requests }).month.dollars;
    // New environments and misses of the authorizer's cache are fewer where more is asked.
    const ratio = (twice - none) / (month.dollars - none);
    expect([ratio, ratio > 1.98 && ratio <= 2]).toEqual([ratio, true]);
  });

  it("holds every amount of its requests in one of its lines", () => {
    const requests = 1_000_000;
    const asked = { ...usualMonth, requests, mix: { create_deposit: 1 }, events_per_request: 0 };
    const { lines } = billWith({}, asked).month;
    const row = routes.find(({ id }) => id === "create_deposit");
    if (row === undefined) throw new Error("There is no create_deposit.");
    const whole = dollarsOf(requestAmounts(costed, row, units), pricesOf("us-east-1"));
    const shown = lines.filter(({ name }) => name.startsWith("API requests"));
    expect(shown.reduce((sum, { dollars }) => sum + dollars, 0)).toBeCloseTo(whole, 9);
  });

  it("has an event for each request that can cause one, or the stated number", () => {
    expect(eventsOf({ ...usualMonth, requests: 100, mix: { get_account: 3, create_client: 1 } })).toBe(25);
    expect(eventsOf({ ...usualMonth, requests: 100, events_per_request: 2 })).toBe(200);
  });

  it("charges the stream for the minutes of its connections and for their messages", () => {
    const of = (traffic: typeof usualMonth) => {
      const { lines } = billWith({}, traffic).month;
      return lines.find(({ name }) => name.startsWith("Stream"))?.dollars ?? Number.NaN;
    };
    const silent = { ...usualMonth, stream_connections: 1, stream_messages_per_minute: 0 };
    // A month has 730 hours, so 0.0438 million minutes.
    expect(of(silent)).toBeCloseTo(0.0438 * 0.25, 9);
    const talking = { ...silent, stream_connections: 100, stream_messages_per_minute: 2 };
    expect(of(talking)).toBeCloseTo(100 * 0.0438 * (0.25 + 2), 9);
    expect(of({ ...talking, stream_connections: 0 })).toBe(0);
  });

  it("is shown with its three dearest lines and what would lower them, in words and as a picture", () => {
    const bill = billWith();
    const picture = billPicture(bill);
    for (const { name, lower } of bill.month.lines.slice(0, 3)) {
      for (const text of [monthText(bill), picture]) expect(text).toContain(name);
      for (const text of [monthText(bill), picture]) expect(text).toContain(lower);
    }
    expect(picture).toContain(`costs $${bill.month.dollars.toFixed(2)}`);
    expect(picture.match(/<rect x=/g)).toHaveLength(bill.month.lines.length);
  });
});

describe("a change of the template", () => {
  it("is shown by the lines and the routes that it changes, and by no others", () => {
    const memory_mb = new Map(costed.memory_mb).set("get-account", 1769);
    const text = comparedText(billWith(), billWith({ memory_mb, alarm_metrics: 110 }));
    expect(text).toMatch(/Alarms and dashboard +13\.00 +14\.00 +\+1\.00/);
    expect(text).toMatch(/Without any traffic .* \+1\.00/);
    expect(text).toMatch(/^ {2}get_account +\d/m);
    expect(text).not.toMatch(/get_client|Secrets|gateway/);
  });
});

describe("a file of traffic", () => {
  it("replaces members of the usual month", () => {
    const read = readTraffic('{"requests": 5, "mix": {"get_account": 1}}', "mix.json");
    expect(read).toEqual({ ...usualMonth, requests: 5, mix: { get_account: 1 } });
    expect(readTraffic("{}", "mix.json").mix).toBe(mix);
  });

  it.each([
    ["not JSON", "{", "mix.json is not JSON."],
    ["a list", "[]", "mix.json must hold a JSON object."],
    ["an unknown member", '{"request": 1}', '"request" is not known; known are requests,'],
    ["a text for a number", '{"requests": "5"}', '"requests" must be a number of at least 0.'],
    ["a number below 0", '{"operators": -1}', '"operators" must be a number of at least 0.'],
    ["a mix that is no object", '{"mix": 5}', '"mix" must be an object.'],
    ["a route that does not exist", '{"mix": {"get_acount": 1}}', 'there is no route "get_acount" in "mix".'],
    ["a part that is no number", '{"mix": {"get_account": null}}', '"get_account" in "mix" must be a number'],
    ["a mix of nothing", '{"mix": {"get_account": 0}}', '"mix" must have a part above 0.'],
  ])("is refused by one sentence with %s", (_, text, sentence) => {
    expect(() => readTraffic(text, "mix.json")).toThrow(sentence);
  });
});
