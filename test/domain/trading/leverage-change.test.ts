import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Account } from "../../../shared/domain/account.ts";
import { accountBody } from "../../../shared/domain/account.ts";
import { amendHoldings } from "../../../shared/domain/trading/amend-holdings.ts";
import type { TradingDecision } from "../../../shared/domain/trading/changes.ts";
import { closeTrade } from "../../../shared/domain/trading/close-trade.ts";
import { metricsAt } from "../../../shared/domain/trading/margin.ts";
import { executeTrade } from "../../../shared/domain/trading/open-trade.ts";
import type { Position } from "../../../shared/domain/trading/position.ts";
import type { Market } from "../../../shared/domain/trading/pricing/quote.ts";
import { isDueAtOnce, type StoredRisk } from "../../../shared/domain/trading/stored-risk.ts";
import { evaluated, positionsSum, withMarginUpdate } from "../../../shared/domain/trading/watch.ts";
import { limits } from "../../../shared/limits.ts";
import { decisionContext, decisionTime, someClient } from "../../support/builders/decisions.ts";
import { exampleCfds, examplePrices, someMarket, someSymbol, tradingAccount } from "../../support/builders/trading.ts";
import { TradingDesk } from "../../support/builders/trading-desk.ts";

const client = someClient();
const names = ["EURUSD", "USDJPY", "EURGBP", "XAUUSD", "GER40", "AUDNZD"];
const cfdPrices = { XAUUSD: ["2400.00", "2400.50"], GER40: ["18500.0", "18501.0"] } as const;
const market = someMarket(cfdPrices);
const { max_remargined } = limits.trading;
/** More than a transaction holds move of so many, although two of the six symbols have a leverage of their own. */
const many = 2 * max_remargined;

/** The market with twice the margin factor on some of its symbols. */
function dearer(...symbols: string[]): Market {
  const known = [...Object.keys(examplePrices).map((name) => someSymbol(name)), ...exampleCfds];
  return someMarket(
    cfdPrices,
    known.map((symbol) => (symbols.includes(symbol.symbol) ? { ...symbol, margin_factor: "2" } : symbol)),
  );
}

/** An account whose decisions are made and stored as the data layer does it, the exposure index left out. */
function leveredDesk(fields: Partial<Account> = {}, balance = "90000000.00") {
  const desk = new TradingDesk(tradingAccount(balance, { type: "demo", ...fields }));
  const state = () => ({ ...desk.state, risk: desk.risk as StoredRisk | undefined });
  const apply = <R>(decision: TradingDecision<R>): R => {
    if (!decision.ok) throw new Error(decision.refusal.code);
    expect(decision.changes.length).toBeLessThanOrEqual(limits.commit.max_items - 2);
    const changes = decision.changes.filter(({ op }) => op !== "expose" && op !== "hide");
    return desk.apply({ ...decision, changes });
  };
  const decide = {
    open: (symbol: string, side: "buy" | "sell", lots: string, now = market) => {
      const { bid = "1", ask = "1" } = now.quotes.get(symbol) ?? {};
      const trade = { symbol, side, lots, price: side === "buy" ? ask : bid, source: "internal" } as const;
      const context = decisionContext();
      return withMarginUpdate(state(), executeTrade(state(), now, trade, context), now, context);
    },
    close: (nth: number, lots: string | undefined, now = market) => {
      const { positions, trades } = state();
      const position = positions[nth % positions.length];
      const trade = position && trades.get(position.trade_id);
      if (position === undefined || trade === undefined) throw new Error("There is no such position.");
      const price = now.quotes.get(position.symbol)?.bid ?? "1";
      const closing = { price, reason: "client", ...(lots === undefined ? {} : { lots }) } as const;
      const context = decisionContext();
      return withMarginUpdate(state(), closeTrade(state(), { position, trade }, now, closing, context), now, context);
    },
    amend: (patch: object, now = market) => {
      const context = decisionContext();
      const { account, balance } = state();
      return withMarginUpdate(
        state(),
        amendHoldings({ account, balance, client }, state(), patch, now, context),
        now,
        context,
      );
    },
    evaluate: (now = market) => evaluated(state(), now, desk.trades, decisionContext()),
  };
  return {
    desk,
    state,
    apply,
    decide,
    /** So many positions, of all symbols and both sides, as if they had been opened one by one. */
    fill: (count: number) => {
      for (const [at, symbol] of names.entries()) {
        if (at >= count) return;
        const size = symbol === "XAUUSD" || symbol === "GER40" ? "0.30" : "0.07";
        apply(decide.open(symbol, at % 2 === 0 ? "buy" : "sell", size));
      }
      const models = [...desk.positions.values()];
      for (let more = models.length; more < count; more += 1) {
        const model = models[more % models.length] as Position;
        const trade = desk.trades.get(model.trade_id);
        const [id, trade_id] = [`${model.id}${more}`, `${model.trade_id}${more}`];
        const side = more % 5 === 0 ? "sell" : model.side;
        desk.positions.set(id, { ...model, id, trade_id, side });
        if (trade !== undefined) desk.trades.set(trade_id, { ...trade, id: trade_id, position_id: id, side });
      }
      const positions = [...desk.positions.values()];
      const used_margin_minor = modelUsed(
        desk.account.margin_calculation,
        positions.map(atTerms(desk.account.leverage)),
      );
      desk.balance = { ...desk.balance, positions: positions.length, used_margin_minor };
      desk.risk = { ...desk.risk, positions_sum: positionsSum(positions) } as StoredRisk;
    },
    /** Evaluates until nothing is left; the steps that it took. */
    settle: (now = market): number => {
      for (let steps = 0; ; steps += 1) {
        const decision = decide.evaluate(now);
        if (decision.ok && decision.changes.length === 0) return steps;
        apply(decision);
      }
    },
  };
}

