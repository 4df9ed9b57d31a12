import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import type { MutantOutcome } from "../mutants.ts";
import { mutations, planted, shortForm, sourceOf } from "../support/rules/mutations.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/**
 * Whether every bug is planted, and the tests run without the bugs too, under the same shorter waits. `npm test` runs
 * them so by themselves, and fails when one of them does.
 */
const isLong = process.env["MUTANTS"] === "all";

/** Runs the tests of all mutations, each with its bug, as `npm test` would. */
function run(): Promise<readonly MutantOutcome[]> {
  const child = spawn(process.execPath, ["--import", "tsx", "test/mutants.ts"], {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const chunks: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", () => {
      const text = Buffer.concat(chunks).toString();
      const line = text.split("\n").find((each) => each.startsWith('{"outcomes"'));
      if (line === undefined) reject(new Error(text));
      else resolve((JSON.parse(line) as { outcomes: readonly MutantOutcome[] }).outcomes);
    });
  });
}

let outcomes: readonly MutantOutcome[];
beforeAll(async () => {
  outcomes = await run();
}, 240_000);

it.each(mutations)("the bug $name has its place in the sources", (mutation) => {
  expect(planted(mutation, sourceOf(mutation))).not.toBe(sourceOf(mutation));
});

describe.each(isLong ? mutations : shortForm)("the bug $name", (mutation) => {
  const of = (project: string) =>
    outcomes.filter((each) => each.project === project && each.test.includes(mutation.test.name));

  it("is found by the test that is there for it", () => {
    const failed = of(mutation.name).filter(({ state }) => state === "failed");
    expect(failed.length).toBeGreaterThan(0);
    // A test that could not even be loaded would prove nothing.
    expect(failed.flatMap(({ messages }) => messages).join("\n")).toMatch(
      /AssertionError|expected to|expected \d+ to be|did not come within|Property failed after|instead of rejecting/,
    );
  });

  if (isLong) {
    it("is not found by that test without it", () => {
      const well = of("healthy").filter(({ state }) => state !== "skipped");
      expect(well.map(({ state, messages }) => [state, messages])).toEqual(well.map(() => ["passed", []]));
      expect(well.length).toBeGreaterThan(0);
    });
  }
});
