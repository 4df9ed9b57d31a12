import fc from "fast-check";
import { expect } from "vitest";
import { reverseDeal } from "../../../../shared/domain/feed/reversal.ts";
import { type DealUndo, undoOf } from "../../../../shared/domain/feed/undo.ts";
import type { Account } from "../../../../shared/domain/records/account.ts";
import type { Balance } from "../../../../shared/domain/records/balance.ts";
import type { FeedSource } from "../../../../shared/domain/records/feed-source.ts";
import type { Position } from "../../../../shared/domain/records/position.ts";
import type { StoredRisk } from "../../../../shared/domain/records/risk.ts";
import type { TradingDecision } from "../../../../shared/domain/records/trading-change.ts";
import { amendHoldings } from "../../../../shared/domain/trading/amend-holdings.ts";
import { closeTrade } from "../../../../shared/domain/trading/close-trade.ts";
import { marginRatio } from "../../../../shared/domain/trading/margin.ts";
import type { OpeningState } from "../../../../shared/domain/trading/market-trade.ts";
import { executeTrade } from "../../../../shared/domain/trading/open-trade.ts";
import type { Market } from "../../../../shared/domain/trading/pricing/quote.ts";
import { evaluated, withMarginUpdate } from "../../../../shared/domain/trading/watch.ts";
import { limits } from "../../../../shared/limits.ts";
import { decisionContext, decisionTime, someClient } from "../../../support/builders/decisions.ts";
import {
  exampleCfds,
  examplePrices,
  someMarket,
  someSymbol,
  tradingAccount,
} from "../../../support/builders/trading.ts";
import { TradingDesk } from "../../../support/builders/trading-desk.ts";

const client = someClient();
export const names = ["EURUSD", "USDJPY", "EURGBP", "XAUUSD", "GER40"];
const cfds = { XAUUSD: ["2400.00", "2400.50"], GER40: ["18500.0", "18501.0"] } as const;

/** The prices of the examples under other terms of the symbols. */
function marketOf(caps: Readonly<Record<string, number | null>>, factor = "1", euro = examplePrices["EURUSD"]): Market {
  const known = [...Object.keys(examplePrices).map((name) => someSymbol(name)), ...exampleCfds];
  const terms = known.map((symbol) => ({
    ...symbol,
    ...(symbol.symbol in caps && { max_leverage: caps[symbol.symbol] }),
  }));
  return someMarket(
    { ...cfds, ...(euro === undefined ? {} : { EURUSD: euro }) },
    terms.map((symbol) => ({ ...symbol, margin_factor: factor, max_leverage: symbol.max_leverage ?? null })),
  );
}

const market = marketOf({});

/** All that is stored of an account, as it was after one commit. */
export interface Moment {
  readonly account: Account;
  readonly balance: Balance;
  readonly risk: StoredRisk | undefined;
  readonly positions: ReadonlyMap<string, Position>;
}

export function momentOf({ account, balance, risk, positions }: TradingDesk): Moment {
  return { account, balance, risk: risk as StoredRisk | undefined, positions: new Map(positions) };
}

export type State = Omit<OpeningState, "risk"> & { readonly risk: StoredRisk | undefined };

export function stateOf({ trades }: TradingDesk, { account, balance, risk, positions }: Moment): State {
  return { account, balance, risk, positions: [...positions.values()], trades, client: { status: "active" } };
}

/** Decides as the data layer does, with what follows for the margin. */
function decided<R>(state: State, decision: TradingDecision<R>, now: Market, context = decisionContext()) {
  return withMarginUpdate(state, decision, now, context);
}

export function opening(state: State, deal: { symbol: string; side: "buy" | "sell"; lots: string }, now: Market) {
  const { bid = "1", ask = "1" } = now.quotes.get(deal.symbol) ?? {};
  const execution = { ...deal, price: deal.side === "buy" ? ask : bid, source: "internal" };
  return decided(state, executeTrade(state, now, execution, decisionContext()), now);
}

function closing(state: State, nth: number, lots: string | undefined, now: Market) {
  const position = state.positions[nth % Math.max(1, state.positions.length)];
  const trade = position && state.trades.get(position.trade_id);
  if (position === undefined || trade === undefined) return undefined;
  const part = lots !== undefined && Number(lots) < Number(position.lots) ? { lots } : {};
  const price = now.quotes.get(position.symbol)?.bid ?? "1";
  return decided(
    state,
    closeTrade(state, { position, trade }, now, { price, reason: "client", ...part }, decisionContext()),
    now,
  );
}

export function amending(state: State, leverage: number, now: Market) {
  const patch = { leverage, force: true };
  return decided(state, amendHoldings({ ...state, client }, state, patch, now, decisionContext()), now);
}

