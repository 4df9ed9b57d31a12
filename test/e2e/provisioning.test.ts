import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AwsCall } from "../../infra/local/cloud.ts";
import { accessToken, type Credentials } from "../../infra/tools/api-call.ts";
import { type Stack, startStack } from "../support/stack/stack.ts";
import { eventually } from "../support/wait.ts";

/** Act at the next call of the provisioning function of this kind, once. */
let ambush: { readonly action: RegExp; readonly phase: AwsCall["phase"]; readonly act: Act } | undefined;
type Act = (call: AwsCall) => void | Promise<void>;

async function watch(call: AwsCall): Promise<void> {
  const waiting = ambush;
  if (waiting === undefined || call.functionName !== "brokerage-sandbox-provision") return;
  if (call.phase !== waiting.phase || !waiting.action.test(call.action)) return;
  ambush = undefined;
  await waiting.act(call);
}

let stack: Stack;
beforeAll(async () => {
  // Schedules and second looks come soon; nothing else of this test depends on the scale.
  stack = await startStack({ timeScale: 60, onCall: watch });
});
afterAll(async () => stack?.stop());

async function make(): Promise<Credentials & { id: string }> {
  const body = { name: "Test", scopes: ["clients:read"] };
  return (await stack.api.call<Credentials & { id: string }>("POST", "/applications", { body })).body;
}

/** Names of the API keys that the gateway has, and how many plans each is in. */
const keys = () => {
  const text = readFileSync(join(stack.dataDir, "api-keys.json"), "utf8");
  const { keys: all } = JSON.parse(text) as { keys: { name: string; plans: string[] }[] };
  return all.map(({ name, plans }) => [name, plans.length] as const);
};
const keysOf = (id: string) => keys().filter(([name]) => name === id);
const sprung = () => eventually(() => ambush === undefined || undefined);
const revoke = (id: string) => stack.api.call("DELETE", `/applications/${id}`);

describe("a new tenant of the sandbox", () => {
  it("has a market of twenty symbols at once, whose prices are never stale", async () => {
    const { api } = await stack.newApplication();
    const { body } = await api.call<{ data: { symbol: string }[] }>("GET", "/symbols");
    const names = body.data.map(({ symbol }) => symbol);
    expect(names).toHaveLength(20);
    const quotes = await api.call<{ data: { stale: boolean; source: string }[] }>("GET", `/quotes?symbols=${names}`);
    expect(quotes.body.data.map(({ stale, source }) => `${stale} ${source}`)).toEqual(names.map(() => "false sandbox"));
  });
});

describe("the API key of an application", () => {
  it.each([
    ["before it was made", /^POST \/apikeys$/, "before"],
    ["after it was made", /^POST \/apikeys$/, "after"],
    ["before it was in the plan", /^POST \/usageplans/, "before"],
    ["before that was noted", /^TransactWriteItems$/, "before"],
    ["after that was noted", /^TransactWriteItems$/, "after"],
  ] as const)("is made once though provisioning died %s", async (_, action, phase) => {
    ambush = { action, phase, act: (call) => call.kill() };
    const made = await make();
    await sprung();
    await accessToken(stack.baseUrl, made);
    expect(keysOf(made.id)).toEqual([[made.id, 1]]);
  });

  it.each([
    ["before it left the plan", /^DELETE \/usageplans/, "before"],
    ["before it was deleted", /^DELETE \/apikeys/, "before"],
    ["after it was deleted", /^DELETE \/apikeys/, "after"],
    ["before that was noted", /^TransactWriteItems$/, "before"],
  ] as const)("is deleted though provisioning died %s", async (_, action, phase) => {
    const made = await make();
    await accessToken(stack.baseUrl, made);
    ambush = { action, phase, act: (call) => call.kill() };
    await revoke(made.id);
    await sprung();
    await eventually(() => keysOf(made.id).length === 0 || undefined);
  });

  it("is not left behind when the application is revoked while it is being made", async () => {
    let id = "";
    let revoked: unknown;
    ambush = {
      action: /^POST \/usageplans/,
      phase: "after",
      act: async () => {
        const { body } = await stack.api.call<{ data: { id: string }[] }>("GET", "/applications?limit=1");
        id = body.data[0]?.id ?? "";
        expect(keysOf(id)).toEqual([[id, 1]]);
        revoked = (await revoke(id)).body["status"];
      },
    };
    const made = await make();
    await eventually(() => (revoked === "revoked" ? true : undefined));
    expect(id).toBe(made.id);
    await eventually(() => keysOf(made.id).length === 0 || undefined);
    await expect(accessToken(stack.baseUrl, made)).rejects.toThrow("401");
  });
});
