import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Account } from "../../shared/domain/account.ts";
import { nextExpected, planBatch } from "../../shared/domain/feed/batch.ts";
import { accrueDeal, closeDeal, type DealLinks, openDeal } from "../../shared/domain/feed/deals.ts";
import { endOrder, mirrorOrder } from "../../shared/domain/feed/mirror-order.ts";
import { setSymbol } from "../../shared/domain/feed/symbol-terms.ts";
import type { Order } from "../../shared/domain/trading/order.ts";
import type { FeedData, FeedResultBody } from "../../shared/schema/feed.ts";
import { decisionContext, decisionTime } from "../support/decisions.ts";
import { someMarket, someSymbol, tradingAccount } from "../support/trading.ts";
import { TradingDesk } from "../support/trading-desk.ts";

const context = decisionContext();
const market = someMarket();
const origin = {
  source: { id: "src_01JD0000000000000000000001", name: "mt5:live-1", authoritative: "platform" },
  at: "2026-11-21T06:00:00.000Z",
} as const;

const batch = (first: number, count: number) => ({
  first_seq: String(first),
  items: Array.from({ length: count }, (_, place) => ({ seq: String(first + place), type: "x" })),
});
const results = (...statuses: FeedResultBody["status"][]) => statuses.map((status) => ({ seq: "1", status }));

describe("the numbers of a batch", () => {
  it.each([
    [10, 10, 5, 0, 5],
    [10, 7, 5, 3, 2],
    [10, 1, 5, 5, 0],
    [10, 10, 0, 0, 0],
  ])(
    "with %i expected, from %i on, split %i items into %i known and %i fresh",
    (expected, first, count, known, fresh) => {
      const plan = planBatch(String(expected), batch(first, count));
      expect(plan.ok && [plan.known.length, plan.fresh.length]).toEqual([known, fresh]);
    },
  );

  it("after a gap refuse it, an empty one too, and name what is expected", () => {
    for (const count of [0, 3]) {
      expect(planBatch("10", batch(11, count))).toMatchObject({
        refusal: { code: "sequence_gap", extra: { expected_seq: "10" } },
      });
    }
  });

  it("move on to the first that is deferred, whatever came after it", () => {
    expect(nextExpected("10", results("applied", "rejected", "duplicate"))).toBe("13");
    expect(nextExpected("10", results("applied", "deferred", "applied"))).toBe("11");
    expect(nextExpected("10", [])).toBe("10");
  });
});

type Opening = Extract<FeedData["execution"], { action: "open" }>;
const opening = (more: Partial<Opening> = {}): Opening => ({
  action: "open",
  platform_login: "1",
  deal_id: "D-1",
  position_id: "P-1",
  symbol: "EURUSD",
  side: "buy",
  lots: "1.00",
  price: "1.10010",
  ...more,
});
const unknown = { trade: undefined, order_id: null };
const desk = (fields: Partial<Account> = {}) => new TradingDesk(tradingAccount("10000.00", fields));

