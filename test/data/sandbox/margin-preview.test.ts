import { describe, expect, it } from "vitest";
import { seeded } from "../../support/stack/chaos.ts";
import { api, broker, caller, open, post, quote, setPrices, trader } from "./sandbox-cases.ts";

const runs = Number(process.env["PREVIEW_RUNS"] ?? 12);
const seed = Number(process.env["PREVIEW_SEED"] ?? 7);

const preview = (account: { id: string }, body: object = {}) => post(`/accounts/${account.id}/margin_preview`, body);

/** The members of a balance that time does not change. */
function figures(body: Record<string, unknown>) {
  const { metrics_as_of: _time, _links, ...rest } = body;
  return rest;
}

const balanceOf = async (account: { id: string }) => figures(await broker.get(`/accounts/${account.id}/balance`));

interface Held {
  readonly id: string;
  readonly lots: string;
}

const positionsOf = async (account: { id: string }): Promise<Held[]> =>
  (await broker.get(`/accounts/${account.id}/positions`)).data;

/** Random operations of one account, as the body of a preview. */
function operations(random: () => number, held: readonly Held[]) {
  const pick = <T>(from: readonly T[]) => from[Math.floor(random() * from.length)] as T;
  const lots = () => pick(["0.10", "0.35", "1.00", "2.40"]);
  const closes = held
    .filter(() => random() < 0.5)
    .map(({ id, lots: all }) => {
      const part = (Math.ceil((Number(all) * 100) / 3) / 100).toFixed(2);
      return { position_id: id, ...(random() < 0.5 ? { lots: part } : {}) };
    });
  const opens = Array.from({ length: Math.floor(random() * 4) }, () => ({
    symbol: pick(["EURUSD", "USDJPY", "EURGBP", "XAUUSD"]),
    side: pick(["buy", "sell"]),
    lots: lots(),
  }));
  const money = pick([{}, { deposit: "812.34" }, { withdrawal: "55.01" }]);
  const bid = (1.08 + Math.floor(random() * 4000) / 100_000).toFixed(5);
  return {
    prices: random() < 0.6 ? [{ symbol: "EURUSD", bid, ask: (Number(bid) + 0.00012).toFixed(5) }] : [],
    ...(random() < 0.4 ? { leverage: pick([30, 50, 100, 200]) } : {}),
    ...money,
    closes,
    opens,
  };
}

/** Does what a preview was asked for, each by its own operation; the codes of those that are refused. */
async function done(account: { id: string }, body: ReturnType<typeof operations>) {
  const refused: string[] = [];
  const tried = async (pointer: string, call: Promise<{ status: number; body: Record<string, string> }>) => {
    const answer = await call;
    if (answer.status >= 400) refused.push(`${pointer} ${answer.body["code"]}`);
  };
  const { prices, leverage, closes, opens } = body;
  if (prices.length > 0) expect((await setPrices(...prices)).status).toBe(200);
  if (leverage !== undefined) {
    await tried("#/leverage", api.call(caller, "PATCH", `/accounts/${account.id}`, { body: { leverage } }));
  }
  for (const kind of ["deposit", "withdrawal"] as const) {
    const amount = kind in body ? (body as Record<string, unknown>)[kind] : undefined;
    if (amount === undefined) continue;
    const request = { account_id: account.id, amount, status: "completed" };
    await tried(`#/${kind}`, post(`/transactions/${kind}`, request));
  }
  for (const [place, { position_id, ...part }] of closes.entries()) {
    const trade = position_id.replace("pos_", "trd_");
    await tried(`#/closes/${place}`, post(`/sandbox/trades/${trade}/close`, part));
  }
  for (const [place, request] of opens.entries()) await tried(`#/opens/${place}`, open(account, request));
  return refused;
}

