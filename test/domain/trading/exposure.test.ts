import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Account } from "../../../shared/domain/records/account.ts";
import type { Quote } from "../../../shared/domain/records/quote.ts";
import { type Trigger, triggersOf } from "../../../shared/domain/trading/exposure.ts";
import { type Holdings, metricsAt, positionMargin } from "../../../shared/domain/trading/margin.ts";
import { executeTrade } from "../../../shared/domain/trading/open-trade.ts";
import type { Market } from "../../../shared/domain/trading/pricing/quote.ts";
import { decimalText, quotient, rational } from "../../../shared/domain/trading/pricing/rational.ts";
import { evaluateMargin } from "../../../shared/domain/trading/stop-out.ts";
import { decisionContext, decisionTime } from "../../support/builders/decisions.ts";
import { someMarket, someQuote, tradingAccount, usd } from "../../support/builders/trading.ts";
import { TradingDesk } from "../../support/builders/trading-desk.ts";

type Opening = readonly [symbol: string, side: "buy" | "sell", lots: string];

const market = someMarket();

function desk(balance: string, openings: readonly Opening[], fields: Partial<Account> = {}): TradingDesk {
  const account = new TradingDesk(tradingAccount(balance, fields));
  for (const [symbol, side, lots] of openings) {
    const price = market.quotes.get(symbol)?.ask ?? "1";
    const execution = { symbol, side, lots, price, source: "internal" };
    account.apply(executeTrade(account.state, market, execution, decisionContext()));
  }
  account.events.length = 0;
  return account;
}

const triggers = (holdings: Holdings, armed = true, on = market, known: ReadonlyMap<string, Trigger> = new Map()) =>
  new Map(
    triggersOf(holdings, armed, on, decisionTime, [...known.values()]).map((trigger) => [trigger.symbol, trigger]),
  );

/** One point of EURUSD in the units of triggers. */
const point = 10n ** 7n;

function units(price: string): bigint {
  const [whole = "", fraction = ""] = price.split(".");
  return BigInt(whole + fraction.padEnd(12, "0"));
}

/** Whether a quote is at or beyond a trigger of its symbol. */
function met({ down, up }: Trigger, { bid, ask }: Quote): boolean {
  return (down !== null && units(bid) <= down) || (up !== null && units(ask) >= up);
}

