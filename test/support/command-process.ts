import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath, pathToFileURL } from "node:url";
import { machineNode } from "./machine-node.ts";

const tsx = fileURLToPath(new URL("../../node_modules/tsx/dist/loader.mjs", import.meta.url));

/** Output of a command, and the code that it ended with. */
export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A process of Node, with the loader of the npm scripts, that runs commands one after the other. */
export interface CommandProcess {
  /** Runs the command in this file with these words, and with these variables alone, as the first of its process. */
  run(file: string, words: readonly string[], env: NodeJS.ProcessEnv): Promise<Ran>;
  /** Ends the process; returns what was written past the streams of the commands, a package's warning for example. */
  stop(): Promise<Ran>;
}

/**
 * The program of the process: a command is a module, which a query in its address runs again, while what it imports is
 * loaded once, and that takes most of its time. A command that ends the process does so as its last statement.
 */
const program = `
  let runs = 0;
  const { exit } = process;
  process.once("disconnect", () => exit(1));
  process.on("message", async ({ url, words, env }) => {
    if (url === undefined) return exit(0);
    const ran = { stdout: "", stderr: "" };
    const streams = Object.keys(ran).map((name) => [process[name], process[name].write, name]);
    for (const [stream, , name] of streams) stream.write = (chunk) => Boolean((ran[name] += chunk));
    for (const name of Object.keys(process.env)) delete process.env[name];
    Object.assign(process.env, env);
    process.argv = [process.execPath, url, ...words];
    let ended;
    process.exit = (code) => (ended ??= code);
    process.exitCode = undefined;
    runs += 1;
    try {
      await import(url + "?run=" + runs);
      process.send({ code: ended ?? process.exitCode ?? 0, ...ran });
    } finally {
      for (const [stream, write] of streams) Object.assign(stream, { write });
    }
  });`;

/** Starts a process for commands in this folder. */
export function startCommandProcess(cwd: string): CommandProcess {
  const { PATH = "", HOME = "" } = process.env;
  const words = ["--import", tsx, "--input-type=module", "--eval", program];
  const child = spawn(machineNode, words, { cwd, env: { PATH, HOME }, stdio: ["ignore", "pipe", "pipe", "ipc"] });
  const past = { stdout: "", stderr: "" };
  child.stdout?.on("data", (chunk: Buffer) => (past.stdout += chunk.toString()));
  child.stderr?.on("data", (chunk: Buffer) => (past.stderr += chunk.toString()));
  const closed = once(child, "close");
  return {
    async run(file, commandWords, env) {
      const answered = once(child, "message") as Promise<[Ran]>;
      child.send({ url: pathToFileURL(file).href, words: commandWords, env });
      const ran = await Promise.race([answered.then(([answer]) => answer), closed.then(() => undefined)]);
      if (ran === undefined) throw new Error(`${file} ended the process of the commands:\n${past.stderr}`);
      return ran;
    },
    async stop() {
      if (child.connected) child.send({});
      await closed;
      return { code: child.exitCode, ...past };
    },
  };
}
