import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Order } from "../../shared/domain/records/order.ts";
import type { StoredRisk } from "../../shared/domain/records/risk.ts";
import type { TradingChange, TradingDecision } from "../../shared/domain/records/trading-change.ts";
import { closeTrade } from "../../shared/domain/trading/close-trade.ts";
import { metricsAt } from "../../shared/domain/trading/margin.ts";
import { exitReason, openAtMarket } from "../../shared/domain/trading/market-trade.ts";
import { fillOrder, placeOrder, triggerOf } from "../../shared/domain/trading/order.ts";
import { closePrice, triggerUnits } from "../../shared/domain/trading/pricing/quote.ts";
import { evaluated, withMarginUpdate } from "../../shared/domain/trading/watch.ts";
import { exposures, orders, positions } from "../../shared/table/entities.ts";
import { decisionContext } from "../support/builders/decisions.ts";
import { someMarket, someQuote, someSymbol, tradingAccount } from "../support/builders/trading.ts";
import { TradingDesk } from "../support/builders/trading-desk.ts";

/** Prices of the model are whole numbers of this many digits, which no symbol of it exceeds. */
const modelDigits = 8;
const unit = 10n ** BigInt(modelDigits);
const context = decisionContext();

/** A price of the model with the digits of the symbol, which it has no more than. */
function priceText(price: bigint, digits: number): string {
  const size = String(price < 0n ? -price : price).padStart(modelDigits + 1, "0");
  return `${price < 0n ? "-" : ""}${size.slice(0, -modelDigits)}.${size.slice(-modelDigits).slice(0, digits)}`;
}

function unitsOf(text: string): bigint {
  const [whole = "0", fraction = ""] = text.replace("-", "").split(".");
  const size = BigInt(whole + fraction.padEnd(modelDigits, "0"));
  return text.startsWith("-") ? -size : size;
}

/** A quotient of whole numbers, rounded half away from zero. */
function rounded(numerator: bigint, denominator: bigint): bigint {
  const size = numerator < 0n ? -numerator : numerator;
  const whole = (2n * size + denominator) / (2n * denominator);
  return numerator < 0n ? -whole : whole;
}

interface Held {
  readonly side: "buy" | "sell";
  /** Hundredths of a lot of 1,000 barrels. */
  readonly lots: bigint;
  readonly open: bigint;
}

/** The money of an account in whole cents, in the plainest way there is. */
class Plain {
  cents = 3_000_000n;
  readonly held = new Map<string, Held>();
  bid = 0n;
  ask = 0n;

  private profit({ side, lots, open }: Held): bigint {
    const move = side === "buy" ? this.bid - open : open - this.ask;
    return rounded(move * lots * 1000n, unit);
  }

  get equity(): bigint {
    return [...this.held.values()].reduce((sum, each) => sum + this.profit(each), this.cents);
  }

  /** A tenth of what the price at the opening is away from zero. */
  get margin(): bigint {
    const size = ({ open }: Held) => (open < 0n ? -open : open);
    return [...this.held.values()].reduce((sum, each) => sum + rounded(size(each) * each.lots * 100n, unit), 0n);
  }

  get status(): string {
    const [equity, used] = [this.equity, this.margin];
    if (used === 0n) return this.held.size > 0 && equity <= 0n ? "stop_out" : "normal";
    if (equity * 100n <= 50n * used) return "stop_out";
    return equity * 100n <= 100n * used ? "margin_call" : "normal";
  }

  close(id: string): void {
    const held = this.held.get(id);
    if (held === undefined) throw new Error(`${id} is not open.`);
    this.cents += this.profit(held);
    this.held.delete(id);
  }

  reaches({ type, side, price }: Pick<Order, "type" | "side" | "price">): boolean {
    const [now, wanted] = [side === "buy" ? this.ask : this.bid, unitsOf(price ?? "0")];
    return (type === "limit") === (side === "buy") ? now <= wanted : now >= wanted;
  }
}

const step = fc.record({
  grows: fc.integer({ min: 0, max: 7 }).map((one) => one === 0),
  /** How far the price is from its way, in tenths of a dollar and in its last digits. */
  tenths: fc.integer({ min: -25, max: 25 }),
  last: fc.nat({ max: 99 }),
  what: fc.constantFrom("open", "open", "limit", "stop", "close", "nothing"),
  side: fc.constantFrom("buy" as const, "sell" as const),
  lots: fc.integer({ min: 1, max: 150 }),
  /** Of the stops of a position, or of an order from the price, in tenths of a dollar; no stop for 0. */
  away: fc.constantFrom(0, 1, 7, 30, 90),
});
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** An account, the index that wakes it, and the plain model of its money. */
class Walk {
  readonly desk = new TradingDesk(
    tradingAccount("30000.00", {
      ...{ margin_calculation: "sum", stop_out_mode: "full", negative_balance_protection: false },
      ...{ margin_call_level: "100.00", stop_out_level: "50.00", margin_rearm_level: "110.00" },
    }),
  );
  readonly plain = new Plain();
  readonly entries = new Map<string, string>();
  readonly seen = new Set<string>();
  digits = 2;
  market = this.quoted();

