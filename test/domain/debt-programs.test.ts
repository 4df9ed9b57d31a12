import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Account } from "../../shared/domain/records/account.ts";
import type { Tenant } from "../../shared/domain/records/tenant.ts";
import type { Transaction } from "../../shared/domain/records/transaction.ts";
import { usd } from "../support/builders/trading.ts";
import { judgeDebt } from "../support/oracles/debt-oracle.ts";
import { amount, Book, lots, nth } from "./debt-cases.ts";

const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant("deposit" as const), amount }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant("pay" as const), amount, whole: fc.boolean() }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("give_back" as const), nth, keep_fee: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("force" as const), nth }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("late" as const), amount, nth }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("late_back" as const), nth, postings: nth }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("put_aside" as const),
      amount,
      sign: fc.constantFrom(1n as const, -1n as const),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("decide_aside" as const), nth, is_new: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("grant" as const), amount, days: fc.option(nth) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("take_back" as const), amount }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("end_credit" as const), nth }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("open" as const), side: fc.constantFrom("buy", "sell"), lots }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("close" as const), nth, part: fc.boolean() }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant("price" as const), points: fc.integer({ min: -450, max: 450 }) }),
  },
);

/** Runs a program; returns the account with what happened to it. */
function ran(
  credit: bigint,
  fields: Partial<Account>,
  policy: Tenant["credit_on_withdrawal"],
  steps: readonly (typeof step extends fc.Arbitrary<infer T> ? T : never)[],
) {
  const book = new Book({ leverage: 500, ...fields }, { credit_minor: credit });
  book.policy = policy;
  const grants: string[] = [];
  const deposits: string[] = [];
  const payouts: string[] = [];
  const known = (id: string | undefined) =>
    book.desk.transactions.find((each) => each["id"] === id) as Transaction | undefined;
  const note = (list: string[], made: Transaction | undefined) => made && list.push(made.id);
  for (const each of steps) {
    if (each.do === "deposit") note(deposits, book.deposit(each.amount));
    if (each.do === "pay") note(payouts, book.withdraw(each.amount, each.whole ? "completed" : "processing", "1.00"));
    if (each.do === "give_back") {
      const payout = known(payouts[each.nth % Math.max(1, payouts.length)]);
      const status = payout?.status === "processing" ? "failed" : "returned";
      if (payout) book.move(payout, { status, reason: { code: "bank" }, keep_fee: each.keep_fee });
    }
    if (each.do === "late_back") {
      const payout = known(payouts[each.nth % Math.max(1, payouts.length)]);
      if (payout?.status === "processing") book.bringBackLate(payout, each.postings);
    }
    if (each.do === "force") {
      const deposit = known(deposits[each.nth % Math.max(1, deposits.length)]);
      if (deposit) book.move(deposit, { status: "returned", reason: { code: "fraud" }, force: true });
    }
    if (each.do === "grant") note(grants, book.grant(each.amount, each.days === null ? undefined : each.days + 1));
    if (each.do === "take_back") book.takeBack(each.amount);
    if (each.do === "late") book.reportLate(each.amount, each.nth);
    if (each.do === "put_aside") book.putAside(each.amount, each.sign);
    if (each.do === "decide_aside") book.decideAside(each.nth, each.is_new);
    if (each.do === "end_credit") {
      const granted = known(grants[each.nth % Math.max(1, grants.length)]);
      if (granted) book.endCredit(granted);
    }
    if (each.do === "open") book.open(each.side as "buy" | "sell", each.lots);
    if (each.do === "close") book.close(each.nth, each.part ? "0.10" : undefined);
    if (each.do === "price") book.price((1.1 + each.points / 10_000).toFixed(5));
  }
  return book;
}

describe("after any program of deposits, payouts, returns, trades and prices", () => {
  const programs = fc.tuple(
    fc.constantFrom(0n, usd("50.00")),
    fc.record({ negative_balance_protection: fc.constantFrom(true, true, true, false) }),
    fc.constantFrom("keep" as const, "remove" as const, "prorate" as const),
    fc.array(step, { minLength: 10, maxLength: 60, size: "max" }),
  );

  it("balance, credit and debt are those of a replay of the whole ledger without what was given back", () => {
    let [corrected, repaid, spent, removed, restored] = [0, 0, 0, 0, 0];
    fc.assert(
      fc.property(programs, ([credit, fields, policy, steps]) => {
        const book = ran(credit, fields, policy, steps);
        const { balance_minor, credit_minor, debt_minor } = book.desk.balance;
        const judged = judgeDebt(book.judged, credit);
        expect({ balance: balance_minor, credit: credit_minor, debt: debt_minor, lots: book.lots }).toEqual(judged);
        const { held_minor, available_minor, aside_minor = 0n } = book.desk.balance;
        const asked = book.desk.transactions.filter(
          ({ kind, status }) => kind === "withdrawal" && status === "pending",
        );
        const held = asked.reduce((sum, each) => sum + (each as unknown as Transaction).amount_minor, book.aside.held);
        expect([held_minor, balance_minor - available_minor, aside_minor]).toEqual([held, held, book.aside.counted]);
        corrected += book.desk.transactions.filter(({ kind }) => kind === "negative_balance_correction").length;
        for (const { settlement, moves } of book.desk.ledger) {
          if (settlement === "repayment" && moves === undefined) repaid += 1;
          if (settlement === "repayment" && moves === "credit") restored += 1;
          if (settlement === "credit" && moves === "credit") spent += 1;
          if (settlement === "policy") removed += 1;
        }
      }),
      { numRuns: Number(process.env["DEBT_RUNS"] ?? "400") },
    );
    // A generator that no longer reaches these states would find nothing.
    expect([corrected > 30, repaid > 5, spent > 15, removed > 30, restored > 5]).toEqual(Array(5).fill(true));
  });

  it("no account is corrected by more than its trades have lost, and each ledger follows from itself", () => {
    fc.assert(
      fc.property(programs, ([credit, fields, policy, steps]) => {
        const { ledger, contra, balance } = ran(credit, fields, policy, steps).desk;
        const sum = (kinds: readonly string[], lost = false) =>
          ledger
            .filter(({ moves }) => moves !== "credit")
            .filter(({ kind, amount_minor }) => kinds.includes(kind) && (!lost || amount_minor < 0n))
            .reduce((total, { amount_minor }) => total + amount_minor, 0n);
        const given = sum(["negative_balance_correction", "credit_out", "credit_in"]);
        expect(given >= 0n && given <= -sum(["realised_pnl", "swap", "commission"], true)).toBe(true);
        let [before, credited] = [0n, credit];
        for (const [place, entry] of ledger.entries()) {
          expect(entry.balance_version).toBe(place + 1);
          expect(entry.balance_before_minor).toBe(before);
          if (entry.moves === "credit") credited += entry.amount_minor;
          else before += entry.amount_minor;
          expect(entry.balance_after_minor).toBe(before);
        }
        expect([before, credited]).toEqual([balance.balance_minor, balance.credit_minor]);
        const legs = contra.filter(({ ledger_id }) => ledger_id !== null);
        const off = legs.reduce((total, { amount_minor }) => total + amount_minor, before + credited - credit);
        expect(off).toBe(0n);
        expect(balance.available_minor).toBe(balance.balance_minor - balance.held_minor);
      }),
      { numRuns: 150 },
    );
  });
});
