import { mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { LogFile } from "../../infra/local/functions/log-file.ts";

const folder = mkdtempSync(join(tmpdir(), "brokerage-log-"));
afterAll(() => rmSync(folder, { recursive: true }));
afterEach(() => vi.restoreAllMocks());

describe("a log file", () => {
  it("keeps the lines before the newest ones in a second file", () => {
    const path = join(folder, "short.log");
    const log = new LogFile(path, 3);
    for (const line of ["one\n", "two\n"]) log.append(line);
    expect([readFileSync(`${path}.1`, "utf8"), readFileSync(path, "utf8")]).toEqual(["one\n", "two\n"]);
  });

  it("drops the lines that a full disk does not take, says so once, and goes on", () => {
    const path = join(folder, "full.log");
    // A write to it always meets a full disk.
    symlinkSync("/dev/full", path);
    const said = vi.spyOn(console, "error").mockImplementation(() => undefined);
    const log = new LogFile(path, 1_000_000);
    for (const line of ["one\n", "two\n"]) log.append(line);
    expect(said.mock.calls).toEqual([[expect.stringMatching(/^Lines of a log are dropped: ENOSPC/)]]);
  });
});
