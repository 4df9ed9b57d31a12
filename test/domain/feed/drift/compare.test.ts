import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type ComparedSnapshot,
  type Comparison,
  compareAccount,
  effectOf,
  type OurSide,
} from "../../../../shared/domain/feed/drift/compare.ts";
import { formatAmount } from "../../../../shared/domain/kernel/money.ts";
import type { TheirSide } from "../../../../shared/domain/records/drift.ts";
import type { Ledger } from "../../../../shared/domain/records/ledger.ts";
import type { Position } from "../../../../shared/domain/records/position.ts";
import type { Transaction } from "../../../../shared/domain/records/transaction.ts";

const source = { id: "src_1", name: "mt5:live-1" };
const begin = Date.parse("2026-11-21T06:00:00.000Z");
const time = (seconds: number) => new Date(begin + seconds * 1000).toISOString();

/** One thing that happens on a platform: money, or a position that is opened or closed with a result. */
type Happening =
  | { readonly what: "money"; readonly minor: bigint; readonly acknowledged: boolean }
  | { readonly what: "open"; readonly symbol: string; readonly side: "buy" | "sell"; readonly lots: string }
  | { readonly what: "close"; readonly which: number; readonly minor: bigint };

const cents = fc.bigInt({ min: -100_000n, max: 100_000n });
const happening: fc.Arbitrary<Happening> = fc.oneof(
  fc.record({ what: fc.constant("money" as const), minor: cents, acknowledged: fc.boolean() }),
  fc.record({
    what: fc.constant("open" as const),
    symbol: fc.constantFrom("EURUSD", "USDJPY"),
    side: fc.constantFrom("buy" as const, "sell" as const),
    lots: fc.constantFrom("0.10", "1.00", "2.5"),
  }),
  fc.record({ what: fc.constant("close" as const), which: fc.nat(3), minor: cents }),
);

type PlatformPosition = TheirSide["positions"][number];

/** A platform's own account, with what it was after each item, and what this service books of the items it got. */
class History {
  private balance = 0n;
  private positions: PlatformPosition[] = [];
  /** The account of the platform after so many items. */
  readonly states: TheirSide[] = [];
  readonly entries: Ledger[] = [];
  readonly transactions = new Map<string, Transaction>();
  private readonly changed = new Map<string, number>();
  private readonly closedBy = new Map<string, string>();

  /** How many of the items have come. */
  private readonly received: number;

  constructor(happenings: readonly Happening[], received: number) {
    this.received = received;
    this.note();
    for (const [place, each] of happenings.entries()) {
      this.happen(each, place + 1);
      this.note();
    }
  }

  private note(): void {
    const balance = formatAmount(this.balance, "USD");
    this.states.push({ balance, credit: "0.00", positions: [...this.positions] });
  }

  private happen(each: Happening, seq: number): void {
    if (each.what === "open") {
      const { symbol, side, lots } = each;
      this.positions.push({ position_id: `P-${seq}`, symbol, side, lots, open_price: "1.1" });
      this.changed.set(`P-${seq}`, seq);
      return;
    }
    const closed = each.what === "close" ? this.positions[each.which] : undefined;
    if (each.what === "close" && closed === undefined) return;
    this.positions = this.positions.filter((position) => position !== closed);
    this.balance += each.minor;
    const acknowledged = each.what === "money" && each.acknowledged;
    if (seq > this.received && !acknowledged) return;
    if (closed !== undefined) this.closedBy.set(`led_${seq}`, closed.position_id);
    this.book(seq, each.minor, acknowledged);
  }

  /** Books money: with the number of its item, or by an acknowledgement, whose transaction gets it with the item. */
  private book(seq: number, minor: bigint, acknowledged: boolean): void {
    const numbered = { source_id: source.id, feed_seq: String(seq) };
    this.entries.push(entry(`led_${seq}`, minor, seq * 60 + 1, acknowledged ? `txn_${seq}` : undefined, numbered));
    if (!acknowledged) return;
    const reported = seq <= this.received ? { feed_seq: String(seq) } : {};
    const operation = { source_id: source.id, operation_id: `B-${seq}`, leg: "forward", at: time(0), ...reported };
    this.transactions.set(`txn_${seq}`, { platform_operations: [operation] } as unknown as Transaction);
  }

  /** An acknowledgement of an operation that does not exist. */
  acknowledgeFalsely(minor: bigint, seconds: number): void {
    this.entries.push(entry("led_false", minor, seconds, "txn_false", {}));
    this.transactions.set("txn_false", { platform_operations: [] } as unknown as Transaction);
  }

