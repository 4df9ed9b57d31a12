import { afterAll, expect } from "vitest";
import { brokerage } from "../support/builders/brokerage.ts";
import { startApi } from "../support/emulator/api.ts";
import { newCaller, type RequestParts } from "../support/emulator/request.ts";
import { findings } from "../support/oracles/oracle.ts";

export const api = await startApi("stream");

afterAll(api.stop);

// Whatever the tests did, the books, the markers and the events of all of them must agree at the end.
afterAll(async () => expect(await findings(api.emulator)).toEqual([]));

/** How often each race of two changes is run; `npm run check:long -- --only states` runs more. */
export const raceTurns = Number(process.env["STATE_RACES"] ?? "6");

export const caller = newCaller();

export const broker = brokerage(api, caller);

export const call = (method: string, address: string, parts?: RequestParts) => api.call(caller, method, address, parts);

export const patch = (address: string, body: object, headers: Record<string, string> = {}) =>
  call("PATCH", address, { body, headers });

export const post = (kind: "deposit" | "withdrawal", account: { id: string }, amount: string, more: object = {}) =>
  call("POST", `/transactions/${kind}`, { body: { account_id: account.id, amount, ...more } });
