/**
 * Ends processes that would outlive the runner. The runner holds this process's stdin; when that closes, for whatever
 * reason, a kill -9 included, every process started or watched here is killed. The database server in particular must
 * never stay behind as a second writer on its file.
 *
 * Lines on stdin: {"start":id,"command","args","env","log"}, {"watch":pid}, {"forget":pid}, {"end":id}.
 * Lines on stdout: {"started":id,"pid"}, {"ended":id,"code","signal"}.
 */
import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { onLine } from "./lines.mjs";

/** @type {Map<string, import("node:child_process").ChildProcess>} */
const started = new Map();
/** @type {Set<number>} */
const watched = new Set();

/** @param {object} message */
function say(message) {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

/** @param {{ start: string, command: string, args: string[], env: Record<string, string>, log: string }} order */
function start({ start: id, command, args, env, log }) {
  const output = openSync(log, "a", 0o600);
  const child = spawn(command, args, { env, stdio: ["ignore", output, output] });
  closeSync(output);
  started.set(id, child);
  child.once("error", (error) => say({ ended: id, code: null, signal: null, error: error.message }));
  child.once("exit", (code, signal) => {
    started.delete(id);
    say({ ended: id, code, signal });
  });
  if (child.pid !== undefined) say({ started: id, pid: child.pid });
}

function killAll() {
  for (const child of started.values()) child.kill("SIGKILL");
  for (const pid of watched) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It had already ended.
    }
  }
  process.exit(0);
}

// A Ctrl-C reaches the whole process group; the runner decides when this process ends.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {});
// The runner is gone, and so is the other end of stdout: nothing to do but what the end of stdin asks for.
process.stdout.on("error", killAll);

process.stdin.on("end", killAll);
process.stdin.on("error", killAll);
onLine(process.stdin, (line) => {
  const order = JSON.parse(line);
  if (order.start !== undefined) start(order);
  if (order.watch !== undefined) watched.add(order.watch);
  if (order.forget !== undefined) watched.delete(order.forget);
  if (order.end !== undefined) started.get(order.end)?.kill("SIGTERM");
});