  get ours(): OurSide {
    const open = new Map((this.states[this.received]?.positions ?? []).map((each) => [each.position_id, each]));
    const positions = [...open.values()].map(({ position_id, ...fields }): Position => {
      const seq = this.changed.get(position_id) ?? 0;
      const stamp = { source: source.name, source_position_id: position_id, feed_seq: String(seq) };
      return { ...fields, ...stamp, id: `pos_${position_id}`, updated_at: time(seq * 60 + 1) } as unknown as Position;
    });
    return {
      account: { currency: "USD", position_mode: "hedging" },
      balance_minor: this.entries.reduce((sum, { amount_minor }) => sum + amount_minor, 0n),
      credit_minor: 0n,
      positions,
      effects: this.entries.map((each) =>
        effectOf(each, this.transactions.get(each.transaction_id ?? ""), this.closedBy.get(each.id)),
      ),
    };
  }

  /** Compares with the platform as it was right after an item. */
  compare(seq: number, planted: Partial<TheirSide> = {}): Comparison {
    const state = this.states[seq];
    if (state === undefined) throw new Error(`There is no item ${seq}.`);
    return compareAccount(this.ours, { ...state, ...planted }, momentOf(seq));
  }
}

function momentOf(seq: number): ComparedSnapshot {
  return { source, as_of_seq: String(seq), unnumbered_since: time(seq * 60 + 30 - 300) };
}

function entry(id: string, minor: bigint, seconds: number, transaction: string | undefined, numbered: object): Ledger {
  const stamp = transaction === undefined ? numbered : {};
  const about = { transaction_id: transaction ?? null, kind: "adjustment" };
  return { id, amount_minor: minor, created_at: time(seconds), ...about, ...stamp } as unknown as Ledger;
}

const history = fc
  .array(happening, { minLength: 1, maxLength: 30 })
  .chain((happenings) => fc.tuple(fc.constant(happenings), fc.nat(happenings.length)))
  .chain(([happenings, received]) =>
    fc.record({ happenings: fc.constant(happenings), received: fc.constant(received), at: fc.nat(received) }),
  );

const runs = { numRuns: 1000, seed: 1 };

describe("an account at the number of an item", () => {
  it("is equal with the platform's of that moment, whatever has come or was acknowledged since", () => {
    fc.assert(
      fc.property(history, ({ happenings, received, at }) => {
        const { status, differences } = new History(happenings, received).compare(at);
        expect(differences).toEqual([]);
        expect(status === "moved_on" ? received > at : status).toBeTruthy();
      }),
      runs,
    );
  });

  it("differs by exactly what was planted in the balance", () => {
    fc.assert(
      fc.property(history, cents, ({ happenings, received, at }, planted) => {
        const book = new History(happenings, received);
        const theirs = hundredths(book.states[at]?.balance ?? "0") + planted;
        const { differences } = book.compare(at, { balance: formatAmount(theirs, "USD") });
        const deltas = differences.map((each) => [
          each.kind,
          hundredths(each.theirs ?? "0") - hundredths(each.ours ?? "0"),
        ]);
        expect(deltas).toEqual(planted === 0n ? [] : [["balance", planted]]);
      }),
      runs,
    );
  });

  it("finds an acknowledgement of an operation that does not exist five minutes later, and names it until then", () => {
    fc.assert(
      fc.property(history, fc.integer({ min: -600, max: 600 }), ({ happenings, received, at }, offset) => {
        const book = new History(happenings, received);
        const moment = at * 60 + 30;
        book.acknowledgeFalsely(777n, moment + offset);
        const { differences, left_out } = book.compare(at);
        const young = offset > -300;
        expect(left_out.includes("txn_false")).toBe(young);
        expect(differences.map(({ kind }) => kind)).toEqual(young ? [] : ["balance"]);
      }),
      runs,
    );
  });

  it("differs in exactly the positions that were planted, unless they have changed since", () => {
    fc.assert(
      fc.property(history, fc.nat(5), fc.nat(3), ({ happenings, received, at }, which, how) => {
        const book = new History(happenings, received);
        const held = book.states[at]?.positions ?? [];
        const chosen = held[which];
        const { positions, kind } = plant(held, chosen, how);
        const { differences, left_out } = book.compare(at, { positions });
        const id = chosen?.position_id ?? "P-new";
        expect(differences.map((each) => [each.kind, each.position_id])).toEqual(
          left_out.includes(id) ? [] : [[kind, id]],
        );
      }),
      runs,
    );
  });
});

