import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type BookedLeg, compareLegs, monthsToRead, netsOf, plusNets } from "../../../shared/domain/books/controls.ts";
import { type EventPlace, eventsBegin, readEvents } from "../../../shared/domain/books/events.ts";
import { compareHolds } from "../../../shared/domain/books/holds.ts";
import { compareAccount, readEntry, unread } from "../../../shared/domain/books/ledger.ts";
import { afterStep, bookPhases, isSettled, newRun } from "../../../shared/domain/books/run.ts";
import type { Account } from "../../../shared/domain/records/account.ts";
import type { Balance } from "../../../shared/domain/records/balance.ts";
import type { Ledger } from "../../../shared/domain/records/ledger.ts";
import type { Transaction } from "../../../shared/domain/records/transaction.ts";
import { limits } from "../../../shared/limits.ts";

const account = { id: "acc_1", currency: "USD" } as Account;

/** The ledger of these amounts; every third entry moves credit. */
function ledgerOf(amounts: readonly bigint[]): Ledger[] {
  let [balance, credit] = [0n, 0n];
  return amounts.map((amount, place) => {
    const before = balance;
    if (place % 3 === 2) credit += amount;
    else balance += amount;
    const moves = place % 3 === 2 ? { moves: "credit" as const } : {};
    const number = { id: `led_${place}`, account_id: "acc_1", currency: "USD" as const, balance_version: place + 1 };
    const fields = { ...number, amount_minor: amount, balance_before_minor: before, balance_after_minor: balance };
    const left = credit === 0n ? {} : { credit_after_minor: credit };
    return {
      ...fields,
      ...moves,
      ...left,
      created_at: `2026-${place % 2 === 0 ? "10" : "11"}-05T00:00:00.000Z`,
    } as Ledger;
  });
}

function balanceOf(entries: readonly Ledger[], fields: Partial<Balance> = {}): Balance {
  const balance_minor = entries.at(-1)?.balance_after_minor ?? 0n;
  const held_minor = fields.held_minor ?? 0n;
  const money = { balance_minor, held_minor, available_minor: balance_minor - held_minor, seq: entries.length };
  return { account_id: "acc_1", currency: "USD", pending: 0, ...money, ...fields } as Balance;
}

const compare = (entries: readonly Ledger[], balance: Balance) =>
  compareAccount("acc_1", account, balance, entries.reduce(readEntry, unread));

const amounts = fc.array(fc.bigInt(-1000n, 1000n), { minLength: 1, maxLength: 30 });

describe("an account and its ledger", () => {
  it("agree when the balance is what the entries come to", () => {
    fc.assert(
      fc.property(amounts, (given) => {
        const entries = ledgerOf(given);
        expect(compare(entries, balanceOf(entries, { held_minor: 5n }))).toEqual([]);
      }),
    );
  });

  it("differ by a cent in the balance, in what is available and in any amount of an entry", () => {
    fc.assert(
      fc.property(amounts, fc.nat(), fc.constantFrom(1n, -1n), (given, at, off) => {
        const entries = ledgerOf(given);
        const balance = balanceOf(entries);
        const fields = compare(entries, { ...balance, balance_minor: balance.balance_minor + off });
        expect(fields.map(({ field }) => field)).toEqual(["balance", "available_balance"]);
        const available = compare(entries, { ...balance, available_minor: balance.available_minor + off });
        expect(available.map(({ field }) => field)).toEqual(["available_balance"]);
        const place = at % entries.length;
        for (const name of ["balance_before_minor", "balance_after_minor"] as const) {
          const planted = entries.map((each, index) =>
            index === place ? { ...each, [name]: each[name] + off } : each,
          );
          expect(compare(planted, balance)[0]).toMatchObject({
            object_type: "ledger_entry",
            object_id: `led_${place}`,
          });
        }
      }),
    );
  });

  it("differ by any entry that is missing, which is named by its number alone", () => {
    fc.assert(
      fc.property(amounts, fc.nat(), (given, at) => {
        const entries = ledgerOf(given);
        const place = at % entries.length;
        const difference = { object_id: "acc_1", field: "ledger_entry", expected: String(place + 1), found: null };
        expect(compare(entries.toSpliced(place, 1), balanceOf(entries))).toMatchObject([difference]);
      }),
    );
  });

  it("differ by an entry that no posting of the account has made, and by a missing profile or balance", () => {
    const entries = ledgerOf([5n, 7n]);
    expect(compare(entries, balanceOf(entries.slice(0, 1)))).toMatchObject([
      { field: "balance_version", expected: "2", found: "1" },
      { field: "balance", expected: "0.12", found: "0.05" },
    ]);
    const reading = entries.reduce(readEntry, unread);
    expect(compareAccount("acc_1", account, undefined, reading)).toMatchObject([{ field: "balance", found: null }]);
    expect(compareAccount("acc_1", undefined, balanceOf(entries), reading)).toMatchObject([{ field: "account" }]);
    expect(compareAccount("acc_1", undefined, undefined, unread)).toEqual([]);
  });
});

