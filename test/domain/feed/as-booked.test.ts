import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { closeDeal, openDeal } from "../../../shared/domain/feed/deals.ts";
import { mirrorOrder } from "../../../shared/domain/feed/mirror-order.ts";
import { updatePosition } from "../../../shared/domain/feed/position-update.ts";
import type { Trade } from "../../../shared/domain/records/trade.ts";
import { decimalText, rational } from "../../../shared/domain/trading/pricing/rational.ts";
import { acceptTick } from "../../../shared/domain/trading/pricing/tick.ts";
import { SnapshotPartRequest } from "../../../shared/schema/feed/snapshot.ts";
import { FeedQuotes } from "../../../shared/schema/feed.ts";
import { PlatformTime, TimestampInput } from "../../../shared/schema/fields.ts";
import { decisionTime } from "../../support/builders/decisions.ts";
import { someMarket, someQuote, someSymbol } from "../../support/builders/trading.ts";
import { context, desk, opening, origin, unknown } from "../feed-cases.ts";

const oil = someSymbol("WTI", {
  ...{ asset_class: "commodity", calc_mode: "cfd", base_currency: "USD", quote_currency: "USD" },
  ...{ contract_size: "1000", digits: 2, max_leverage: 10 },
});
const market = someMarket({ WTI: ["-37.63", "-37.60"] }, [oil]);
type Desk = ReturnType<typeof desk>;

/** Books an opening, and gives the trade back. */
function opened(account: Desk, more: Parameters<typeof opening>[0]): Trade {
  const decision = openDeal(account.state, market, opening(more), unknown, origin, context);
  if (!decision.ok) throw new Error(JSON.stringify(decision.refusal));
  const changes = decision.changes.filter(({ op }) => op !== "claim");
  return account.apply({ ...decision, changes }) as Trade;
}

function closed(account: Desk, trade: Trade, more: object): Trade {
  const data = { action: "close", deal_id: "D-2", position_id: "P-1", price: "1.10010", ...more } as const;
  const links = { trade: account.trades.get(trade.id), order_id: null };
  return account.apply(closeDeal(account.state, market, data, links, origin, context)) as Trade;
}

