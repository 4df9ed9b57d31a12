import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { startCloud } from "../../../local/cloud.ts";
import { freePort } from "../../../local/free-port.ts";
import { synthesizeOnce } from "../../../local/synthesis.ts";
import { type Connection, ServiceClient } from "../../../tools/service-client.ts";
import { Book, type BookPosition } from "../../book.ts";
import { accountsOf, listed, newBrokerage, shapes } from "./brokerage.ts";
import { dealOf } from "./deals.ts";
import { type FlakyProxy, flakyProxy } from "./flaky-proxy.ts";

const root = fileURLToPath(new URL("../../../../", import.meta.url));
const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));
/** How long nothing changes before the books count as settled. */
const settleLimitMs = 120_000;
const pollMs = 20;

interface Proof {
  readonly folder: string;
  readonly client: ServiceClient;
  readonly connection: Connection;
  readonly proxy: FlakyProxy;
  readonly venuePort: number;
  readonly deals: number;
  readonly seed: number;
}

/** Processes that are started again after they were killed. */
class Killable {
  kills = 0;
  private child: ChildProcess | undefined;
  private readonly name: string;
  private readonly begin: () => ChildProcess;

  constructor(name: string, begin: () => ChildProcess) {
    this.name = name;
    this.begin = begin;
  }

  start(): void {
    this.child = this.begin();
  }

  /** @throws Error when the process has ended and was not killed */
  mustRun(): void {
    const { exitCode = null, signalCode = null } = this.child ?? {};
    if (exitCode === null && signalCode === null) return;
    throw new Error(`The ${this.name} has ended by itself (${exitCode ?? signalCode}).`);
  }

  async killAndStart(): Promise<void> {
    this.mustRun();
    await this.kill();
    this.start();
  }

  async kill(): Promise<void> {
    const { child } = this;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
    this.kills += 1;
  }
}

/** Starts a program. */
function start(words: readonly string[], env: NodeJS.ProcessEnv = process.env): ChildProcess {
  const output = process.env["BRIDGE_OUTPUT"] === undefined ? "ignore" : "inherit";
  const loader = process.features.typescript ? [] : ["--import", "tsx"];
  return spawn(process.execPath, [...loader, ...words], {
    cwd: root,
    env,
    stdio: ["ignore", output, "inherit"],
  });
}

/**
 * Kills one of the three after another while deposits go on: first the bridge, while fills are on their way to it, the
 * venue and the connection, however slow the machine is; then any of them until the time is over.
 */
async function torment(proof: Proof, seconds: number, accounts: ReadonlyMap<string, string>, children: Killable[]) {
  const { folder, connection, proxy, venuePort, deals, seed } = proof;
  const venue = new Killable("venue", () =>
    start([here("venue-process.ts"), String(venuePort), folder, String(deals), String(seed)]),
  );
  const env = {
    ...process.env,
    BROKERAGE_CLIENT_ID: connection.client_id,
    BROKERAGE_CLIENT_SECRET: connection.client_secret,
  };
  const words = [here("../../run.ts"), "--config", join(folder, "bridge.json")];
  const bridge = new Killable("bridge", () => start(words, env));
  children.push(venue, bridge);
  venue.start();
  bridge.start();
  const until = performance.now() + seconds * 1000;
  const victims = ["bridge", "venue", "service"] as const;
  const deposits: string[] = [];
  let state = seed;
  let cuts = 0;
  for (let round = 0; round < victims.length || performance.now() < until; round += 1) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    if (round === 0) await firstFill(folder);
    else await pause(1000 + ((state >>> 8) % (round < victims.length ? 1000 : 3000)));
    const [, account_id = ""] = [...accounts][deposits.length % accounts.size] ?? [];
    deposits.push(await deposit(proof, account_id, deposits.length));
    const victim = victims[round] ?? victims[(state >>> 20) % victims.length];
    if (victim === "bridge") await bridge.killAndStart();
    if (victim === "venue") await venue.killAndStart();
    if (victim !== "service") continue;
    cuts += 1;
    proxy.cut();
    await pause(500 + ((state >>> 4) % 1500));
    proxy.mend();
  }
  return { deposits, venue, bridge, cuts };
}

/** Resolves when the venue has sent its first fill. */
async function firstFill(folder: string): Promise<void> {
  const file = join(folder, "venue.jsonl");
  const last = performance.now() + settleLimitMs;
  while (!(existsSync(file) && readFileSync(file, "utf8").includes('"kind":"sent"'))) {
    if (performance.now() > last) throw new Error("The venue has sent no fill: the bridge does not connect.");
    await pause(pollMs);
  }
}

/** Makes a deposit, the same for the same number. Returns its id. */
async function deposit({ client }: Proof, account_id: string, number: number): Promise<string> {
  const body = { account_id, amount: "1000.00", status: "completed" };
  const idempotencyKey = `deposit-${number}`;
  const made = await client.call<{ id: string }>("POST", "/transactions/deposit", { body, idempotencyKey });
  return made.body.id;
}

/** The positions that the deals leave, by the book that knows no feed. */
function expectedBook(deals: number, seed: number) {
  const book = new Book();
  const trades = new Map<string, number>();
  for (let deal = 1; deal <= deals; deal += 1) {
    const { login, side, lots, price } = dealOf(seed, deal);
    const fill = { deal_id: `E-${deal}`, platform_login: login, symbol: "EURUSD", side, lots, price };
    for (const item of book.itemsOf({ kind: "fill", fill })) {
      book.apply(item);
      // The part of a position that is closed becomes a trade of its own.
      const isPart = book.position(login, String(item.data["position_id"])) !== undefined;
      if (item.data["action"] === "open" || isPart) trades.set(login, (trades.get(login) ?? 0) + 1);
    }
  }
  return {
    positions: new Map(book.stored().map(({ account }) => [account.platform_login, account.positions])),
    trades,
  };
}

