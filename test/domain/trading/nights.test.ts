import Fraction from "fraction.js";
import { describe, expect, it } from "vitest";
import type { Account } from "../../../shared/domain/records/account.ts";
import type { StoredRisk } from "../../../shared/domain/records/risk.ts";
import type { TradingSymbol } from "../../../shared/domain/records/symbol.ts";
import type { TradingDecision } from "../../../shared/domain/records/trading-change.ts";
import { closeTrade } from "../../../shared/domain/trading/close-trade.ts";
import {
  accrueNights,
  accruing,
  nextNightAt,
  nightsDue,
  onStoredTrades,
  rolloverName,
  rolloversNeeded,
  tradesWithNights,
  withNights,
} from "../../../shared/domain/trading/nights/accrue.ts";
import { lastRollover, rolloverMs } from "../../../shared/domain/trading/nights/clock.ts";
import { draftRollover, type Rollover } from "../../../shared/domain/trading/nights/rollover.ts";
import { executeTrade } from "../../../shared/domain/trading/open-trade.ts";
import type { Market } from "../../../shared/domain/trading/pricing/quote.ts";
import { isZone } from "../../../shared/domain/trading/pricing/zone-clock.ts";
import { withMarginUpdate } from "../../../shared/domain/trading/watch.ts";
import { decisionContext } from "../../support/builders/decisions.ts";
import { someMarket, someSymbol, tradingAccount, usd } from "../../support/builders/trading.ts";
import { TradingDesk } from "../../support/builders/trading-desk.ts";

const newYork = { triple_day: "wednesday", rollover_time: "17:00", rollover_zone: "America/New_York" } as const;
const euro = someSymbol("EURUSD", { swap: { type: "points", long: "-6.2", short: "1.1", ...newYork } });
const yen = someSymbol("USDJPY", { swap: { type: "points", long: "-12.5", short: "3.1", ...newYork } });

const symbolWith = (swap: Partial<TradingSymbol["swap"]>) => ({ swap: { ...euro.swap, ...swap } });
const iso = (ms: number) => new Date(ms).toISOString();

/** The market of a moment: the mid of USDJPY is another one each hour. */
function marketAt(now: string): Market {
  const mid = midAt(now);
  return someMarket({ USDJPY: [`${mid}.000`, `${mid}.000`] }, [euro, yen]);
}

function midAt(now: string): number {
  return 120 + (Math.floor(Date.parse(now) / 3_600_000) % 60);
}

describe("the moment of a rollover", () => {
  it.each([
    ["2026-03-07", "17:00", "America/New_York", "2026-03-07T22:00:00.000Z"],
    ["2026-03-08", "17:00", "America/New_York", "2026-03-08T21:00:00.000Z"],
    ["2026-11-01", "17:00", "America/New_York", "2026-11-01T22:00:00.000Z"],
    ["2026-03-29", "23:00", "Europe/Athens", "2026-03-29T20:00:00.000Z"],
    ["2026-06-01", "00:00", "Asia/Tokyo", "2026-05-31T15:00:00.000Z"],
    ["2026-06-01", "24:00", undefined, "2026-06-02T00:00:00.000Z"],
  ])("of %s at %s in %s is %s", (date, rollover_time, rollover_zone, at) => {
    const zone = rollover_zone === undefined ? {} : { rollover_zone };
    const {
      swap: { rollover_zone: _zone, ...swap },
    } = euro;
    expect(iso(rolloverMs({ swap: { ...swap, rollover_time, ...zone } }, date))).toBe(at);
  });

  it("is later where summer time leaves it out, and the first of two where it comes twice", () => {
    expect(iso(rolloverMs(symbolWith({ rollover_time: "02:30" }), "2026-03-08"))).toBe("2026-03-08T07:30:00.000Z");
    expect(iso(rolloverMs(symbolWith({ rollover_time: "01:30" }), "2026-11-01"))).toBe("2026-11-01T05:30:00.000Z");
  });

  it("belongs to the last day whose moment has come", () => {
    const at = Date.parse("2026-03-08T21:00:00.000Z");
    expect([at - 1, at, at + 1].map((ms) => lastRollover(euro, iso(ms)))).toEqual([
      "2026-03-07",
      "2026-03-08",
      "2026-03-08",
    ]);
    const ahead = symbolWith({ rollover_zone: "Pacific/Kiritimati", rollover_time: "00:00" });
    expect(lastRollover(ahead, "2026-06-01T10:00:00.000Z")).toBe("2026-06-02");
    const behind = symbolWith({ rollover_zone: "Pacific/Niue", rollover_time: "24:00" });
    expect(lastRollover(behind, "2026-06-01T10:59:59.000Z")).toBe("2026-05-30");
    expect([isZone("Europe/Lisbon"), isZone("Europe/Nowhere"), isZone("")]).toEqual([true, false, false]);
  });
});

