import { describe, expect, it } from "vitest";
import { applyItem } from "../../shared/domain/feed/apply.ts";
import type { ReadItem } from "../../shared/domain/feed/batch.ts";
import { mergedChange } from "../../shared/domain/feed/merged-change.ts";
import { adjustBalance, equal } from "../../shared/domain/posting.ts";
import type { TradingChange } from "../../shared/domain/trading/changes.ts";
import type { StoredRisk } from "../../shared/domain/trading/stored-risk.ts";
import { withMarginUpdate } from "../../shared/domain/trading/watch.ts";
import { decisionContext, someAccount } from "../support/builders/decisions.ts";
import { someMarket } from "../support/builders/trading.ts";
import { TradingDesk } from "../support/builders/trading-desk.ts";

const context = decisionContext({ now: "2026-11-21T06:30:00.000Z" });
const market = someMarket();
const source = { id: "src_01JD000000000000000000000B", name: "mt5:live-1", authoritative: "platform" } as const;

type Execution = Extract<ReadItem, { type: "execution" }>;

function opens(place: number): Execution {
  const data = {
    ...{ action: "open", platform_login: "1", deal_id: `D-${place}`, position_id: `P-${place}` },
    ...{ symbol: "EURUSD", side: "buy", lots: "0.10", price: "1.10010", commission: "-1.00" },
  };
  return { type: "execution", seq: String(place), at: context.now, data } as Execution;
}

/** The changes of deals that open a position each, decided one after the other. */
function decisions(desk: TradingDesk, count: number): TradingChange[][] {
  return Array.from({ length: count }, (_, place) => {
    const state = desk.state as Parameters<typeof withMarginUpdate>[0] & typeof desk.state;
    const links = { trade_id: undefined, order_id: null };
    const deal = applyItem(state, market, opens(place), links, { source, at: context.now }, context);
    const decision = withMarginUpdate(state, deal, market, context);
    if (!decision.ok) throw new Error(decision.refusal.detail);
    const changes = decision.changes.filter(({ op }) => !["claim", "expose", "hide"].includes(op));
    desk.apply({ ok: true, result: undefined, changes, events: [] });
    return changes;
  });
}

const isOf = (entity: string) => (change: TradingChange) => "entity" in change && change.entity === entity;

function mergedOf(all: readonly TradingChange[]): TradingChange {
  return all.reduce((first, second) => {
    const both = mergedChange(first, second);
    if (both === undefined) throw new Error("They need a transaction each.");
    return both;
  });
}

describe("deals of one account in one transaction", () => {
  it("leave the money, the risk and the positions that they leave one after the other", () => {
    const account = someAccount({ leverage: 100, currency: "USD" });
    const [single, shared] = [new TradingDesk(account), new TradingDesk(account)];
    const all = decisions(single, 4).flat();
    const others = all.filter((change) => !isOf("balance")(change) && !isOf("risk")(change));
    const changes = [mergedOf(all.filter(isOf("balance"))), mergedOf(all.filter(isOf("risk"))), ...others];
    shared.apply({ ok: true, result: undefined, changes, events: [] });
    expect(shared.balance).toEqual(single.balance);
    expect(shared.positions).toEqual(single.positions);
    expect(shared.ledger).toEqual(single.ledger);
    expect(shared.risk).toEqual({ ...single.risk, version: 1 });
    expect((shared.risk as StoredRisk).positions_sum).toBe(4);
  });

  it("raise the version of a risk that is there by one", () => {
    const desk = new TradingDesk(someAccount({ leverage: 100, currency: "USD" }));
    decisions(desk, 1);
    const risks = decisions(desk, 3).flat().filter(isOf("risk"));
    expect(mergedOf(risks)).toMatchObject({ op: "update", before: { version: 1 }, after: { version: 2 } });
  });

  it("need a transaction each where they change the same trade, position or note twice", () => {
    const desk = new TradingDesk(someAccount({ leverage: 100, currency: "USD" }));
    const made = decisions(desk, 1).flat();
    for (const entity of ["trade", "position"] as const) {
      const create = made.find(isOf(entity)) as TradingChange & { item: never };
      const update = { op: "update", entity, before: create.item, after: create.item } as TradingChange;
      expect(mergedChange(create, update)).toBeUndefined();
    }
  });
});

describe("two changes of a balance as one", () => {
  const { balance } = someAccount({ currency: "USD" });
  const first = adjustBalance(balance, context, {
    set: { seq: balance.seq + 1 },
    add: { available_minor: -100n },
    require: [equal("seq", balance.seq)],
  });

  it("require of what was there what the second requires of what the first leaves", () => {
    const { after } = first;
    const second = adjustBalance(after, context, {
      set: { seq: after.seq + 1 },
      add: { available_minor: -50n, pending: 1 },
      require: [
        equal("seq", after.seq),
        { attribute: "available_minor", is: "at_least", value: after.available_minor },
        { attribute: "accepts", is: "not", value: "none" },
      ],
    });
    expect(mergedChange(first, second)).toMatchObject({
      set: { seq: balance.seq + 2 },
      add: { available_minor: -150n, pending: 1 },
      require: [
        equal("seq", balance.seq),
        { attribute: "available_minor", is: "at_least", value: balance.available_minor },
        { attribute: "accepts", is: "not", value: "none" },
      ],
      before: balance,
      after: second.after,
    });
  });

  it("are none where the second requires what the first does not leave", () => {
    const second = adjustBalance(first.after, context, { require: [equal("seq", balance.seq)] });
    expect(mergedChange(first, second)).toBeUndefined();
  });

  it("keep what the second sets, whatever the first added to it", () => {
    const second = adjustBalance(first.after, context, { set: { available_minor: 7n }, require: [] });
    const merged = mergedChange(first, second);
    expect(merged).toMatchObject({ set: { available_minor: 7n }, add: {} });
  });
});