describe("the triggers of an account", () => {
  it("are none without positions", () => {
    expect(triggers(desk("1000.00", []).state).size).toBe(0);
  });

  it("lie where its one symbol brings it to its call level, a little before it", () => {
    const { state } = desk("2000.00", [["EURUSD", "buy", "1.00"]]);
    // Equity 1990.00 at the bid 1.10000, margin 1100.10: 889.90 USD are 0.00889 of price; the bound is 361/400 of it.
    const trigger = triggers(state).get("EURUSD");
    expect(trigger?.up).toBeNull();
    const down = Number((trigger?.down ?? 0n) / point);
    expect(down).toBeGreaterThan(109_110);
    expect(down).toBeLessThan(109_300);
  });

  it("of a sell lie above the price, and name the pairs that its profit is converted with", () => {
    const { state } = desk("5000.00", [["EURGBP", "sell", "1.00"]]);
    const found = triggers(state);
    expect([...found.keys()].toSorted()).toEqual(["EURGBP", "GBPUSD"]);
    expect(found.get("EURGBP")).toMatchObject({ down: null });
    expect(found.get("EURGBP")?.up).toBeGreaterThan(86_270n * point);
    expect(found.get("GBPUSD")?.up).not.toBeNull();
    expect(found.get("GBPUSD")?.down).not.toBeNull();
  });

  it("share the way to the next decision: with twice the symbols each has half of it", () => {
    const one = triggers(desk("9000.00", [["EURUSD", "buy", "1.00"]]).state).get("EURUSD");
    const account = desk("9000.00", [
      ["EURUSD", "buy", "1.00"],
      ["AUDUSD", "buy", "0.01"],
    ]);
    const two = triggers(account.state).get("EURUSD");
    const way = (trigger: Trigger | undefined) => 110_010 - Number((trigger?.down ?? 0n) / point);
    expect(way(two) / way(one)).toBeGreaterThan(0.49);
    expect(way(two) / way(one)).toBeLessThan(0.51);
  });

  it("stay where they are while they are met in time, and let as few others move as possible", () => {
    const names = ["EURUSD", "AUDUSD", "GBPUSD", "NZDUSD"];
    const openings = names.map((name): Opening => [name, "buy", "0.10"]);
    const before = triggers(desk("2000.00", openings.slice(0, 3)).state);
    const { state } = desk("2000.00", openings);
    const placedAgain = (after: ReadonlyMap<string, Trigger>) =>
      names.filter((name) => before.has(name) && after.get(name) !== before.get(name));
    expect(placedAgain(triggers(state, true, market, before))).toHaveLength(1);
    const richer = {
      ...state,
      balance: { ...state.balance, balance_minor: state.balance.balance_minor + usd("500.00") },
    };
    const known = triggers(state);
    expect([...triggers(richer, true, market, known)]).toEqual([...known]);
  });

  it("do not stay where they are while the account is at a level, where any price may decide", () => {
    const account = desk("13.20", [["EURUSD", "sell", "0.01"]]);
    const known = triggers(account.state);
    // Its used margin is 11.00 USD: it is at its call level, and above it with the smallest gain.
    account.balance = { ...account.balance, balance_minor: usd("11.00"), available_minor: usd("11.00") };
    expect(metricsAt(market, account.state, decisionTime).margin_status).toBe("margin_call");
    const placed = triggers(account.state, false, market, known).get("EURUSD");
    expect(placed && met(placed, someQuote("EURUSD", ["1.10000", "1.10000"]))).toBe(true);
  });

  it("are placed again once they are met although nothing is to be decided", () => {
    const openings: Opening[] = [
      ["EURUSD", "buy", "0.10"],
      ["AUDUSD", "buy", "0.10"],
    ];
    const { state } = desk("2000.00", openings);
    const known = triggers(state);
    const fallen = moved(market, "EURUSD", -400, 10);
    const early = new Map([...known, ["EURUSD", { symbol: "EURUSD", down: 109_000n * point, up: null }]]);
    const after = triggers(state, true, fallen, early);
    expect(after.get("EURUSD")?.down).toBeLessThan(105_600n * point);
    expect(after.get("AUDUSD")).toEqual(known.get("AUDUSD"));
  });

  it("lie on both sides while a margin call waits to be armed again", () => {
    const { state } = desk("1200.00", [["EURUSD", "buy", "1.00"]]);
    expect(triggers(state, true).get("EURUSD")?.up).toBeNull();
    expect(triggers(state, false).get("EURUSD")?.up).not.toBeNull();
  });

  it("lie above the price where put-aside money alone prevents a stop-out, until the next margin call is armed", () => {
    const openings: Opening[] = [
      ["USDJPY", "buy", "0.01"],
      ["USDJPY", "sell", "0.01"],
    ];
    const account = desk("0.00", openings, { margin_calculation: "net" });
    const cross = triggers({ ...account.state, balance: { ...account.balance, aside_minor: usd("500.00") } }, false);
    expect(cross.get("USDJPY")?.up).not.toBeNull();
    const armed = triggers({ ...account.state, balance: { ...account.balance, aside_minor: usd("500.00") } }, true);
    expect(cross.get("USDJPY")).not.toEqual(armed.get("USDJPY"));
  });

  it.each(["max", "net", "sum"] as const)(
    "of a buy and a sell are met before a spread that widens costs both their margin (%s)",
    (mode) => {
      const openings: Opening[] = [
        ["EURUSD", "buy", "1.00"],
        ["EURUSD", "sell", "1.00"],
      ];
      const { state } = desk("2500.00", openings, { margin_calculation: mode });
      const { down, up } = triggers(state).get("EURUSD") ?? {};
      const price = (at: bigint) => decimalText(quotient(at, 10n ** 12n), 12);
      const just = someQuote("EURUSD", [price((down ?? 0n) + 1n), price((up ?? 0n) - 1n)]);
      const wide = { ...market, quotes: new Map([...market.quotes, ["EURUSD", just]]) };
      expect(metricsAt(wide, state, decisionTime).margin_status).toBe("normal");
      // They share the way: nothing is placed nearer than it needs to be.
      const ways = { max: 1350, net: 2450, sum: 250 };
      const cost = Number(((up ?? 0n) - (down ?? 0n)) / point + 10n);
      expect(cost / ways[mode]).toBeGreaterThan(0.85);
    },
  );

  it("are met by every quote where a price is old, and at the level itself", () => {
    const account = desk("2000.00", [["EURUSD", "buy", "1.00"]]);
    const old = someQuote("EURUSD", ["1.10000", "1.10010"], { time: "2026-11-21T06:00:00.000Z" });
    const stale = { ...market, quotes: new Map([...market.quotes, ["EURUSD", old]]) };
    const any = triggers(account.state, true, stale).get("EURUSD");
    const at = { ...account.state, balance: { ...account.balance, balance_minor: usd("1110.11") } };
    for (const trigger of [any, triggers(at).get("EURUSD")]) {
      expect(trigger && met(trigger, someQuote("EURUSD", ["1.10000", "1.10010"]))).toBe(true);
    }
  });

  it("of an account at its stop-out level are met by every quote, unless its platform closes", () => {
    const account = desk("400.00", [["EURUSD", "buy", "1.00"]]);
    expect(triggers(account.state, false).get("EURUSD")).toEqual({
      symbol: "EURUSD",
      down: 10n ** 22n,
      up: -(10n ** 22n),
    });
    const positions = account.state.positions.map((position) => ({ ...position, source: "mt5:live-1" }));
    const heartbeat = { name: "mt5:live-1", authoritative: "platform", heartbeat_at: decisionTime } as const;
    const followed = { ...market, sources: new Map([[heartbeat.name, heartbeat]]) };
    expect(triggers({ ...account.state, positions }, false, followed).get("EURUSD")).toMatchObject({ down: null });
  });
});