/** A position with the fraction of its notional that it must back, by the model. */
interface Modelled {
  readonly position: Position;
  readonly requirement: Fraction;
}
type Fraction = readonly [numerator: bigint, denominator: bigint];

/** A decimal text, or a fraction, as a fraction. */
function fraction(text: string): Fraction {
  const [a = "0", b = "1"] = text.split("/");
  const scale = (decimal: string) => (decimal.split(".")[1] ?? "").length;
  const digits = BigInt(10) ** BigInt(Math.max(scale(a), scale(b)));
  const whole = (decimal: string) => (BigInt(decimal.replace(".", "")) * digits) / 10n ** BigInt(scale(decimal));
  return [whole(a), whole(b)];
}

/** What a symbol asks for now on an account of this leverage, by the model. */
function required(leverage: number, symbol: string, now = market): Fraction {
  const terms = now.symbols.get(symbol);
  const [a, b] = fraction(terms?.margin_factor ?? "1");
  return [a, b * BigInt(Math.min(leverage, terms?.max_leverage ?? leverage))];
}

const atTerms = (leverage: number) => (position: Position) => ({
  position,
  requirement: required(leverage, position.symbol),
});

/** The margin of a position, written a second time: one division, rounded half away from zero. */
function modelMargin({ position, requirement }: Modelled): bigint {
  const symbol = market.symbols.get(position.symbol);
  const parts = [position.lots, symbol?.contract_size ?? "0", position.margin_ratio].map(fraction);
  if (symbol?.calc_mode === "cfd") parts.push(fraction(position.open_price));
  const [a, b] = [...parts, requirement].reduce<Fraction>(([x, y], [p, q]) => [x * p, y * q], [100n, 1n]);
  return (2n * a + b) / (2n * b);
}

function modelUsed(mode: Account["margin_calculation"], all: readonly Modelled[]): bigint {
  return [...new Set(all.map(({ position }) => position.symbol))].reduce((sum, symbol) => {
    const side = (name: string) => all.filter((one) => one.position.symbol === symbol && one.position.side === name);
    const margin = (of: readonly Modelled[]) => of.reduce((total, each) => total + modelMargin(each), 0n);
    const lots = (of: readonly Modelled[]) =>
      of.reduce((total, { position }) => total + BigInt(position.lots.replace(".", "")), 0n);
    const [buy, sell] = [side("buy"), side("sell")];
    if (mode === "sum") return sum + margin(buy) + margin(sell);
    if (mode === "max") return sum + (margin(buy) > margin(sell) ? margin(buy) : margin(sell));
    const [larger, smaller] = lots(buy) < lots(sell) ? [sell, buy] : [buy, sell];
    if (lots(larger) === 0n) return sum;
    return sum + (2n * margin(larger) * (lots(larger) - lots(smaller)) + lots(larger)) / (2n * lots(larger));
  }, 0n);
}

type Desk = ReturnType<typeof leveredDesk>;

/** Everything that is read of an account's margin is what the model says of it. */
function expectModel({ state, desk }: Desk, requirements: ReadonlyMap<string, Fraction>, now = market) {
  const { positions, account, balance } = state();
  const all = positions.map((position) => ({ position, requirement: requirements.get(position.id) ?? [0n, 1n] }));
  expect(positions.map(({ margin_minor }) => margin_minor)).toEqual(all.map(modelMargin));
  const used = modelUsed(account.margin_calculation, all);
  const { used_margin_minor } = metricsAt(now, state(), decisionTime);
  expect([balance.used_margin_minor, used_margin_minor]).toEqual([used, used]);
  expect((desk.risk as StoredRisk).positions_sum).toBe(positionsSum(positions));
}

