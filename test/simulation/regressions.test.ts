import { afterAll, describe, expect, it } from "vitest";
import { startApi } from "../support/emulator/api.ts";
import { runProgram } from "./program.ts";
import type { Act, Command, Program } from "./program-acts.ts";

const api = await startApi();
afterAll(api.stop);

function by(act: Act, more: Partial<Command> = {}): Command {
  return { tenant: 0, application: 0, target: 0, foreign: false, keyed: "once", act, ...more };
}

function book(kind: "deposit" | "withdrawal", amount: bigint, more: object = {}): Act {
  return { do: "book", kind, amount, fee: 0n, completed: false, external_id: null, imprecise: false, ...more };
}

function move(to: Extract<Act, { do: "move" }>["to"], more: object = {}): Act {
  return { do: "move", to, reason: true, force: false, keep_fee: false, if_version: null, ...more };
}

const status = (to: "active" | "disabled" | "closed"): Act => ({ do: "account_status", to });
const settings = (four_eyes: boolean): Act => ({ do: "settings", four_eyes, require: "none" });
const forced = { force: true };

/** Each begins with a client and an account that holds 500.00, by a completed deposit. */
const stories: readonly (readonly [string, Program])[] = [
  [
    "a forced return leaves a debt, and the account allows closing alone",
    [
      [by(book("withdrawal", 40_000n))],
      [by(move("processing"))],
      [by(move("returned"), { target: 1 })],
      [by(move("returned", forced), { target: 1 })],
      [by(book("withdrawal", 1n))],
      [by(book("deposit", 1n, { completed: true }))],
      [by(move("completed"), { target: 1 })],
    ],
  ],
  [
    "a withdrawal that comes back after its account was closed opens it again, also when its client is closed",
    [
      [by(book("withdrawal", 50_000n, { fee: 100n, completed: true }))],
      [by(status("disabled"))],
      [by(status("closed"))],
      [by({ do: "client_status", to: "closed" })],
      [by(move("returned", { keep_fee: true }))],
      [by(status("closed"))],
      [by(status("active"))],
      [by(move("returned", forced), { target: 1 })],
    ],
  ],
  [
    "a return into debt on a disabled account keeps it disabled, and it comes back to close only",
    [
      [by(book("withdrawal", 50_000n, { completed: true }))],
      [by(status("disabled"))],
      [by(move("returned", forced), { target: 1 })],
      [by(status("active"))],
      [by(book("withdrawal", 1n))],
    ],
  ],
  [
    "a withdrawal in processing fails and the money is back",
    [
      [by(book("withdrawal", 30_000n, { fee: 50n }))],
      [by(move("approved"))],
      [by(move("processing"))],
      [by(move("cancelled"))],
      [by(move("failed"))],
      [by(move("completed"))],
    ],
  ],
  [
    "with four eyes the creator cannot approve, and a refusal of this kind is not kept under its key",
    [
      [by(settings(true))],
      [by(book("deposit", 100n, { completed: true })), by(book("deposit", 200n))],
      [by(move("completed"))],
      [by(move("approved"))],
      [by(settings(false))],
      [by({ do: "replay", nth: 1, altered: false })],
      [by(settings(true))],
      [by(move("completed"), { application: 1 })],
    ],
  ],
  [
    "one key twice at once books once, and its answer is given again when the state has moved on",
    [
      [by(book("withdrawal", 20_000n), { keyed: "twice" }), by(book("withdrawal", 20_000n), { keyed: "twice" })],
      [by(book("withdrawal", 20_000n), { keyed: "twice" })],
      [by(move("cancelled"), { keyed: "twice" }), by(move("completed"), { keyed: "twice" })],
      [by({ do: "replay", nth: 2, altered: false }), by({ do: "replay", nth: 0, altered: true })],
      [by({ do: "replay", nth: 4, altered: false })],
    ],
  ],
  [
    "a disable and what it stops come at once",
    [
      [by(status("disabled")), by(book("deposit", 100n)), by(book("withdrawal", 100n))],
      [by(status("active")), by(book("deposit", 100n)), by(book("withdrawal", 100n))],
      [by(status("disabled")), by(move("completed")), by(move("cancelled"))],
    ],
  ],
  [
    "what belongs to another brokerage is not found",
    [
      [by(move("returned", forced), { foreign: true })],
      [by(book("deposit", 100n), { foreign: true })],
      [by(status("disabled"), { foreign: true }), by({ do: "client_status", to: "suspended" }, { foreign: true })],
      [by({ do: "open_account", type: "demo", currency: "JPY" }, { foreign: true })],
    ],
  ],
];

describe("a program with a story", () => {
  it.each(stories)("%s", async (_, program) => {
    const told = new Map<string, number>();
    await runProgram(api, program, told);
    expect(told.size).toBeGreaterThan(program.length);
  });
});