describe("a deal of a platform", () => {
  it.each([
    ["of a closed account", { status: "closed" }, {}, "account_closed"],
    ["with a part of a cent", {}, { commission: "-0.001" }, "amount_precision"],
    ["with a margin rate of nothing", {}, { margin_rate: "0" }, "validation_failed"],
    ["in an unknown symbol", {}, { symbol: "NOPE" }, "symbol_not_found"],
  ] as const)("%s is refused", (_, account, more, code) => {
    expect(openDeal(desk(account).state, market, opening(more), unknown, origin, context)).toMatchObject({
      ok: false,
      refusal: { code },
    });
  });

  it.each([["disabled"], ["active"]] as const)("is booked on a %s account without asking its margin", (status) => {
    const poor = new TradingDesk(tradingAccount("1.00", { status }));
    expect(openDeal(poor.state, market, opening({ lots: "50.00" }), unknown, origin, context).ok).toBe(true);
  });

  it("brings its own time, money and margin rate, and claims the name of its position", () => {
    const decision = openDeal(
      desk().state,
      market,
      opening({ margin_rate: "1.2", commission: "-9.99" }),
      unknown,
      origin,
      context,
    );
    if (!decision.ok) throw new Error(decision.refusal.detail);
    const { result: trade, changes } = decision;
    expect(trade).toMatchObject({
      open_at: origin.at,
      source: "mt5:live-1",
      commission_minor: -999n,
      margin_ratio: "6/5",
    });
    expect(changes.at(-1)).toMatchObject({ op: "claim", kind: "source_position", owner: trade?.id });
    expect(changes.at(-1)).not.toHaveProperty("instead_of");
  });

  it("of a position that is known already is refused with hedging, also when it is closed", () => {
    const account = desk();
    const first = openDeal(account.state, market, opening(), unknown, origin, context);
    if (!first.ok || first.result === undefined) throw new Error("The first deal was refused.");
    const again = openDeal(account.state, market, opening(), { trade: first.result, order_id: null }, origin, context);
    expect(again).toMatchObject({ ok: false, refusal: { code: "position_known" } });
  });

  it("that turns a netting position round takes its name from the trade that was closed", () => {
    const account = desk({ position_mode: "netting", margin_calculation: "net" });
    const apply = (data: ReturnType<typeof opening>, known = unknown as Parameters<typeof openDeal>[3]) => {
      const decision = openDeal(account.state, market, data, known, origin, context);
      if (!decision.ok) throw new Error(decision.refusal.detail);
      account.apply({ ...decision, changes: decision.changes.filter(({ op }) => op !== "claim") });
      return decision;
    };
    const { result: first } = apply(opening());
    const raised = apply(opening({ lots: "0.50" }), { trade: first, order_id: null });
    expect(raised.changes.some(({ op }) => op === "claim")).toBe(false);
    const flipped = apply(opening({ side: "sell", lots: "2.00", price: "1.10000" }), { trade: first, order_id: null });
    expect(flipped.result).toMatchObject({ side: "sell", lots: "0.50" });
    expect(flipped.changes.at(-1)).toMatchObject({ op: "claim", owner: flipped.result?.id, instead_of: first?.id });
  });

  it.each([["closes"], ["charges swap on"]])("that %s a position that nobody knows is refused", (what) => {
    const { state } = desk();
    const closing = { action: "close", deal_id: "D-2", position_id: "P-1", price: "1.1" } as const;
    const swap = { position_id: "P-1", amount: "-1.00", for_date: "2026-11-20" };
    const decision =
      what === "closes"
        ? closeDeal(state, market, closing, unknown, origin, context)
        : accrueDeal(state, swap, unknown, context);
    expect(decision).toMatchObject({ ok: false, refusal: { code: "unknown_position" } });
  });
});

/** An account with the deals of one position of a platform. */
class PlatformPosition {
  readonly desk: TradingDesk;
  private trade: string | undefined;

  constructor(fields: Partial<Account> = {}) {
    this.desk = desk(fields);
  }

  private get links(): DealLinks {
    return { trade: this.trade === undefined ? undefined : this.desk.trades.get(this.trade), order_id: null };
  }

  get balance(): bigint {
    return this.desk.balance.balance_minor;
  }

  open(more: Partial<Opening> = {}): this {
    const decision = openDeal(this.desk.state, market, opening(more), this.links, origin, context);
    if (!decision.ok) throw new Error(decision.refusal.detail);
    const changes = decision.changes.filter(({ op }) => op !== "claim");
    const trade = this.desk.apply({ ...decision, changes });
    if (trade !== undefined) this.trade = trade.id;
    return this;
  }

  close(more: Partial<Closing> = {}): this {
    const data = { action: "close", deal_id: "D-2", position_id: "P-1", price: "1.10010", ...more } as const;
    this.desk.apply(closeDeal(this.desk.state, market, data, this.links, origin, context));
    return this;
  }

  accrue(amount: string): this {
    const data = { position_id: "P-1", amount, for_date: "2026-11-20" };
    this.desk.apply(accrueDeal(this.desk.state, data, this.links, context));
    return this;
  }

  /** Swap that the open position carries, and that the ledger has, in minor units. */
  get swaps(): { readonly left: bigint | undefined; readonly booked: bigint[] } {
    const [position] = this.desk.positions.values();
    const entries = this.desk.ledger.filter(({ kind }) => kind === "swap");
    return { left: position?.swap_minor, booked: entries.map(({ amount_minor }) => amount_minor) };
  }

  /** The sum of the swap that the ledger has, in minor units. */
  get ledgerSwap(): bigint {
    return this.swaps.booked.reduce((sum, amount_minor) => sum + amount_minor, 0n);
  }
}

type Closing = Extract<FeedData["execution"], { action: "close" }>;

