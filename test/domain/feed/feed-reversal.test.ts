import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { accrueDeal, closeDeal, openDeal } from "../../../shared/domain/feed/deals.ts";
import { reverseDeal } from "../../../shared/domain/feed/reversal.ts";
import { settledSince } from "../../../shared/domain/feed/reversal-repayment.ts";
import { type DealUndo, undoOf } from "../../../shared/domain/feed/undo.ts";
import type { Account } from "../../../shared/domain/records/account.ts";
import type { Balance } from "../../../shared/domain/records/balance.ts";
import type { Trade } from "../../../shared/domain/records/trade.ts";
import type { TradingDecision } from "../../../shared/domain/records/trading-change.ts";
import type { Market } from "../../../shared/domain/trading/pricing/quote.ts";
import { someMarket, someSymbol, tradingAccount } from "../../support/builders/trading.ts";
import { TradingDesk } from "../../support/builders/trading-desk.ts";
import { context, type Opening, opening, origin, text } from "../feed-cases.ts";

const commission = { type: "per_lot", amount: "3.50", currency: "USD" } as const;
const market = someMarket(undefined, [someSymbol("EURUSD", { commission })]);
/** This service decides for the account: what a loss took below zero is corrected. */
const deciding = {
  ...market,
  sources: new Map([[origin.source.name, { authoritative: "service" }]]),
} as never as Market;
const poor = { balance_minor: 20_00n, available_minor: 20_00n, credit_minor: 15_00n };
const netting = { position_mode: "netting", margin_calculation: "net" } as const;

/** A platform's deals on one account, each of which can be taken back by its name. */
class Platform {
  readonly desk: TradingDesk;
  readonly undos = new Map<string, DealUndo>();
  private readonly trades = new Map<string, string>();

  private readonly market: Market;

  constructor(fields: Partial<Account> = {}, money?: Partial<Balance>) {
    this.desk = new TradingDesk(tradingAccount("1000000.00", fields, money));
    this.market = money === undefined ? market : deciding;
  }

  private linksOf(position: string) {
    return { trade: this.desk.trades.get(this.trades.get(position) ?? ""), order_id: null };
  }

  private apply(deal: string, decision: TradingDecision<Trade | undefined>) {
    if (decision.ok) this.undos.set(deal, JSON.parse(JSON.stringify(undoOf(decision.changes))));
    return this.desk.apply(decision);
  }

  open(deal: string, position: string, more: Partial<Opening> = {}) {
    const data = opening({ deal_id: deal, position_id: position, ...more });
    const trade = this.apply(
      deal,
      openDeal(this.desk.state, this.market, data, this.linksOf(position), origin, context),
    );
    if (trade !== undefined) this.trades.set(position, trade.id);
  }

  close(deal: string, position: string, more: object = {}) {
    const data = { action: "close", deal_id: deal, position_id: position, price: "1.10350", ...more } as const;
    this.apply(deal, closeDeal(this.desk.state, this.market, data, this.linksOf(position), origin, context));
  }

  accrue(position: string, amount: string) {
    const data = { position_id: position, amount, for_date: "2026-11-20" };
    this.desk.apply(accrueDeal(this.desk.state, data, this.linksOf(position), origin, context));
  }

  decide(deal: string) {
    const undo = this.undos.get(deal);
    const first = undo && settledSince(undo, this.desk.balance);
    const since = first === undefined ? undefined : this.desk.ledger.filter(({ balance_version: at }) => at >= first);
    return reverseDeal(this.desk.state, this.market, { undo, since }, origin, context);
  }

  takeBack(deal: string) {
    const decision = this.decide(deal);
    const trade = this.desk.apply(decision);
    const claims = decision.ok
      ? decision.changes.flatMap((change) => (change.op === "claim" ? [change.owner] : []))
      : [];
    const position = trade?.source_trade_id ?? "";
    if (claims[0] !== undefined) this.trades.set(position, claims[0]);
    this.undos.delete(deal);
    return claims;
  }

