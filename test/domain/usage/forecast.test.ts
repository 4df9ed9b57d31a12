import { describe, expect, it } from "vitest";
import { forecastOf } from "../../../shared/domain/usage/forecast.ts";
import { usageReport } from "../../../shared/domain/usage/usage-report.ts";

const day = (of: string, deliveries: number) => ({
  ...{ tenant_id: "brk_1", actor_id: "app_1", day: of, expires_at: 0 },
  ...{ events: 1, deliveries },
});
const days = [day("2026-02-01", 1), day("2026-02-02", 3), day("2026-02-03", 500)];
const scope = { from: "2026-02-01", to: "2026-02-28" };
const cost = (counted: typeof days) => Number(usageReport(scope, counted, "us-east-1").total.cost_usd);
const at = (now: string, of = scope) => forecastOf(of, days, "us-east-1", now);

describe("the forecast of a month", () => {
  it("goes on with the average of the days that are complete, and leaves out the one that is not", () => {
    const found = at("2026-02-03T12:00:00.000Z");
    expect(found).toMatchObject({ month: "2026-02", counted_days: 2 });
    expect(Number(found?.cost_usd)).toBeCloseTo((cost(days.slice(0, 2)) / 2) * 28, 8);
  });

  it("counts days without usage, and no day before two hours after its end", () => {
    expect(at("2026-02-06T01:59:59.000Z")?.counted_days).toBe(4);
    const later = at("2026-02-06T02:00:00.000Z");
    expect(later?.counted_days).toBe(5);
    expect(Number(later?.cost_usd)).toBeCloseTo((cost(days) / 5) * 28, 8);
  });

  it("ends with the days that are shown", () => {
    expect(at("2026-02-20T12:00:00.000Z", { ...scope, to: "2026-02-02" })?.counted_days).toBe(2);
  });

  it("has no value for another month, from another day than the first, and before a day is complete", () => {
    expect(at("2026-03-03T12:00:00.000Z")).toBe(null);
    expect(at("2026-02-20T12:00:00.000Z", { ...scope, from: "2026-02-02" })).toBe(null);
    expect(at("2026-02-02T01:00:00.000Z")).toBe(null);
  });
});