/** Stores a decision as the table does, the exposure index left out. */
export function store(desk: TradingDesk, decision: TradingDecision<unknown>): void {
  if (!decision.ok) throw new Error(decision.refusal.code);
  expect(decision.changes.length).toBeLessThanOrEqual(limits.commit.max_items - 2);
  desk.apply({ ...decision, changes: decision.changes.filter(({ op }) => op !== "expose" && op !== "hide") });
}

/** An account as it was at a moment, for one more decision. */
export function copyOf({ trades }: TradingDesk, moment: Moment): TradingDesk {
  const desk = new TradingDesk(moment);
  desk.risk = moment.risk;
  for (const [id, position] of moment.positions) desk.positions.set(id, position);
  for (const [id, trade] of trades) desk.trades.set(id, trade);
  return desk;
}

/** Lots that were opened together, by the model: what one takes at leverage 1 in minor units, and the cap. */
export interface Part {
  readonly lots: bigint;
  readonly perLot: readonly [numerator: bigint, denominator: bigint];
  readonly cap: number | null;
}

export type Model = ReadonlyMap<string, readonly Part[]>;

function units(decimal: string, digits: number): bigint {
  const [whole = "0", fraction = ""] = decimal.split(".");
  return BigInt(whole + fraction.padEnd(digits, "0"));
}

/** Margin of lots that are opened at these terms, computed a second time: to 30 decimals in integers. */
function partOf(lots: string, { symbol, open_price, margin_ratio }: Position, now: Market): Part {
  const terms = now.symbols.get(symbol);
  if (terms === undefined) throw new Error(`There is no symbol ${symbol}.`);
  const [over = "1", under = "1"] = margin_ratio.split("/");
  const price = terms.calc_mode === "forex" ? 10n ** 12n : units(open_price, 12);
  const size = units(terms.contract_size, 12) * units(terms.margin_factor, 12) * price * units(over, 12) * 100n;
  return { lots: units(lots, 2), perLot: [size, 10n ** 36n * units(under, 12)], cap: terms.max_leverage };
}

/** The margin of a position: the sum of its parts over one denominator, rounded once. */
function modelMargin(parts: readonly Part[], leverage: number): bigint {
  const [a, b] = parts.reduce<readonly [bigint, bigint]>(
    ([x, y], { lots, perLot: [p, q], cap }) => {
      const under = 100n * q * BigInt(Math.min(leverage, cap ?? leverage));
      return [x * under + lots * p * y, y * under];
    },
    [0n, 1n],
  );
  return (2n * a + b) / (2n * b);
}

export function modelUsed({ account, balance, positions }: Moment, model: Model): bigint {
  const mode = account.margin_calculation;
  const all = [...positions.values()];
  return [...new Set(all.map(({ symbol }) => symbol))].reduce((sum, symbol) => {
    const side = (name: string) => all.filter((one) => one.symbol === symbol && one.side === name);
    const margin = (of: readonly Position[]) =>
      of.reduce((total, { id }) => total + modelMargin(model.get(id) ?? [], balance.leverage), 0n);
    const lots = (of: readonly Position[]) => of.reduce((total, one) => total + units(one.lots, 2), 0n);
    const [buy, sell] = [side("buy"), side("sell")];
    if (mode === "sum") return sum + margin(buy) + margin(sell);
    if (mode === "max") return sum + (margin(buy) > margin(sell) ? margin(buy) : margin(sell));
    const [larger, smaller] = lots(buy) < lots(sell) ? [sell, buy] : [buy, sell];
    if (lots(larger) === 0n) return sum;
    return sum + (2n * margin(larger) * (lots(larger) - lots(smaller)) + lots(larger)) / (2n * lots(larger));
  }, 0n);
}

/** The model after a commit: added lots are a part of their own, and a close takes the same share of each part. */
function modelAfter(model: Model, before: Moment, after: Moment, now: Market): Model {
  const parts = [...after.positions.values()].map((position): [string, readonly Part[]] => {
    const { id, lots } = position;
    const [known, old] = [model.get(id), before.positions.get(id)];
    if (known === undefined || old === undefined) return [id, [partOf(lots, position, now)]];
    const [from, to] = [units(old.lots, 2), units(lots, 2)];
    if (to > from) {
      const { ask = "1", bid = "1" } = now.quotes.get(position.symbol) ?? {};
      const open_price = position.side === "buy" ? ask : bid;
      const symbol = now.symbols.get(position.symbol);
      const margin_ratio = symbol && marginRatio(now, position.currency, symbol, open_price);
      return [
        id,
        [
          ...known,
          partOf(`${Number(to - from) / 100}`, { ...position, open_price, margin_ratio: margin_ratio ?? "0" }, now),
        ],
      ];
    }
    return [id, to === from ? known : known.map((part) => ({ ...part, ...shared(part, from, to) }))];
  });
  return new Map(parts);
}

