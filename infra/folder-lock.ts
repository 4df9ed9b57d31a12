import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { UsageError } from "../shared/runtime/command-line.ts";

/** A process: its id, and when it started where the system tells, since ids are given to other processes later. */
export interface ProcessName {
  readonly pid: number;
  readonly start?: string | undefined;
}

interface LockHolder extends ProcessName {
  /** Servers that it started, by name. */
  readonly servers?: Readonly<Record<string, ProcessName>>;
}

const limitMs = 5_000;

/** A process that runs. */
export function processName(pid: number): ProcessName {
  return { pid, start: startOf(pid) };
}

/** Whether a process still runs. */
export function isAlive({ pid, start }: ProcessName): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  return startOf(pid) === start;
}

/**
 * The file that names the process that works on a folder, so that two never do, and the servers that it started: those
 * of a process that is gone are ended before another one begins.
 */
export class FolderLock {
  private readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  /**
   * Takes a folder for this process, over one that is gone.
   * @throws UsageError what `inUse` says of the process that has it
   */
  static async take(path: string, inUse: (pid: number) => string): Promise<FolderLock> {
    mkdirSync(dirname(path), { recursive: true });
    for (;;) {
      if (create(path)) return new FolderLock(path);
      const held = heldBy(path);
      if (held !== undefined && isAlive(held)) throw new UsageError(inUse(held.pid));
      for (const [name, server] of Object.entries(held?.servers ?? {})) await endServer(name, server);
      rmSync(path, { force: true });
    }
  }

  /** Names the servers that were started. */
  list(servers: Readonly<Record<string, number>>): void {
    const named = Object.entries(servers).map(([name, pid]) => [name, processName(pid)] as const);
    const draft = draftOf(this.path, Object.fromEntries(named));
    renameSync(draft, this.path);
  }

  /** Gives the folder back. */
  release(): void {
    rmSync(this.path, { force: true });
  }
}

/** Makes the file unless it is there; two processes that begin at once cannot both do it, nor see a part of it. */
function create(path: string): boolean {
  const draft = draftOf(path, {});
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  } finally {
    rmSync(draft);
  }
}

function draftOf(path: string, servers: NonNullable<LockHolder["servers"]>): string {
  const draft = `${path}+${process.pid}`;
  writeFileSync(draft, JSON.stringify({ ...processName(process.pid), servers }), { mode: 0o600 });
  return draft;
}

function heldBy(path: string): LockHolder | undefined {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return undefined;
  }
}

/** When a process started, where the system tells (Linux: field 22 of stat). */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
  } catch {
    return undefined;
  }
}

/** Ends a server that a dead process left, and waits until it has: its file is free only then. */
async function endServer(name: string, server: ProcessName): Promise<void> {
  if (!isAlive(server)) return;
  if (server.start === undefined) {
    throw new UsageError(`Process ${server.pid} (${name}) of an earlier run may be alive; end it first.`);
  }
  process.kill(server.pid, "SIGKILL");
  const last = Date.now() + limitMs;
  while (isAlive(server)) {
    if (Date.now() > last) throw new UsageError(`Process ${server.pid} (${name}) of an earlier run does not end.`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