/** Positions without what only tells which leverage they follow. */
const visible = (positions: readonly Position[]) => positions.map(({ leverage_version: _, ...position }) => position);

const requirementsAt = ({ state }: Desk, leverage: number, now = market) =>
  new Map(state().positions.map(({ id, symbol }) => [id, required(leverage, symbol, now)] as const));

describe("another leverage of an account with open positions", () => {
  it.each([1, max_remargined, max_remargined + 1, limits.trading.max_positions])(
    "holds for all %i of them at once, and they are stored so after the steps that are needed",
    (count) => {
      const account = leveredDesk({ margin_calculation: "sum" });
      account.fill(count);
      const before = account.state().positions;
      account.apply(account.decide.amend({ leverage: 15 }));
      expectModel(account, requirementsAt(account, 15));
      expect(account.desk.events.slice(-1)).toMatchObject([{ type: "account.updated" }]);
      const shown = visible(account.state().positions);
      expect(shown.map(({ version }) => version)).toEqual(before.map(({ version }) => version + 1));
      expect(isDueAtOnce(account.desk.risk as StoredRisk)).toBe(count > max_remargined);
      const [told, steps] = [account.desk.events.length, account.settle()];
      expect(steps).toBe(count > max_remargined ? Math.ceil(count / 97) + 1 : 0);
      const items = visible([...account.desk.positions.values()]);
      expect([items, account.desk.events.length]).toEqual([shown, told]);
      expect(account.desk.account).not.toHaveProperty("leverage_change");
      expect(account.desk.risk).toMatchObject({ wake_at: null });
      // As if the same had been opened under it.
      const fresh = leveredDesk({ margin_calculation: "sum", leverage: 15 });
      fresh.fill(count);
      const marginsOf = ({ desk }: Desk) => [...desk.positions.values()].map(({ margin_minor }) => margin_minor);
      expect([marginsOf(account), account.desk.balance.used_margin_minor]).toEqual([
        marginsOf(fresh),
        fresh.desk.balance.used_margin_minor,
      ]);
    },
  );

  it("is refused for all of them where it would bring the margin call, and called when it is forced", () => {
    const account = leveredDesk({ margin_calculation: "sum" }, "120000.00");
    account.fill(max_remargined + 1);
    expect(account.decide.amend({ leverage: 5 })).toMatchObject({
      ok: false,
      refusal: { code: "leverage_change_breaches_margin" },
    });
    account.apply(account.decide.amend({ leverage: 5, force: true }));
    expect(account.desk.announced.slice(-2)).toEqual(["account.updated", "margin.call"]);
    expectModel(account, requirementsAt(account, 5));
  });

  it("is refused until the one before is stored, and then counts from the terms of that day", () => {
    const account = leveredDesk();
    account.fill(many);
    account.apply(account.decide.amend({ leverage: 50 }));
    const refusal = { code: "leverage_change_in_progress" };
    expect(account.decide.amend({ leverage: 40 })).toMatchObject({ ok: false, refusal });
    account.apply(account.decide.amend({ name: "Renamed" }));
    account.settle();
    account.apply(account.decide.amend({ leverage: 40 }, dearer("EURUSD")));
    expectModel(account, requirementsAt(account, 40, dearer("EURUSD")));
  });

  it("leaves the terms of the change to the positions of before, and gives new ones those of their own day", () => {
    const account = leveredDesk({ margin_calculation: "sum", position_mode: "hedging" });
    account.fill(many);
    account.apply(account.decide.amend({ leverage: 50 }));
    const requirements = requirementsAt(account, 50);
    account.apply(account.decide.open("EURUSD", "buy", "0.11", dearer("EURUSD")));
    const opened = account.state().positions.at(-1)?.id ?? "";
    requirements.set(opened, required(50, "EURUSD", dearer("EURUSD")));
    expectModel(account, requirements);
    account.settle(dearer("EURUSD"));
    expectModel(account, requirements);
  });

  it("shows nothing of how far its positions are stored, and no step counts twice", () => {
    const account = leveredDesk();
    account.fill(many);
    account.apply(account.decide.amend({ leverage: 50 }));
    const shown = visible(account.state().positions);
    const [first, second] = [account.decide.evaluate(), account.decide.evaluate()];
    account.apply(first);
    expect(() => account.apply(second)).toThrow("no longer as it was decided on");
    const versions = [...account.desk.positions.values()].map(({ leverage_version }) => leverage_version);
    expect(new Set(versions)).toEqual(new Set([account.desk.account.version, undefined]));
    expect(visible(account.state().positions)).toEqual(shown);
    const { account: stored, balance } = account.state();
    expect(accountBody(stored, balance)).not.toHaveProperty("leverage_change");
    account.settle();
    expect(visible(account.state().positions)).toEqual(shown);
  });

  it("is carried on by a liquidation that it begins, which closes by the margins that are read", () => {
    const account = leveredDesk({ margin_calculation: "sum", stop_out_order: "most_margin_first" }, "60000.00");
    account.fill(max_remargined + 20);
    account.apply(account.decide.amend({ leverage: 1, force: true }));
    const requirements = requirementsAt(account, 1);
    account.settle();
    expect(account.desk.announced.filter((type) => type === "trade.closed").length).toBeGreaterThan(8);
    expect(account.desk.announced.at(-1)).toBe("stop.out");
    expectModel(account, requirements);
    expect(account.desk.account).not.toHaveProperty("leverage_change");
  });
});

