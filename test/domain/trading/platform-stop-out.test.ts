import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PlatformDesk } from "./platform-desk.ts";

/** Four lots bought at 1.10000, whose platform closes by itself at its stop-out level. */
const desk = () => {
  const platform = new PlatformDesk("4400.00", 4, { stop_out_level: "50.00" });
  platform.source = { ...platform.source, authoritative: "platform" };
  platform.quote("1.09200");
  platform.evaluate();
  return platform;
};

interface Told {
  readonly started_at: string;
  readonly before: { readonly balance: string };
  readonly after: { readonly balance: string; readonly margin_status: string };
  readonly closed_trade_ids: readonly string[];
}

const stopOuts = (platform: PlatformDesk) =>
  platform.desk.events.flatMap(({ type, object }) =>
    type === "stop.out" ? [(object as unknown as { stop_out: Told }).stop_out] : [],
  );

/** The platform closes a position by its stop-out, and reports it. */
const close = (platform: PlatformDesk, name: number) => {
  platform.deal(`P-${name}`, "1.00", "1.09000", "stop_out");
  platform.report();
};

describe("a stop-out that a platform does by itself", () => {
  it("is one stop.out for all positions, five seconds after the last deal, and the recovery follows it", () => {
    const platform = desk();
    for (const name of [1, 2, 3]) {
      close(platform, name);
      platform.pass(4);
      platform.evaluate();
    }
    expect(stopOuts(platform)).toEqual([]);
    expect(platform.desk.announced.filter((type) => type !== "trade.closed")).toEqual(["margin.call"]);
    platform.quote("1.10000");
    platform.pass(1);
    platform.evaluate();
    platform.evaluate();
    const closed_trade_ids = platform.desk.closed.map(({ id }) => id);
    expect(stopOuts(platform)).toMatchObject([
      { closed_trade_ids, before: { balance: "4400.00" }, after: { balance: "1400.00", margin_status: "normal" } },
    ]);
    expect(platform.desk.announced.slice(-2)).toEqual(["stop.out", "margin.recovered"]);
    expect(platform.desk.risk?.platform_run).toBeUndefined();
  });

  it("ends at once with the last position", () => {
    const platform = desk();
    for (const name of [1, 2, 3, 4]) close(platform, name);
    expect(stopOuts(platform)).toMatchObject([{ closed_trade_ids: platform.desk.closed.map(({ id }) => id) }]);
    platform.pass(60);
    platform.evaluate();
    expect(stopOuts(platform)).toHaveLength(1);
  });

  it("is another one when the next deal comes after its end", () => {
    const platform = desk();
    for (const name of [1, 2]) {
      close(platform, name);
      platform.pass(5);
      platform.evaluate();
    }
    const [first, second] = platform.desk.closed.map(({ id }) => id);
    expect(stopOuts(platform).map(({ closed_trade_ids }) => closed_trade_ids)).toEqual([[first], [second]]);
  });

  it("names each trade once, whatever is closed in between and whenever the evaluator comes", () => {
    const act = fc.tuple(fc.constantFrom("stop_out", "client", "pass", "evaluate"), fc.integer({ min: 1, max: 7 }));
    fc.assert(
      fc.property(fc.array(act, { maxLength: 30 }), (acts) => {
        const platform = desk();
        for (const [kind, by] of acts) {
          if (kind === "pass") platform.pass(by);
          else if (kind === "evaluate") platform.evaluate();
          else {
            platform.deal(`P-${by}`, "0.50", "1.09000", kind === "client" ? "client" : "stop_out");
            platform.report();
          }
        }
        platform.pass(5);
        platform.evaluate();
        const told = stopOuts(platform).flatMap(({ closed_trade_ids }) => closed_trade_ids);
        const own = platform.desk.closed.filter(({ close_reason }) => close_reason === "stop_out");
        expect(told.toSorted()).toEqual(own.map(({ id }) => id).toSorted());
      }),
      { numRuns: 60 },
    );
  });
});
