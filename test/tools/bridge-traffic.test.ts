import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, describe, expect, it } from "vitest";
import { Commands } from "../../infra/bridge/commands.ts";
import { Journal } from "../../infra/bridge/journal.ts";
import { withoutRefused } from "../../infra/bridge/sender.ts";
import type { Venue } from "../../infra/bridge/venue.ts";
import { ServiceClient, ServiceError } from "../../infra/tools/service-client.ts";

const folder = mkdtempSync(join(tmpdir(), "brokerage-bridge-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const login = "50012345";
const deal = { deal_id: "D-1", platform_login: login, symbol: "EURUSD", price: "1.1" };
const opened = { ...deal, side: "buy", lots: "0.10" } as const;

describe("the prices of a bridge", () => {
  it("are sent without those that the service names as invalid, each with its reason", async () => {
    const sent: string[][] = [];
    const send = async (quotes: readonly { symbol: string }[]) => {
      sent.push(quotes.map(({ symbol }) => symbol));
      const errors = quotes.flatMap(({ symbol }, place) =>
        symbol.includes("/") ? [{ pointer: `#/quotes/${place}/symbol`, detail: "must be the name of a symbol" }] : [],
      );
      if (errors.length > 0) throw new ServiceError(422, "validation_failed", "Invalid.", errors);
      const results = quotes.map(({ symbol }) => ({ symbol, ...(symbol === "X" && { code: "crossed" }) }));
      return { body: { results } };
    };
    const quotes = ["EURUSD", "EUR/USD", "X"].map((symbol) => ({ symbol }));
    expect(await withoutRefused(quotes, send)).toEqual([
      { symbol: "EUR/USD", code: "symbol must be the name of a symbol" },
      { symbol: "X", code: "crossed" },
    ]);
    expect(sent).toEqual([
      ["EURUSD", "EUR/USD", "X"],
      ["EURUSD", "X"],
    ]);
  });

  it("end with a refusal that names none of them", async () => {
    const refused = new ServiceError(409, "source_ended", "The source has ended.");
    await expect(withoutRefused([{ symbol: "EURUSD" }], () => Promise.reject(refused))).rejects.toBe(refused);
  });
});

/** A service that hands out commands, `hand` of them at each request, and answers their acknowledgements. */
async function serviceWith(
  hand: (max: number) => readonly object[],
): Promise<{ client: ServiceClient; server: Server }> {
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const answers: Readonly<Record<string, () => object>> = {
      "/oauth/token": () => ({ access_token: "token", expires_in: 3600 }),
      "/feed/sources/src_1/commands/take": () => ({ data: hand(JSON.parse(body).max) }),
    };
    const answer = answers[request.url ?? ""]?.() ?? {};
    response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(answer));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const base_url = `http://127.0.0.1:${port}`;
  return { server, client: new ServiceClient({ base_url, client_id: "app", client_secret: "sec" }) };
}

describe("the commands of a bridge", () => {
  it("move money sixteen at a time, and close a position meanwhile", async () => {
    const journal = await Journal.open(join(folder, "journal"), { id: "src_1", expected_next_seq: "1" });
    await journal.record([{ kind: "fill", fill: opened }], 1);
    const waiting = Array.from({ length: 40 }, (_, n) => ({ id: `cmd_${n}`, type: "balance_operation", payload: {} }));
    let [live, most, takes] = [0, 0, 0];
    const { client, server } = await serviceWith((max) => {
      takes += 1;
      const risk = { id: "cmd_risk", type: "liquidate", payload: { position_id: "D-1", lots: "0.10" } };
      const data = takes === 3 ? [risk] : waiting.splice(0, max);
      const more = { platform_login: login, attempt: 1, start_before: new Date(Date.now() + 60_000).toISOString() };
      return data.map((each) => ({ ...each, ...more }));
    });
    const stopping = new AbortController();
    const commands = new Promise<void>((resolve) => {
      const venue: Venue = {
        knowsBalances: false,
        reportsMoney: true,
        start: () => Promise.resolve(),
        stop: () => Promise.resolve(),
        // A platform that answers no operation.
        money: () => {
          live += 1;
          most = Math.max(most, live);
          return new Promise(() => undefined);
        },
        close: () => {
          resolve();
          return Promise.resolve({ status: "done" });
        },
      };
      const context = { client, journal, path: "/feed/sources/src_1", signal: stopping.signal, say: () => undefined };
      new Commands(context, venue, join(folder, "key")).run().catch(() => undefined);
    });
    await commands;
    expect([live, most, takes]).toEqual([16, 16, 3]);
    stopping.abort();
    server.close();
    server.closeAllConnections();
    await journal.close();
  });
});
