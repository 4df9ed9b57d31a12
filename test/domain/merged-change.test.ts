import { describe, expect, it } from "vitest";
import { adjustBalance, equal } from "../../shared/domain/accounts/balance.ts";
import { applyItem } from "../../shared/domain/feed/apply.ts";
import type { ReadItem } from "../../shared/domain/feed/batch.ts";
import { mergedChange } from "../../shared/domain/feed/merged-change.ts";
import type { Refusal } from "../../shared/domain/kernel/decision.ts";
import type { Dedup } from "../../shared/domain/records/feed-item.ts";
import type { TradingChange } from "../../shared/domain/records/trading-change.ts";
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

type Made = Extract<TradingChange, { op: "create" }> & { readonly item: object };

const isOf = (entity: string) => (change: TradingChange) => "entity" in change && change.entity === entity;

function mergedOf(all: readonly TradingChange[]): TradingChange {
  return all.reduce((first, second) => {
    const both = mergedChange(first, second);
    if (both === undefined || both === "none") throw new Error("They are not one change.");
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
    expect(shared.balance).toMatchObject({ positions: 4, pos_version: 4, positions_sum: 1 + 2 + 3 + 4 });
  });

  it("raise the version of a risk that is there by one", () => {
    const desk = new TradingDesk(someAccount({ leverage: 100, currency: "USD" }));
    decisions(desk, 1);
    const risks = decisions(desk, 3).flat().filter(isOf("risk"));
    expect(mergedOf(risks)).toMatchObject({ op: "update", before: { version: 1 }, after: { version: 2 } });
  });

  it("write a trade and a position once, in the form and with the version that the last of them leaves", () => {
    const desk = new TradingDesk(someAccount({ leverage: 100, currency: "USD" }));
    const made = decisions(desk, 1).flat();
    for (const entity of ["trade", "position"] as const) {
      const create = made.find(isOf(entity)) as Made;
      const [second, third] = [2, 3].map((version) => ({ ...create.item, version, lots: `0.0${version}` }));
      const update = { op: "update", entity, before: create.item, after: second } as unknown as TradingChange;
      const again = { op: "update", entity, before: second, after: third } as unknown as TradingChange;
      expect(mergedOf([create, update, again])).toEqual({ op: "create", entity, item: third });
      expect(mergedOf([update, again])).toEqual({ op: "update", entity, before: create.item, after: third });
      const demanding = { ...again, require: [equal("status", "open")] } as TradingChange;
      expect(mergedChange(update, demanding)).toBeUndefined();
    }
  });

  it("write no position that one of them opens and another closes, and delete one that was there as it was", () => {
    const desk = new TradingDesk(someAccount({ leverage: 100, currency: "USD" }));
    const create = decisions(desk, 1).flat().find(isOf("position")) as Made;
    const after = { ...create.item, version: 2 };
    const update = { op: "update", entity: "position", before: create.item, after } as unknown as TradingChange;
    const removal = { op: "remove", entity: "position", before: after } as unknown as TradingChange;
    expect(mergedChange(create, removal)).toBe("none");
    expect(mergedChange(update, removal)).toEqual({ op: "remove", entity: "position", before: create.item });
    expect(mergedChange(removal, create)).toBeUndefined();
  });

  it("note an item on the condition of what was noted before the first of them", () => {
    const notes = ["rejected", "applied", "reversed"].map((status) => ({ status, seq: "1" }) as unknown as Dedup);
    const mark = (before: Dedup | undefined, after = notes[2]) => ({ op: "mark", before, after }) as TradingChange;
    expect(mergedOf([mark(undefined, notes[0]), mark(notes[0])])).toEqual(mark(undefined));
    expect(mergedOf([mark(notes[0], notes[1]), mark(notes[1])])).toEqual(mark(notes[0]));
  });

  it("hand a name on from the owner that the table knows", () => {
    const refusal = { code: "conflict", detail: "" } as unknown as Refusal;
    const claim = (owner: string, instead_of?: string): TradingChange => ({
      ...{ op: "claim", kind: "source_position", value: "P-1", owner, refusal },
      ...(instead_of === undefined ? {} : { instead_of }),
    });
    const release: TradingChange = { op: "release", kind: "source_position", value: "P-1", owner: "trd_1" };
    expect(mergedOf([claim("trd_1"), claim("trd_2", "trd_1")])).toEqual(claim("trd_2"));
    expect(mergedOf([claim("trd_1", "trd_0"), claim("trd_2", "trd_1")])).toEqual(claim("trd_2", "trd_0"));
    expect(mergedOf([release, claim("trd_2")])).toEqual(claim("trd_2", "trd_1"));
    // Whether the name was free is asked of the table, so it is neither left out nor deleted unseen.
    expect(mergedChange(claim("trd_1"), release)).toBeUndefined();
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
