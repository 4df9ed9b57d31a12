import { describe, expect, it } from "vitest";
import type { Market } from "../../../shared/domain/trading/pricing/quote.ts";
import { evaluateMargin, nextToClose } from "../../../shared/domain/trading/stop-out.ts";
import { limits } from "../../../shared/limits.ts";
import { decisionContext, decisionTime } from "../../support/builders/decisions.ts";
import { marketAt, someMarket, someQuote, someSymbol } from "../../support/builders/trading.ts";
import { desk, euro, evaluate, left, nine, yen } from "./stop-out-cases.ts";

/** The market with the quote of a symbol as old as it may be, and one millisecond more. */
function aged(on: Market, name: string, byMs: number): Market {
  const moment = new Date(Date.parse(decisionTime) - byMs).toISOString();
  const quote = on.quotes.get(name);
  const prices: readonly [string, string] = [quote?.bid ?? "1", quote?.ask ?? "1"];
  return {
    ...on,
    quotes: new Map([...on.quotes, [name, someQuote(name, prices, { time: moment, received_at: moment })]]),
  };
}

describe("an old price", () => {
  const down = marketAt({ EURUSD: { bid: "1.08850" }, USDJPY: { ask: "150.590" } });

  it("decides nothing: no margin call and no stop-out", () => {
    const account = desk("2000.00", [euro, yen]);
    const result = evaluate(account, aged(down, "EURUSD", limits.trading.metrics_stale_ms + 1));
    expect(result).toMatchObject({ waiting: true, running: false, closed: [], metrics: { stale: true } });
    expect(account.announced).toEqual([]);
    expect(account.risk).toBeUndefined();
  });

  it("of just the age that is allowed decides as a new one does", () => {
    const account = desk("2000.00", [euro, yen]);
    evaluate(account, aged(down, "EURUSD", limits.trading.metrics_stale_ms));
    expect(nine(account)).toEqual(["margin.call", "trade.closed", "stop.out"]);
  });

  it("of a conversion pair decides nothing either", () => {
    const account = desk("1150.00", [["EURGBP", "buy", "1.00", "0.86270"]]);
    const on = someMarket({ EURGBP: ["0.85000", "0.85010"] });
    expect(evaluate(account, aged(on, "GBPUSD", 61_000)).waiting).toBe(true);
    expect(evaluate(account, on).waiting).toBe(false);
  });

  it("does not stand in the way when the others alone put the account under; its position is left alone", () => {
    const account = desk("1600.00", [euro, yen]);
    const on = aged(marketAt({ EURUSD: { bid: "1.08850" }, USDJPY: { ask: "160.000" } }), "USDJPY", 61_000);
    evaluate(account, on);
    expect(left(account)).toEqual(["sell 0.50 USDJPY"]);
    expect(nine(account)).toEqual(["margin.call", "trade.closed", "stop.out"]);
  });

  it("is believed where it shows a gain: no stop-out comes from leaving it out", () => {
    const account = desk("1600.00", [euro, yen]);
    const on = aged(marketAt({ EURUSD: { bid: "1.08850" }, USDJPY: { ask: "140.000" } }), "USDJPY", 61_000);
    expect(evaluate(account, on).waiting).toBe(true);
    expect(account.announced).toEqual([]);
  });

  it("that is missing decides nothing", () => {
    const account = desk("2000.00", [euro, yen]);
    expect(evaluate(account, someMarket({ EURUSD: undefined })).waiting).toBe(true);
  });
});

describe("a closed market", () => {
  const closed = (price: string) => someMarket({ EURUSD: [price, price] }, [someSymbol("EURUSD", { sessions: [] })]);

  it("I12: keeps its positions out of a stop-out; the account is called, and stays at its level", () => {
    const account = desk("1600.00", [euro]);
    const { risk, running } = evaluate(account, closed("1.08600"));
    expect(risk).toMatchObject({ margin_status: "stop_out", armed: false, run: null });
    expect(running).toBe(false);
    expect(account.announced).toEqual(["margin.call"]);
    evaluate(account, marketAt({ EURUSD: { bid: "1.08600" } }));
    expect(nine(account)).toEqual(["margin.call", "trade.closed", "stop.out"]);
  });

  it("has no old prices: the last one counts however long ago it was", () => {
    const account = desk("1600.00", [euro]);
    expect(evaluate(account, aged(closed("1.08600"), "EURUSD", 3_600_000)).waiting).toBe(false);
  });
});

describe("an account that its platform liquidates", () => {
  it("is called and never liquidated by us", () => {
    const account = desk("500.00", [["EURUSD", "buy", "0.40", "1.10010"]]);
    const on = marketAt({ EURUSD: { bid: "1.08500" } });
    const state = { ...account.state, liquidated_by: "platform" } as const;
    expect(nextToClose(state, on, decisionTime)).toEqual([]);
    const { risk } = account.apply(evaluateMargin(state, on, new Map(), decisionContext()));
    expect(risk).toMatchObject({ margin_status: "stop_out", armed: false, run: null });
    expect(account.announced).toEqual(["margin.call"]);
    expect(account.positions.size).toBe(1);
  });
});
