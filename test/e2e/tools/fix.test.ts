import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FixVenue } from "../../../infra/bridge/fix/fix-venue.ts";
import { proveOn } from "../../../infra/bridge/fix/proof/prove.ts";
import { withoutRefused } from "../../../infra/bridge/sender.ts";
import type { VenueEvent } from "../../../infra/bridge/venue.ts";
import { freePort } from "../../../infra/local/free-port.ts";
import { ServiceClient, sourceNamed } from "../../../infra/tools/service-client.ts";
import { FixAcceptor } from "../../support/fix-acceptor.ts";
import { type Stack, sharedStack } from "../../support/stack/stack.ts";

let stack: Stack;
const folder = mkdtempSync(join(tmpdir(), "brokerage-bridge-"));
beforeAll(async () => {
  stack = await sharedStack();
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await stack?.stop();
});

// `npm run bridge -- test` is the long form.
it("carries fills of a FIX venue into trades once each, while the bridge and the venue are killed", async () => {
  const { credentials } = await stack.newApplication();
  const trial = { seconds: 3, deals: 24, seed: 4 };
  const proved = await proveOn({ base_url: stack.baseUrl, ...credentials }, trial);
  expect(proved).toMatchObject({ deals: 24 });
  expect(proved.deposits).toBeGreaterThan(0);
  expect(proved.killed).toMatch(/^bridge killed [1-9]\d* times, venue [1-9]\d* times, service cut off [1-9]/);
}, 240_000);

const silentSink = { record: () => undefined, quote: () => undefined, fail: () => undefined };
const names = { sender_comp_id: "BROKERAGE", target_comp_id: "VENUE" } as const;

/** The side of the bridge of a session with the venue at a port. */
function venueAt(port: number, say: (sentence: string) => void = () => undefined, logonLimitMs = 15_000): FixVenue {
  const settings = { ...names, host: "127.0.0.1", port, lot_size: { default: "100000" } };
  return new FixVenue({
    ...{ settings, folder: join(folder, String(port)), logonLimitMs, say },
    hook: () => Promise.reject(new Error("No money is moved here.")),
  });
}

describe("a message that cannot be read", () => {
  const deal = (id: string, quantity: string) =>
    `37=O|17=${id}|150=F|39=2|1=5001|55=EURUSD|54=1|32=${quantity}|31=1.1|151=0|14=1|6=1.1`;

  it("ends the bridge before it, loses no deal, and is asked for again", async () => {
    const acceptor = new FixAcceptor();
    const port = await acceptor.listen();
    const deals: string[] = [];
    const failures: string[] = [];
    let cursor = 0;
    const sink = {
      record: (events: readonly VenueEvent[], reached: number) => {
        cursor = reached;
        for (const event of events) if (event.kind === "fill") deals.push(`${event.fill.deal_id} ${event.fill.lots}`);
      },
      quote: () => undefined,
      fail: (error: Error) => failures.push(error.message),
    };
    for (const start of [1, 2]) {
      const venue = venueAt(port);
      await venue.start(cursor, sink);
      const isLoggedOn = () => acceptor.received.filter(({ type }) => type === "A").length;
      await expect.poll(isLoggedOn).toBe(start);
      if (start === 1) acceptor.send(["8", deal("E1", "29000.")], ["8", deal("E2", "1e4")], ["8", deal("E3", "100")]);
      await expect.poll(() => failures.length, { timeout: 10_000 }).toBe(start);
      await venue.stop();
      expect([deals, cursor]).toEqual([["E1 0.29"], 2]);
    }
    acceptor.close();
    const sentence = "Message 3 of the venue (35=8) cannot be read: 32=1e4 is no decimal.";
    expect(failures).toEqual([expect.stringContaining(sentence), expect.stringContaining(sentence)]);
    expect(acceptor.received.find(({ type }) => type === "2")?.get(7)).toBe("3");
  });
});

it("knows at once that nothing was done by an order that the session of a venue rejects", async () => {
  const acceptor = new FixAcceptor((message, send) => {
    if (message.type === "D") send("3", `45=${message.get(34)}|372=D|58=Incorrect data format for value`);
  });
  const said: string[] = [];
  const venue = venueAt(await acceptor.listen(), (sentence) => said.push(sentence));
  await venue.start(0, silentSink);
  await expect.poll(() => said.join(), { timeout: 10_000 }).toContain("is logged on");
  const position = {
    platform_login: "5001",
    position_id: "P-1",
    symbol: "EURUSD",
    side: "sell",
    lots: "0.29",
  } as const;
  const error = { code: "order_rejected", message: "Incorrect data format for value" };
  expect(await venue.close({ command_id: "cmd_1", ...position, reason: "stop_out" })).toEqual({
    status: "failed",
    error,
  });
  expect(acceptor.received.find(({ type }) => type === "D")?.get(38)).toBe("29000");
  await venue.stop();
  acceptor.close();
});

