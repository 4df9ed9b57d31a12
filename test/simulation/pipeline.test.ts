import { beforeAll, describe, expect, inject, it } from "vitest";
import { commitAtRate, measurePublishing, scaleTenant } from "../bench/scale/publishing.ts";
import type { Point } from "../support/model/functions.ts";
import { backgroundFiles, compile, type Program, Stage } from "../support/model/stage.ts";
import { EventWatch } from "../support/model/watch.ts";

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
      expect(one.p99).toBeLessThan(500);
      // Whatever was lost on the way, every event has its number in the end.
      expect([one.faults, one.given_up]).toEqual([[], 0]);
    }
  });

  it("publishes all others within 30 s of a commit that kills its publisher each time, and parks it", async () => {
    let outbox = "";
    const crash = ({ function: name, call, when, input }: Point) => {
      if (name !== "publish" || call !== "TransactWriteCommand" || when !== "before" || outbox === "") return false;
      const text = JSON.stringify(input);
      return text.includes(outbox) && text.includes("|SEQ");
    };
    const stage = new Stage({ program, assemblyDir, seed: 1, shards: 16, crash });
    const watch = new EventWatch(stage);
    const stored = new Set<string>();
    let begun = 0;
    stage.database.listeners.push(({ sk, before, after }) => {
      const type = String((after ?? before)?.["et"]);
      if (type !== "OUTBOX" && type !== "PARKED") return;
      if (after === undefined) stored.delete(`${type} ${sk}`);
      else stored.add(`${type} ${sk}`);
      if (type === "OUTBOX" && before === undefined) begun += 1;
      if (type === "OUTBOX" && begun === 20 && outbox === "") outbox = sk;
    });
    // More than the ten messages that the batch of the deadly commit holds.
    const commits = commitAtRate(stage, { rate: 50, seconds: 5 });
    await stage.simulation.run(45_000);
    const { crash: deaths } = stage.functions.counts["publish"] as { crash: number };
    expect([deaths, commits.refused, watch.numberFaults(scaleTenant)]).toEqual([4, 0, []]);
    expect([...stored].map((place) => place.split(" ")[0])).toEqual(["PARKED"]);
    // One latency is that of the deadly commit, which leaves the outbox last.
    const [deadly = 0, ...others] = watch.latencies.toSorted((a, b) => b - a);
    expect(watch.latencies).toHaveLength(commits.begun);
    expect(deadly).toBeGreaterThan(others[0] ?? 0);
    expect(others[0]).toBeLessThan(30_000);
  });

  it("counts the write units of a commit as the emulator does, without those of sealed values", async () => {
    const stage = new Stage({ program: { ...program, functions: new Map() }, assemblyDir, seed: 1, shards: 1 });
    const call = stage.call("commit", { tenant: scaleTenant, number: 1 });
    await stage.simulation.run(1000);
    // Five of them for what the search finds the client by: two for the item, one for each of its three orders.
    expect([(await call).ok, stage.database.counts.write_units]).toEqual([true, 16]);
  });

  it("gives the same figures for the same seed", async () => {
    expect(await publish(4)).toEqual(await publish(4));
  });
});
