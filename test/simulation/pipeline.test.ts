import { beforeAll, describe, expect, inject, it } from "vitest";
import { measurePublishing, scaleTenant } from "../bench/scale/publishing.ts";
import { backgroundFiles, compile, type Program, Stage } from "../support/model/stage.ts";

const assemblyDir = inject("assemblyDir");
let program: Program;
beforeAll(async () => {
  program = await compile(await backgroundFiles("events/"), "test/bench/scale/workload.ts");
});

const publish = (shards: number) =>
  measurePublishing({ program, assemblyDir, seed: 1, shards, rate: 50, seconds: 6, endpoints: 0 });

describe("the model of the event pipeline", () => {
  it("finds that the publisher conflicts with none, and is as fast on sixteen shards as on one", async () => {
    for (const one of [await publish(1), await publish(16)]) {
      expect([one.conflicts, one.throttled]).toEqual([0, 0]);
      expect(one.p99).toBeLessThan(1000);
      // Whatever was lost on the way, every event has its number in the end.
      expect([one.faults, one.given_up]).toEqual([[], 0]);
    }
  });

  it("counts the write units of a commit as the emulator does, see test/data/capacity.test.ts", async () => {
    const stage = new Stage({ program: { ...program, functions: new Map() }, assemblyDir, seed: 1, shards: 1 });
    const call = stage.call("commit", { tenant: scaleTenant, number: 1 });
    await stage.simulation.run(1000);
    expect([(await call).ok, stage.database.counts.write_units]).toEqual([true, 11]);
  });

  it("gives the same figures for the same seed", async () => {
    expect(await publish(4)).toEqual(await publish(4));
  });
});
