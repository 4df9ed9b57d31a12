import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { gunzipSync } from "node:zlib";
import { UsageError } from "../../../../shared/runtime/command-line.ts";
import { startCloud } from "../../../local/cloud.ts";
import { freePort } from "../../../local/free-port.ts";
import { synthesizeOnce } from "../../../local/synthesis.ts";
import { ServiceClient } from "../../../tools/service-client.ts";
import { type Bridge, startBridge } from "../../bridge.ts";
import { FixVenue } from "../fix-venue.ts";
import { accountsOf, listed, newBrokerage } from "./brokerage.ts";
import { logins } from "./deals.ts";
import { type FlakyProxy, flakyProxy } from "./flaky-proxy.ts";

/** Where Debian puts it: libquickfix-doc, which needs libquickfix17. */
export const debianOrdermatch = "/usr/share/doc/libquickfix-doc/examples/ordermatch/.libs/ordermatch.gz";

const inNamespace = "BRIDGE_TEST_NAMESPACE";
const [login] = logins;
const settleLimitMs = 60_000;

/**
 * Runs the test with ordermatch in a network namespace of its own: it listens on every address of the machine.
 * @returns undefined when this process is in the namespace already
 */
export function runApart(file: string, seconds: number, seed: number): number | undefined {
  if (process.env[inNamespace] !== undefined) return undefined;
  const words = ["test", "--ordermatch", file, "--seconds", String(seconds), "--seed", String(seed)];
  const script = fileOfRun();
  const { status } = spawnSync(
    "unshare",
    ["-rn", "sh", "-c", 'ip link set lo up && exec "$0" "$@"', process.execPath, "--import", "tsx", script, ...words],
    { stdio: "inherit", env: { ...process.env, [inNamespace]: "1" } },
  );
  return status ?? 1;
}

function fileOfRun(): string {
  return process.argv[1] ?? "";
}

/** Starts ordermatch; `output` grows with the messages that it logs. */
function startOrdermatch(file: string, folder: string, port: number): { child: ChildProcess; output: string[] } {
  if (!existsSync(file)) throw new UsageError(`--ordermatch names ${file}, which does not exist.`);
  const program = join(folder, "ordermatch");
  const bytes = readFileSync(file);
  writeFileSync(program, file.endsWith(".gz") ? gunzipSync(bytes) : bytes);
  chmodSync(program, 0o700);
  const settings = [
    ...["[DEFAULT]", "ConnectionType=acceptor", `SocketAcceptPort=${port}`, "SocketReuseAddress=Y"],
    ...["StartTime=00:00:00", "EndTime=00:00:00", `FileStorePath=${join(folder, "store")}`, "UseDataDictionary=N"],
    ...["[SESSION]", "BeginString=FIX.4.2", "SenderCompID=VENUE", "TargetCompID=BROKERAGE", ""],
  ];
  writeFileSync(join(folder, "ordermatch.cfg"), settings.join("\n"));
  const child = spawn(program, [join(folder, "ordermatch.cfg")], { stdio: ["pipe", "pipe", "inherit"] });
  const output: string[] = [];
  child.stdout.setEncoding("latin1").on("data", (text: string) => output.push(text));
  return { child, output };
}

/** Names of the deals that the venue has reported, by its own log. */
function dealsIn(output: readonly string[]): Set<string> {
  // Fields of a message end with the character 1, and the log has one message in parentheses.
  const text = output.join("").replaceAll(String.fromCharCode(1), "|");
  const fills = [...text.matchAll(/\(8=FIX\.4\.2\|[^)\n]*\)/g)].filter(
    ([message]) => message.includes("|35=8|") && /\|150=[12]\|/.test(message),
  );
  return new Set(fills.map(([message]) => /\|17=([^|]*)\|/.exec(message)?.[1] ?? ""));
}

