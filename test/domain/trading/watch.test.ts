import { describe, expect, it } from "vitest";
import { adjustBalance } from "../../../shared/domain/accounts/balance.ts";
import { creditFields } from "../../../shared/domain/accounts/credit-lots.ts";
import type { Account } from "../../../shared/domain/records/account.ts";
import type { Balance } from "../../../shared/domain/records/balance.ts";
import type { StoredRisk } from "../../../shared/domain/records/risk.ts";
import type { TradingDecision } from "../../../shared/domain/records/trading-change.ts";
import { usedMargin } from "../../../shared/domain/trading/margin.ts";
import { openAtMarket } from "../../../shared/domain/trading/market-trade.ts";
import { executeTrade } from "../../../shared/domain/trading/open-trade.ts";
import type { Market } from "../../../shared/domain/trading/pricing/quote.ts";
import { creditEndsInMs, isDueAtOnce, riskDueAt } from "../../../shared/domain/trading/stored-risk.ts";
import { evaluated, withMarginUpdate } from "../../../shared/domain/trading/watch.ts";
import { limits } from "../../../shared/limits.ts";
import { decisionContext, decisionTime, someClient } from "../../support/builders/decisions.ts";
import {
  someMarket,
  somePosition,
  someQuote,
  someSymbol,
  tradingAccount,
  usd,
} from "../../support/builders/trading.ts";
import { TradingDesk } from "../../support/builders/trading-desk.ts";

const at = (seconds: number) => new Date(Date.parse(decisionTime) + seconds * 1000).toISOString();

/** An account whose decisions are made as the data layer makes them, with the entries that it has in the index. */
function watchedDesk(balance: string, fields: Partial<Account> = {}, money: Partial<Balance> = {}) {
  const desk = new TradingDesk(tradingAccount(balance, fields, money));
  const entries = new Set<string>();
  const state = () => ({ ...desk.state, risk: desk.risk as StoredRisk | undefined });
  const apply = <R>(decision: TradingDecision<R>): R => {
    if (!decision.ok) throw new Error(decision.refusal.code);
    for (const change of decision.changes) {
      if (change.op !== "expose" && change.op !== "hide") continue;
      const { symbol, direction, trigger } = change.entry;
      const entry = `${symbol} ${direction} ${trigger}`;
      if (change.op === "expose") entries.add(entry);
      else entries.delete(entry);
    }
    const changes = decision.changes.filter(({ op }) => op !== "expose" && op !== "hide");
    return desk.apply({ ...decision, changes });
  };
  return {
    desk,
    entries,
    risk: () => desk.risk as StoredRisk,
    open: (symbol: string, market: Market, source = "internal", lots = "1.00") => {
      const price = market.quotes.get(symbol)?.ask ?? "1";
      const trade = { symbol, side: "buy", lots, price, source } as const;
      const context = decisionContext();
      return apply(withMarginUpdate(state(), executeTrade(state(), market, trade, context), market, context));
    },
    /** Takes money away, as something that happened does, and decides what follows. */
    take: (amount: string, market: Market, now = decisionTime) => {
      const change = adjustBalance(
        desk.balance,
        { now },
        { set: { balance_minor: desk.balance.balance_minor - usd(amount) }, require: [] },
      );
      const decision = { ok: true, result: undefined, changes: [change], events: [] } as const;
      return apply(withMarginUpdate(state(), decision, market, decisionContext({ now })));
    },
    evaluate: (market: Market, now = decisionTime) => {
      const decision = evaluated(state(), market, desk.trades, decisionContext({ now }));
      const changes = decision.ok ? decision.changes.length : 0;
      return { ...apply(decision), changes };
    },
  };
}