describe("a deal is booked as its platform booked it", () => {
  it("with any lots, also off the step, and what is left is what is left there", () => {
    const account = desk();
    const trade = opened(account, { lots: "0.125" });
    expect(closed(account, trade, { lots: "0.06" }).lots).toBe("0.06");
    expect([...account.positions.values()].map(({ lots }) => lots)).toEqual(["0.065"]);
    expect(closed(account, trade, {}).lots).toBe("0.065");
    expect(account.positions.size).toBe(0);
  });

  it("by halves without end until nothing is left (any lots of up to twelve digits)", () => {
    const lots = fc
      .bigInt({ min: 2n, max: 10n ** 14n })
      .map((units) => decimalText(rational(`${units}/1000000000000`), 12));
    fc.assert(
      fc.property(lots, fc.bigInt({ min: 1n, max: 99n }), (whole, percent) => {
        const account = desk();
        const trade = opened(account, { lots: whole, commission: "0" });
        const part = decimalText(rational(whole).mul(percent).div(100n), 12);
        if (rational(part).lte(0n)) return;
        closed(account, trade, { lots: part, profit: "0", commission: "0" });
        const [position] = account.positions.values();
        expect(rational(position?.lots ?? "0").equals(rational(whole).sub(part))).toBe(true);
      }),
      { numRuns: 100 },
    );
  });

  it("at prices with more digits than its symbol has, below zero and of zero", () => {
    const account = desk();
    const exact = opened(account, { price: "1.1001055" });
    expect(exact.open_price).toBe("1.1001055");
    expect(closed(account, exact, { price: "1.10020555" }).close_price).toBe("1.10020555");
    const trade = opened(account, { symbol: "WTI", price: "-37.63", lots: "0.10" });
    // 0.10 lots of 1,000 barrels at 37.63, a tenth of it: margin is of what the price is away from zero.
    expect([trade.open_price, account.balance.used_margin_minor]).toEqual(["-37.63", 376_30n]);
    expect(closed(account, trade, { price: "0" })).toMatchObject({ close_price: "0.00", gross_minor: 3_763_00n });
  });

  it("with money of any digits, rounded half away from zero, and with a commission that is a rebate", () => {
    const account = desk();
    const trade = opened(account, { commission: "0.125" });
    expect(trade.commission_minor).toBe(13n);
    const done = closed(account, trade, { profit: "-9.995", swap: "-0.0049", commission: "1.5" });
    expect(done).toMatchObject({ gross_minor: -10_00n, swap_minor: 0n, commission_minor: 163n });
    expect(account.balance.balance_minor).toBe(10_000_00n + 13n - 10_00n + 150n);
  });

  it("and not charged the terms of the symbol where its platform decides and charges none", () => {
    const commission = { type: "per_lot", amount: "3.50", currency: "USD" } as const;
    const charging = someMarket({}, [someSymbol("EURUSD", { commission })]);
    const of = (authoritative: "platform" | "service") =>
      openDeal(
        desk().state,
        charging,
        opening(),
        unknown,
        { ...origin, source: { ...origin.source, authoritative } },
        context,
      );
    expect(of("platform")).toMatchObject({ result: { commission_minor: 0n } });
    expect(of("service")).toMatchObject({ result: { commission_minor: -350n } });
  });

  it.each([
    // 100 shares by a penny each are 1.00 GBP, which is 1.2751 USD at the mid.
    ["GBX", "GBP", "100", 128n],
    ["GBp", "GBP", "100", 128n],
    // 10,000 shares by a cent each are 100.00 ZAR, of which 18.01 are a dollar; so are 3.61 ILS.
    ["ZAC", "ZAR", "10000", 555n],
    ["ILA", "ILS", "10000", 2_770n],
  ])("in %s, a hundredth of %s, which no account has", (quote_currency, base_currency, lots, gross_minor) => {
    const share = someSymbol("VOD.L", {
      ...{ calc_mode: "cfd", base_currency, quote_currency, contract_size: "1", digits: 2, max_leverage: 5 },
    });
    const rands = someSymbol("USDZAR", { digits: 4 });
    const shekels = someSymbol("USDILS", { digits: 4 });
    const prices = {
      "VOD.L": ["74.00", "74.10"],
      USDZAR: ["18.0000", "18.0200"],
      USDILS: ["3.6000", "3.6200"],
    } as const;
    const london = someMarket(prices, [share, rands, shekels]);
    const account = desk();
    const decision = openDeal(
      ...([account.state, london, opening({ symbol: "VOD.L", lots, price: "74.00" }), unknown, origin] as const),
      context,
    );
    const changes = decision.ok ? decision.changes.filter(({ op }) => op !== "claim") : [];
    const trade = account.apply({ ...decision, changes } as typeof decision) as Trade;
    const data = { action: "close", deal_id: "D-2", position_id: "P-1", price: "75.00" } as const;
    const links = { trade: account.trades.get(trade.id), order_id: null };
    expect(closeDeal(account.state, london, data, links, origin, context)).toMatchObject({
      result: { gross_minor },
    });
  });

  it.each([
    ["2016-12-31T23:59:60Z", "2016-12-31T23:59:59.999Z"],
    ["2016-12-31T23:59:60.25+00:00", "2016-12-31T23:59:59.999+00:00"],
    ["2016-12-31T23:59:59Z", "2016-12-31T23:59:59Z"],
  ])("at %s, which is %s", (at, time) => {
    expect(PlatformTime.parse(at)).toBe(time);
  });

  it("at second 60 also with a price and with a snapshot", () => {
    const time = "2016-12-31T23:59:60Z";
    const price = { symbol: "WTI", bid: "-37.63", ask: "-37.60", time, seq: "1" };
    expect(FeedQuotes.parse({ quotes: [price] }).quotes[0]?.time).toBe("2016-12-31T23:59:59.999Z");
    const part = { snapshot_id: "S-1", taken_at: time, as_of_seq: "0", part: 1, parts: 1, complete: false };
    expect(SnapshotPartRequest.parse({ ...part, accounts: [] }).taken_at).toBe("2016-12-31T23:59:59.999Z");
    expect(TimestampInput.safeParse(time).success).toBe(false);
  });

  it.each(["0", "-1.1"])("but no pair at %s", (price) => {
    expect(openDeal(desk().state, market, opening({ price }), unknown, origin, context)).toMatchObject({
      refusal: { code: "invalid_price" },
    });
  });

  it("with a stop of 0 as none, in a deal, an update and an order", () => {
    const account = desk();
    const trade = opened(account, { stop_loss: "0", take_profit: "0.00000" });
    expect(trade).toMatchObject({ stop_loss: null, take_profit: null });
    const links = { trade: account.trades.get(trade.id), order_id: null };
    const update = { position_id: "P-1", stop_loss: "1.0900001", take_profit: "0" };
    expect(updatePosition(account.state, market, update, links, origin, context)).toMatchObject({
      result: { stop_loss: "1.0900001", take_profit: null },
    });
    const order = {
      ...({ status: "pending", type: "limit", side: "buy" } as const),
      ...{ order_id: "O-1", platform_login: "1", symbol: "EURUSD" },
      ...{ lots: "0.125", price: "1.0800001", stop_loss: "0", take_profit: "0.0" },
    };
    expect(mirrorOrder(account.account, undefined, market.symbols.get("EURUSD"), order, origin, context)).toMatchObject(
      {
        result: { lots: "0.125", price: "1.0800001", stop_loss: null, take_profit: null },
      },
    );
  });
});

describe("a price below zero", () => {
  const tick = { time: decisionTime, sequence: "1", source: "mt5:live-1", epoch: 1 };
  const filtered = { ...oil, max_deviation_percent: "5" };
  const following = (before: string, bid: string) => {
    const ask = decimalText(rational(bid).add("0.03"), 2);
    const quote = someQuote("WTI", [before, before], { received_at: decisionTime });
    return acceptTick(filtered, quote, { ...tick, sequence: "9", bid, ask }, decisionTime);
  };

  it.each([
    ["-37.63", "-37.00"],
    ["0.50", "-0.40"],
    ["0.01", "9.50"],
    ["-0.90", "0.00"],
  ])("follows %s as %s, whatever part of it that is", (before, bid) => {
    expect(following(before, bid)).toMatchObject({ ok: true, quote: { bid } });
  });

  it.each([
    ["-37.63", "-31.00", "deviation_unconfirmed"],
    ["18.00", "-37.63", "deviation_unconfirmed"],
    ["0.01", "101.00", "price_out_of_bounds"],
    ["0.01", "-101.00", "price_out_of_bounds"],
  ])("does not follow %s as %s", (before, bid, reason) => {
    expect(following(before, bid)).toMatchObject({ ok: false, reason });
  });

  it("is crossed where its bid is nearer to zero than its ask", () => {
    const prices = { bid: "-37.60", ask: "-37.63" };
    expect(acceptTick(oil, undefined, { ...tick, ...prices }, decisionTime)).toMatchObject({ reason: "crossed" });
  });
});