const symbols = ["EURUSD", "USDJPY", "EURGBP", "GBPUSD", "GBPJPY", "AUDNZD", "NZDUSD"];
const lots = fc.integer({ min: 1, max: 200 }).map((units) => decimalText(quotient(BigInt(units), 100n), 2));
const opening = fc.tuple(
  fc.constantFrom("EURUSD", "USDJPY", "EURGBP", "GBPJPY", "AUDNZD"),
  fc.constantFrom("buy" as const, "sell" as const),
  lots,
);
/**
 * A tick, and before it money that comes or goes, or is put aside from now on, in percent of the used margin at the
 * beginning.
 */
const move = fc.record({
  name: fc.constantFrom(...symbols),
  basis: fc.integer({ min: -150, max: 150 }),
  paid: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.integer({ min: -40, max: 60 })),
  aside: fc.option(fc.integer({ min: 0, max: 60 }), { freq: 6, nil: undefined }),
});
const moves = fc.array(move, { minLength: 5, maxLength: 40 });
const spread = fc.integer({ min: 0, max: 20 });

/** The market after a move of one symbol by so many hundredths of a percent. */
function moved(on: Market, name: string, basis: number, points20: number): Market {
  const digits = name.endsWith("JPY") ? 3 : 5;
  const before = on.quotes.get(name);
  const bid = rational(before?.bid ?? "1").mul(quotient(BigInt(10_000 + basis), 10_000n));
  const shown = decimalText(bid, digits);
  const ask = decimalText(rational(shown).add(quotient(BigInt(points20), 10n ** BigInt(digits))), digits);
  return { ...on, quotes: new Map([...on.quotes, [name, someQuote(name, [shown, ask])]]) };
}

function settle(account: TradingDesk, on: Market): void {
  for (let more = true; more; ) {
    const decision = evaluateMargin(account.state, on, account.trades, decisionContext());
    more = account.apply(decision).running;
  }
}

/** A change of the market by one tick of a symbol, and money that comes or goes before it, as in {@link move}. */
interface Tick {
  readonly name: string;
  readonly paid: number;
  readonly aside: number | undefined;
  readonly on: (market: Market) => Market;
}

/** Ticks, evaluations at them. */
type Counts = { ticks: number; evaluations: number };

/** Follows an account evaluated at every tick, and the same evaluated at triggers only, and expects no difference. */
function follow(start: TradingDesk, percent: number, steps: readonly Tick[], counts: Counts): void {
  const { leverage } = start.balance;
  const taken = [...start.positions.values()].reduce((sum, own) => sum + positionMargin(own, leverage), 0n);
  const funds = (taken * BigInt(percent)) / 100n;
  const always = copyOf(start, funds);
  const watched = copyOf(start, funds);
  let on = market;
  for (const account of [always, watched]) settle(account, on);
  let known = triggers(watched.state, watched.risk?.armed ?? true, on);
  const judge = () => {
    settle(watched, on);
    known = triggers(watched.state, watched.risk?.armed ?? true, on, known);
  };
  for (const { name, paid, aside, on: next } of steps) {
    if (paid !== 0 || aside !== undefined) {
      for (const account of [always, watched]) {
        pay(account, (taken * BigInt(paid)) / 100n);
        if (aside !== undefined) account.balance = { ...account.balance, aside_minor: (taken * BigInt(aside)) / 100n };
      }
      settle(always, on);
      judge();
    }
    on = next(on);
    settle(always, on);
    counts.ticks += 1;
    const trigger = known.get(name);
    const quote = on.quotes.get(name);
    if (trigger !== undefined && quote !== undefined && met(trigger, quote)) {
      counts.evaluations += 1;
      judge();
    }
    expect(watched.announced).toEqual(always.announced);
    expect(watched.balance.balance_minor).toBe(always.balance.balance_minor);
    expect(watched.risk?.margin_status).toBe(always.risk?.margin_status);
  }
}

