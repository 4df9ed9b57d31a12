/**
 * Starts processes for the runner, and ends those that would outlive it. The runner holds this process's stdin; when
 * that closes, for whatever reason, a kill -9 included, every process started here is killed. The database server in
 * particular must never stay behind as a second writer on its file.
 *
 * Lines on stdin: {"start":id,"command","args","env","log"}, {"open":id,"command","args","env","cwd","path"} and
 * {"end":id}. A process that is opened has three connections to the socket at the path, each of which begins with a
 * line of the id and its place: standard input (0), both kinds of output (1), and file descriptor 3.
 * Lines on stdout: {"started":id,"pid"}, {"ended":id,"code","signal"}.
 */
import { spawn } from "node:child_process";
import { closeSync, openSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { dirname } from "node:path";
import { onLine } from "./lines.mjs";

/** @type {Map<string, import("node:child_process").ChildProcess>} */
const started = new Map();
/** The folder of the socket, which the runner cannot remove when it is killed. @type {string | undefined} */
let folder;

/** @param {object} message */
function say(message) {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

/** @param {{ start: string, command: string, args: string[], env: Record<string, string>, log: string }} order */
function start({ start: id, command, args, env, log }) {
  const output = openSync(log, "a", 0o600);
  const child = spawn(command, args, { env, stdio: ["ignore", output, output] });
  closeSync(output);
  keep(id, child);
}

/** @param {string} path @param {string} line @returns {Promise<import("node:net").Socket>} */
function connection(path, line) {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    // Bytes that arrive are for the process that the connection is made for.
    socket.pause();
    socket.once("error", reject);
    socket.once("connect", () => socket.write(line, () => resolve(socket)));
  });
}

/**
 * @typedef {{ open: string, command: string, args: string[], env: Record<string, string>, cwd: string, path: string }}
 *   OpenOrder
 * @param {OpenOrder} order
 */
async function open({ open: id, command, args, env, cwd, path }) {
  folder = dirname(path);
  const places = ["0", "1", "3"];
  const sockets = await Promise.all(places.map((place) => connection(path, `${id} ${place}\n`)));
  const [input, output, answers] = sockets;
  keep(id, spawn(command, args, { cwd, env, stdio: [input, output, output, answers] }));
  for (const socket of sockets) socket.destroy();
}

/** @param {string} id @param {import("node:child_process").ChildProcess} child */
function keep(id, child) {
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
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
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
  if (order.open !== undefined) {
    open(order).catch((error) => say({ ended: order.open, code: null, signal: null, error: error.message }));
  }
  if (order.end !== undefined) started.get(order.end)?.kill("SIGTERM");
});
