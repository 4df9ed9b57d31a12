import { afterAll, beforeAll, expect, it } from "vitest";
import { ServiceClient, sourceNamed } from "../../../infra/tools/service-client.ts";
import { playTicks } from "../../../infra/tools/ticks/play.ts";
import { readTicks } from "../../../infra/tools/ticks/tick-file.ts";
import { isRearmed, marginStatus, metricsAt } from "../../../shared/domain/trading/margin.ts";
import { someMarket, somePosition, tradingAccount } from "../../support/builders/trading.ts";
import { fundedAccount } from "../../support/stack/api-client.ts";
import { type Stack, sharedStack } from "../../support/stack/stack.ts";
import { eventually } from "../../support/wait.ts";

let stack: Stack;
beforeAll(async () => {
  stack = await sharedStack();
});
afterAll(async () => stack?.stop());

const point = (bid: number, spread = 10) => [(bid / 1e5).toFixed(5), ((bid + spread) / 1e5).toFixed(5)] as const;
const begin = Date.parse("2026-11-20T09:00:00.000Z");

/** Lines of a file in which the euro falls by so many points each second, and gold repeats its price. */
function fallingEuro(bid: number, falls: number, by: number, gold: readonly [string, string]): string {
  const time = (second: number) => new Date(begin + second * 1000).toISOString();
  const lines = Array.from({ length: falls + 1 }, (_, second) => [
    `${time(second)},${point(bid - second * by).join(",")},EURUSD`,
    `${time(second)},${gold.join(",")},XAUUSD`,
  ]);
  return `time,bid,ask,symbol\n${lines.flat().join("\n")}\n`;
}

async function* textOf(text: string) {
  yield text;
}

/** Margin calls of one position over the ticks, and its last margin level, by the pure engine. */
async function computed(
  text: string,
  open_price: string,
  { balance, leverage }: { balance: string; leverage: number },
) {
  const holdings = tradingAccount(balance, { leverage });
  const terms = { symbol: "EURUSD", side: "buy", lots: "1.00", open_price } as const;
  const position = somePosition(holdings.account, someMarket({ EURUSD: [open_price, open_price] }), terms);
  let calls = 0;
  let called = false;
  let level: string | null = null;
  for await (const { symbol, bid, ask } of readTicks(textOf(text))) {
    if (symbol !== "EURUSD") continue;
    const market = someMarket({ EURUSD: [bid, ask] });
    const metrics = metricsAt(market, { ...holdings, positions: [position] }, new Date(begin).toISOString());
    const money = [metrics.equity_minor, metrics.used_margin_minor, 1] as const;
    if (called && isRearmed(holdings.account, ...money)) called = false;
    if (!called && marginStatus(holdings.account, ...money) === "margin_call") [called, calls] = [true, calls + 1];
    level = metrics.margin_level;
  }
  return { calls, level };
}

it("ends a file of ticks with its last prices and the margin calls that the engine computes over it", async () => {
  const client = new ServiceClient({ base_url: stack.baseUrl, ...stack.credentials });
  const get = async <T>(path: string) => (await stack.api.call<T>("GET", path)).body;
  const gold = await get<{ bid: string; ask: string }>("/quotes/XAUUSD");
  const quote = await get<{ bid: string; ask: string }>("/quotes/EURUSD");
  const { account_id } = await fundedAccount(stack.api, "4000.00");
  const trade = { account_id, symbol: "EURUSD", side: "buy", lots: "1.00" };
  const opened = await stack.api.call<{ open_price: string }>("POST", "/sandbox/trades", { body: trade });
  expect(opened.status).toBe(201);
  const text = fallingEuro(Math.round(Number(quote.bid) * 1e5), 40, 15, [gold.bid, gold.ask]);
  const last = text.trimEnd().split("\n").at(-2)?.split(",") ?? [];

  const source_id = await sourceNamed(client, "ticks:recorded", "other");
  const played = await playTicks(readTicks(textOf(text)), { client, source_id, speed: 60, longest_pause_ms: 1000 });
  expect(played).toMatchObject({ sent: 82, accepted: 82 });
  expect(await get("/quotes/EURUSD")).toMatchObject({ bid: last[1], ask: last[2] });
  expect(await get("/quotes/XAUUSD")).toMatchObject({ bid: gold.bid, ask: gold.ask });

  const after = await get<{ balance: string; leverage: number }>(`/accounts/${account_id}`);
  const expected = await computed(text, opened.body.open_price, after);
  expect(expected.calls).toBe(1);
  const calls = await eventually(async () => {
    const path = `/events?account_id=${account_id}&sort=sequence&type=margin.call,margin.recovered,stop.out`;
    const { data } = await get<{ data: { type: string }[] }>(path);
    return data.length >= expected.calls ? data.map(({ type }) => type) : undefined;
  });
  expect(calls).toEqual(["margin.call"]);
  expect(await get(`/accounts/${account_id}`)).toMatchObject({ margin_level: expected.level });
});

it("finds its source again by its name", async () => {
  const client = new ServiceClient({ base_url: stack.baseUrl, ...stack.credentials });
  const made = await sourceNamed(client, "ticks:again", "other");
  expect(await sourceNamed(client, "ticks:again", "other")).toBe(made);
});

it("sends only the newest of the prices that are due when it conflates, and ends with the last ones", async () => {
  const client = new ServiceClient({ base_url: stack.baseUrl, ...stack.credentials });
  const { bid, ask } = (await stack.api.call<{ bid: string; ask: string }>("GET", "/quotes/XAUUSD")).body;
  const quote = (await stack.api.call<{ bid: string }>("GET", "/quotes/EURUSD")).body;
  const text = fallingEuro(Math.round(Number(quote.bid) * 1e5), 40, 1, [bid, ask]);
  const source_id = await sourceNamed(client, "ticks:recorded", "other");
  const playback = { client, source_id, speed: 1e9, longest_pause_ms: 1000, conflate: true };
  const played = await playTicks(readTicks(textOf(text)), playback);
  expect(played).toMatchObject({ sent: played.accepted, conflated: 82 - played.sent });
  expect(played.sent).toBeLessThan(20);
  const last = text.trimEnd().split("\n").at(-2)?.split(",") ?? [];
  expect((await stack.api.call("GET", "/quotes/EURUSD")).body).toMatchObject({ bid: last[1], ask: last[2] });
});