describe("an account whose credit ends", () => {
  const lots = [300, 301].map((seconds) => ({
    transaction_id: `txn_${seconds}`,
    minor: usd("2500.00"),
    expires_at: at(seconds),
  }));
  const lent = () => watchedDesk("100.00", {}, creditFields(lots, "USD"));
  const market = someMarket();
  const quoted = (seconds: number) => {
    const moment = { time: at(seconds), received_at: at(seconds) };
    return { ...market, quotes: new Map([...market.quotes].map(([name, quote]) => [name, { ...quote, ...moment }])) };
  };
  const aheadSeconds = limits.trading.credit_end_ahead_ms / 1000;

  it("is due so long before the earliest end that a sweep sends the message which is seen at it", () => {
    const account = lent();
    account.open("EURUSD", market);
    const risk = account.risk();
    expect([risk.credit_ends_at, riskDueAt(risk), risk.left_by]).toEqual([at(300), at(300 - aheadSeconds), "commit"]);
    expect([300 - aheadSeconds - 1, 299, 302].map((seconds) => creditEndsInMs(risk, at(seconds)))).toEqual([
      undefined,
      1000,
      0,
    ]);
  });

  it("is judged without what has ended, which no entry has taken yet, and is handed over for what ends soon", () => {
    const account = lent();
    account.open("EURUSD", market);
    expect(account.evaluate(quoted(299), at(299))).toMatchObject({
      metrics: { credit_minor: usd("5000.00") },
      closed: [],
    });
    const first = account.evaluate(quoted(300), at(300));
    expect(first).toMatchObject({ metrics: { credit_minor: usd("2500.00"), margin_status: "normal" }, closed: [] });
    expect(account.risk()).toMatchObject({ credit_ends_at: at(301), left_by: "commit" });
    const last = account.evaluate(quoted(301), at(301));
    expect(last.closed.length).toBe(1);
    expect(account.desk.balance.credit_minor).toBe(usd("5000.00"));
    expect(account.risk().credit_ends_at).toBeUndefined();
  });

  it("opens nothing with it from its second on", () => {
    const account = lent();
    const request = { symbol: "EURUSD", side: "buy", lots: "1.00" } as const;
    const state = { ...account.desk.state, client: someClient({ status: "active" }) };
    const codeAt = (seconds: number) => {
      const decision = openAtMarket(state, quoted(seconds), request, decisionContext({ now: at(seconds) }));
      return decision.ok ? "opened" : decision.refusal.code;
    };
    expect([300, 301].map(codeAt)).toEqual(["opened", "insufficient_margin"]);
  });
});

const closedSymbol = (name: string) => someSymbol(name, { halted: true });

describe("an account that a commit leaves below its stop-out level", () => {
  it("is due at once, and every quote of what it depends on wakes it", () => {
    const market = someMarket();
    const account = watchedDesk("2000.00");
    account.open("EURGBP", market);
    expect(isDueAtOnce(account.risk())).toBe(false);
    account.take("1500.00", market);
    expect(account.risk()).toMatchObject({ margin_status: "stop_out", wake_at: decisionTime });
    expect(isDueAtOnce(account.risk())).toBe(true);
    const every = { down: String(10n ** 22n), up: String(-(10n ** 22n)) };
    expect(new Set(account.risk().triggers)).toEqual(
      new Set(
        ["EURGBP", "GBPUSD"].map((symbol) => ({ symbol, ...every, shards: limits.trading.first_exposure_shards })),
      ),
    );
  });

  it("is due at no more than one commit when nothing can be closed, and no evaluation makes it due again", () => {
    const market = someMarket();
    const account = watchedDesk("2000.00");
    account.open("EURGBP", market);
    const halted = someMarket({}, [closedSymbol("EURGBP")]);
    account.take("1500.00", halted);
    expect(account.risk()).toMatchObject({ margin_status: "stop_out", wake_at: at(60) });
    for (const seconds of [1, 2, 30]) {
      expect(account.evaluate(halted, at(seconds))).toMatchObject({ closed: [], again: false });
      expect(isDueAtOnce(account.risk())).toBe(false);
    }
  });

  it("is not written by evaluations that find nothing to do, however many quotes wake it", () => {
    const market = someMarket();
    const account = watchedDesk("2000.00");
    account.open("EURUSD", market);
    const halted = someMarket({}, [closedSymbol("EURUSD")]);
    account.take("1500.00", halted);
    account.evaluate(halted, at(1));
    expect([2, 3, 59].map((seconds) => account.evaluate(halted, at(seconds)).changes)).toEqual([0, 0, 0]);
  });

  it("is woken by every quote of a symbol whose market is closed, and not by a pair that only converts", () => {
    const market = someMarket();
    const account = watchedDesk("2000.00");
    account.open("EURGBP", market);
    account.take("1500.00", someMarket({}, [closedSymbol("EURGBP")]));
    const triggers = new Map(account.risk().triggers.map((trigger) => [trigger.symbol, trigger]));
    expect(triggers.get("EURGBP")).toMatchObject({ down: String(10n ** 22n), up: String(-(10n ** 22n)) });
    expect(triggers.get("GBPUSD")?.down).not.toBe(String(10n ** 22n));
  });

  it("is left alone where its platform liquidates", () => {
    const source = { name: "mt5:live-1", authoritative: "platform", heartbeat_at: decisionTime } as const;
    const market = { ...someMarket(), sources: new Map([[source.name, source]]) };
    const account = watchedDesk("2000.00");
    account.open("EURUSD", market, source.name);
    account.take("1500.00", market);
    expect(account.risk()).toMatchObject({ margin_status: "stop_out", wake_at: null });
    expect(account.risk().triggers).toMatchObject([{ symbol: "EURUSD", down: null }]);
  });

  it("by an old price alone is not due: fresh prices wake it", () => {
    const market = someMarket();
    const account = watchedDesk("2500.00");
    account.open("EURUSD", market);
    account.open("AUDUSD", market);
    const old = someQuote("AUDUSD", ["0.64000", "0.64020"], { time: at(-300) });
    const stale = { ...market, quotes: new Map([...market.quotes, ["AUDUSD", old]]) };
    account.take("10.00", stale);
    expect(account.risk().wake_at).not.toBe(decisionTime);
    expect(isDueAtOnce(account.risk())).toBe(false);
  });
});

