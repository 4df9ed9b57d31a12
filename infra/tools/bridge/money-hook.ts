import { spawn } from "node:child_process";
import { pathToFileURL } from "node:url";
import { UsageError } from "../../../shared/runtime/command-line.ts";
import type { MoneyCommand, Outcome } from "./venue.ts";

/** How a broker books money on their platform: a program, or a module of JavaScript. */
export type HookConfig = { readonly command: readonly string[] } | { readonly module: string };

/** Carries out a command that moves money, or looks for an operation by its comment. */
export type MoneyHook = (command: MoneyCommand) => Promise<Outcome>;

const hookLimitMs = 20_000;
const mostAnswerBytes = 64 * 1024;
const statuses = ["done", "failed", "unknown", "not_sent"];

/**
 * The hook of a configuration. A program gets the command as JSON on its standard input and prints the outcome as JSON;
 * a module exports `carryOut(command)`. What does not answer in time, fails or prints anything else is `unknown`: the
 * service then asks to look for the operation.
 */
export async function moneyHook(config: HookConfig | undefined, folder: string): Promise<MoneyHook> {
  if (config === undefined) return async () => notConfigured;
  if ("command" in config) return (command) => runProgram(config.command, folder, command);
  const module = (await import(pathToFileURL(`${folder}/${config.module}`).href)) as { carryOut?: MoneyHook };
  const { carryOut } = module;
  if (carryOut === undefined) throw new UsageError(`${config.module} exports no function carryOut.`);
  return async (command) => checked(await within(carryOut(command)));
}

const notConfigured: Outcome = {
  status: "failed",
  error: { code: "no_money_hook", message: "The bridge has no hook for money: see money in its configuration." },
};

function unknown(message: string): Outcome {
  return { status: "unknown", error: { code: "hook_failed", message: message.slice(0, 500) } };
}

async function within(work: Promise<unknown>): Promise<unknown> {
  const limit = AbortSignal.timeout(hookLimitMs);
  const late = new Promise((resolve) => limit.addEventListener("abort", () => resolve(undefined), { once: true }));
  return Promise.race([work, late]);
}

/** The answer of a hook, if it is an outcome. */
function checked(answer: unknown): Outcome {
  const { status, operation_id, error } = (answer ?? {}) as Partial<Outcome>;
  if (status === undefined || !statuses.includes(status)) return unknown("The hook answered no outcome.");
  const named = typeof operation_id === "string" || operation_id === null || operation_id === undefined;
  if (!named) return unknown("The hook answered an operation_id that is no text.");
  return { status, ...(operation_id !== undefined && { operation_id }), ...(error !== undefined && { error }) };
}

function runProgram(words: readonly string[], folder: string, command: MoneyCommand): Promise<Outcome> {
  const [program = "", ...args] = words;
  return new Promise((resolve) => {
    const child = spawn(program, args, { cwd: folder, stdio: ["pipe", "pipe", "inherit"], timeout: hookLimitMs });
    let text = "";
    child.once("error", (error) => resolve(unknown(error.message)));
    child.stdin.on("error", () => undefined);
    child.stdin.end(`${JSON.stringify(command)}\n`);
    child.stdout.setEncoding("utf8").on("data", (part: string) => {
      text += part;
      if (text.length > mostAnswerBytes) child.kill("SIGKILL");
    });
    child.once("close", (code, signal) => {
      if (code !== 0) return resolve(unknown(`The hook ended with ${String(code ?? signal)}.`));
      try {
        resolve(checked(JSON.parse(text)));
      } catch {
        resolve(unknown("The hook printed no JSON."));
      }
    });
  });
}
