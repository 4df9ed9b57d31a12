import { describe, expect, it } from "vitest";
import { Pace } from "../../infra/dashboard/app/api/pace.ts";

describe("the pace of the dashboard", () => {
  it("is 5 seconds", () => expect(new Pace().next(0)).toBe(5_000));

  it("waits as long as Retry-After says, and is half as fast from then on", () => {
    const pace = new Pace();
    pace.slowDown(30, 1_000);
    expect([pace.wait(1_000), pace.next(1_000)]).toEqual([30_000, 30_000]);
    expect([pace.wait(31_000), pace.next(31_000)]).toEqual([0, 10_000]);
  });

  it("is never slower than a minute without a Retry-After", () => {
    const pace = new Pace();
    for (let times = 0; times < 10; times += 1) pace.slowDown(undefined, 0);
    expect(pace.next(0)).toBe(60_000);
  });

  it("returns to 5 seconds by answers, and not while requests are refused", () => {
    const pace = new Pace();
    pace.slowDown(2, 0);
    pace.speedUp(1_000);
    expect(pace.next(2_000)).toBe(10_000);
    for (let times = 0; times < 20; times += 1) pace.speedUp(3_000);
    expect(pace.next(3_000)).toBe(5_000);
  });
});
