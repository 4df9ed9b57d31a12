import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { type Mutation, mutations, planted, sourceOf } from "../support/mutations.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly testResults: readonly { readonly assertionResults: readonly { readonly failureMessages: string[] }[] }[];
}

/** Runs the test of a mutation with or without its bug, as `npm test` would, and returns what the runner reports. */
function run({ name, test }: Mutation, sick: boolean): Promise<Report> {
  const wanted = ["run", "--config", "test/mutants.config.ts", "--reporter=json", test.file, "-t", test.name];
  const { MUTANT: _, ...env } = process.env;
  const child = spawn(process.execPath, ["node_modules/vitest/vitest.mjs", ...wanted], {
    cwd: root,
    env: sick ? { ...env, MUTANT: name } : env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const chunks: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", () => {
      const text = Buffer.concat(chunks).toString();
      const line = text.split("\n").find((each) => each.startsWith('{"num'));
      if (line === undefined) reject(new Error(text));
      else resolve(JSON.parse(line) as Report);
    });
  });
}

describe.each(mutations)("the bug $name", (mutation) => {
  it("is found by the test that is there for it, which passes without it", async () => {
    expect(planted(mutation, sourceOf(mutation))).not.toBe(sourceOf(mutation));
    const [well, sick] = await Promise.all([run(mutation, false), run(mutation, true)]);
    expect([well.numPassedTests > 0, well.numFailedTests]).toEqual([true, 0]);
    const failures = sick.testResults.flatMap(({ assertionResults }) =>
      assertionResults.flatMap(({ failureMessages }) => failureMessages),
    );
    expect(sick.numFailedTests).toBeGreaterThan(0);
    // A test that could not even be loaded would prove nothing.
    expect(failures.join("\n")).toMatch(/AssertionError|did not come within/);
  }, 120_000);
});
