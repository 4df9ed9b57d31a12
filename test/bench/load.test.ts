import { expect, inject, it } from "vitest";
import { reportOf } from "./load/report.ts";
import { runLoad } from "./load/run-load.ts";

const options = {
  assemblyDir: inject("assemblyDir"),
  applications: 2,
  seconds: 4,
  rate: 3,
  steps: [],
  seed: 1,
  log: () => undefined,
};

it("a short load is answered without an error, and every event of it is published and delivered", {
  timeout: 120_000,
}, async () => {
  const report = await runLoad({ ...options, loop: "open" });
  expect(report.faults).toEqual([]);
  expect(report.answered.length).toBeGreaterThan(10);
  expect(report.events.written).toBeGreaterThan(0);
  expect(report.events.received).toBe(report.events.published);
  const text = reportOf({ ...options, loop: "open", percent: 18 }, report);
  expect(text).toContain("latencies of one machine");
  for (const word of ["Nothing: all of it held.", "quarter 4"]) {
    expect(text).toContain(word);
  }
});
