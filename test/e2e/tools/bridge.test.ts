import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { startBridge } from "../../../infra/bridge/bridge.ts";
import { SimulatedVenue } from "../../../infra/bridge/simulated-venue.ts";
import { booksTable, tellPlatformStory } from "../../../infra/tools/demo/platform-story.ts";
import { ServiceClient, sourceNamed } from "../../../infra/tools/service-client.ts";
import { machineNode } from "../../support/machine-node.ts";
import { someClient } from "../../support/stack/api-client.ts";
import { type Stack, sharedStack } from "../../support/stack/stack.ts";
import { eventually } from "../../support/wait.ts";

const root = new URL("../../..", import.meta.url).pathname;
let stack: Stack;
let data: string;
beforeAll(async () => {
  stack = await sharedStack();
  data = mkdtempSync(join(tmpdir(), "brokerage-bridge-"));
});
afterAll(async () => {
  rmSync(data, { recursive: true, force: true });
  await stack?.stop();
});

/** The command as an operator runs it, with what it prints. */
class RunningBridge {
  readonly lines: string[] = [];
  private readonly child: ChildProcess;

  constructor(source: string) {
    const words = ["--import", "tsx", "infra/bridge/run.ts", "--simulate", "--source", source, "--data", data];
    const { client_id, client_secret } = stack.credentials;
    const env = { ...process.env, BROKERAGE_CLIENT_ID: client_id, BROKERAGE_CLIENT_SECRET: client_secret };
    this.child = spawn(machineNode, [...words, "--base-url", stack.baseUrl], { cwd: root, env });
    for (const output of [this.child.stdout, this.child.stderr]) {
      if (output) createInterface({ input: output }).on("line", (line) => this.lines.push(line));
    }
  }

  tell(line: string): void {
    this.child.stdin?.write(`${line}\n`);
  }

  says(part: string): Promise<string> {
    return eventually(() => this.lines.find((line) => line.includes(part)), 40_000).catch(() => {
      throw new Error(`The bridge did not say "${part}":\n${this.lines.join("\n")}`);
    });
  }

  async end(signal: "SIGKILL" | "SIGTERM"): Promise<number | null> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return this.child.exitCode;
    this.child.kill(signal);
    const [code] = (await once(this.child, "exit")) as [number | null];
    return code;
  }
}

const bridges: RunningBridge[] = [];
afterEach(async () => {
  for (const bridge of bridges.splice(0)) await bridge.end("SIGKILL");
});
const start = (source: string) => {
  const bridge = new RunningBridge(source);
  bridges.push(bridge);
  return bridge;
};

const get = async <T>(path: string) => (await stack.api.call<T>("GET", path)).body;
async function post(path: string, body: object): Promise<{ id: string }> {
  const reply = await stack.api.call<{ id: string }>("POST", path, { body });
  if (reply.status !== 201) throw new Error(reply.text);
  return reply.body;
}

/** An account that is linked to the source of a bridge. */
async function linkedAccount(bridge: RunningBridge, platform_login: string): Promise<string> {
  const [, source_id = ""] = /\((\w+)\)/.exec(await bridge.says("runs. Link accounts")) ?? [];
  const client = await post("/clients", someClient());
  const link = { platform: "mt5", platform_login, source_id };
  return (await post("/accounts", { client_id: client.id, type: "demo", leverage: 100, ...link })).id;
}

const deposit = (account_id: string, amount: string) =>
  post("/transactions/deposit", { account_id, amount, status: "completed" });
const completed = ({ id }: { id: string }) =>
  eventually(async () => {
    const { status } = await get<{ status: string }>(`/transactions/${id}`);
    return status === "completed" ? status : undefined;
  });
const listed = async (account: string, kind: "trades" | "positions") =>
  (await get<{ data: { lots: string }[] }>(`/accounts/${account}/${kind}`)).data;

describe("npm run bridge -- --simulate", () => {
  it("carries money out by commands, and its fills become trades", async () => {
    const bridge = start("mt5:simulated-1");
    const account = await linkedAccount(bridge, "70001");
    await completed(await deposit(account, "5000.00"));
    bridge.tell("buy 70001 EURUSD 0.10");
    const [, position = ""] = /position (\S+)\./.exec(await bridge.says("Deal ")) ?? [];
    const open = await eventually(async () => (await listed(account, "positions")).find(({ lots }) => lots === "0.10"));
    expect(open).toMatchObject({ symbol: "EURUSD", side: "buy" });
    bridge.tell(`close 70001 ${position} 0.04`);
    await eventually(async () => (await listed(account, "positions")).find(({ lots }) => lots === "0.06"));
    bridge.tell("accounts");
    const [, platform = "0"] = /"balance":"([\d.]+)"/.exec(await bridge.says('"balance"')) ?? [];
    expect(await get(`/accounts/${account}/balance`)).toMatchObject({ balance: platform });
    expect(await bridge.end("SIGTERM")).toBe(0);
  });

  it("loses and doubles nothing when it is killed while it works", async () => {
    let bridge = start("mt5:simulated-1");
    const account = await linkedAccount(bridge, "70002");
    const deposits: { id: string }[] = [await deposit(account, "1000.00")];
    for (let round = 0; round < 2; round += 1) {
      deposits.push(await deposit(account, "1000.00"));
      for (let n = 0; n < 5; n += 1) bridge.tell("buy 70002 EURUSD 0.01");
      await bridge.says(round === 0 ? "Deal " : "Command ");
      await bridge.end("SIGKILL");
      bridge = start("mt5:simulated-1");
      await bridge.says("runs. Link accounts");
    }
    await Promise.all(deposits.map(completed));
    bridge.tell("accounts");
    const line = await bridge.says('"balance"');
    const accounts = JSON.parse(line) as { platform_login: string; balance: string; positions: object[] }[];
    const platform = accounts.find(({ platform_login }) => platform_login === "70002");
    await eventually(
      async () => (await listed(account, "positions")).length === platform?.positions.length || undefined,
    );
    expect(platform?.balance).toBe("3000.00");
    expect(await get(`/accounts/${account}/balance`)).toMatchObject({ balance: "3000.00" });
    expect((await listed(account, "trades")).length).toBe(platform?.positions.length);
  });
});

describe("the story of a platform", () => {
  it("ends each step with the same balance on both sides, until the platform changes one silently", async () => {
    const folder = join(data, "story");
    const client = new ServiceClient({ base_url: stack.baseUrl, ...stack.credentials });
    const source_id = await sourceNamed(client, "mt5:story", "mt5");
    const venue = await SimulatedVenue.open({ client, folder, currency: "USD" });
    const said: string[] = [];
    const say = (text: string) => void said.push(text);
    const bridge = await startBridge({ client, source_id, venue, folder, say });
    const call = (method: string, path: string, body?: object) =>
      stack.api.call(method, path, body === undefined ? {} : { body });
    const moments = await tellPlatformStory({ call, say, source_id, venue, bridge });
    await bridge.stop();
    const steps = moments.filter(({ drifts }) => drifts === 0);
    expect(steps.map(({ step, positions }) => [step, positions])).toEqual([
      ["account linked", 0],
      ["deposit by command", 0],
      ["position opened", 1],
      ["position closed", 0],
    ]);
    expect(steps.map(({ service }) => service)).toEqual(steps.map(({ platform }) => platform));
    expect(moments.at(-1)).toEqual({
      ...{ step: "drift found", platform: "1004.00", service: "999.00", positions: 0, drifts: 1 },
    });
    expect(booksTable(moments)).toHaveLength(moments.length + 2);
  });
});
