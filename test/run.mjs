/**
 * Runs a program of Node on the Node of the functions, where its package is installed: what the functions ship is then
 * tested on the Node that runs it on Lambda, and in less time (test/README.md).
 *
 *   node test/run.mjs [options of Node] <file> [arguments]
 *
 * Programs that tests start as a user does run on the Node of this machine, which is named in MACHINE_NODE.
 */
import { spawn } from "node:child_process";
import { constants } from "node:os";
import { functionNode } from "../infra/local/functions/function-node.mjs";

const env = { MACHINE_NODE: process.execPath, ...process.env };
const child = spawn(functionNode(), process.argv.slice(2), { stdio: "inherit", env });
// Ctrl-C reaches the whole process group: the program ends by itself, and this one after it.
process.on("SIGINT", () => undefined);
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.once("error", (error) => {
  console.error(`${functionNode()} did not start: ${error.message}`);
  process.exit(1);
});
child.once("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