  /** Everything but versions and times, and trades that are nothing but taken back. */
  get standing() {
    const { balance, positions, trades } = this.desk;
    const plain = ({ version: _v, updated_at: _u, ...item }: Record<string, unknown>) => item;
    return {
      ...{ balance: balance.balance_minor, credit: balance.credit_minor, debt: balance.debt_minor ?? 0n },
      used: balance.used_margin_minor,
      positions: [...positions.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1)).map((one) => plain({ ...one })),
      trades: [...trades.values()]
        .filter(({ close_reason: why }) => why !== "reversed")
        .map((one) => plain({ ...one })),
    };
  }
}

describe("a deal that a platform takes back", () => {
  it("leaves everything as it was before it, whatever the deals were, the last one first", () => {
    const act = fc.record({
      sell: fc.boolean(),
      lots: fc.integer({ min: 1, max: 300 }),
      close: fc.boolean(),
      part: fc.integer({ min: 1, max: 99 }),
      cents: fc.option(fc.integer({ min: -99999, max: 9999 })),
      cost: fc.option(fc.integer({ min: 0, max: 999 })),
    });
    const program = fc.tuple(
      fc.record({ nets: fc.boolean(), corrected: fc.boolean() }),
      fc.array(act, { minLength: 1, maxLength: 8 }),
      fc.nat({ max: 8 }),
    );
    let corrections = 0;
    fc.assert(
      fc.property(program, ([{ nets, corrected }, acts, kept]) => {
        const platform = new Platform(nets ? netting : {}, corrected ? poor : undefined);
        const begin = platform.standing.balance;
        const before = [platform.standing];
        for (const [place, { sell, lots, close, part, cents, cost }] of acts.entries()) {
          const [held] = platform.desk.positions.values();
          const money = cost === null ? {} : { commission: text(-cost) };
          const deal = `D-${place}`;
          if (close && held !== undefined) {
            const hundredths = Math.round(Number(held.lots) * 100);
            const some = part < 50 ? {} : { lots: text(Math.max(1, Math.floor((hundredths * part) / 100))) };
            const name = nets ? "N-1" : String(held.source_position_id);
            const profit = cents === null ? {} : { profit: text(cents), swap: "0" };
            platform.close(deal, name, { ...some, ...profit, ...money });
          } else {
            const name = nets ? "N-1" : `P-${place}`;
            platform.open(deal, name, { side: sell ? "sell" : "buy", lots: text(lots), price: "1.1", ...money });
          }
          before.push(platform.standing);
        }
        for (let place = acts.length - 1; place >= Math.min(kept, acts.length - 1); place -= 1) {
          platform.takeBack(`D-${place}`);
          expect(platform.standing).toEqual(before[place]);
        }
        const { ledger, balance } = platform.desk;
        const booked = ledger.filter(({ moves }) => moves !== "credit");
        const sum = booked.reduce((total, { amount_minor }) => total + amount_minor, begin);
        corrections += ledger.filter(({ settlement }) => settlement === "correction").length;
        expect(sum).toBe(balance.balance_minor);
      }),
      { numRuns: 200, seed: 1 },
    );
    expect(corrections).toBeGreaterThan(20);
  });

  it("gives back what its loss made this service correct, and the credit that it spent", () => {
    const platform = new Platform({}, poor);
    platform.open("D-1", "P-1", { commission: "0" });
    const before = platform.standing;
    platform.close("D-2", "P-1", { profit: "-300.00", commission: "0" });
    expect(platform.standing).toMatchObject({ balance: 0n, credit: 0n });
    platform.takeBack("D-2");
    expect(platform.standing).toEqual(before);
    expect(platform.desk.ledger.slice(-4).map(({ kind, amount_minor }) => [kind, amount_minor])).toEqual([
      ["realised_pnl", 300_00n],
      ["credit_in", -15_00n],
      ["negative_balance_correction", -265_00n],
      ["credit_in", 15_00n],
    ]);
    platform.close("D-3", "P-1", { profit: "-30.00", commission: "0" });
    expect(platform.standing).toMatchObject({ balance: 0n, credit: 5_00n });
  });

  it("opens a position again with its swap, margin, stops and commission, and books its money back", () => {
    const platform = new Platform();
    platform.open("D-1", "P-1", { stop_loss: "1.09000", margin_rate: "1.2" });
    platform.accrue("P-1", "-6.20");
    const before = platform.standing;
    platform.close("D-2", "P-1", { profit: "340.00", commission: "-3.50", swap: "-6.20" });
    platform.takeBack("D-2");
    expect(platform.standing).toEqual(before);
    const kinds = platform.desk.ledger.slice(-3).map(({ kind, amount_minor }) => [kind, amount_minor]);
    expect(kinds).toEqual([
      ["realised_pnl", -340_00n],
      ["swap", 6_20n],
      ["commission", 3_50n],
    ]);
    expect(platform.desk.announced.slice(-2)).toEqual(["trade.closed", "trade.opened"]);
    platform.close("D-3", "P-1", { profit: "1.00" });
    expect(platform.desk.positions.size).toBe(0);
  });

  it("closes a trade as reversed whose opening it was, and gives a part that was closed back", () => {
    const platform = new Platform();
    platform.open("D-1", "P-1", { commission: "-3.50" });
    platform.close("D-2", "P-1", { lots: "0.40" });
    platform.takeBack("D-2");
    const [root, slice] = [...platform.desk.trades.values()];
    expect(root).toMatchObject({ status: "open", lots: "1.00", commission_minor: -3_50n });
    expect(slice).toMatchObject({ close_reason: "reversed", lots: "0.00", gross_minor: 0n, commission_minor: 0n });
    platform.takeBack("D-1");
    const [gone] = [...platform.desk.trades.values()];
    expect(gone).toMatchObject({ status: "closed", close_reason: "reversed", lots: "1.00", gross_minor: 0n });
    expect(platform.desk.balance).toMatchObject({ balance_minor: 1_000_000_00n, used_margin_minor: 0n, positions: 0 });
  });

  it("that turned a netting position round gives its name back to the trade before", () => {
    const platform = new Platform(netting);
    platform.open("D-1", "N-1", { lots: "1.00" });
    const before = platform.standing;
    platform.open("D-2", "N-1", { side: "sell", lots: "1.50", profit: "5.00" });
    const [first] = [...platform.desk.trades.values()];
    expect(platform.takeBack("D-2")).toEqual([first?.id]);
    expect(platform.standing).toEqual(before);
  });

  it("is put aside where it is unknown, taken back already, of another account, or not the last one", () => {
    const platform = new Platform();
    platform.open("D-1", "P-1");
    platform.close("D-2", "P-1", { lots: "0.40" });
    expect(platform.decide("D-9")).toMatchObject({ ok: false, refusal: { code: "unknown_deal" } });
    expect(platform.decide("D-1")).toMatchObject({ ok: false, refusal: { code: "deal_not_reversible" } });
    platform.close("D-3", "P-1");
    expect(platform.decide("D-2")).toMatchObject({ ok: false, refusal: { code: "deal_not_reversible" } });
    const { state } = platform.desk;
    const foreign = { ...state, account: { ...state.account, id: "acc_01JD0000000000000000000009" } };
    const other = reverseDeal(foreign, market, { undo: platform.undos.get("D-3") }, origin, context);
    expect(other).toMatchObject({ ok: false, refusal: { code: "unknown_deal" } });
    const shut = { ...state, account: { ...state.account, status: "closed" } } as const;
    expect(reverseDeal(shut, market, { undo: platform.undos.get("D-3") }, origin, context)).toMatchObject({
      ...{ ok: false, refusal: { code: "account_closed" } },
    });
    platform.takeBack("D-3");
    expect(platform.decide("D-3")).toMatchObject({ ok: false, refusal: { code: "unknown_deal" } });
  });
});