/** Lines of a bridge about a venue that does so with each connection, until `count` connections were made. */
async function saidOf(answer: (socket: Socket) => unknown, count: number): Promise<string[]> {
  const said: string[] = [];
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.on("error", () => undefined);
    answer(socket);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as { port: number };
  const venue = venueAt(port, (sentence) => said.push(sentence.replace(String(port), "PORT")), 500);
  await venue.start(0, silentSink);
  await expect.poll(() => connections).toBeGreaterThanOrEqual(count);
  await venue.stop();
  server.close();
  return said;
}

describe("a bridge without a session", () => {
  it.each([
    ["ends each connection", (socket: Socket) => socket.destroy(), "it ended the connection before the logon"],
    ["is silent", (socket: Socket) => socket.resume(), "it does not answer the logon"],
    ["speaks another protocol", (socket: Socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"), "it ended"],
  ])("says once why, and connects again, where the venue %s", async (_, answer, reason) => {
    const said = await saidOf(answer, 3);
    expect(said).toEqual([expect.stringContaining(`No session with the venue at 127.0.0.1:PORT (${reason}`)]);
  });

  it("ends by Ctrl-C with 0 where nothing listens, and has named the address and the cause", async () => {
    const file = join(folder, "bridge.json");
    const port = await freePort();
    const fix = { ...names, host: "127.0.0.1", port, lot_size: { default: "100000" } };
    const config = { base_url: stack.baseUrl, source: "mt5:absent", money: { command: [process.execPath] }, fix };
    writeFileSync(file, JSON.stringify(config));
    const { credentials } = await stack.newApplication();
    const script = new URL("../../../infra/bridge/run.ts", import.meta.url).pathname;
    const child = spawn(process.execPath, ["--import", "tsx", script, "--config", file], {
      env: {
        ...process.env,
        ...{ BROKERAGE_CLIENT_ID: credentials.client_id, BROKERAGE_CLIENT_SECRET: credentials.client_secret },
      },
    });
    let text = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (text += String(chunk)));
    await expect.poll(() => text, { timeout: 60_000 }).toContain("No session with the venue");
    child.kill("SIGINT");
    const [code] = await once(child, "exit");
    expect([code, text]).toEqual([0, expect.stringContaining(`127.0.0.1:${port} (connect ECONNREFUSED`)]);
    expect(text).not.toContain("    at ");
  }, 120_000);
});

it("a price that the service cannot take is dropped with its reason, and the others are taken", async () => {
  const { credentials } = await stack.newApplication();
  const client = new ServiceClient({ base_url: stack.baseUrl, ...credentials });
  const path = `/feed/sources/${await sourceNamed(client, "mt5:prices", "mt5")}`;
  const { body: source } = await client.call<{ quote_epoch: number }>("POST", `${path}/epochs`);
  const prices = [
    { symbol: "EURUSD", bid: "1.10000", ask: "1.10010" },
    { symbol: "EUR,USD", bid: "1.10000", ask: "1.10010" },
    { symbol: "GBPUSD", bid: "1.20000", ask: "-1.20010" },
    { symbol: "AUDUSD", bid: "0.70010", ask: "0.70000" },
  ];
  const time = new Date().toISOString();
  const quotes = prices.map((each, place) => ({ ...each, time, seq: String(place + 1) }));
  const send = (accepted: typeof quotes) =>
    client.call<{ results: { symbol: string; code?: string }[] }>("POST", `${path}/quotes`, {
      body: { epoch: source.quote_epoch, quotes: accepted },
    });
  const refused = await withoutRefused(quotes, send);
  expect(refused.map(({ symbol, code }) => `${symbol} ${code}`)).toEqual([
    expect.stringMatching(/^EUR,USD symbol /),
    "GBPUSD invalid_price",
    "AUDUSD crossed",
  ]);
  expect((await client.call<{ bid: string }>("GET", "/quotes/EURUSD")).body.bid).toBe("1.10000");
});
