import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { openNext } from "../../../../shared/domain/feed/drift/open-positions.ts";
import { registerSource } from "../../../../shared/domain/feed/source.ts";
import type { DriftPositions } from "../../../../shared/domain/records/drift.ts";
import type { FeedSource } from "../../../../shared/domain/records/feed-source.ts";
import type { StoredRisk } from "../../../../shared/domain/records/risk.ts";
import { withMarginUpdate } from "../../../../shared/domain/trading/watch.ts";
import { limits } from "../../../../shared/limits.ts";
import { decisionContext } from "../../../support/builders/decisions.ts";
import { someMarket, tradingAccount } from "../../../support/builders/trading.ts";
import { TradingDesk } from "../../../support/builders/trading-desk.ts";

const market = someMarket();
const context = decisionContext();
const request = { name: "mt5:live-1", platform: "mt5" } as const;
const made = registerSource(request, 0, context);
if (!made.ok) throw new Error(made.refusal.detail);
/** With the prices of this service, so that nothing waits for a sign of life. */
const source: FeedSource = { ...made.result, name: "internal" };
const drift = { id: "drf_1", as_of_seq: "7", taken_at: context.now };

/** An account whose adoption has booked its money and is to open these positions, and its steps. */
function opening(balance: string, positions: DriftPositions["positions"]) {
  const marks = { type: "demo", opening: { drift_id: drift.id, taken: 0 } } as const;
  const desk = new TradingDesk(tradingAccount(balance, marks));
  const left_out: string[] = [];
  return {
    desk,
    left_out,
    step: (taken = desk.account.opening?.taken ?? positions.length, owned: readonly string[] = []) => {
      const now = decisionContext();
      const state = { ...desk.state, risk: desk.risk as StoredRisk | undefined };
      const held = { positions, taken, owned: new Set(owned) };
      const decision = openNext({ state, market, source }, held, drift, now);
      const whole = withMarginUpdate(state, decision, market, now);
      if (!whole.ok) throw new Error(whole.refusal.detail);
      expect(whole.changes.length).toBeLessThanOrEqual(limits.commit.max_items - 2);
      const changes = whole.changes.filter(({ op }) => op !== "expose" && op !== "hide");
      const { again, left_out: out } = desk.apply({ ...whole, changes });
      left_out.push(...out);
      return again;
    },
  };
}

type Named = DriftPositions["positions"][number];

const named = (position_id: string, fields: Partial<Named> = {}): Named => ({
  ...{ position_id, symbol: "EURUSD", side: "buy", lots: "0.01", open_price: "1.10000" },
  ...fields,
});

describe("positions of an account that is being adopted", () => {
  it("are each opened once or left out, in their order, whatever step comes twice", () => {
    const one = fc.record({
      symbol: fc.constantFrom("EURUSD", "USDJPY", "UNKNOWN"),
      side: fc.constantFrom("buy" as const, "sell" as const),
      owned: fc.boolean(),
    });
    const programs = [fc.array(one, { minLength: 13, maxLength: 40 }), fc.array(fc.nat(2))] as const;
    fc.assert(
      fc.property(...programs, (shapes, repeats) => {
        const positions = shapes.map(({ owned: _owned, ...shape }, place) => named(`P-${place}`, shape));
        const owned = shapes.flatMap((shape, place) => (shape.owned ? [`P-${place}`] : []));
        const { desk, step, left_out } = opening("90000000.00", positions);
        const before = desk.balance;
        for (let turn = 0, again = true; again; turn += 1) {
          const taken = desk.account.opening?.taken;
          again = step(taken, owned);
          for (let late = repeats[turn] ?? 0; late > 0; late -= 1) expect(step(taken, owned)).toBe(again);
        }
        const opened = [...desk.trades.values()].map(({ source_trade_id }) => source_trade_id);
        const can = shapes.map(({ symbol, owned: known }) => symbol !== "UNKNOWN" && !known);
        const names = (which: boolean) =>
          positions.flatMap((each, at) => (can[at] === which ? [each.position_id] : []));
        expect([opened, left_out]).toEqual([names(true), names(false)]);
        expect(desk.account.opening).toBeUndefined();
        expect([desk.balance.balance_minor, desk.ledger]).toEqual([before.balance_minor, []]);
        expect([...desk.positions.values()].every(({ feed_seq }) => feed_seq === "7")).toBe(true);
      }),
    );
  });

  it.each([
    ["is called with the last of them where all are below the level", "1.30000", ["margin.call"]],
    ["is not called where only the first of them are", "1.00000", []],
  ])("leave the margin alone until all are there: the account %s", (_, open_price, called) => {
    const { max_positions: most } = limits.trading;
    const first = Array.from({ length: 12 }, (__, place) => named(`P-${place}`, { open_price: "1.30000" }));
    const others = Array.from({ length: 24 }, (__, place) => named(`Q-${place}`, { open_price }));
    const { desk, step } = opening("1000.00", [...first, ...others]);
    const margin = () => desk.announced.filter((type) => type.startsWith("margin."));
    expect([step(), step()]).toEqual([true, true]);
    expect([desk.positions.size, desk.risk?.margin_status, margin()]).toEqual([24, expect.any(String), []]);
    expect([step(), step(most)]).toEqual([false, false]);
    expect([desk.positions.size, margin()]).toEqual([36, called]);
  });
});
