import { expect, inject, it } from "vitest";
import { runSoak } from "./soak-run.ts";

it("nothing is lost while functions die, records are repeated and reordered and every queue is purged", async () => {
  const lines: string[] = [];
  const report = await runSoak({
    assemblyDir: inject("assemblyDir"),
    events: 8,
    writers: 2,
    healthy: 2,
    // One that never answers takes ten seconds for each attempt: that is for the long form.
    sick: ["failing", "dead"],
    chaos: true,
    kill_every_ms: 1000,
    pace: 4,
    time_scale: 6000,
    times_only: false,
    seed: 20_261_121,
    settle_ms: 120_000,
    log: (line) => lines.push(line),
  });
  const { faults, ...told } = report;
  console.log(JSON.stringify(told));
  expect(faults).toEqual([]);
  expect(report.events).toBeGreaterThanOrEqual(8);
  expect(Object.values(report.chaos?.kills ?? {}).reduce((sum, count) => sum + count, 0)).toBeGreaterThan(0);
  expect(report.chaos?.stream_repeats).toBeGreaterThan(0);
  expect(report.chaos?.queue_repeats).toBeGreaterThan(0);
  expect(report.deliveries["succeeded"]).toBeGreaterThanOrEqual(16);
  // Those of an endpoint that is not there: on a slow machine its five days end first, and the service switches it off.
  const { exhausted = 0, cancelled = 0 } = report.deliveries;
  expect(exhausted + cancelled).toBeGreaterThanOrEqual(8);
}, 200_000);
