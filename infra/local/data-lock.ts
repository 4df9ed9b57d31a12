import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { writePrivately } from "./state-file.ts";

interface Held {
  /** The runner. */
  readonly runner: number;
  /** Servers that it started, by name. */
  readonly servers: Readonly<Record<string, number>>;
}

/** Somebody runs on the same data folder. The message says who. */
export class DataInUse extends Error {}

/**
 * The file that lists who works on a data folder, so that there are never two writers on one database file. A runner
 * that is gone left its list behind; servers on it that are still there are ended first.
 */
export class DataLock {
  private readonly path: string;
  private servers: Readonly<Record<string, number>> = {};

  private constructor(path: string) {
    this.path = path;
  }

  /** Takes the lock. Throws DataInUse when another runner has it. */
  static async take(path: string, dataDir: string): Promise<DataLock> {
    mkdirSync(dirname(path), { recursive: true });
    const lock = new DataLock(path);
    if (lock.create()) return lock;
    const held = lock.read();
    if (held !== undefined && isRunner(held.runner)) {
      throw new DataInUse(`Another runner (process ${held.runner}) uses ${dataDir}; stop it first, or give --data.`);
    }
    for (const [name, pid] of Object.entries(held?.servers ?? {})) await endServer(name, pid);
    rmSync(path, { force: true });
    if (lock.create()) return lock;
    throw new DataInUse(`Another runner has just started on ${dataDir}.`);
  }

  /** Adds the servers that were started. */
  list(servers: Readonly<Record<string, number>>): void {
    this.servers = servers;
    writePrivately(this.path, this.text());
  }

  /** Gives the lock back. */
  release(): void {
    rmSync(this.path, { force: true });
  }

  private text(): string {
    const held: Held = { runner: process.pid, servers: this.servers };
    return `${JSON.stringify(held)}\n`;
  }

  /** Makes the file unless it is there; two runners that start at once cannot both do it. */
  private create(): boolean {
    try {
      const file = openSync(this.path, "wx", 0o600);
      writeSync(file, this.text());
      closeSync(file);
      return true;
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
      throw error;
    }
  }

  private read(): Held | undefined {
    try {
      return JSON.parse(readFileSync(this.path, "utf8"));
    } catch {
      return undefined;
    }
  }
}

/** Whether a process exists; a number may have been given to another one meanwhile. */
function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Command line of a process where the system tells it, else undefined. */
function commandLine(pid: number): string | undefined {
  const file = `/proc/${pid}/cmdline`;
  return existsSync(file) ? readFileSync(file, "utf8").replaceAll("\0", " ") : undefined;
}

/** Whether a process is a runner other than this one. */
export function isRunner(pid: number): boolean {
  if (pid === process.pid || !exists(pid)) return false;
  const command = commandLine(pid);
  return command === undefined || command.includes("start.ts");
}

/** What the command line of a server holds. */
const serverMarks: Readonly<Record<string, string>> = {
  guard: "guard.mjs",
  dynamodb: "dynoxide",
};
const limitMs = 5_000;

/** Ends a server that a dead runner left, and waits until it has: its file is free only then. */
async function endServer(name: string, pid: number): Promise<void> {
  const command = exists(pid) ? commandLine(pid) : "";
  if (command === undefined)
    throw new DataInUse(`Process ${pid} (${name}) of an earlier run may be alive; end it first.`);
  if (!command.includes(serverMarks[name] ?? name)) return;
  process.kill(pid, "SIGKILL");
  const last = Date.now() + limitMs;
  while (exists(pid)) {
    if (Date.now() > last) throw new DataInUse(`Process ${pid} (${name}) of an earlier run does not end.`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