describe("holds", () => {
  const states = ["pending", "approved", "processing", "completed", "cancelled"] as const;
  const transaction = fc.record({
    kind: fc.constantFrom("deposit", "withdrawal", "transfer_out"),
    status: fc.constantFrom(...states),
    amount_minor: fc.bigInt(1n, 500n),
  });

  it("are what undecided withdrawals say, and nothing else holds", () => {
    fc.assert(
      fc.property(fc.array(transaction), fc.bigInt(0n, 9n), fc.constantFrom(0n, 1n, -1n), (made, aside, off) => {
        const open = made.filter(({ status }) => ["pending", "approved", "processing"].includes(status));
        const holding = open.filter(({ kind, status }) => kind !== "deposit" && status !== "processing");
        const held_minor = holding.reduce((sum, each) => sum + each.amount_minor, aside) + off;
        const balance = balanceOf([], { held_minor, pending: open.length });
        const found = compareHolds(balance, made as Transaction[], aside);
        expect(found.map(({ field }) => field)).toEqual(off === 0n ? [] : ["held"]);
        const counted = compareHolds({ ...balance, pending: open.length + 1 }, made as Transaction[], aside);
        expect(counted.map(({ field }) => field)).toContain("pending_transactions");
      }),
    );
  });
});

describe("ledgers and control accounts", () => {
  /** Two legs for each entry, as a fee makes them. */
  const legsOf = (entries: readonly Ledger[]): BookedLeg[] =>
    entries.flatMap(({ id, account_id, currency, amount_minor, created_at }) => {
      const shared = { account_id, currency, created_at, ledger_id: id, transaction_id: "txn_1" };
      return [
        { ...shared, amount_minor: -amount_minor - 3n },
        { ...shared, amount_minor: 3n },
      ];
    });
  const between = { account_id: "acc_1", currency: "USD", created_at: "2026-11-05", ledger_id: null } as const;

  it("sum to zero by month and part, without what was booked after the run began", () => {
    fc.assert(
      fc.property(amounts, fc.nat(), (given, at) => {
        const entries = ledgerOf(given);
        const sums = (items: readonly BookedLeg[] | readonly Ledger[]) =>
          netsOf(items, ["2026-10", "2026-11"], "2026-11-06", (id) => id.length);
        const legs = legsOf(entries);
        expect(plusNets(sums(entries), sums(legs))).toEqual({});
        const off = legs.map((leg, place) =>
          place === at % legs.length ? { ...leg, amount_minor: leg.amount_minor + 1n } : leg,
        );
        expect(Object.values(plusNets(sums(entries), sums(off)))).toEqual([1n]);
        const late = legs.map((leg) => ({ ...leg, created_at: "2026-11-06" }));
        expect(sums(late)).toEqual({});
      }),
    );
  });

  it("are compared entry by entry, and the one whose legs are off is named", () => {
    fc.assert(
      fc.property(amounts, fc.nat(), (given, at) => {
        const entries = ledgerOf(given);
        const pair = [5n, -5n].map((amount_minor) => ({ ...between, amount_minor, transaction_id: "txn_2" }));
        const legs = [...legsOf(entries), ...pair];
        expect(compareLegs(entries, legs)).toEqual([]);
        const place = at % entries.length;
        const without = legs.toSpliced(place * 2 + 1, 1);
        expect(compareLegs(entries, without)).toMatchObject([{ object_id: `led_${place}`, field: "control_accounts" }]);
        expect(compareLegs(entries, legs.slice(0, -1))).toMatchObject([{ object_type: "transaction", found: "0.05" }]);
        const strange = { ...pair[0], ledger_id: "led_x" } as BookedLeg;
        expect(compareLegs(entries, [...legs, strange])).toMatchObject([{ object_id: "led_x", expected: "0.00" }]);
      }),
    );
  });

  it("of older months come again one after the other, those of the newest ones in each run", () => {
    const runs = Array.from({ length: 12 }, (_, turn) => monthsToRead("2025-11", "2026-11", turn, 2));
    for (const months of runs) expect(months.slice(-2)).toEqual(["2026-10", "2026-11"]);
    expect(new Set(runs.flat()).size).toBe(13);
    expect(monthsToRead("2026-11", "2026-11", 7, 2)).toEqual(["2026-11"]);
  });
});

