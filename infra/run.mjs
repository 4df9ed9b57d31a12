/**
 * Runs a program of this repository: installs the packages where they are missing, and starts it on the Node of the
 * functions, where its package is installed. The shipped functions are then tested and built on the Node that runs it
 * on Lambda, which reads TypeScript itself and keeps what it compiled.
 *
 *   node infra/run.mjs [options of Node] <file> [arguments]
 *
 * Programs that tests start as a user does run on the Node of this machine, which is named in MACHINE_NODE.
 */
import { spawn } from "node:child_process";
import { constants } from "node:os";
import { fileURLToPath } from "node:url";
import "./local/setup.mjs";
import { functionNode } from "./local/functions/function-node.mjs";

const node = functionNode();
const readsTypes = node !== process.execPath || process.features.typescript;
const loader = readsTypes ? [] : ["--import", "tsx"];
const env = {
  MACHINE_NODE: process.execPath,
  NODE_COMPILE_CACHE: fileURLToPath(new URL("../.build/compile-cache", import.meta.url)),
  ...process.env,
};
const child = spawn(node, [...loader, ...process.argv.slice(2)], { stdio: "inherit", env });
// Ctrl-C reaches the whole process group: the program ends by itself, and this one after it.
process.on("SIGINT", () => undefined);
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.once("error", (error) => {
  console.error(`${node} did not start: ${error.message}`);
  process.exit(1);
});
child.once("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
