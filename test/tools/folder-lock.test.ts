import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { FolderLock, processName } from "../../infra/folder-lock.ts";
import { UsageError } from "../../shared/runtime/command-line.ts";

const folder = mkdtempSync(join(tmpdir(), "brokerage-lock-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;
const newFile = () => join(folder, `lock-${++files}`);

describe("the folder of a runner or a bridge", () => {
  it("belongs to one process, and to another one once the first is gone", async () => {
    const path = newFile();
    const take = () => FolderLock.take(path, (pid) => `process ${pid} has it`);
    const tries = await Promise.allSettled([take(), take(), take()]);
    expect(tries.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected"]);
    await expect(take()).rejects.toThrow(new UsageError(`process ${process.pid} has it`));
    writeFileSync(path, JSON.stringify({ pid: process.pid, start: "of another process with this id" }));
    await take();
    writeFileSync(path, "");
    const last = await take();
    last.release();
    expect(readdirSync(folder).filter((name) => name.includes(basename(path)))).toEqual([]);
  });

  it("is free of the servers of a process that is gone before another one has it", async () => {
    const path = newFile();
    const server = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
    const [other, ended] = [spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]), once(server, "exit")];
    const gone = { pid: process.pid, start: "1" };
    const servers = { one: processName(server.pid ?? 0), two: { pid: other.pid, start: "1" } };
    writeFileSync(path, JSON.stringify({ ...gone, servers }));
    (await FolderLock.take(path, String)).release();
    expect(await ended).toEqual([null, "SIGKILL"]);
    // A process that got the number of a server is left alone.
    expect(other.exitCode ?? other.signalCode).toBeNull();
    other.kill();
  });
});
