import { existsSync, readFileSync } from "node:fs";

const betweenLooksMs = 500;

/** Parent of a process where the system tells it, else undefined. */
function parentOf(pid: number): number | undefined {
  const file = `/proc/${pid}/stat`;
  if (!existsSync(file)) return undefined;
  // The name in parentheses may hold anything; the state and then the parent follow the last one.
  const [, parent] = (readFileSync(file, "utf8").split(") ").at(-1) ?? "").split(" ");
  return parent === undefined ? undefined : Number(parent);
}

function isNpm(pid: number): boolean {
  const file = `/proc/${pid}/cmdline`;
  return existsSync(file) && /\bnpm\b/.test(readFileSync(file, "utf8"));
}

const mostParents = 5;

/** This process's parents up to npm: there may be a shell between them. */
function ancestry(): number[] {
  const chain: number[] = [];
  let pid: number | undefined = process.ppid;
  while (pid !== undefined && pid > 1 && chain.length < mostParents) {
    chain.push(pid);
    if (isNpm(pid)) break;
    pid = parentOf(pid);
  }
  return chain;
}

/**
 * Calls back when the npm that started this process is gone. npm hands signals on, but a kill -9 of npm itself reaches
 * no other process, and servers must not stay behind. Does nothing without npm.
 */
export function watchLauncher(gone: () => void): void {
  if (process.env["npm_lifecycle_event"] === undefined) return;
  const first = ancestry();
  const timer = setInterval(() => {
    if (ancestry().join() === first.join()) return;
    clearInterval(timer);
    gone();
  }, betweenLooksMs);
  timer.unref();
}
