import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { UsageError } from "../../../shared/runtime/command-line.ts";

/** When a process started, where the system tells (Linux: field 22 of stat); it tells two users of one id apart. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
  } catch {
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/**
 * Takes a folder for this process, over a process that is gone; returns what gives it back.
 * @throws UsageError when a process has it that still runs
 */
export function lockFolder(path: string): () => void {
  for (;;) {
    try {
      writeFileSync(path, JSON.stringify({ pid: process.pid, start: startOf(process.pid) }), {
        flag: "wx",
        mode: 0o600,
      });
      return () => rmSync(path, { force: true });
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    }
    const { pid, start } = heldBy(path);
    if (pid !== undefined && isAlive(pid) && startOf(pid) === start) {
      throw new UsageError(`Another bridge works on this folder (process ${pid}): ${path} names it.`);
    }
    rmSync(path, { force: true });
  }
}

function heldBy(path: string): { pid?: number; start?: string } {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return {};
  }
}
