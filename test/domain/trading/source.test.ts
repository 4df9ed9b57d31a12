import { describe, expect, it } from "vitest";
import type { SourcePulse } from "../../../shared/domain/records/feed-source.ts";
import { metricsAt } from "../../../shared/domain/trading/margin.ts";
import type { Market } from "../../../shared/domain/trading/pricing/quote.ts";
import { isCutOff, liquidatorOf } from "../../../shared/domain/trading/pricing/source.ts";
import { evaluateMargin, nextToClose } from "../../../shared/domain/trading/stop-out.ts";
import { decisionContext, decisionTime } from "../../support/builders/decisions.ts";
import { someMarket, somePosition, tradingAccount } from "../../support/builders/trading.ts";

const ago = (ms: number) => new Date(Date.parse(decisionTime) - ms).toISOString();
const name = "mt5:live-1";

function marketWith(pulse?: Partial<SourcePulse>): Market {
  const full: SourcePulse = { name, authoritative: "service", heartbeat_at: decisionTime, ...pulse };
  return { ...someMarket(), sources: new Map(pulse === undefined ? [] : [[name, full]]) };
}

/** An account far below its stop-out level, with one position of a source. */
function ruined(market: Market, source = name) {
  const { account, balance } = tradingAccount("1200.00");
  const fields = { symbol: "EURUSD", side: "buy", lots: "1.00", open_price: "1.11010", source } as const;
  return { account, balance, positions: [somePosition(account, market, fields)], risk: undefined };
}

describe("a source that sent nothing for longer than 60 seconds", () => {
  it.each([
    ["was never heard of", undefined],
    ["was heard of 60,001 ms ago", { heartbeat_at: ago(60_001) }],
  ])("%s: no stop-out, no margin call, and the metrics say that they are stale", (_, pulse) => {
    const market = marketWith(pulse);
    const state = ruined(market);
    expect(metricsAt(market, state, decisionTime)).toMatchObject({ stale: true });
    expect(nextToClose(state, market, decisionTime)).toEqual([]);
    const decision = evaluateMargin(state, market, new Map(), decisionContext());
    expect(decision).toMatchObject({ ok: true, result: { waiting: true }, changes: [], events: [] });
  });

  it("has the time that its settings give it", () => {
    const later = marketWith({ heartbeat_at: ago(90_000), silent_after_seconds: 90 });
    expect(metricsAt(later, ruined(later), decisionTime)).toMatchObject({ stale: false });
    const sooner = marketWith({ heartbeat_at: ago(30_001), silent_after_seconds: 30 });
    expect(metricsAt(sooner, ruined(sooner), decisionTime)).toMatchObject({ stale: true });
  });

  it("is heard again: the account is decided on as any other", () => {
    const market = marketWith({ heartbeat_at: ago(60_000) });
    expect(metricsAt(market, ruined(market), decisionTime)).toMatchObject({ stale: false });
    expect(nextToClose(ruined(market), market, decisionTime)).toHaveLength(1);
  });

  it("says nothing of positions that no source brought", () => {
    expect(isCutOff(marketWith(), { source: "internal" }, decisionTime)).toBe(false);
    const market = marketWith();
    expect(metricsAt(market, ruined(market, "internal"), decisionTime)).toMatchObject({ stale: false });
  });
});

describe("who liquidates an account", () => {
  it.each([
    ["without positions the service", [], { authoritative: "platform" }, "service"],
    ["of internal positions the service", ["internal"], { authoritative: "platform" }, "service"],
    ["of a source that leaves it to us the service", [name, "internal"], {}, "service"],
    ["of one position of a platform the platform", ["internal", name], { authoritative: "platform" }, "platform"],
    ["of an unknown source the platform", ["mt4:lost"], {}, "platform"],
  ] as const)("is %s", (_, sources, pulse, expected) => {
    expect(
      liquidatorOf(
        marketWith(pulse),
        sources.map((source) => ({ source })),
      ),
    ).toBe(expected);
  });
});
