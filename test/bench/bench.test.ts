import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, it } from "vitest";
import { startCommandProcess } from "../support/command-process.ts";
import { median, shuffled, spread } from "./measure.ts";
import { dollarsPerMillion, prices } from "./prices.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
/** One process for all calls: to load the command takes longer than most of them. */
const commands = startCommandProcess(root);
const bench = (...options: string[]) =>
  commands.run(join(root, "test/bench/run.ts"), options, { ...process.env, VITEST: undefined });

afterAll(async () => {
  expect(await commands.stop()).toMatchObject({ code: 0, stderr: "" });
});

it("refuses an option that it does not know", async () => {
  expect(await bench("--fast")).toMatchObject({ code: 1, stderr: expect.stringContaining("--fast") });
});

it("refuses parts that exclude each other, and instructions of all functions", async () => {
  const refused = async (...options: string[]) => (await bench(...options)).stderr;
  expect(await refused("--peers", "--quick")).toContain("exclude each other");
  expect(await refused("--exact")).toContain("--exact needs --only");
});

it("measures a row beside the baselines, and compares it with the last complete run", {
  timeout: 120_000,
}, async () => {
  const { stdout } = await bench("--rounds", "1", "--only", "documents/health");
  const figure = String.raw`(?:\d+\.\d+ → )?\d+\.\d+`;
  for (const name of ["the no-op handler", "one call, signed by hand", "documents/health"]) {
    expect(stdout).toMatch(new RegExp(`^\\| ${name} \\| ${figure} \\| ${figure} \\|`, "m"));
  }
});

it("takes the middle and the distance of the quarters", () => {
  expect(median([5, 1, 3])).toBe(3);
  expect(median([4, 1, 2, 3])).toBe(2.5);
  expect(spread([1, 2, 3, 4, 5])).toBe(2);
});

it("changes the order and nothing else", () => {
  const rows = Array.from({ length: 50 }, (_, place) => place);
  const order = shuffled(rows);
  expect(order).not.toEqual(rows);
  expect([...order].sort((one, other) => one - other)).toEqual(rows);
});

it("adds up what a request costs", () => {
  const nothing = { memory_mb: 512, billed_ms: 0, read_units: 0, write_units: 0 };
  expect(dollarsPerMillion(nothing)).toBe(prices.gateway_per_million_requests + prices.lambda_per_million_requests);
  // A million times 10 ms of half a gigabyte are 5,000 gigabyte-seconds.
  const usual = dollarsPerMillion({ ...nothing, billed_ms: 10, read_units: 2, write_units: 1 });
  expect(usual - dollarsPerMillion(nothing)).toBeCloseTo(0.066667 + 0.25 + 0.625, 5);
});
