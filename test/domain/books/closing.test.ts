import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  atZero,
  type Closing,
  cellsOf,
  currenciesInTransit,
  figuresIn,
  figuresOfAccount,
  figuresOfLegs,
  settleDay,
  sumsOf,
  withEntries,
} from "../../../shared/domain/books/closing.ts";
import { type Nets, plusNets } from "../../../shared/domain/books/controls.ts";
import { periodOf } from "../../../shared/domain/books/statement.ts";
import { tenantId } from "../../support/builders/decisions.ts";

const hours = 3_600_000;
const first = Date.parse("2026-11-01T00:00:00.000Z");
const at = (step: number) => new Date(first + step * 6 * hours).toISOString();
const days = Array.from({ length: 5 }, (_, place) => ({
  day: at(place * 4).slice(0, 10),
  starts_at: at(place * 4),
  ends_at: at(place * 4 + 4),
}));

const accounts = [
  { id: "one", currency: "USD", type: "live" },
  { id: "two", currency: "USD", type: "live", client_money: "title_transfer" },
  { id: "three", currency: "USD", type: "demo" },
  { id: "four", currency: "JPY", type: "live" },
] as const;

/** Postings at the ends of days and between them, in any order of their times; a payout leaves in two steps. */
const postings = fc.array(
  fc.record({
    account: fc.constantFrom(...accounts),
    step: fc.nat(19),
    minor: fc.bigInt({ min: -500n, max: 500n }),
    kind: fc.constantFrom("clearing", "commission", "credit", "payout"),
    later: fc.nat(8),
  }),
  { minLength: 1, maxLength: 40 },
);

type Posting = (typeof postings extends fc.Arbitrary<infer T> ? T : never)[number];

function entryOf({ step, minor, kind }: Posting) {
  return { created_at: at(step), amount_minor: minor, ...(kind === "credit" ? { moves: "credit" as const } : {}) };
}

function legsOf({ account, step, minor, kind, later }: Posting) {
  const shared = { currency: account.currency, ...(account.type === "demo" ? { demo: true as const } : {}) };
  const leg = (
    control_account: "clearing" | "commission" | "credit" | "payouts_in_transit" | "payouts",
    of: bigint,
    on: number,
  ) => ({
    ...shared,
    ...{ control_account, amount_minor: of, created_at: at(on) },
  });
  if (kind !== "payout") return [leg(kind, -minor, step)];
  const paid = step + later;
  return [
    leg("payouts_in_transit", -minor, step),
    leg("payouts_in_transit", minor, paid),
    leg("payouts", -minor, paid),
  ];
}

function closeAll(made: readonly Posting[]): { closed: Closing[]; differences: unknown[] } {
  const closed: Closing[] = [];
  const differences: unknown[] = [];
  for (const day of days) {
    let figures: Nets = figuresOfLegs(made.flatMap(legsOf), day);
    for (const account of accounts) {
      const own = made.filter((posting) => posting.account === account).map(entryOf);
      // In two readings, as a ledger is read in pages.
      const half = withEntries(atZero, own.slice(0, 7), day);
      figures = plusNets(figures, figuresOfAccount(account, withEntries(half, own.slice(7), day)));
    }
    const settled = settleDay(day, figures, closed.at(-1));
    differences.push(...settled.differences);
    const rest = { tenant_id: tenantId, closed_at: day.ends_at, reconciliation_id: "rcn_1", difference_count: 0 };
    closed.push({ ...day, ...rest, figures: settled.figures });
  }
  return { closed, differences };
}

describe("closed days", () => {
  it("tie and begin as the day before ended, whatever the order of the times of their entries", () => {
    fc.assert(
      fc.property(postings, (made) => {
        const { closed, differences } = closeAll(made);
        expect(differences).toEqual([]);
        for (const [place, { figures, ends_at }] of closed.entries()) {
          for (const cell of cellsOf(figures)) {
            const of = figuresIn(figures, cell);
            const { closing, difference } = sumsOf(of);
            const own = made.filter(
              ({ account }) => account.currency === cell.currency && account.type === cell.account_type,
            );
            const total = own.map(entryOf).filter(({ created_at }) => created_at < ends_at);
            expect(closing).toBe(total.reduce((sum, { amount_minor }) => sum + amount_minor, 0n));
            expect(difference).toBe(0n);
            const moving = own.filter(
              ({ kind, step, later }) => kind === "payout" && at(step) < ends_at && at(step + later) >= ends_at,
            );
            expect(of("carried_payouts")).toBe(-moving.reduce((sum, { minor }) => sum + minor, 0n));
            if (of("carried_payouts") !== 0n) expect(currenciesInTransit(closed[place])).toContain(cell.currency);
          }
        }
      }),
      { numRuns: 200 },
    );
  });

  it("report a leg that is off by a cent, and an entry that came behind a closed day", () => {
    const posting: Posting = { account: accounts[0], step: 1, minor: 500n, kind: "clearing", later: 0 };
    const [day, next] = days as [(typeof days)[number], (typeof days)[number]];
    const entries = withEntries(atZero, [entryOf(posting)], day);
    const legs = figuresOfLegs([{ ...legsOf(posting)[0], amount_minor: -499n } as never], day);
    const off = settleDay(day, plusNets(legs, figuresOfAccount(accounts[0], entries)), undefined);
    const about = { object_type: "day", object_id: `${day.day}/USD/live`, account_id: null };
    expect(off.differences).toEqual([{ ...about, field: "closing", expected: "4.99", found: "5.00" }]);
    const { closed } = closeAll([posting]);
    const behind = withEntries(atZero, [entryOf(posting), { ...entryOf(posting), amount_minor: 7n }], next);
    const found = settleDay(next, figuresOfAccount(accounts[0], behind), closed[0]);
    const opening = { ...about, object_id: `${next.day}/USD/live`, field: "opening" };
    expect(found.differences).toEqual([{ ...opening, expected: "5.00", found: "5.07" }]);
  });
});

it.each([
  ["2026-11-02", "2026-11-03", at(4), at(12)],
  ["2026-10-01", "2026-10-02", at(0), at(0)],
  ["2026-11-05", "2026-12-31", at(16), at(20)],
  ["2026-11-06", "2026-11-07", undefined, undefined],
])("the period from %s to %s", (from, to, starts_at, ends_at) => {
  expect(periodOf(days, { from, to })).toEqual(starts_at && { from, to, starts_at, ends_at });
});