describe("the numbers of events", () => {
  const now = 1_000_000;
  const kept = (from: EventPlace, numbers: readonly number[], end: number, expiry = (_: number) => now + 1) =>
    readEvents(
      from,
      numbers.map((sequence) => ({ sequence, expires_at: expiry(sequence) })),
      end,
      now,
    );

  it("have no gap after an event that is kept", () => {
    const begin = eventsBegin((now - 10) * 1000, 100);
    fc.assert(
      fc.property(fc.uniqueArray(fc.integer({ min: 1, max: 40 })), (gone) => {
        const numbers = Array.from({ length: 40 }, (_, at) => at + 1).filter((number) => !gone.includes(number));
        const half = numbers.filter((number) => number <= 20);
        const first = kept(begin, half, 20);
        const second = kept(first.place, numbers.slice(half.length), 40);
        expect([...first.missing, ...second.missing]).toEqual(gone.toSorted((a, b) => a - b));
      }),
    );
  });

  it("may have gaps where events have ended, which DynamoDB deletes in any order", () => {
    const begin = eventsBegin((now - 1000) * 1000, 100);
    const found = kept(begin, [3, 5, 8, 10], 11, (number) => (number < 8 ? now - 1 : now + 1));
    expect(found).toEqual({ place: { sequence: 11, expires_at: now + 1 }, missing: [9, 11] });
  });
});

describe("a run", () => {
  const context = { tenant_id: "brk_1", now: "2026-11-23T01:00:00.000Z", newId: () => "rcn_1" };
  const run = newRun(1, ["2026-11"], { day: undefined, currencies: [] }, context);
  const later = "2026-11-23T01:01:00.000Z";
  const difference = { object_type: "account", object_id: "acc_1", account_id: "acc_1", field: "held" } as const;

  it("closes a day a quarter of an hour after its end, when all that was decided in it is committed", () => {
    const day = { day: "2026-11-22", starts_at: "2026-11-22T00:00:00.000Z", ends_at: "2026-11-23T00:00:00.000Z" };
    expect(isSettled(day, "2026-11-23T00:14:59.999Z")).toBe(false);
    expect(isSettled(day, "2026-11-23T00:15:00.000Z")).toBe(true);
  });

  it("goes through all phases, adds up what it compared, and ends without its sums", () => {
    let at = run;
    for (const phase of bookPhases) {
      expect(at.phase).toBe(phase);
      at = afterStep(at, { position: "1", checked: { accounts: 2 } }, later).run;
      expect([at.phase, at.position]).toEqual([phase, "1"]);
      at = afterStep(at, { position: null, nets: { "2026-11|USD|1": 1n } }, later).run;
    }
    expect(at).toMatchObject({ status: "completed", completed_at: later, checked: { accounts: 12 }, version: 13 });
    expect(at).not.toHaveProperty("nets");
  });

  it("announces its first difference alone, counts all and keeps the first ones", () => {
    const found = Array.from({ length: limits.books.kept_differences + 3 }, (_, place) => ({
      ...difference,
      expected: "0.00",
      found: String(place),
    }));
    const first = afterStep(run, { position: "1", differences: found.slice(0, 2) }, later);
    expect(first.events).toMatchObject([
      {
        type: "reconciliation.difference_found",
        resource: { id: "rcn_1", version: 2 },
        object: { difference_count: 2 },
      },
    ]);
    const second = afterStep(first.run, { position: "2", differences: found.slice(2) }, later);
    expect(second.events).toEqual([]);
    expect(second.run.difference_count).toBe(found.length);
    expect(second.run.differences).toHaveLength(limits.books.kept_differences);
    expect(second.run.differences[0]).toEqual({ ...found[0], found_at: later });
  });
});