describe("a margin preview", () => {
  it("of nothing is the balance of the account", async () => {
    const account = await trader();
    await open(account);
    const { body } = await preview(account);
    const now = await balanceOf(account);
    expect(figures(body.before)).toEqual(now);
    expect(figures(body.after)).toEqual(now);
    expect([body.results, body.refusals]).toEqual([[], []]);
  });

  it(
    "equals the account after its operations are done, and names those that are refused",
    async () => {
      const random = seeded(seed);
      let compared = 0;
      let refusedRuns = 0;
      for (let run = 0; run < runs; run += 1) {
        const more = {
          position_mode: random() < 0.5 ? "netting" : "hedging",
          margin_calculation: ["sum", "max", "net"][Math.floor(random() * 3)],
          currency: ["USD", "EUR", "GBP"][Math.floor(random() * 3)],
        };
        const account = await trader(random() < 0.3 ? "1500.00" : "20000.00", more);
        await setPrices({ symbol: "EURUSD", bid: "1.10000", ask: "1.10010" });
        for (const request of operations(random, []).opens) await open(account, request);
        const held = await positionsOf(account);
        const body = operations(random, held);
        const seen = await preview(account, body);
        expect([run, seen.status, seen.text]).toEqual([run, 200, expect.any(String)]);
        const refused = await done(account, body);
        const named = seen.body.refusals.map((each: Record<string, string>) => `${each["pointer"]} ${each["code"]}`);
        // A preview goes on as if a refused part had been done, which it was not.
        expect([run, refused[0]]).toEqual([run, named[0]]);
        if (named.length > 0) refusedRuns += 1;
        else {
          const { balance_version: _seen, ...after } = figures(seen.body.after);
          const { balance_version: _now, ...now } = await balanceOf(account);
          expect([run, after]).toEqual([run, now]);
          compared += 1;
        }
      }
      expect(compared).toBeGreaterThan(runs / 2);
      expect(compared + refusedRuns).toBe(runs);
    },
    30_000 + runs * 2000,
  );

  it("finds the first prices: nothing one point before, the state at the price", async () => {
    const account = await trader("2000.00");
    await setPrices({ symbol: "EURUSD", bid: "1.10000", ask: "1.10010" });
    await open(account, { lots: "1.00" });
    const { body } = await preview(account);
    const [{ symbol, down, up: rising }] = body.first_prices;
    expect([symbol, rising, body.omitted_symbols]).toEqual(["EURUSD", { margin_call: null, stop_out: null }, []]);
    await setPrices({ symbol, ...up(down.margin_call) });
    expect(await balanceOf(account)).toMatchObject({ margin_status: "normal" });
    await setPrices({ symbol, ...down.margin_call });
    expect(await balanceOf(account)).toMatchObject({ margin_status: "margin_call" });
    await setPrices({ symbol, ...up(down.stop_out) });
    expect(await positionsOf(account)).toHaveLength(1);
    const at = await preview(account, { prices: [{ symbol, ...down.stop_out }] });
    expect(at.body.after.margin_status).toBe("stop_out");
    await setPrices({ symbol, ...down.stop_out });
    expect(await positionsOf(account)).toEqual([]);
    const { data } = await broker.get(`/accounts/${account.id}/trades`);
    expect(data).toMatchObject([{ close_reason: "stop_out" }]);
  });

  it("names each part that has no number, and changes nothing", async () => {
    const account = await trader();
    const crossed = await preview(account, {
      prices: [
        { symbol: "NOSUCH", bid: "1", ask: "1" },
        { symbol: "EURUSD", bid: "1.2", ask: "1.1" },
      ],
    });
    expect(crossed).toMatchObject({
      status: 422,
      body: {
        errors: [
          { pointer: "#/prices/0/symbol", code: "symbol_not_found" },
          { pointer: "#/prices/1/bid", code: "invalid_price" },
        ],
      },
    });
    const lots = await preview(account, { opens: [{ symbol: "EURUSD", side: "buy", lots: "0.015" }] });
    expect(lots).toMatchObject({ status: 422, body: { errors: [{ pointer: "#/opens/0/lots" }] } });
    const none = await preview(account, { closes: [{ position_id: "pos_01JD0000000000000000000001" }] });
    expect(none).toMatchObject({
      status: 422,
      body: { errors: [{ pointer: "#/closes/0/position_id", code: "position_not_found" }] },
    });
    const both = await preview(account, { deposit: "1.00", withdrawal: "1.00" });
    expect(both).toMatchObject({ status: 422, body: { errors: [{ pointer: "#/withdrawal", code: "not_allowed" }] } });
    const zero = await preview(account, { deposit: "0.00" });
    expect(zero).toMatchObject({ status: 422, body: { errors: [{ pointer: "#/deposit" }] } });
    expect(await positionsOf(account)).toEqual([]);
  });

  it("says what would be refused, with the figures all the same", async () => {
    const account = await trader("100.00");
    const { ask } = await quote("EURUSD");
    const { body } = await preview(account, {
      withdrawal: "150.00",
      opens: [{ symbol: "EURUSD", side: "buy", lots: "5.00" }],
    });
    expect(body.refusals.map(({ pointer, code }: Record<string, string>) => [pointer, code])).toEqual([
      ["#/withdrawal", "insufficient_funds"],
      ["#/opens/0", "insufficient_margin"],
    ]);
    // The withdrawal and a commission of 3.50 a lot.
    expect(body.after.balance).toBe("-67.50");
    expect(Number(body.after.used_margin)).toBeCloseTo((5 * 100_000 * Number(ask)) / 100, 1);
    expect(await balanceOf(account)).toMatchObject({ balance: "100.00", used_margin: "0.00" });
  });

  it("needs the scope of trading, and finds no account of another brokerage", async () => {
    const account = await trader();
    const denied = await api.call(
      { ...caller, scopes: ["trading:read"] },
      "POST",
      `/accounts/${account.id}/margin_preview`,
      {
        body: {},
      },
    );
    expect([denied.status, denied.body.scope]).toEqual([403, "accounts:read"]);
  });
});

/** A price of EURUSD one point higher. */
function up({ bid, ask }: { bid: string; ask: string }) {
  const higher = (price: string) => ((Math.round(Number(price) * 100_000) + 1) / 100_000).toFixed(5);
  return { bid: higher(bid), ask: higher(ask) };
}