const currencies = fc.constantFrom<Account["currency"]>("USD", "EUR", "JPY");
const modes = fc.constantFrom<Account["margin_calculation"]>("sum", "max", "net");

/** Positions that cover each other, wholly or in part, mostly those of one symbol alone. */
const hedged = fc
  .tuple(
    opening,
    fc.option(lots, { nil: undefined, freq: 2 }),
    fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, fc.array(opening, { maxLength: 3 })),
  )
  .map(([[name, side, size], other, others]): Opening[] => [
    [name, side, size],
    [name, side === "buy" ? "sell" : "buy", other ?? size],
    ...others,
  ]);
/** How far one side of a quote is from its middle, in points: near, and as far as one decision or several. */
const away = fc.oneof(...[20, 500, 2500].map((max) => fc.integer({ min: 0, max })));
const wideMove = fc.record({
  /** Place of the symbol in the account, or any: {@link move}. */
  at: fc.option(fc.nat(20), { freq: 4, nil: undefined }),
  below: away,
  above: away,
  middle: fc.integer({ min: -30, max: 30 }),
});

describe("an account that is evaluated only when a trigger is met", () => {
  it("has the same margin calls, stop-outs and money as one that is evaluated at every tick", () => {
    const counts = { ticks: 0, evaluations: 0 };
    fc.assert(
      fc.property(
        fc.array(opening, { minLength: 1, maxLength: 5 }),
        moves,
        spread,
        fc.integer({ min: 90, max: 400 }),
        currencies,
        (openings, steps, gap, percent, currency) => {
          const ticks = steps.map(({ name, basis, paid, aside }) => ({
            ...{ name, paid, aside },
            on: (before: Market) => moved(before, name, basis, gap),
          }));
          follow(desk("0.00", openings, { currency }), percent, ticks, counts);
        },
      ),
      { numRuns: 150 },
    );
    // It is worth it: most ticks need no evaluation.
    expect(counts.evaluations).toBeLessThan(counts.ticks / 2);
  });

  it("has them too where its positions cover each other and spreads widen and narrow with every tick", () => {
    const counts = { ticks: 0, evaluations: 0 };
    fc.assert(
      fc.property(
        hedged,
        fc.array(fc.tuple(move, wideMove), { minLength: 5, maxLength: 40 }),
        fc.integer({ min: 60, max: 250 }),
        currencies,
        modes,
        (openings, steps, percent, currency, margin_calculation) => {
          const ticks = steps.map(([{ name: any, paid, aside }, { at, ...wide }]) => {
            const name = (at === undefined ? undefined : openings[at % openings.length]?.[0]) ?? any;
            return { name, paid, aside, on: (before: Market) => widened(before, name, wide) };
          });
          follow(desk("0.00", openings, { currency, margin_calculation }), percent, ticks, counts);
        },
      ),
      { numRuns: 150 },
    );
    expect(counts.evaluations).toBeLessThan(counts.ticks / 2);
  });
});

/** The market after the middle of a quote moved by hundredths of a percent, each side so many points away from it. */
function widened(
  on: Market,
  name: string,
  { below, above, middle }: { readonly below: number; readonly above: number; readonly middle: number },
): Market {
  const digits = name.endsWith("JPY") ? 3 : 5;
  const before = on.quotes.get(name);
  const mid = rational(before?.bid ?? "1")
    .add(rational(before?.ask ?? "1"))
    .mul(quotient(BigInt(10_000 + middle), 20_000n));
  const side = (points20: number) => decimalText(mid.add(quotient(BigInt(points20), 10n ** BigInt(digits))), digits);
  return { ...on, quotes: new Map([...on.quotes, [name, someQuote(name, [side(-below), side(above)])]]) };
}

function pay(account: TradingDesk, minor: bigint): void {
  const { balance_minor, available_minor } = account.balance;
  account.balance = {
    ...account.balance,
    balance_minor: balance_minor + minor,
    available_minor: available_minor + minor,
  };
}

/** The same account again, with funds. */
function copyOf(start: TradingDesk, funds: bigint): TradingDesk {
  const { account } = start;
  const copy = new TradingDesk({
    account,
    balance: { ...start.balance, balance_minor: funds, available_minor: funds },
  });
  for (const [id, position] of start.positions) copy.positions.set(id, position);
  for (const [id, trade] of start.trades) copy.trades.set(id, trade);
  return copy;
}
