import { describe, expect, it } from "vitest";
import { opening } from "../../support/builders/bridge.ts";
import { someSymbol } from "../../support/builders/trading.ts";
import { putMarket } from "../../support/builders/trading-data.ts";
import { seeded } from "../../support/stack/chaos.ts";
import { api, broker, call, caller, newSource, trader } from "./feed-cases.ts";

/** A quarter of the long form of the other accounts: each deal of a platform is a batch of its own. */
const runs = Math.ceil(Number(process.env["PREVIEW_RUNS"] ?? 40) / 4);
const seed = Number(process.env["PREVIEW_SEED"] ?? 11);

const commission = { type: "per_lot", amount: "3.50", currency: "USD" } as const;
const prices: Readonly<Record<string, readonly [bid: string, ask: string]>> = {
  EURUSD: ["1.10000", "1.10010"],
  USDJPY: ["149.990", "150.010"],
  EURGBP: ["0.86250", "0.86270"],
};

interface Held {
  readonly id: string;
  readonly symbol: string;
  readonly lots: string;
  readonly current_price: string;
  readonly open_price: string;
}

/** Money of a step as a preview shows it. */
interface Result {
  readonly pointer: string;
  readonly commission: string;
  readonly gross_pnl: string;
}

describe("a margin preview of an account of a platform", () => {
  it(
    "equals the account after its platform did the same, whichever of them computed the money",
    async () => {
      const random = seeded(seed);
      const pick = <T>(from: readonly T[]) => from[Math.floor(random() * from.length)] as T;
      const source = await newSource({ authoritative: "service" });
      const seen = { nights: 0, parts: 0, netting: 0 };
      for (let run = 0; run < runs; run += 1) {
        // Prices of this moment; the platform charges the swap, so the nights of a symbol cost nothing here.
        await putMarket(
          api,
          caller.tenant_id,
          prices,
          Object.keys(prices).map((name) => someSymbol(name, { commission })),
        );
        const position_mode = pick(["hedging", "netting"]);
        const terms = {
          position_mode,
          margin_calculation: pick(["sum", "max", "net"]),
          currency: pick(["USD", "EUR"]),
        };
        const { id, login } = await trader("50000.00", terms);
        let deals = 0;
        const deal = (symbol: string, more: object) => {
          deals += 1;
          const name = position_mode === "netting" ? `N-${login}-${symbol}` : `P-${login}-${deals}`;
          return opening(login, `D-${login}-${deals}`, name, { symbol, commission: undefined, ...more });
        };
        const trade = () => {
          const symbol = pick(Object.keys(prices));
          const side = pick(["buy", "sell"]);
          const price = prices[symbol]?.[side === "buy" ? 1 : 0] ?? "";
          return { symbol, side, lots: pick(["0.10", "0.35", "1.00"]), price };
        };
        const names = new Map<string, string>();
        for (const each of [trade(), trade(), trade()]) {
          const item = deal(each.symbol, each);
          const [{ status, trade_id }] = await source.send(item);
          expect(status).toBe("applied");
          names.set(trade_id.replace("trd_", "pos_"), item.data.position_id);
          if (random() < 0.3 && position_mode === "hedging") {
            const night = { position_id: item.data.position_id, amount: "-1.23", for_date: "2026-11-20" };
            expect(await source.send({ type: "swap", data: night })).toMatchObject([{ status: "applied" }]);
            seen.nights += 1;
          }
        }
        const held: Held[] = (await broker.get(`/accounts/${id}/positions`)).data;
        const closes = held
          .filter(() => random() < 0.5)
          .map(({ id: position_id, lots }) => {
            const part = (Math.ceil((Number(lots) * 100) / 3) / 100).toFixed(2);
            return { position_id, ...(random() < 0.5 ? { lots: part } : {}) };
          });
        const opens = Array.from({ length: Math.floor(random() * 3) }, trade);
        const { status, body } = await call("POST", `/accounts/${id}/margin_preview`, { closes, opens });
        expect([run, status, body.refusals]).toEqual([run, 200, []]);
        const results: readonly Result[] = body.results;
        /** Money of a step, in every second one as the platform says it. */
        const moneyOf = (pointer: string) => {
          const of = results.find((result) => result.pointer === pointer);
          if (of === undefined || random() < 0.5) return {};
          return { commission: of.commission, ...(of.gross_pnl === "0.00" ? {} : { profit: of.gross_pnl }) };
        };
        for (const [place, { position_id, ...part }] of closes.entries()) {
          deals += 1;
          const { current_price: price = "" } = held.find((each) => each.id === position_id) ?? {};
          const data = { deal_id: `D-${login}-${deals}`, position_id: names.get(position_id), price, ...part };
          const item = { type: "execution", data: { action: "close", ...data, ...moneyOf(`#/closes/${place}`) } };
          expect(await source.send(item)).toMatchObject([{ status: "applied" }]);
          if ("lots" in part) seen.parts += 1;
        }
        for (const [place, each] of opens.entries()) {
          const item = deal(each.symbol, { ...each, ...moneyOf(`#/opens/${place}`) });
          expect(await source.send(item)).toMatchObject([{ status: "applied" }]);
        }
        const { metrics_as_of: _seen, balance_version: _old, ...wanted } = body.after;
        const { metrics_as_of: _now, balance_version: _new, ...now } = await broker.get(`/accounts/${id}/balance`);
        expect([run, wanted]).toEqual([run, now]);
        if (position_mode === "netting") seen.netting += 1;
      }
      console.log(`preview of platform accounts: ${runs} random runs, ${JSON.stringify(seen)}`);
      for (const [kind, count] of Object.entries(seen)) expect([kind, count]).not.toEqual([kind, 0]);
    },
    30_000 + runs * 2000,
  );
});