  private quoted() {
    const { digits, plain } = this;
    const symbol = someSymbol("WTI", {
      ...{ asset_class: "commodity", calc_mode: "cfd", base_currency: "USD", quote_currency: "USD", max_leverage: 10 },
      ...{ contract_size: "1000", digits, point: `0.${"0".repeat(digits - 1)}1` },
    });
    const prices = [priceText(plain.bid, digits), priceText(plain.ask, digits)] as const;
    const market = someMarket({}, [symbol]);
    return { ...market, quotes: new Map([["WTI", someQuote("WTI", prices)]]) };
  }

  private get quote() {
    const quote = this.market.quotes.get("WTI");
    if (quote === undefined) throw new Error("There is no price.");
    return quote;
  }

  private get state() {
    return { ...this.desk.state, risk: this.desk.risk as StoredRisk | undefined };
  }

  /** Applies a decision with its entries of the index, by the keys that they have in the table. */
  private apply<R>(decision: TradingDecision<R>): R {
    if (!decision.ok) throw new Error(JSON.stringify(decision.refusal));
    const isEntry = (change: TradingChange) => change.op === "expose" || change.op === "hide";
    for (const change of decision.changes) {
      if (change.op !== "expose" && change.op !== "hide") continue;
      const { pk, sk } = exposures.keyOf(change.entry as never);
      if (change.op === "expose") this.entries.set(`${pk} ${sk}`, sk);
      else this.entries.delete(`${pk} ${sk}`);
    }
    return this.desk.apply({ ...decision, changes: decision.changes.filter((change) => !isEntry(change)) });
  }

  private commit<R>(decision: TradingDecision<R>): R {
    return this.apply(withMarginUpdate(this.state, decision, this.market, context));
  }

  /** The price moves: what it meets is found by the keys of the index alone, and happens. */
  tick(price: bigint, { grows, last }: Pick<Step, "grows" | "last">): void {
    if (grows && this.digits < modelDigits) this.digits += 1;
    const point = 10n ** BigInt(modelDigits - this.digits);
    this.plain.bid = (price / point) * point + BigInt(last) * point;
    this.plain.ask = this.plain.bid + 3n * point;
    this.market = this.quoted();
    this.seen.add(this.plain.bid < 0n ? "below zero" : "above zero");
    this.exits();
    this.fills();
    this.wakes();
    this.judge();
  }

  private exits(): void {
    for (const position of [...this.desk.positions.values()]) {
      const { client_pk: partition, facets } = positions.indexesOf(position);
      const waits = partition === positions.withStops(position.tenant_id, "WTI");
      const reason = waits ? exitReason(facets as never, this.quote) : undefined;
      const { side, stop_loss, take_profit, trade_id } = position;
      const now = side === "buy" ? this.plain.bid : this.plain.ask;
      const [falls, rises] = side === "buy" ? [stop_loss, take_profit] : [take_profit, stop_loss];
      const met = (falls !== null && now <= unitsOf(falls)) || (rises !== null && now >= unitsOf(rises));
      expect(reason !== undefined).toBe(met);
      if (reason === undefined) continue;
      this.seen.add(reason);
      this.close(trade_id, reason);
    }
  }

  private close(tradeId: string, reason: "client" | "stop_loss" | "take_profit"): void {
    const open = this.desk.open([...this.desk.positions.values()].find((one) => one.trade_id === tradeId)?.id ?? "");
    const closing = { price: closePrice(this.quote, open.position.side), reason };
    this.commit(closeTrade(this.desk.state, open, this.market, closing, context));
    this.plain.close(tradeId);
  }

  private fills(): void {
    const pending = [...this.desk.orders.values()].filter(({ status }) => status === "pending");
    for (const order of pending) {
      const { state_pk, state_sk = "" } = orders.indexesOf(order);
      const at = orders.waitingAt(order.side === "buy" ? this.quote.ask : this.quote.bid);
      const falls = orders.waiting(order.tenant_id, "WTI", order.side, "dn") === state_pk;
      const found = falls ? state_sk >= at : state_sk <= `${at}~`;
      expect([found, triggerOf(order, this.quote) === "fill"]).toEqual(Array(2).fill(this.plain.reaches(order)));
      if (!found) continue;
      const decision = fillOrder(this.desk.state, order, this.market, context);
      // A liquidation leaves it pending.
      if (!decision.ok) continue;
      const { executed } = this.commit(decision);
      this.seen.add(executed === undefined ? "rejected" : "filled");
      this.hold(executed?.trade);
    }
  }