/** Positions with one difference: in the chosen one, or one more where there is none. */
function plant(held: readonly PlatformPosition[], chosen: PlatformPosition | undefined, how: number) {
  if (chosen === undefined || how === 3) {
    const added = { position_id: "P-new", symbol: "EURUSD", side: "buy", lots: "1", open_price: "1" } as const;
    if (chosen === undefined) return { positions: [...held, added], kind: "position_missing_here" };
  }
  const other = (fields: Partial<PlatformPosition>) =>
    held.map((each) => (each === chosen ? { ...each, ...fields } : each));
  if (how === 0) return { positions: other({ lots: "77" }), kind: "position_lots" };
  if (how === 1) {
    const side = chosen.side === "buy" ? "sell" : "buy";
    return { positions: other({ side }), kind: "position_side" };
  }
  return { positions: held.filter((each) => each !== chosen), kind: "position_missing_there" };
}

function hundredths(text: string): bigint {
  return BigInt(text.replace(".", ""));
}

describe("an account", () => {
  const flat: OurSide = {
    account: { currency: "USD", position_mode: "hedging" },
    ...{ balance_minor: 10_000n, credit_minor: 500n, positions: [], effects: [] },
  };
  const theirs: TheirSide = { balance: "100.000000", credit: "5", positions: [] };

  it("is equal whatever digits its platform writes", () => {
    expect(compareAccount(flat, theirs, momentOf(1))).toMatchObject({
      ...{ status: "equal", differences: [], left_out: [], uncompared: [] },
    });
  });

  it.each([
    ["100.0049", []],
    ["99.995", []],
    ["100.005", [{ kind: "balance", ours: "100.00", theirs: "100.01" }]],
    ["99.9949", [{ kind: "balance", ours: "100.00", theirs: "99.99" }]],
  ])("is compared with %s as that is booked, rounded half away from zero", (balance, differences) => {
    expect(compareAccount(flat, { ...theirs, balance }, momentOf(1)).differences).toMatchObject(differences);
  });

  it("cannot be compared with more money than there can be", () => {
    const balance = "999999999999999999.00";
    expect(compareAccount(flat, { ...theirs, balance }, momentOf(1))).toMatchObject({
      ...{ status: "moved_on", uncompared: ["balance"] },
    });
  });

  it("differs in its credit apart from its balance, and credit that paid a loss since is left out of both", () => {
    expect(compareAccount(flat, { ...theirs, credit: "7.00" }, momentOf(1)).differences).toEqual([
      { kind: "credit", position_id: null, symbol: null, ours: "5.00", theirs: "7.00", open_price: null },
    ]);
    // It leaves its lots by an entry of its own, and arrives in the balance by another one.
    const left = { ...entry("led_0", -200n, 600, undefined, {}), kind: "credit_out", moves: "credit" } as const;
    const arrived = { ...entry("led_1", 200n, 600, undefined, {}), kind: "credit_out" } as const;
    const effects = [left, arrived].map((each) => effectOf(each, undefined, undefined));
    const later = { ...flat, balance_minor: 10_200n, credit_minor: 300n, effects };
    expect(compareAccount(later, theirs, momentOf(1))).toMatchObject({ status: "equal", left_out: ["led_0", "led_1"] });
    const entries = { ...entry("led_2", 300n, 600, undefined, {}), kind: "credit_in", moves: "credit" } as const;
    const granted = { ...flat, credit_minor: 800n, effects: [effectOf(entries, undefined, undefined)] };
    expect(compareAccount(granted, theirs, momentOf(1))).toMatchObject({ status: "equal", left_out: ["led_2"] });
  });

  it("with netting has one position of a symbol, whatever names its source gives to it", () => {
    const position = { symbol: "EURUSD", side: "buy", lots: "3.00", source: source.name, feed_seq: "1" };
    const held = { ...position, id: "pos_1", updated_at: time(0) } as unknown as Position;
    const netting: OurSide = { ...flat, account: { currency: "USD", position_mode: "netting" }, positions: [held] };
    const part = { symbol: "EURUSD", side: "buy", lots: "1.5", open_price: "1.1" } as const;
    const positions = ["P-1", "P-2"].map((position_id) => ({ ...part, position_id }));
    expect(compareAccount(netting, { ...theirs, positions }, momentOf(1)).status).toBe("equal");
    const other = [{ ...part, position_id: "P-1", side: "sell" as const }];
    expect(compareAccount(netting, { ...theirs, positions: other }, momentOf(1)).differences).toMatchObject([
      { kind: "position_side", ours: "buy 3.00", theirs: "sell 1.5" },
    ]);
  });
});