/** An account whose decisions see and store nights as the data layer does it, the exposure index left out. */
class NightDesk {
  readonly desk: TradingDesk;
  readonly rollovers = new Map<string, Rollover>();

  constructor(fields: Partial<Account> = {}) {
    this.desk = new TradingDesk(tradingAccount("90000000.00", { type: "demo", ...fields }));
  }

  private at(now: string) {
    const market = marketAt(now);
    const context = decisionContext({ now });
    const { account } = this.desk;
    const read = { ...this.desk.state, risk: this.desk.risk as StoredRisk | undefined };
    for (const night of rolloversNeeded(account, read.positions, market, now)) {
      const symbol = market.symbols.get(night.symbol) as TradingSymbol;
      const rollover = this.rollovers.get(rolloverName(night)) ?? draftRollover(market, symbol, night, context);
      if (rollover !== undefined) this.rollovers.set(rolloverName(night), rollover);
    }
    const state = withNights(read, market, this.rollovers, now);
    const seen = { ...state, trades: tradesWithNights(state.trades, state.positions) };
    const apply = <R>(decision: TradingDecision<R>): R => {
      const whole = withMarginUpdate(state, onStoredTrades(decision, state.trades), market, context);
      if (!whole.ok) throw new Error(whole.refusal.code);
      return this.desk.apply({ ...whole, changes: whole.changes.filter(({ op }) => op !== "expose" && op !== "hide") });
    };
    return { market, context, state, seen, apply };
  }

  open(now: string, symbol: string, side: "buy" | "sell", lots: string) {
    const { seen, market, context, apply } = this.at(now);
    const price = market.quotes.get(symbol)?.bid ?? "1";
    const { trade } = apply(executeTrade(seen, market, { symbol, side, lots, price, source: "internal" }, context));
    if (trade === undefined) throw new Error("Nothing was opened.");
    return trade.id;
  }

  close(now: string, tradeId: string, lots?: string) {
    const { seen, market, context, apply } = this.at(now);
    const position = seen.positions.find(({ trade_id }) => trade_id === tradeId);
    const trade = seen.trades.get(tradeId);
    if (position === undefined || trade === undefined) throw new Error("There is no such position.");
    const price = market.quotes.get(position.symbol)?.bid ?? "1";
    const closing = { price, reason: "client", ...(lots === undefined ? {} : { lots }) } as const;
    return apply(closeTrade(seen, { position, trade }, market, closing, context));
  }

  /** Runs so many steps of so many positions each; returns whether anything is left. */
  accrue(now: string, steps = Number.POSITIVE_INFINITY, most = 7): boolean {
    for (let step = 0; step < steps; step += 1) {
      const { state, context, apply } = this.at(now);
      const due = accruing(state).slice(0, most);
      if (due.length === 0) return false;
      apply(accrueNights(state, due, state.trades, context));
    }
    return accruing(this.at(now).state).length > 0;
  }

  /** Swap of a trade and its slices, booked and accrued. */
  swapOf(tradeId: string): bigint {
    const family = [...this.desk.trades.values()].filter(
      ({ id, parent_trade_id: parent }) => (parent ?? id) === tradeId,
    );
    return family.reduce((sum, { swap_minor }) => sum + swap_minor, 0n);
  }
}

