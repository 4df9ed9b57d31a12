import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { LiquidateCommand } from "../../../shared/domain/records/command.ts";
import { someSymbol } from "../../support/builders/trading.ts";
import { PlatformDesk } from "./platform-desk.ts";

/** Three lots bought at 1.10000: at 1.09200 the equity of 900.00 is below half of the margin until two are closed. */
const [fallen, recovered] = ["1.09200", "1.10000"];
const fallenDesk = (fields: ConstructorParameters<typeof PlatformDesk>[2] = {}) => {
  const platform = new PlatformDesk("3300.00", 3, { stop_out_level: "50.00", ...fields });
  platform.quote(fallen);
  platform.evaluate();
  return platform;
};
const stopOuts = ({ desk }: PlatformDesk) =>
  desk.events.flatMap(({ type, object }) =>
    type === "stop.out" ? [(object as { stop_out: { closed_trade_ids: readonly string[] } }).stop_out] : [],
  );
const done = { status: "done", operation_id: "C-1" } as const;
const first = (platform: PlatformDesk): LiquidateCommand => {
  const command = platform.take();
  if (command === undefined) throw new Error("No command waits.");
  return command;
};

describe("the stop-out of an account whose platform closes by commands", () => {
  it("asks for as much as the level demands, in the risk lane and for a minute, and books nothing", () => {
    const platform = fallenDesk();
    const demanded = [...platform.commands.values()];
    expect(demanded).toHaveLength(2);
    expect(demanded[0]).toMatchObject({
      ...{ type: "liquidate", lane: "risk", status: "waiting", transaction_id: null },
      payload: { position_id: "P-1", symbol: "EURUSD", side: "buy", lots: "1.00", lots_before: "1.00" },
      not_after: platform.context.in(60),
    });
    platform.evaluate();
    expect(platform.commands.size).toBe(demanded.length);
    expect(platform.desk.announced.filter((type) => type === "command.issued")).toHaveLength(demanded.length);
  });

  it("ends with one stop.out that names what deals closed, at the prices of the platform", () => {
    const platform = fallenDesk();
    while (platform.status === "stop_out") {
      const command = first(platform);
      expect(platform.carryOut(command, "1.09000")).toBeUndefined();
      platform.acknowledge(command.id, { attempt: 1, ...done });
      platform.evaluate();
      expect(stopOuts(platform)).toEqual([]);
      platform.report();
      platform.evaluate();
    }
    expect(platform.desk.risk?.requested).toBeUndefined();
    expect(stopOuts(platform)).toMatchObject([{ closed_trade_ids: platform.desk.closed.map(({ id }) => id) }]);
    expect(platform.desk.closed.map(({ close_price }) => close_price)).toEqual(
      platform.desk.closed.map(() => "1.09000"),
    );
  });

  it("is asked for again when a command expires while the level demands it", () => {
    const platform = fallenDesk();
    const [before] = platform.open;
    platform.pass(60);
    platform.evaluate();
    expect(platform.commands.get(before?.id ?? "")?.status).toBe("expired");
    expect(platform.open.map(({ payload }) => payload.position_id)).toContain("P-1");
    expect(platform.desk.risk?.requested?.command_ids).toEqual(platform.open.map(({ id }) => id));
  });

  it("cancels what waits when the level recovers, and keeps the run while a command is taken or unknown", () => {
    const platform = fallenDesk();
    const command = first(platform);
    platform.quote(recovered);
    platform.evaluate();
    expect(platform.open.map(({ id }) => id)).toEqual([command.id]);
    platform.pass(60);
    platform.sweep();
    platform.evaluate();
    expect(platform.open.map(({ status }) => status)).toEqual(["unknown"]);
    expect(platform.desk.risk?.requested).toBeDefined();
    platform.pass(60);
    platform.sweep();
    platform.pass(60);
    platform.evaluate();
    expect(platform.desk.risk?.requested).toBeUndefined();
    expect(stopOuts(platform)).toEqual([]);
  });

  it("does not close another position while the deal of one that has moved is on the way", () => {
    const platform = fallenDesk({ stop_out_mode: "full" });
    const asked = platform.commands.size;
    for (const { payload } of platform.open) platform.deal(payload.position_id, "1.00", fallen, "client");
    for (let rest = asked; rest > 0; rest -= 1) {
      const command = first(platform);
      const error = platform.carryOut(command, fallen);
      expect(error).toEqual({ code: "lots_changed" });
      platform.acknowledge(command.id, { attempt: 1, status: "failed", ...(error && { error }) });
      platform.evaluate();
    }
    expect(platform.commands.size).toBe(asked);
  });

  it("asks another position where the platform refuses one", () => {
    const platform = fallenDesk();
    const command = first(platform);
    platform.acknowledge(command.id, { attempt: 1, status: "failed", error: { code: "market_closed" } });
    platform.evaluate();
    const names = platform.open.map(({ payload }) => payload.position_id);
    expect(names).not.toContain(command.payload.position_id);
    expect(names.length).toBeGreaterThan(0);
  });

  it("is asked for from the opening of New York on, also in the hour that summer time has moved", () => {
    const platform = new PlatformDesk("3300.00", 3, { stop_out_level: "50.00" });
    const sessions = [{ day: "sunday", open: "17:00", close: "24:00" }] as const;
    platform.symbols = [someSymbol("EURUSD", { zone: "America/New_York", sessions: [...sessions] })];
    platform.quote(fallen);
    platform.pass((Date.parse("2027-03-14T20:59:59.000Z") - Date.parse(platform.context.now)) / 1000);
    platform.evaluate();
    expect(platform.open).toEqual([]);
    platform.pass(1);
    platform.evaluate();
    expect(platform.open).toHaveLength(2);
  });

  it("asks for nothing once the source liquidates by itself or has ended", () => {
    const platform = fallenDesk();
    platform.source = { ...platform.source, ended_at: platform.context.now };
    platform.pass(1);
    platform.evaluate();
    expect([platform.open, platform.desk.risk?.requested]).toEqual([[], undefined]);
  });
});

