import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";

const root = new URL("../", import.meta.url).pathname;

const config = (project: string, setup: string) => `{
  extends: true,
  test: { name: "${project}", isolate: false, setupFiles: [${setup}], include: ["*.test.js"] },
}`;

/** Finds what a file like it left in a module, the environment and the clock, and leaves the same. */
const file = `
  import { expect, it, vi } from "vitest";
  import { marks } from "./marks.js";
  it("finds nothing", () => {
    vi.stubEnv("GONE", "stubbed");
    vi.unstubAllEnvs();
    const found = [marks.length, process.env.MARK, process.env.PATH === "", vi.isFakeTimers(), process.env.GONE];
    marks.push("mark");
    process.env = { ...process.env, MARK: "mark", PATH: "" };
    vi.useFakeTimers();
    expect(found).toEqual([0, undefined, false, false, undefined]);
  });`;

it("a file sees nothing that another file of the same worker left, which it would without its set-up", () => {
  const folder = mkdtempSync(join(tmpdir(), "fresh-file-"));
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
  const projects = [config("fresh", JSON.stringify(join(root, "test/support/fresh-file.ts"))), config("shared", "")];
  write("vitest.config.js", `export default { test: { maxWorkers: 1, projects: [${projects}] } };`);
  write("marks.js", "export const marks = [];");
  for (const name of ["one", "two"]) write(`${name}.test.js`, file);
  const { stdout } = spawnSync(
    process.execPath,
    [join(root, "node_modules/vitest/vitest.mjs"), "run", "--root", folder, "--reporter=default", "--no-color"],
    { encoding: "utf8" },
  );
  rmSync(folder, { recursive: true });
  const results = [...stdout.matchAll(/\|(fresh|shared)\| \w+\.test\.js \(1 test( \| 1 failed)?\)/g)];
  const counted = results.map(([, project, failed]) => `${project} ${failed === undefined ? "passed" : "failed"}`);
  expect(counted.sort(), stdout).toEqual(["fresh passed", "fresh passed", "shared failed", "shared passed"]);
});