describe("a month of nights over the change to summer time", () => {
  const weekdays = [0, 1, 1, 3, 1, 1, 0];
  /** The nights of March in New York, by a table of its own: 22:00 UTC, and 21:00 from the 8th on. */
  const nights = Array.from({ length: 31 }, (_, day) => {
    const at = Date.UTC(2026, 2, day + 1, day + 1 < 8 ? 22 : 21);
    return { date: iso(Date.UTC(2026, 2, day + 1)).slice(0, 10), at, count: weekdays[new Date(at).getUTCDay()] ?? 0 };
  });
  const momentOf = (night: number, delta: number) => (nights[night]?.at ?? 0) + delta;
  const deltas = [-1000, 0, 1000, -7_200_000, 30_000_000];

  /** When each of fifty positions is opened, closed by a part, and closed: many within a second of a rollover. */
  const plans = Array.from({ length: 50 }, (_, place) => {
    const first = place % 20;
    const last = first + 1 + ((place * 7) % 11);
    return {
      symbol: place % 3 === 0 ? "USDJPY" : "EURUSD",
      side: place % 4 === 0 ? ("sell" as const) : ("buy" as const),
      opened: momentOf(first, deltas[place % 5] ?? 0),
      reduced: momentOf(first + 1 + (place % 3), deltas[(place + 1) % 5] ?? 0),
      closed: place % 10 === 9 ? undefined : momentOf(last, deltas[(place * 3) % 5] ?? 0),
    };
  });

  /** The swap of one night by exact fractions. */
  function swapOf({ symbol, side }: (typeof plans)[number], lots: number, count: number, madeAt: string): bigint {
    const [points, unit, mid] =
      symbol === "EURUSD"
        ? [side === "buy" ? "-6.2" : "1.1", "0.00001", 1]
        : [side === "buy" ? "-12.5" : "3.1", "0.001", midAt(madeAt)];
    const exact = new Fraction(points).mul(unit).mul(100_000).mul(lots).mul(count).div(mid).mul(100);
    const rounded = exact.abs().add("0.5").floor();
    return BigInt(exact.compare(0) < 0 ? rounded.neg().toString() : rounded.toString());
  }

  it("charges each position each night once, however runs die and whatever is closed in between", () => {
    const account = new NightDesk();
    const ids = new Map<number, string>();
    const acts = plans.flatMap((plan, place) => [
      { at: plan.opened, run: (now: string) => ids.set(place, account.open(now, plan.symbol, plan.side, "0.30")) },
      ...(plan.closed !== undefined && plan.reduced >= plan.closed
        ? []
        : plan.reduced <= plan.opened
          ? []
          : [{ at: plan.reduced, run: (now: string) => account.close(now, ids.get(place) ?? "", "0.10") }]),
      ...(plan.closed === undefined
        ? []
        : [{ at: plan.closed, run: (now: string) => account.close(now, ids.get(place) ?? "") }]),
    ]);
    // A run dies after any number of its steps, is missing on every sixth night, and comes again ten minutes later.
    const runs = nights.flatMap(({ at }, night) =>
      night % 6 === 5
        ? []
        : [
            { at: at + 500, run: (now: string) => account.accrue(now, night % 5) },
            { at: at + 600_000, run: (now: string) => account.accrue(now, night % 4 === 3 ? 1 : 99) },
          ],
    );
    for (const { at, run } of [...acts, ...runs].toSorted((one, other) => one.at - other.at)) run(iso(at));
    const end = momentOf(30, 3_600_000);
    expect(account.accrue(iso(end))).toBe(false);
    const wanted = plans.map((plan) => {
      const { opened, reduced, closed = end } = plan;
      return nights.reduce((sum, { at, count, date }) => {
        if (count === 0 || at <= opened || at > closed) return sum;
        const lots = reduced > opened && reduced < closed && reduced < at ? 0.2 : 0.3;
        const made = account.rollovers.get(rolloverName({ symbol: plan.symbol, date, currency: "USD" }));
        return sum + swapOf(plan, lots, count, made?.created_at ?? "");
      }, 0n);
    });
    expect(plans.map((_, place) => account.swapOf(ids.get(place) ?? ""))).toEqual(wanted);
    const booked = account.desk.ledger.filter(({ kind }) => kind === "swap");
    const open = [...account.desk.positions.values()].reduce((sum, { swap_minor }) => sum + swap_minor, 0n);
    const total = booked.reduce((sum, { amount_minor }) => sum + amount_minor, open);
    expect(total).toBe(wanted.reduce((sum, each) => sum + each, 0n));
    expect(new Set([...account.rollovers.values()].map(({ date, nights: count }) => [date, count].join()))).toEqual(
      new Set(nights.filter(({ count }) => count > 0).map(({ date, count }) => [date, count].join())),
    );
  });
});

