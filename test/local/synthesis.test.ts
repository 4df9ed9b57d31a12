import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { sourceDigest } from "../../infra/local/synthesis.ts";

const folder = mkdtempSync(join(tmpdir(), "brokerage-sources-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function write(file: string, text: string): void {
  mkdirSync(dirname(join(folder, file)), { recursive: true });
  writeFileSync(join(folder, file), text);
}

describe("an assembly is made again", () => {
  it.each([
    ["infra/stages.ts", true],
    ["shared/limits.ts", true],
    ["functions/health.ts", true],
    ["package-lock.json", true],
    [".stages.json", true],
    ["shared/decisions/0001-single-table.md", false],
    ["infra/local/cloud.ts", false],
    ["infra/tools/run.ts", false],
    ["test/health.test.ts", false],
    ["README.md", false],
  ])("after a change of %s: %s", (file, again) => {
    write(file, "before");
    const before = sourceDigest("sandbox", folder);
    write(file, "after");
    expect(sourceDigest("sandbox", folder) !== before).toBe(again);
  });

  it("for each stage", () => {
    expect(sourceDigest("sandbox", folder)).not.toBe(sourceDigest("production", folder));
  });
});