  private hold(trade: { readonly id: string; readonly side: "buy" | "sell"; readonly lots: string } | undefined): void {
    if (trade === undefined) return;
    const { id, side, lots } = trade;
    const open = side === "buy" ? this.plain.ask : this.plain.bid;
    this.plain.held.set(id, { side, lots: unitsOf(lots) / 10n ** 6n, open });
  }

  private wakes(): void {
    const [bid, ask] = [this.quote.bid, this.quote.ask].map(triggerUnits) as [bigint, bigint];
    const met = [...this.entries].filter(([key, sort]) =>
      key.includes("|dn|") ? sort >= exposures.sortOf(bid) : sort <= exposures.sortOf(ask + 1n),
    );
    if (met.length === 0) {
      const risk = this.desk.risk as StoredRisk | undefined;
      // Nothing that a price changes was missed.
      expect(this.plain.held.size === 0 ? "normal" : this.plain.status).toBe(risk?.margin_status ?? "normal");
      this.seen.add("passed by");
      return;
    }
    this.seen.add("woken");
    for (let again = true; again; ) {
      const result = this.apply(evaluated(this.state, this.market, this.desk.trades, context));
      for (const { id, position_id } of result.closed) {
        expect(position_id).not.toBeUndefined();
        this.seen.add("stop-out");
        this.plain.close(id);
      }
      again = result.again;
    }
  }

  /** The money of the account is that of the model, and what its index waits for follows from the newest price. */
  private judge(): void {
    const { equity_minor, used_margin_minor } = metricsAt(this.market, this.desk.state, context.now);
    const { plain, desk } = this;
    expect([equity_minor, used_margin_minor, desk.balance.balance_minor, desk.balance.used_margin_minor]).toEqual([
      ...[plain.equity, plain.margin, plain.cents, plain.margin],
    ]);
    if (plain.held.size > 0) expect(desk.risk?.margin_status).toBe(plain.status);
  }

  act({ what, side, lots, away }: Step): void {
    const { desk, plain, market, digits } = this;
    this.refill();
    const far = (BigInt(away) * unit) / 10n;
    const size = `${Math.floor(lots / 100)}.${String(lots % 100).padStart(2, "0")}`;
    const [down, up] = [plain.bid - far, plain.ask + far].map((price) => priceText(price, digits));
    const [lost, won] = side === "buy" ? [down, up] : [up, down];
    if (what === "open") {
      const stops = away === 0 ? {} : { stop_loss: lost ?? null, take_profit: won ?? null };
      const decision = openAtMarket(desk.state, market, { symbol: "WTI", side, lots: size, ...stops }, context);
      if (decision.ok) this.hold(this.commit(decision).trade);
      else this.seen.add(decision.refusal.code);
    } else if (what === "limit" || what === "stop") {
      const price = (what === "limit") === (side === "buy") ? down : up;
      const request = { symbol: "WTI", side, type: what, lots: size, price: price ?? null };
      const decision = placeOrder(desk.state, market, request, context);
      if (decision.ok) this.apply(decision);
    } else if (what === "close") {
      const [id] = plain.held.keys();
      if (id !== undefined) this.close(id, "client");
    }
    this.judge();
  }

  /** An account that has lost its money gets as much again. */
  private refill(): void {
    if (this.plain.held.size > 0 || this.plain.cents > 500_000n) return;
    const more = 3_000_000n - this.plain.cents;
    const { balance } = this.desk;
    this.plain.cents += more;
    this.desk.balance = {
      ...balance,
      balance_minor: balance.balance_minor + more,
      available_minor: balance.available_minor + more,
    };
  }
}

/** From 25.00 down to -40.00 and back. */
function wayAt(place: number, steps: number): bigint {
  const part = Math.abs(1 - (2 * place) / Math.max(1, steps - 1));
  return (BigInt(Math.round(part * 650)) * unit) / 10n - 40n * unit;
}

describe("an account whose symbol falls through zero and rises again, while its digits grow", () => {
  it("misses no price that it waits for, is not met by another, and has the money of a plain model", () => {
    const seen = new Set<string>();
    fc.assert(
      fc.property(fc.array(step, { minLength: 20, maxLength: 60, size: "max" }), (program) => {
        const walk = new Walk();
        for (const [place, each] of program.entries()) {
          walk.tick(wayAt(place, program.length) + (BigInt(each.tenths) * unit) / 10n, each);
          walk.act(each);
        }
        for (const each of walk.seen) seen.add(each);
      }),
      { numRuns: Number(process.env["WALK_RUNS"] ?? 150), seed: Number(process.env["WALK_SEED"] ?? 1) },
    );
    expect([...seen].toSorted()).toEqual([
      ...[
        "above zero",
        "below zero",
        "filled",
        "insufficient_margin",
        "passed by",
        "rejected",
        "stop-out",
        "stop_loss",
      ],
      ...["take_profit", "woken"],
    ]);
  });
});