function shared({ lots, perLot: [p, q] }: Part, from: bigint, to: bigint): Pick<Part, "lots" | "perLot"> {
  return { lots, perLot: [p * to, q * from] };
}

const sides = fc.constantFrom("buy" as const, "sell" as const);
export const act = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("leverage" as const), to: fc.constantFrom(1, 3, 10, 20, 33, 500) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("open" as const),
      symbol: fc.constantFrom("EURUSD", "EURUSD", ...names),
      side: sides,
      lots: fc.constantFrom("0.01", "0.07", "0.31"),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("close" as const),
      nth: fc.nat(99),
      lots: fc.constantFrom(undefined, "0.01", "0.03"),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("reverse" as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("price" as const),
      euro: fc.constantFrom(["1.10000", "1.10010"], ["1.05000", "1.05010"], ["0.70000", "0.70010"]),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("terms" as const),
      caps: fc.record({ EURUSD: fc.constantFrom(null, 5, 20), XAUUSD: fc.constantFrom(null, 10, 50) }),
      factor: fc.constantFrom("1", "1.5"),
    }),
  },
);

export type Act = typeof act extends fc.Arbitrary<infer A> ? A : never;

interface Deal {
  readonly undo: DealUndo;
  readonly model: Model;
}

/** An account on which programs run, with all its moments and the model of its positions. */
export class Program {
  readonly desk: TradingDesk;
  readonly moments: Moment[];
  readonly models: Model[] = [new Map()];
  readonly seen = new Set<string>();
  now = market;
  euro = examplePrices["EURUSD"];
  caps: Readonly<Record<string, number | null>> = {};
  factor = "1";
  last: Deal | undefined;

  constructor(fields: Partial<Account>, money = "9000000.00") {
    this.desk = new TradingDesk(tradingAccount(money, { type: "demo", ...fields }));
    this.moments = [momentOf(this.desk)];
  }

  get state(): State {
    return stateOf(this.desk, momentOf(this.desk));
  }

  get model(): Model {
    return this.models.at(-1) ?? new Map();
  }

  run(each: Act): void {
    const { state, model } = this;
    const decision = this.decide(each, state);
    if (decision === undefined || !decision.ok || decision.changes.length === 0) return;
    store(this.desk, decision);
    this.seen.add(each.do);
    const [before, after] = [this.moments.at(-1) ?? momentOf(this.desk), momentOf(this.desk)];
    const next = each.do === "reverse" ? this.last?.model : modelAfter(model, before, after, this.now);
    if (each.do === "open" || each.do === "close") this.last = { undo: undoOf(decision.changes), model };
    if (each.do === "reverse" || each.do === "price") this.last = undefined;
    this.moments.push(after);
    this.models.push(next ?? model);
  }

  private decide(each: Act, state: State): TradingDecision<unknown> | undefined {
    switch (each.do) {
      case "leverage":
        return amending(state, each.to, this.now);
      case "open":
        return opening(state, each, this.now);
      case "close":
        return closing(state, each.nth, each.lots, this.now);
      case "reverse":
        return this.last && this.reversing(state, this.last.undo);
      case "price":
        this.euro = each.euro as unknown as typeof this.euro;
        this.now = marketOf(this.caps, this.factor, this.euro);
        return evaluated(state, this.now, this.desk.trades, decisionContext());
      case "terms":
        this.caps = each.caps;
        this.factor = each.factor;
        this.now = marketOf(this.caps, this.factor, this.euro);
        return undefined;
    }
  }

  private reversing(state: State, undo: DealUndo) {
    const origin = { source: { id: "src_1", name: "internal" } as FeedSource, at: decisionTime, seq: "1" };
    const links = { undo, since: undefined, named: undefined };
    return decided(state, reverseDeal(state, this.now, links, origin as never, decisionContext()), this.now);
  }

  /** An account whose items were each read at one of the last moments; `at` draws which one. */
  mixed(span: number, at: () => number): { readonly moment: Moment; readonly of: number } {
    const from = Math.max(0, this.moments.length - span);
    const recent = this.moments.slice(from);
    const draw = () => at() % recent.length;
    const pick = () => recent[draw()] as Moment;
    const ids = new Set(recent.flatMap(({ positions }) => [...positions.keys()]));
    const read = [...ids].toSorted().flatMap((id) => {
      const position = pick().positions.get(id);
      return position === undefined ? [] : [[id, position] as const];
    });
    const of = draw();
    const { balance } = recent[of] as Moment;
    return { moment: { account: pick().account, balance, risk: pick().risk, positions: new Map(read) }, of: from + of };
  }
}