const runs = Number(process.env["LEVERAGE_RUNS"] ?? "15");
const symbol = fc.constantFrom(...names);
const act = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant("step" as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("leverage" as const), to: fc.constantFrom(1, 3, 10, 20, 33, 100, 500) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("open" as const),
      symbol,
      side: fc.constantFrom("buy" as const, "sell" as const),
      lots: fc.constantFrom("0.01", "0.07", "0.31"),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("close" as const),
      nth: fc.nat(99),
      lots: fc.constantFrom(undefined, "0.01", "0.03"),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("terms" as const), symbols: fc.subarray(names) }) },
);

it("whatever is opened and closed between its steps, margins are those of the model at every moment", () => {
  const seen = new Map<string, number>();
  const note = (name: string) => seen.set(name, (seen.get(name) ?? 0) + 1);
  const property = fc.property(
    fc.constantFrom("sum" as const, "max" as const, "net" as const),
    fc.constantFrom("hedging" as const, "netting" as const),
    fc.integer({ min: max_remargined - 2, max: 170 }),
    fc.array(act, { minLength: 5, maxLength: 25 }),
    (margin_calculation, position_mode, count, acts) => {
      const account = leveredDesk({ margin_calculation });
      account.fill(count);
      // An account that nets now has more than one position of a symbol: each deal meets the first of them.
      account.desk.account = { ...account.desk.account, position_mode };
      const requirements = requirementsAt(account, 100);
      let now = market;
      for (const each of acts) {
        const { leverage } = account.desk.account;
        if (each.do === "terms") now = dearer(...each.symbols);
        else {
          const decision =
            each.do === "step"
              ? account.decide.evaluate(now)
              : each.do === "leverage"
                ? account.decide.amend({ leverage: each.to, force: true }, now)
                : each.do === "open"
                  ? account.decide.open(each.symbol, each.side, each.lots, now)
                  : account.decide.close(each.nth, each.lots, now);
          const before = new Map(account.state().positions.map((position) => [position.id, position]));
          note(`${each.do} ${decision.ok ? "done" : decision.refusal.code}`);
          if (account.desk.account.leverage_change !== undefined) note(`${each.do} between`);
          if (decision.ok) account.apply(decision as TradingDecision<unknown>);
          if (decision.ok && each.do === "leverage" && each.to !== leverage) {
            for (const { id, symbol: name } of account.state().positions) {
              requirements.set(id, required(each.to, name, now));
            }
          }
          for (const position of account.state().positions) {
            const old = before.get(position.id);
            if (old === undefined) requirements.set(position.id, required(leverage, position.symbol, now));
            else if (Number(position.lots) > Number(old.lots)) requirements.set(position.id, raisedOf(position));
            expect(position.version).toBeGreaterThanOrEqual(old?.version ?? 1);
          }
        }
        expectModel(account, requirements, now);
      }
      account.settle(now);
      expectModel(account, requirements, now);
    },
  );
  fc.assert(property, { numRuns: runs, seed: 20_261_122 });
  if (process.env["LEVERAGE_TOLD"] !== undefined) console.log(Object.fromEntries([...seen].toSorted()));
  for (const name of ["open between", "close between", "step between", "leverage leverage_change_in_progress"]) {
    expect([...seen.keys()]).toContain(name);
  }
});

/** Lots that netting added have a requirement of their own day; what both come to is what the position says. */
function raisedOf({ margin_requirement = "0" }: Position): Fraction {
  return fraction(margin_requirement);
}