describe("a night", () => {
  const night = "2026-03-10T21:00:00.000Z";
  const [before, after] = ["2026-03-10T20:59:59.000Z", "2026-03-10T21:00:01.000Z"];

  it("is charged by a close a second after it: a close does not escape, and one a second before pays nothing", () => {
    const account = new NightDesk();
    const [early, late, atOnce] = [0, 1, 2].map(() =>
      account.open("2026-03-10T12:00:00.000Z", "EURUSD", "buy", "1.00"),
    );
    account.close(before, early ?? "");
    account.close(after, late ?? "");
    account.close(night, atOnce ?? "");
    expect([early, late, atOnce].map((id) => account.swapOf(id ?? ""))).toEqual([0n, usd("-6.20"), usd("-6.20")]);
    const booked = account.desk.ledger.filter(({ kind }) => kind === "swap");
    expect(booked.map(({ amount_minor }) => amount_minor)).toEqual([usd("-6.20"), usd("-6.20")]);
  });

  it("is not charged of a position that was opened at its moment or after it", () => {
    const account = new NightDesk();
    const ids = [before, night, after].map((at) => account.open(at, "EURUSD", "buy", "1.00"));
    account.accrue("2026-03-10T22:00:00.000Z");
    expect(ids.map((id) => account.swapOf(id))).toEqual([usd("-6.20"), 0n, 0n]);
  });

  it("counts the lots that were there: netting raises a position after its due nights", () => {
    const account = new NightDesk({ position_mode: "netting", margin_calculation: "net" });
    const id = account.open("2026-03-10T12:00:00.000Z", "EURUSD", "buy", "1.00");
    account.open(after, "EURUSD", "buy", "9.00");
    expect(account.swapOf(id)).toBe(usd("-6.20"));
    expect(account.desk.open()).toMatchObject({ position: { swap_minor: -620n, lots: "10.00" } });
    account.accrue("2026-03-11T21:30:00.000Z");
    expect(account.swapOf(id)).toBe(usd("-6.20") + usd("-186.00"));
  });

  it("is nothing on an account without swap, and does not come due when the account gets swap later", () => {
    const account = new NightDesk({ swap_free: true });
    const id = account.open("2026-03-10T12:00:00.000Z", "EURUSD", "buy", "1.00");
    account.accrue(after);
    expect(account.rollovers.size).toBe(0);
    account.desk.account = { ...account.desk.account, swap_free: false };
    account.accrue("2026-03-10T23:00:00.000Z");
    expect(account.swapOf(id)).toBe(0n);
  });

  it("is not due of the platform's positions, nor before a symbol got swap", () => {
    const account = new NightDesk();
    account.open("2026-03-10T12:00:00.000Z", "EURUSD", "buy", "1.00");
    const { position } = account.desk.open();
    expect(nightsDue(euro, position, after)).toEqual(["2026-03-10"]);
    const { swap_through: _through, ...platforms } = { ...position, source: "mt5:live-1" };
    expect(nightsDue(euro, platforms, after)).toEqual([]);
    const none = { ...euro, swap: { ...euro.swap, type: "none" as const } };
    expect(nightsDue(none, position, after)).toEqual([]);
    expect(nightsDue({ ...euro, swap_since: after }, position, "2026-03-12T22:00:00.000Z")).toEqual([
      "2026-03-11",
      "2026-03-12",
    ]);
    const { swap_through: _day, ...old } = position;
    expect(nightsDue(euro, old, "2026-03-12T22:00:00.000Z")).toEqual(["2026-03-12"]);
  });

  it("that cannot be converted stays due and is charged when it can, in the order of the nights", () => {
    const account = new NightDesk();
    account.open("2026-03-10T12:00:00.000Z", "USDJPY", "buy", "1.00");
    const blind = someMarket({ USDJPY: undefined }, [euro, yen]);
    const state = account.desk.state;
    const wanted = rolloversNeeded(state.account, state.positions, blind, after);
    const drafts = wanted.map((each) => draftRollover(blind, yen, each, decisionContext({ now: after })));
    expect([wanted.length, drafts]).toEqual([1, [undefined]]);
    expect(withNights(state, blind, new Map(), after)).toBe(state);
    expect(nextNightAt(state.positions, blind, after)).toBe(night);
    account.accrue("2026-03-10T22:00:00.000Z");
    expect(nextNightAt([...account.desk.positions.values()], blind, "2026-03-10T22:00:00.000Z")).toBe(
      "2026-03-11T21:00:00.000Z",
    );
  });

  it("wakes its account when it is due, over a weekend too", () => {
    const account = new NightDesk();
    account.open("2026-03-13T12:00:00.000Z", "EURUSD", "buy", "1.00");
    const risk = () => (account.desk.risk as StoredRisk).swap_at;
    expect(risk()).toBe("2026-03-13T21:00:00.000Z");
    account.accrue("2026-03-13T21:00:00.000Z");
    expect(risk()).toBe("2026-03-16T21:00:00.000Z");
    account.close("2026-03-15T12:00:00.000Z", account.desk.open().trade.id);
    expect(risk()).toBeUndefined();
  });
});
