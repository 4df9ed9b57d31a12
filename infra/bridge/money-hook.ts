import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { UsageError } from "../../shared/runtime/command-line.ts";
import type { CommandOutcome, MoneyCommand } from "./venue.ts";

/** How a broker books money on their platform: a program, or a module of JavaScript. */
export type HookConfig = { readonly command: readonly string[] } | { readonly module: string };

/** Carries out a command that moves money, or looks for an operation by its comment. */
export type MoneyHook = (command: MoneyCommand) => Promise<CommandOutcome>;

const hookLimitMs = 20_000;
const mostAnswerBytes = 64 * 1024;
const statuses = ["done", "failed", "unknown", "not_sent"];

/**
 * The hook of a configuration. A program gets the command as JSON on its standard input and prints the outcome as JSON;
 * a module exports `carryOut(command)`. A hook that does not answer in time, fails or prints anything else is
 * `unknown`: the service then asks to look for the operation.
 */
export async function moneyHook(config: HookConfig | undefined, folder: string): Promise<MoneyHook> {
  if (config === undefined) return async () => notConfigured;
  if ("command" in config) return (command) => runProgram(config.command, folder, command);
  const path = resolve(folder, config.module);
  if (!existsSync(path)) throw new UsageError(`money.module names ${path}, which does not exist.`);
  const { carryOut } = (await import(pathToFileURL(path).href)) as { carryOut?: MoneyHook };
  if (carryOut === undefined) throw new UsageError(`${config.module} exports no function carryOut.`);
  return async (command) => checked(command, await within(carryOut(command)));
}

const notConfigured: CommandOutcome = {
  status: "failed",
  error: { code: "no_money_hook", message: "The bridge has no hook for money: see money in its configuration." },
};

function unknown(message: string): CommandOutcome {
  return { status: "unknown", error: { code: "hook_failed", message: message.slice(0, 500) } };
}

async function within(work: Promise<unknown>): Promise<unknown> {
  const limit = AbortSignal.timeout(hookLimitMs);
  const late = new Promise((resolve) => limit.addEventListener("abort", () => resolve(undefined), { once: true }));
  return Promise.race([work, late]);
}

/**
 * The answer of a hook, if it is an outcome. A done operation has an operation_id, and a search without a finding says
 * null: a forgotten operation_id must not mean that there is no operation, which allows to send the money again.
 */
function checked({ type }: MoneyCommand, answer: unknown): CommandOutcome {
  const { status, operation_id, error } = (answer ?? {}) as Partial<CommandOutcome>;
  if (status === undefined || !statuses.includes(status)) return unknown("The hook answered no outcome.");
  const named = typeof operation_id === "string" || operation_id === null || operation_id === undefined;
  if (!named) return unknown("The hook answered an operation_id that is no text.");
  if (status === "done" && (operation_id === undefined || (operation_id === null && type !== "find_operation"))) {
    return unknown("The hook answered done without an operation_id.");
  }
  return { status, ...(operation_id !== undefined && { operation_id }), ...(error !== undefined && { error }) };
}

function runProgram(words: readonly string[], folder: string, command: MoneyCommand): Promise<CommandOutcome> {
  const [program = "", ...args] = words;
  return new Promise((settle) => {
    const child = spawn(program, args, { cwd: folder, stdio: ["pipe", "pipe", "inherit"], timeout: hookLimitMs });
    let text = "";
    child.once("error", (error) => settle(unknown(error.message)));
    child.stdin.on("error", () => undefined);
    child.stdin.end(`${JSON.stringify(command)}\n`);
    child.stdout.setEncoding("utf8").on("data", (part: string) => {
      text += part;
      if (text.length > mostAnswerBytes) child.kill("SIGKILL");
    });
    child.once("close", (code, signal) => {
      if (code !== 0) return settle(unknown(`The hook ended with ${String(code ?? signal)}.`));
      try {
        settle(checked(command, JSON.parse(text)));
      } catch {
        settle(unknown("The hook printed no JSON."));
      }
    });
  });
}