/** Trades two orders against each other at a time, while connections are cut and the bridge stops and starts. */
async function tradeUnderCuts(
  start: () => Promise<[Bridge, FixVenue]>,
  proxy: FlakyProxy,
  until: number,
  seed: number,
) {
  let [bridge, venue] = await start();
  let [state, orders, cuts, starts] = [seed, 0, 0, 0];
  while (performance.now() < until) {
    for (const side of ["buy", "sell"] as const) {
      const order = { platform_login: login, symbol: "EURUSD", side, lots: "0.10", price: "1.1" };
      if (venue.order({ ...order, id: `O-${orders}` }) !== undefined) orders += 1;
    }
    await pause(50);
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    if ((state >>> 16) % 30 === 0) {
      cuts += 1;
      proxy.cut();
      await pause(300);
      proxy.mend();
    }
    if ((state >>> 16) % 90 !== 1) continue;
    starts += 1;
    await bridge.stop();
    [bridge, venue] = await start();
  }
  return { bridge, cuts, starts };
}

/**
 * Runs a bridge over FIX 4.2 against QuickFIX's ordermatch, whose connection is cut at random: every deal in the log of
 * the venue must have arrived once.
 * @throws Error how many deals the two have
 */
export async function proveOrdermatch(file: string, seconds: number, seed: number, say: (text: string) => void) {
  const folder = mkdtempSync(join(tmpdir(), "brokerage-ordermatch-"));
  mkdirSync(join(folder, "store"));
  const assembly = await synthesizeOnce("sandbox", resolve(".local/cdk"), say);
  const cloud = await startCloud({ assemblyDir: assembly.directory, dataDir: join(folder, "cloud"), port: 0 });
  const venuePort = await freePort();
  const { child, output } = startOrdermatch(file, folder, venuePort);
  const proxy = await flakyProxy(venuePort);
  try {
    const client = new ServiceClient(await newBrokerage(cloud));
    const body = { name: "mt5:ordermatch", platform: "mt5" };
    const source = await client.call<{ id: string }>("POST", "/feed/sources", { body, idempotencyKey: "source" });
    const accounts = await accountsOf(client, source.body.id);
    const settings = {
      ...{ host: "127.0.0.1", port: proxy.port, heartbeat_seconds: 2 },
      begin_string: "FIX.4.2",
      ...{ sender_comp_id: "BROKERAGE", target_comp_id: "VENUE", account: login, lot_size: { default: "100000" } },
    } as const;
    const quiet = () => undefined;
    const start = async (): Promise<[Bridge, FixVenue]> => {
      const hook = async () => ({ status: "failed" }) as const;
      const venue = new FixVenue({ settings, hook, folder: join(folder, "bridge"), say: quiet });
      const options = { client, source_id: source.body.id, venue, folder: join(folder, "bridge"), say: quiet };
      return [await startBridge(options), venue];
    };
    const { bridge, cuts, starts } = await tradeUnderCuts(start, proxy, performance.now() + seconds * 1000, seed);
    const account = accounts.get(login) ?? "";
    const last = performance.now() + settleLimitMs;
    let ours = await dealsOf(client, account);
    while (performance.now() < last && ours !== dealsIn(output).size) {
      await pause(500);
      ours = await dealsOf(client, account);
    }
    await bridge.stop();
    const done = `connection cut ${cuts} times, bridge started ${starts} times again (seed ${seed})`;
    const theirs = dealsIn(output).size;
    if (ours !== theirs) throw new Error(`ordermatch reported ${theirs} deals, and ${ours} arrived; ${done}.`);
    say(`${theirs} deals of QuickFIX's ordermatch, each once; ${done}.`);
  } finally {
    child.kill("SIGKILL");
    proxy.stop();
    await cloud.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Deals that the service has of an account whose orders all have the same size: one opens a trade, one closes it. */
async function dealsOf(client: ServiceClient, account: string): Promise<number> {
  const trades = await listed<{ status: string }>(client, `/accounts/${account}/trades?limit=100`);
  return trades.reduce((sum, { status }) => sum + (status === "closed" ? 2 : 1), 0);
}
