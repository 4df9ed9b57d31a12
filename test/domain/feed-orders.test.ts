import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { endOrder, mirrorOrder } from "../../shared/domain/feed/mirror-order.ts";
import { setSymbol } from "../../shared/domain/feed/symbol-terms.ts";
import type { Order } from "../../shared/domain/records/order.ts";
import { type FeedData, FeedSymbol } from "../../shared/schema/feed.ts";
import { decisionTime } from "../support/builders/decisions.ts";
import { someSymbol, tradingAccount } from "../support/builders/trading.ts";
import { context, market, origin, PlatformPosition, text } from "./feed-cases.ts";

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
    [{ lots: "0.000" }, "validation_failed"],
    [{ lots: "0.00" }, "validation_failed"],
    [{ price: "-1.0" }, "invalid_price"],
    [{ stop_loss: "-1.0" }, "invalid_price"],
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
    ["zone", { zone: "New York" }, "validation_failed"],
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

  it.each([
    [{ commission: { ...terms.commission, per: "lot" } }, ["commission"]],
    [{ swap: { ...terms.swap, zone: "America/New_York" } }, ["swap"]],
    [{ sessions: [{ day: "monday", open: "00:00", close: "24:00", zone: "UTC" }] }, ["sessions", 0]],
    [{ time_zone: "UTC" }, []],
  ])("with a member that they do not have are refused, in %j too", (more, path) => {
    expect(FeedSymbol.safeParse(terms).success).toBe(true);
    const { error } = FeedSymbol.safeParse({ ...terms, ...more });
    expect(error?.issues).toMatchObject([{ code: "unrecognized_keys", path }]);
  });

  it("that are the same change nothing; a finer step and a halt are a new version", () => {
    expect(set()).toMatchObject({ ok: true, changes: [] });
    expect(set({ contract_size: "100000.00" })).toMatchObject({ ok: true });
    expect(set({ digits: 6, point: "0.000001" })).toMatchObject({ ok: true, result: { version: 2, digits: 6 } });
    expect(set({ zone: "America/New_York" })).toMatchObject({ ok: true, result: { zone: "America/New_York" } });
    expect(set({ lot_step: "0.01", market_status: "halted" })).toMatchObject({
      ok: true,
      result: { version: 2, halted: true, updated_at: decisionTime },
    });
  });
});