describe("a deal that turns a netting position round", () => {
  const netting = { position_mode: "netting", margin_calculation: "net" } as const;
  const commission = { type: "per_lot", amount: "3.50", currency: "USD" } as const;
  const perLot = someMarket(undefined, [someSymbol("EURUSD", { commission })]);
  const reversal = (more: Partial<Opening> = {}) => {
    const account = new TradingDesk(tradingAccount("5000.00", netting));
    const deal = (data: Opening) => {
      const decision = openDeal(account.state, perLot, data, unknown, origin, context);
      if (!decision.ok) throw new Error(decision.refusal.detail);
      return account.apply({ ...decision, changes: decision.changes.filter(({ op }) => op !== "claim") });
    };
    deal(opening({ lots: "1.00", price: "1.10000", commission: "0" }));
    deal(opening({ side: "sell", lots: "1.50", price: "1.10105", ...more }));
    return account;
  };

  it("books the commission that the platform charged and nothing of ours: 5,101.50", () => {
    const account = reversal({ profit: "105.00", commission: "-3.50", margin_rate: "1.2" });
    expect(account.balance.balance_minor).toBe(5_101_50n);
    const costs = account.ledger.filter(({ kind }) => kind === "commission").map(({ amount_minor }) => amount_minor);
    expect(costs).toEqual([-2_33n, -1_17n]);
  });

  it("freezes the margin rate of the platform in the position that it opens", () => {
    const account = reversal({ margin_rate: "1.2" });
    expect(account.open().trade).toMatchObject({ side: "sell", lots: "0.50", margin_ratio: "6/5" });
    expect(account.open().position.margin_minor).toBe(600_00n);
  });

  it("books the platform's numbers to the cent whatever the lots are", () => {
    const cents = fc.integer({ min: 0, max: 100_000 });
    const hundredths = fc.integer({ min: 1, max: 500 });
    fc.assert(
      fc.property(cents, cents, cents, hundredths, hundredths, (profit, swap, cost, held, more) => {
        const account = new PlatformPosition(netting).open({ lots: text(held), commission: "0" });
        const before = account.balance;
        const money = { profit: text(profit), swap: text(-swap), commission: text(-cost) };
        account.open({ side: "sell", lots: text(held + more), ...money });
        expect(account.balance - before).toBe(BigInt(profit - swap - cost));
        const trades = [...account.desk.trades.values()];
        const commission = trades.reduce((sum, { commission_minor }) => sum + commission_minor, 0n);
        expect(commission).toBe(BigInt(-cost));
      }),
    );
  });

  it("charges ours on both sides where the platform names none", () => {
    const account = reversal({ profit: "105.00" });
    expect(account.balance.balance_minor).toBe(5_105_00n - 3_50n - 1_75n);
  });

  it.each(["profit", "swap"] as const)("is one that closes something: %s of a plain opening has no trade", (member) => {
    const decision = openDeal(desk().state, market, opening({ [member]: "-1.00" }), unknown, origin, context);
    expect(decision).toMatchObject({
      ok: false,
      refusal: { code: "validation_failed", errors: [{ pointer: `#/${member}` }] },
    });
    const nothing = openDeal(desk().state, market, opening({ [member]: "0.00" }), unknown, origin, context);
    expect(nothing.ok).toBe(true);
  });
});

/** Hundredths as a decimal with two digits. */
function text(hundredths: number): string {
  const size = String(Math.abs(hundredths)).padStart(3, "0");
  return `${hundredths < 0 ? "-" : ""}${size.slice(0, -2)}.${size.slice(-2)}`;
}

describe("swap of a platform's position", () => {
  const position = () => new PlatformPosition().open({ lots: "1.00", commission: "0" });

  it("that comes only with a partial close leaves nothing on the rest, and none with a last close without it", () => {
    const held = position().close({ lots: "0.40", swap: "-2.48", profit: "0", commission: "0" });
    expect(held.swaps).toEqual({ left: 0n, booked: [-2_48n] });
    held.close({ profit: "0", commission: "0" });
    expect(held.swaps).toEqual({ left: undefined, booked: [-2_48n] });
  });

  it("that its items accrued is booked by a close without swap, its share of it by a partial one", () => {
    const held = position().accrue("-6.20").close({ lots: "0.40" });
    expect(held.swaps).toEqual({ left: -3_72n, booked: [-2_48n] });
    held.accrue("-1.00").close();
    expect(held.swaps).toEqual({ left: undefined, booked: [-2_48n, -4_72n] });
  });

  it("that a close names is booked as it is named, and the rest keeps its own share", () => {
    const held = position().accrue("-6.20").close({ lots: "0.40", swap: "-9.99" });
    expect(held.swaps).toEqual({ left: -3_72n, booked: [-9_99n] });
    held.close({ swap: "1.00" });
    expect(held.ledgerSwap).toBe(-8_99n);
  });

  it("is never lost nor made, however it is split", () => {
    const cents = fc.integer({ min: -10_000, max: 10_000 });
    const step = fc.record({
      accrued: fc.option(cents),
      closed: fc.integer({ min: 1, max: 40 }),
      named: fc.option(cents),
    });
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 6 }), cents, (steps, first) => {
        const held = position().accrue(text(first));
        let [lots, carried, booked] = [100, BigInt(first), 0n];
        for (const { accrued, closed, named } of steps) {
          if (closed >= lots) break;
          if (accrued !== null) held.accrue(text(accrued));
          carried += BigInt(accrued ?? 0);
          const before = held.ledgerSwap;
          held.close({ lots: text(closed), ...(named === null ? {} : { swap: text(named) }) });
          const moved = held.ledgerSwap - before;
          const left = held.swaps.left ?? 0n;
          if (named === null) expect(moved + left).toBe(carried);
          else expect(moved).toBe(BigInt(named));
          // Within half a cent of the exact share, accrued × left / lots.
          const off = 2n * (left * BigInt(lots) - carried * BigInt(lots - closed));
          expect(off <= BigInt(lots) && -off <= BigInt(lots)).toBe(true);
          booked += moved;
          [lots, carried] = [lots - closed, left];
        }
        held.close();
        expect(held.ledgerSwap).toBe(booked + carried);
      }),
    );
  });
});