describe("an account with more symbols than one transaction can watch", () => {
  const names = Array.from({ length: 100 }, (_, place) => `S${String(place).padStart(2, "0")}USD`);
  const symbols = names.map((name) => someSymbol(name, { base_currency: "EUR", quote_currency: "USD" }));
  /** All prices so many points above the first ones, and a part of them one more. */
  const marketAt = (points: readonly number[]): Market => {
    const shown = (value: number) => (value / 100_000).toFixed(5);
    const price = (place: number) => 110_000 + (points[place] ?? 0);
    const quoted = names.map((name, place) => [name, [shown(price(place)), shown(price(place) + 10)]] as const);
    return someMarket(Object.fromEntries(quoted), symbols);
  };
  const still = marketAt([]);

  function holderOfAll() {
    const account = watchedDesk("3000.00");
    for (const name of names) account.open(name, still, "internal", "0.01");
    for (let more = true; more; ) more = account.evaluate(still).again;
    return account;
  }

  it("is handed over by the commit that leaves it so, and carried on by the evaluator alone", () => {
    const account = holderOfAll();
    // An old price makes every quote of every symbol a trigger.
    const old = someQuote("S00USD", ["1.10000", "1.10010"], { time: at(-300) });
    const stale = { ...still, quotes: new Map([...still.quotes, ["S00USD", old]]) };
    account.take("1000.00", stale);
    expect(isDueAtOnce(account.risk())).toBe(true);
    const steps = [account.evaluate(stale).again];
    expect(account.risk().wake_at).toBe(at(30));
    expect(isDueAtOnce(account.risk())).toBe(false);
    while (steps.at(-1) === true) steps.push(account.evaluate(stale).again);
    expect(steps).toEqual([true, true, false]);
    expect(account.risk().wake_at).toBeNull();
  });

  it("is watched after a few steps although a quarter of the prices rises at each", () => {
    const account = holderOfAll();
    account.take("1700.00", still);
    const points = names.map(() => 0);
    const steps: boolean[] = [];
    while (steps.at(-1) !== false && steps.length < 50) {
      for (let place = steps.length % 4; place < names.length; place += 4) points[place] = (points[place] ?? 0) + 100;
      if (steps.length === 0) points.fill(100);
      steps.push(account.evaluate(marketAt(points)).again);
    }
    expect(steps.length).toBeLessThan(8);
    expect(account.entries.size).toBe(names.length);
  });
});

describe("a decision about an account with many positions", () => {
  /** Positions that tell how often one of them was valued: its swap is part of its value and of nothing else. */
  function counted(desk: TradingDesk, market: Market, count: number) {
    const told = { valued: 0 };
    const { account, balance } = desk.state;
    const positions = Array.from({ length: count }, (_, at) => {
      const symbol = at % 2 === 0 ? "EURUSD" : "EURGBP";
      const position = somePosition(account, market, { symbol, side: "buy", lots: "0.01", open_price: "1.00000" });
      return Object.defineProperty(position, "swap_minor", {
        enumerable: true,
        get: () => {
          told.valued += 1;
          return 0n;
        },
      });
    });
    const used_margin_minor = usedMargin({ account, balance, positions });
    const state = { ...desk.state, balance: { ...balance, positions: count, used_margin_minor }, positions };
    return { told, state: { ...state, risk: undefined } };
  }

  it.each([1, 40])("values each of %i once, however often it looks at the money", (count) => {
    const desk = new TradingDesk(tradingAccount("90000.00"));
    const opening = counted(desk, someMarket(), count);
    const market = someMarket();
    const request = { symbol: "GBPUSD", side: "buy", lots: "0.01" } as const;
    const context = decisionContext();
    const decision = withMarginUpdate(
      opening.state,
      openAtMarket(opening.state, market, request, context),
      market,
      context,
    );
    expect([decision.ok, opening.told.valued]).toEqual([true, count]);
    const evaluation = counted(desk, someMarket(), count);
    expect(evaluated(evaluation.state, someMarket(), new Map(), decisionContext()).ok).toBe(true);
    expect(evaluation.told.valued).toBe(count);
  });
});
