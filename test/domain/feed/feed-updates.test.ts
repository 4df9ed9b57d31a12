import { describe, expect, it } from "vitest";
import { updateAccount } from "../../../shared/domain/feed/account-update.ts";
import { accrueDeal, openDeal } from "../../../shared/domain/feed/deals.ts";
import { updatePosition } from "../../../shared/domain/feed/position-update.ts";
import type { Account } from "../../../shared/domain/records/account.ts";
import { metricsAt } from "../../../shared/domain/trading/margin.ts";
import { draftRisk, metricsBody } from "../../../shared/domain/trading/risk.ts";
import { FeedAccountUpdate, FeedPositionUpdate } from "../../../shared/schema/feed/items.ts";
import type { FeedData } from "../../../shared/schema/feed.ts";
import { someClient } from "../../support/builders/decisions.ts";
import { tradingAccount } from "../../support/builders/trading.ts";
import { TradingDesk } from "../../support/builders/trading-desk.ts";
import { context, market, opening, origin, unknown } from "../feed-cases.ts";

const accrued = { ...origin, source: { ...origin.source, swap_reporting: "accrued" } } as const;

/** An account with one position of a platform. */
function held(fields: Partial<Account> = {}) {
  const desk = new TradingDesk(tradingAccount("10000.00", fields));
  const decision = openDeal(desk.state, market, opening({ stop_loss: "1.09000" }), unknown, origin, context);
  if (!decision.ok) throw new Error(decision.refusal.detail);
  desk.apply(decision);
  return desk;
}

const change = (desk: TradingDesk, data: Omit<FeedData["position_update"], "position_id">, from = origin as never) =>
  updatePosition(
    desk.state,
    market,
    { position_id: "P-1", ...data },
    { trade: desk.open().trade, order_id: null },
    from,
    context,
  );

describe("a change of a position on its platform", () => {
  it("sets the stops that it names, removes those that are null and leaves the others", () => {
    const desk = held();
    desk.apply(change(desk, { take_profit: "1.2" }));
    expect(desk.open()).toMatchObject({
      position: { stop_loss: "1.09000", take_profit: "1.20000", version: 2 },
      trade: { stop_loss: "1.09000", take_profit: "1.20000", version: 2 },
    });
    desk.apply(change(desk, { stop_loss: null }));
    expect(desk.open().position).toMatchObject({ stop_loss: null, take_profit: "1.20000" });
  });

  it("replaces the swap so far, with stops or without, as one version and without an entry", () => {
    const desk = held();
    desk.apply(change(desk, { swap: "-6.20" }, accrued as never));
    desk.apply(change(desk, { swap: "-7.00", stop_loss: "1.08" }, accrued as never));
    expect(desk.open()).toMatchObject({
      position: { swap_minor: -700n, stop_loss: "1.08000", version: 3 },
      trade: { swap_minor: -700n, stop_loss: "1.08000", version: 3 },
    });
    expect(desk.ledger.filter(({ kind }) => kind === "swap")).toEqual([]);
    const same = change(desk, { swap: "-7.00", stop_loss: "1.08000" }, accrued as never);
    expect(same).toMatchObject({ ok: true, changes: [] });
  });

  it("counts no night twice: a source reports swap in one way, and the other is put aside", () => {
    const desk = held();
    expect(change(desk, { swap: "-6.20" })).toMatchObject({ ok: false, refusal: { code: "validation_failed" } });
    const night = { position_id: "P-1", amount: "-6.20", for_date: "2026-11-20" };
    const links = { trade: desk.open().trade, order_id: null };
    const refused = accrueDeal(desk.state, night, links, accrued, context);
    expect(refused).toMatchObject({ ok: false, refusal: { code: "validation_failed" } });
  });

  it.each([["a price below zero of a pair", { stop_loss: "-1.0900001" }, "invalid_price"]] as const)(
    "is put aside with %s",
    (_, data, code) => {
      expect(change(held(), data, accrued as never)).toMatchObject({ ok: false, refusal: { code } });
    },
  );

  it("is put aside where its position is not open, and without anything that changes", () => {
    const desk = held();
    const data = { position_id: "P-2", stop_loss: "1.1" };
    const none = updatePosition(desk.state, market, data, unknown, origin, context);
    expect(none).toMatchObject({ ok: false, refusal: { code: "unknown_position" } });
    expect(FeedPositionUpdate.safeParse({ position_id: "P-1" }).success).toBe(false);
  });
});

describe("a change of an account on its platform", () => {
  const decide = (desk: TradingDesk, data: Omit<FeedData["account_update"], "platform_login">, more: object = {}) =>
    updateAccount(
      { ...desk.state, client: someClient({ classification: "retail" }), ...more } as never,
      market,
      { platform_login: "1", ...data },
      context,
    );

  it("sets group, leverage and access, and computes the margin again", () => {
    const desk = held();
    const before = desk.balance.used_margin_minor;
    desk.apply(decide(desk, { group: "vip", leverage: 200, access: "close_only" }));
    expect(desk.account).toMatchObject({ group_id: "vip", leverage: 200, trading_mode: "close_only", version: 2 });
    expect(desk.balance).toMatchObject({ used_margin_minor: before / 2n, accepts: "close_only" });
    expect(desk.announced.at(-1)).toBe("account.updated");
    expect(decide(desk, { group: "vip" })).toMatchObject({ ok: true, changes: [] });
  });

  it("applies beyond the leverage of a retail client, below its margin and during a liquidation", () => {
    const desk = held({ type: "live" });
    desk.apply(decide(desk, { leverage: 500 }));
    expect(desk.account.leverage).toBe(500);
    const money = metricsBody(metricsAt(market, desk.state, context.now), "USD", context.now);
    const run = { started_at: context.now, before: money, closed_trade_ids: [], steps: 1 };
    const risk = { ...draftRisk(desk.account, context), run };
    desk.apply(decide(desk, { leverage: 1 }, { risk }));
    expect(desk.account.leverage).toBe(1);
    expect(desk.balance.used_margin_minor).toBe(110_010_00n);
  });

  it("says what a disabled account may trade when it is active again, and is put aside on a closed one", () => {
    const status = { status: "disabled", trading_mode: "none", trading_mode_before: "full" } as const;
    const disabled = new TradingDesk(tradingAccount("1.00", status, { accepts: "none" }));
    disabled.apply(decide(disabled, { access: "close_only" }));
    disabled.apply(decide(disabled, { access: "full", group: "vip" }));
    expect(disabled.account).toMatchObject({ trading_mode: "none", trading_mode_before: "full", group_id: "vip" });
    expect(disabled.balance.accepts).toBe("none");
    const closed = new TradingDesk(tradingAccount("0.00", { status: "closed" }));
    expect(decide(closed, { group: "vip" })).toMatchObject({ ok: false, refusal: { code: "account_closed" } });
    expect(FeedAccountUpdate.safeParse({ platform_login: "1" }).success).toBe(false);
  });
});