describe("an order of a platform", () => {
  const pending = (more: object = {}) =>
    ({
      ...{ status: "pending", order_id: "O-1", platform_login: "1", type: "limit", symbol: "EURUSD", side: "sell" },
      ...{ lots: "0.50", price: "1.00000" },
      ...more,
    }) as Extract<FeedData["order"], { status: "pending" }>;
  const { account } = tradingAccount("1.00");
  const euro = market.symbols.get("EURUSD");
  const place = (data = pending(), known?: Order) => mirrorOrder(account, known, euro, data, origin, context);

  it.each([
    [{ lots: "0.005" }, "validation_failed"],
    [{ lots: "0.00" }, "validation_failed"],
    [{ price: "1.000001" }, "invalid_price"],
    [{ stop_loss: "0" }, "invalid_price"],
  ])("with %j is refused", (more, code) => {
    expect(place(pending(more))).toMatchObject({ ok: false, refusal: { code } });
  });

  it("is taken as the platform has it, although its price is reached and the account holds nothing", () => {
    expect(place()).toMatchObject({ ok: true, result: { status: "pending", price: "1.00000", created_at: origin.at } });
  });

  it("stays on its account, and changes nothing after its end", () => {
    const made = place();
    if (!made.ok) throw new Error(made.refusal.detail);
    const elsewhere = { ...made.result, account_id: "acc_01JD0000000000000000000099" };
    expect(place(pending(), elsewhere)).toMatchObject({ refusal: { code: "validation_failed" } });
    const ended = endOrder(made.result, { status: "filled", order_id: "O-1" }, "trd_1", origin, context);
    if (!ended.ok) throw new Error(ended.refusal.detail);
    expect(ended.result).toMatchObject({ status: "filled", trade_id: "trd_1", filled_at: origin.at });
    expect(place(pending(), ended.result)).toMatchObject({ refusal: { code: "illegal_transition" } });
    const again = endOrder(ended.result, { status: "filled", order_id: "O-1" }, "trd_1", origin, context);
    expect(again).toMatchObject({ ok: true, changes: [] });
  });
});

describe("terms of a symbol", () => {
  const {
    tenant_id: _t,
    halted: _h,
    created_at: _c,
    updated_at: _u,
    version: _v,
    ...terms
  } = someSymbol("EURUSD", { lot_step: "0.10", lot_min: "0.10" });
  const set = (more: Partial<FeedData["symbol"]> = {}, before = someSymbol("EURUSD", terms)) =>
    setSymbol({ ...before, tenant_id: context.tenant_id }, { ...terms, ...more }, context);

  it.each([
    ["lot_step", { lot_step: "0.20", lot_min: "0.20" }, "immutable_field"],
    ["calc_mode", { calc_mode: "cfd" }, "immutable_field"],
    ["digits", { digits: 4, point: "0.0001" }, "immutable_field"],
    ["point", { point: "0.0001" }, "validation_failed"],
    ["lot_max", { lot_max: "0.05" }, "validation_failed"],
    ["margin_factor", { margin_factor: "0" }, "validation_failed"],
    ["contract_size", { contract_size: "0" }, "validation_failed"],
    [
      "sessions/1",
      { sessions: [1, 2].map(() => ({ day: "monday", open: "01:00", close: "02:00" })) },
      "validation_failed",
    ],
  ] as const)("of which %s contradicts itself or what was before are refused", (field, more, code) => {
    const decision = set(more as unknown as Partial<FeedData["symbol"]>);
    expect(decision).toMatchObject({ ok: false, refusal: { code } });
    const pointers = decision.ok ? [] : (decision.refusal.errors ?? []).map(({ pointer }) => pointer);
    expect(pointers).toContain(`#/${field}`);
  });

  it("that are the same change nothing; a finer step and a halt are a new version", () => {
    expect(set()).toMatchObject({ ok: true, changes: [] });
    expect(set({ contract_size: "100000.00" })).toMatchObject({ ok: true });
    expect(set({ lot_step: "0.01", market_status: "halted" })).toMatchObject({
      ok: true,
      result: { version: 2, halted: true, updated_at: decisionTime },
    });
  });
});
