import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { Commands } from "../../infra/tools/bridge/commands.ts";
import { Journal } from "../../infra/tools/bridge/journal.ts";
import { withoutRefused } from "../../infra/tools/bridge/sender.ts";
import type { Venue } from "../../infra/tools/bridge/venue.ts";
import { type ServiceClient, ServiceError } from "../../infra/tools/service-client.ts";

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

describe("the commands of a bridge", () => {
  it("move money sixteen at a time, and close a position meanwhile", async () => {
    const journal = await Journal.open(join(folder, "journal"), { id: "src_1", expected_next_seq: "1" });
    await journal.record([{ kind: "fill", fill: opened }], 1);
    const waiting = Array.from({ length: 40 }, (_, n) => ({ id: `cmd_${n}`, type: "balance_operation", payload: {} }));
    const stopping = new AbortController();
    let [live, most, takes] = [0, 0, 0];
    const call = async (_method: string, path: string, { body }: { body: { max: number } }) => {
      if (!path.endsWith("/take")) return { body: {} };
      takes += 1;
      const risk = { id: "cmd_risk", type: "liquidate", payload: { position_id: "D-1", lots: "0.10" } };
      const data = takes === 3 ? [risk] : waiting.splice(0, body.max);
      const more = { platform_login: login, attempt: 1, start_before: new Date(Date.now() + 60_000).toISOString() };
      return { body: { data: data.map((each) => ({ ...each, ...more })) } };
    };
    const closed = new Promise<void>((resolve) => {
      const venue = {
        money: () => {
          live += 1;
          most = Math.max(most, live);
          return new Promise(() => undefined);
        },
        close: async () => {
          resolve();
          return { status: "done" };
        },
      } as unknown as Venue;
      const client = { latestNow: Date.now(), call } as unknown as ServiceClient;
      const context = { client, journal, path: "", signal: stopping.signal, say: () => undefined };
      new Commands(context, venue, join(folder, "key")).run().catch(() => undefined);
    });
    await closed;
    expect([live, most, takes]).toEqual([16, 16, 3]);
    stopping.abort();
    await journal.close();
  });
});