/** Differences between the venue and the service; empty when the books are equal. */
async function differences(proof: Proof, accounts: ReadonlyMap<string, string>, deposits: readonly string[]) {
  const { client, deals, seed, folder } = proof;
  const found: string[] = [];
  const expected = expectedBook(deals, seed);
  for (const [login, account] of accounts) {
    const positions = await listed<BookPosition>(client, `/accounts/${account}/positions?limit=100`);
    const trades = await listed<object>(client, `/accounts/${account}/trades?limit=100`);
    const wanted = expected.trades.get(login) ?? 0;
    if (trades.length !== wanted) found.push(`${login} has ${trades.length} trades in place of ${wanted}.`);
    const [here, there] = [shapes(positions), shapes(expected.positions.get(login) ?? [])];
    if (here.join() !== there.join()) found.push(`${login} has ${here.length} positions in place of ${there.length}.`);
  }
  const ledger = join(folder, "money.jsonl");
  const lines = existsSync(ledger) ? readFileSync(ledger, "utf8").split("\n") : [];
  const booked = lines.slice(0, -1).map((line) => JSON.parse(line) as { comment: string });
  for (const id of deposits) {
    const { body } = await client.call<{ status: string; outcome: string | null; command_id: string }>(
      "GET",
      `/transactions/${id}`,
    );
    const times = booked.filter(({ comment }) => comment === body.command_id).length;
    const settled = body.status === "completed" && times === 1;
    // A hook that was never started leaves a command that a person settles, and no money anywhere.
    const unknown = body.status === "processing" && body.outcome === "unknown" && times === 0;
    if (!settled && !unknown) found.push(`Deposit ${id} is ${body.status}, and was booked ${times} times.`);
  }
  return found;
}

/** How long a bridge is proved, with how many deals and from which seed. */
export interface Trial {
  readonly seconds: number;
  readonly deals: number;
  readonly seed: number;
}

/**
 * Runs a bridge over FIX, for a brokerage of its own, against a venue, while one of the two, or the
 * connection to the service, is killed at random; at the end every deal must be a trade once, and every deposit booked
 * once. Returns what was counted.
 * @throws Error the differences of the books
 */
export async function proveOn(
  connection: Connection,
  { seconds, deals, seed }: Trial,
): Promise<{ readonly deals: number; readonly deposits: number; readonly killed: string }> {
  const folder = mkdtempSync(join(tmpdir(), "brokerage-bridge-"));
  const proxy = await flakyProxy(Number(new URL(connection.base_url).port));
  const children: Killable[] = [];
  try {
    const client = new ServiceClient(connection);
    const proof: Proof = { folder, client, connection, proxy, seed, deals, venuePort: await freePort() };
    const body = { name: "mt5:proof", platform: "mt5" };
    const source = await client.call<{ id: string }>("POST", "/feed/sources", { body, idempotencyKey: "source" });
    writeConfig(proof, connection.base_url);
    const accounts = await accountsOf(client, source.body.id);
    const { deposits, venue, bridge, cuts } = await torment(proof, seconds, accounts, children);
    const faults = await settledFaults(proof, accounts, deposits, [venue, bridge]);
    const killed = `bridge killed ${bridge.kills} times, venue ${venue.kills} times, service cut off ${cuts} times`;
    if (faults.length > 0) throw new Error(`The books differ (seed ${seed}; ${killed}):\n${faults.join("\n")}`);
    return { deals, deposits: deposits.length, killed };
  } finally {
    for (const child of children) await child.kill();
    proxy.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Proves a bridge on a service of its own.
 * @throws Error the differences of the books
 */
export async function proveBridge(seconds: number, seed: number, say: (sentence: string) => void): Promise<void> {
  say(`Starting the service; seed ${seed} ...`);
  const dataDir = mkdtempSync(join(tmpdir(), "brokerage-bridge-cloud-"));
  const assembly = await synthesizeOnce("sandbox", resolve(".local/cdk"), say);
  const cloud = await startCloud({ assemblyDir: assembly.directory, dataDir, port: 0 });
  try {
    const proved = await proveOn(await newBrokerage(cloud), { seconds, deals: seconds * 12, seed });
    say(`${proved.deals} deals and ${proved.deposits} deposits, each once; ${proved.killed}.`);
  } finally {
    await cloud.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** The differences that are left when nothing changes any more; none when the books are equal. */
async function settledFaults(
  proof: Proof,
  accounts: ReadonlyMap<string, string>,
  deposits: readonly string[],
  children: readonly Killable[],
): Promise<readonly string[]> {
  let last: { readonly text: string; readonly until: number } | undefined;
  for (;;) {
    for (const child of children) child.mustRun();
    const faults = await differences(proof, accounts, deposits);
    const text = faults.join("\n");
    if (last?.text !== text) last = { text, until: performance.now() + settleLimitMs };
    if (faults.length === 0 || performance.now() > last.until) return faults;
    await pause(1000);
  }
}

function writeConfig({ folder, proxy, venuePort }: Proof, baseUrl: string): void {
  const address = new URL(baseUrl);
  address.port = String(proxy.port);
  const config = {
    ...{ base_url: String(address), source: "mt5:proof", data: "bridge" },
    money: { command: [process.execPath, here("book-money.mjs"), join(folder, "money.jsonl")] },
    fix: {
      ...{ host: "127.0.0.1", port: venuePort, sender_comp_id: "BROKERAGE", target_comp_id: "VENUE" },
      ...{ heartbeat_seconds: 2, lot_size: { default: "100000" } },
    },
  };
  writeFileSync(join(folder, "bridge.json"), JSON.stringify(config));
}
