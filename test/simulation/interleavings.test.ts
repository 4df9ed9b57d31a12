import { beforeAll, describe, expect, inject, it } from "vitest";
import { deliveries, events } from "../../shared/table/entities.ts";
import { commitAtRate, scaleTenant as tenant } from "../bench/scale/publishing.ts";
import { backgroundFiles, compile, type Program, Stage } from "../support/model/stage.ts";
import { EventWatch } from "../support/model/watch.ts";

const assemblyDir = inject("assemblyDir");
const runs = Number(process.env["INTERLEAVING_RUNS"] ?? "2");
const firstSeed = process.env["INTERLEAVING_SEED"] === "random" ? Date.now() % 1e9 : 1;
const seeds = Array.from({ length: runs }, (_, at) => firstSeed + at);

let whole: Program;
let withoutSweep: Program;
beforeAll(async () => {
  whole = await compile(await backgroundFiles("events/"), "test/bench/scale/workload.ts");
  const functions = new Map([...whole.functions].filter(([id]) => id !== "sweep-events"));
  withoutSweep = { ...whole, functions };
});

/** Functions die, and records come twice and in another order, for so long: two sweeps fall into that time. */
const disturbedMs = 130_000;
const sweepMs = 60_000;
const endpoints = 2;

/**
 * Commits while functions die before and after their calls, each time at a risk, then waits for what is left. Returns
 * what there is in the end.
 */
async function play(seed: number, program: Program, risk = 0.06) {
  const stage = new Stage({
    program,
    assemblyDir,
    seed,
    shards: 2,
    crash: ({ function: name }, { elapsedMs, random }) =>
      !name.startsWith("workload") && elapsedMs < disturbedMs && random() < risk,
    disturb: (records, { elapsedMs, random }) => {
      if (elapsedMs >= disturbedMs || random() < 0.5) return records;
      return random() < 0.5 ? [...records, ...records] : records.toReversed();
    },
  });
  const watch = new EventWatch(stage);
  const { simulation } = stage;
  simulation.start(async () => void (await stage.call("endpoints", { tenant, count: endpoints })));
  await simulation.run(3000);
  const made = commitAtRate(stage, { rate: 8, seconds: 10 });
  await simulation.run(5000);
  for (const stream of stage.streams.values()) stream.split();
  await simulation.run(disturbedMs + sweepMs - 8000);
  const waited = { backlog: watch.backlog, longest_ms: watch.longestMs };
  // A delivery that a sweep was killed with is sent again after a quarter of an hour.
  await simulation.run(1_200_000);
  const items = [...stage.database.tables.items(stage.mainTable)];
  const published = items.filter(({ et }) => et === events.et);
  const made_deliveries = items.filter(({ et }) => et === deliveries.et);
  return {
    ...waited,
    faults: watch.numberFaults(tenant),
    unpublished: made.begun - published.length,
    repeated: published.length - new Set(published.map((item) => item["resource_id"])).size,
    missing_deliveries: published.length * endpoints - made_deliveries.length,
    open_deliveries: made_deliveries.filter(({ status }) => status !== "succeeded").length,
    killed: Object.values(stage.functions.counts).reduce((sum, { crash }) => sum + crash, 0),
    errors: stage.functions.errors,
  };
}

const sound = { backlog: 0, faults: [], unpublished: 0, repeated: 0, missing_deliveries: 0, open_deliveries: 0 };

describe("functions that die at any call, and records that come twice and in another order", () => {
  it.each(seeds)("leave each commit one event without a gap and all deliveries, seed %i", async (seed) => {
    const { killed, longest_ms, errors, ...left } = await play(seed, whole);
    expect(killed).toBeGreaterThan(10);
    expect(errors).toEqual([]);
    expect(left).toEqual(sound);
    // The first sweep that is not killed finds what the stream lost.
    expect(longest_ms).toBeLessThan(disturbedMs + sweepMs);
  });

  it("would leave some behind without the sweep: the check finds what the sweep is for", async () => {
    const { killed: _killed, longest_ms: _longest, errors: _errors, ...left } = await play(firstSeed, withoutSweep, 1);
    expect(left).not.toEqual(sound);
  });
});