type Step = readonly [kind: "take" | "ack" | "report" | "evaluate" | "sweep" | "pass" | "quote" | "dealer", by: number];
const step: fc.Arbitrary<Step> = fc.tuple(
  fc.constantFrom("take", "ack", "report", "evaluate", "evaluate", "sweep", "pass", "quote", "dealer"),
  fc.nat(40),
);

/** A bridge that loses, repeats and delays what it does, and a platform whose dealer closes by hand. */
function play(platform: PlatformDesk, steps: readonly Step[]): void {
  for (const [kind, by] of steps) {
    const taken = platform.open.find(({ status }) => status === "taken");
    if (kind === "take") {
      const command = platform.take();
      if (command !== undefined && by > 10) platform.carryOut(command, `1.0${900 + by}0`);
    } else if (kind === "ack" && taken !== undefined) {
      const closed = platform.there.get(taken.payload.position_id) !== taken.payload.lots_before;
      const status = by > 30 ? "unknown" : closed ? "done" : "failed";
      platform.acknowledge(taken.id, { attempt: taken.attempt, status });
      platform.acknowledge(taken.id, { attempt: taken.attempt, status });
    } else if (kind === "report") platform.report();
    else if (kind === "evaluate") platform.evaluate();
    else if (kind === "sweep") platform.sweep();
    else if (kind === "pass") platform.pass(by * 4);
    else if (kind === "quote") platform.quote(`1.0${880 + by * 3}0`.slice(0, 7));
    else if (kind === "dealer" && by < 3) platform.deal(`P-${by + 1}`, "0.10", fallen, "client");
  }
}

/** Everything arrives: the bridge takes, carries out, acknowledges and reports without a loss. */
function settle(platform: PlatformDesk): void {
  for (let round = 0; round < 60; round += 1) {
    while (platform.unreported.length > 0) platform.report();
    platform.evaluate();
    const taken = platform.open.find(({ status }) => status === "taken") ?? platform.take();
    if (taken !== undefined) {
      const error = platform.carryOut(taken, fallen);
      platform.acknowledge(taken.id, { attempt: taken.attempt, status: error === undefined ? "done" : "failed" });
    }
    platform.pass(30);
    platform.sweep();
  }
}

describe("a run of commands", () => {
  it.each(["full", "partial"] as const)(
    "comes to its end whatever a bridge loses, repeats and delays, and tells once what it closed (%s)",
    (stop_out_mode) => {
      fc.assert(
        fc.property(fc.array(step, { minLength: 10, maxLength: 60 }), (steps) => {
          const platform = fallenDesk({ stop_out_mode });
          play(platform, steps);
          settle(platform);
          expect(platform.status).not.toBe("stop_out");
          expect([platform.open, platform.desk.risk?.requested]).toEqual([[], undefined]);
          const open = [...platform.desk.positions.values()];
          expect(new Map(open.map((one) => [one.source_position_id, one.lots]))).toEqual(platform.there);
          const told = stopOuts(platform).flatMap(({ closed_trade_ids }) => closed_trade_ids);
          expect(new Set(told).size).toBe(told.length);
          const asked = platform.closedInRuns.filter((id) => !told.includes(id));
          const byDealer = platform.desk.closed.filter(({ id }) => asked.includes(id));
          expect(byDealer.filter(({ close_reason }) => close_reason === "stop_out")).toEqual([]);
        }),
        { numRuns: 60 },
      );
    },
  );
});
