import { describe, expect, it } from "vitest";
import {
  afterWithdrawal,
  type CreditLot,
  consumed,
  creditAt,
  creditFields,
  creditOf,
  nextCreditEnd,
} from "../../../shared/domain/accounts/credit-lots.ts";
import { expireTransaction } from "../../../shared/domain/money/move.ts";
import type { Transaction } from "../../../shared/domain/records/transaction.ts";
import { metricsOf } from "../../../shared/domain/trading/margin.ts";
import { decisionContext, decisionTime, someAccount } from "../../support/builders/decisions.ts";
import { Book, must } from "../debt-cases.ts";

/** An account with this deposit and credit. */
function funded(deposit: string, ...credits: readonly (readonly [amount: string, days?: number])[]) {
  const book = new Book({ leverage: 500 });
  must(book.deposit(deposit));
  return { book, granted: credits.map(([amount, days]) => must(book.grant(amount, days))) };
}

/** Balance and credit in whole units. */
function moneyOf({ desk }: Book) {
  return [desk.balance.balance_minor, desk.balance.credit_minor].map((minor) => Number(minor) / 100);
}

describe("credit", () => {
  it("pays what trading lost when the last position closes, and nothing while one is open", () => {
    const { book } = funded("100.00", ["100.00"]);
    book.open("buy", "0.10");
    book.open("sell", "0.10");
    book.price("1.08500");
    book.close(0);
    // The loss of 151.00 is more than there is, and the other position has gained 150.00 by then.
    expect(moneyOf(book)).toEqual([-51, 100]);
    book.close(0);
    expect(moneyOf(book)).toEqual([99, 100]);
    book.open("buy", "0.10");
    book.price("1.06500");
    expect(moneyOf(book)).toEqual([0, 0]);
    expect(book.desk.transactions.at(-1)).toMatchObject({ kind: "negative_balance_correction", amount_minor: 100n });
  });

  it("that was spent because of a payout is there again once the payout fails, and the correction is repaid", () => {
    const { book } = funded("2000.00", ["100.00"]);
    const payout = must(book.withdraw("1800.00", "processing"));
    book.open("buy", "0.10");
    book.price("1.05000");
    expect(moneyOf(book)).toEqual([0, 0]);
    book.giveBack(payout);
    expect(moneyOf(book)).toEqual([1499, 100]);
  });

  it("comes back as if the payout had not been: of the lot that what was taken back since then left", () => {
    const { book, granted } = funded("1000.00", ["50.00", 1], ["50.00", 2]);
    const payout = must(book.withdraw("900.00", "processing"));
    book.open("buy", "0.10");
    book.price("1.08510");
    book.close(0);
    expect(moneyOf(book)).toEqual([0, 50]);
    book.takeBack("30.00");
    book.endCredit(must(granted[0]));
    book.giveBack(payout);
    expect(moneyOf(book)).toEqual([850, 50]);
  });

  it("that withdrawals removed is there again once all of them have failed, in any order", () => {
    const { book } = funded("30.00", ["10.00"]);
    book.policy = "remove";
    const payouts = [1, 2, 3].map(() => must(book.withdraw("10.00", "processing")));
    expect(moneyOf(book)).toEqual([0, 0]);
    for (const payout of payouts) book.giveBack(payout);
    expect(moneyOf(book)).toEqual([30, 10]);
  });

  it("ends at its time, once, as far as it is left", () => {
    const { book, granted } = funded("100.00", ["60.00", 1], ["10.00"]);
    const [first] = granted as [Transaction];
    book.takeBack("25.00");
    expect(expireTransaction(first, book.accountContext, decisionContext())).toBeUndefined();
    book.endCredit(first);
    expect(moneyOf(book)).toEqual([100, 10]);
    book.endCredit(book.desk.transactions.find(({ id }) => id === first.id) as unknown as Transaction);
    expect(book.desk.ledger.filter(({ settlement }) => settlement === "expiry")).toMatchObject([
      { amount_minor: -3500n },
    ]);
  });

  it("is refused beyond its bounds, and below zero", () => {
    const { book } = funded("100.00", ["10.00"]);
    expect(book.grant("5000000000000000.00")).toBeUndefined();
    book.takeBack("10.01");
    expect(moneyOf(book)).toEqual([100, 10]);
  });
});

describe("the lots of credit", () => {
  const lot = (transaction_id: string | null, minor: bigint, expires_at: string | null = null): CreditLot => ({
    ...{ transaction_id, minor, expires_at },
  });

  it("are consumed in their order, none below zero", () => {
    expect(consumed([lot("a", 5n), lot("b", 7n)], 6n, decisionTime)).toEqual([lot("b", 6n)]);
    expect(consumed([lot("a", 5n)], 9n, decisionTime)).toEqual([]);
  });

  it.each([
    ["remove", 1n, 0n],
    ["prorate", 50n, 15n],
    ["prorate", 1n, 29n],
    ["prorate", 100n, 0n],
    ["prorate", 120n, 0n],
  ] as const)("under %s leave of 30 after a withdrawal of %d of 100: %d", (policy, amount, left) => {
    expect(creditOf(afterWithdrawal([lot("a", 10n), lot(null, 20n)], policy, amount, 100n, decisionTime))).toBe(left);
  });

  it("are not consumed from their end on, and are left for the entry that takes them", () => {
    const lots = [lot("a", 5n, decisionTime), lot("b", 7n, "2099-01-01T00:00:00.000Z")];
    expect(consumed(lots, 6n, decisionTime)).toEqual([lots[0], { ...lots[1], minor: 1n }]);
    expect(afterWithdrawal(lots, "remove", 1n, 100n, decisionTime)).toEqual([lots[0]]);
    expect(afterWithdrawal(lots, "prorate", 50n, 100n, decisionTime)).toEqual([lots[0], { ...lots[1], minor: 3n }]);
    const { account, balance } = someAccount({}, { balance_minor: 100n, ...creditFields(lots, "USD") });
    const before = new Date(Date.parse(decisionTime) - 1).toISOString();
    expect([before, decisionTime].map((now) => creditAt(balance, now))).toEqual([12n, 7n]);
    expect(metricsOf(account, balance, [], decisionTime)).toMatchObject({ credit_minor: 7n, equity_minor: 107n });
    expect([before, decisionTime].map((now) => nextCreditEnd(balance, now))).toEqual([
      decisionTime,
      lots[1]?.expires_at,
    ]);
  });

  it("under prorate, a thousand withdrawals of a unit leave no more than one of a thousand", () => {
    let [lots, balance] = [[lot("a", 500n)], 2000n];
    for (; balance > 1000n; balance -= 1n) lots = afterWithdrawal(lots, "prorate", 1n, balance, decisionTime);
    expect(creditOf(lots) <= creditOf(afterWithdrawal([lot("a", 500n)], "prorate", 1000n, 2000n, decisionTime))).toBe(
      true,
    );
  });
});
