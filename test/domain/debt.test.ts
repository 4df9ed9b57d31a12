import { describe, expect, it } from "vitest";
import { applyOperation } from "../../shared/domain/feed/join-operation.ts";
import type { Operation } from "../../shared/domain/feed/platform-money.ts";
import { metricsAt } from "../../shared/domain/trading/margin.ts";
import { decisionTime } from "../support/builders/decisions.ts";
import { someMarket, someSymbol, usd } from "../support/builders/trading.ts";
import { Book, context, must, tenant } from "./debt-cases.ts";

describe("the correction of a negative balance waits until no position is left", () => {
  const euros = (...openings: readonly (readonly ["buy" | "sell", string])[]) => {
    const book = new Book({ leverage: 100 });
    must(book.deposit("10000.00"));
    for (const [side, lots] of openings) book.open(side, lots);
    return book;
  };

  it.each(["full", "partial"] as const)(
    "and a client who holds a winner is paid nothing, in %s mode",
    (stop_out_mode) => {
      const book = new Book({ leverage: 100, stop_out_mode });
      must(book.deposit("10000.00"));
      book.open("sell", "2.50");
      book.open("buy", "1.80");
      // Equity of 1,344.70 is 48.89 % of what the larger side takes; the sell stands at -30,893.00.
      book.price("1.22357");
      expect(book.desk.closed.length).toBeGreaterThan(0);
      expect(book.desk.transactions.filter(({ kind }) => kind !== "deposit")).toEqual([]);
      while (book.desk.positions.size > 0) book.close();
      const realised = book.desk.closed.reduce((sum, { gross_minor }) => sum + (gross_minor ?? 0n), 0n);
      expect(book.balance).toBe(usd("10000.00") + realised);
      expect(book.balance > 0n).toBe(true);
    },
  );

  it("with two symbols too", () => {
    const book = euros(["sell", "2.50"]);
    book.open("buy", "1.90", "internal", "GBPUSD");
    book.price("1.37000", "GBPUSD");
    book.price("1.20230");
    expect(book.desk.positions.size).toBe(1);
    expect(book.balance < 0n).toBe(true);
    book.close();
    const realised = book.desk.closed.reduce((sum, { gross_minor }) => sum + (gross_minor ?? 0n), 0n);
    expect(book.balance).toBe(usd("10000.00") + realised);
    expect(book.desk.transactions).toHaveLength(1);
  });

  it("and then covers what trading lost beyond the funds, once", () => {
    const book = euros(["buy", "1.00"]);
    book.price("0.90000");
    expect(book.balance).toBe(0n);
    expect(book.desk.transactions.at(-1)).toMatchObject({ kind: "negative_balance_correction" });
  });
});

describe("the correction covers losses of trading alone", () => {
  it("not the debt of a forced return: 0.14 of 980.18", () => {
    const charged = someMarket({}, [
      someSymbol("EURUSD", { commission: { type: "per_lot", amount: "4", currency: "USD" } }),
    ]);
    const book = new Book({ leverage: 500 }, {}, charged);
    const paid = must(book.deposit("1000.00"));
    book.open("buy", "0.01");
    must(book.withdraw("980.00", "completed"));
    must(book.move(paid, { status: "returned", reason: { code: "fraud" }, force: true }));
    expect(book.desk.balance.debt_minor).toBe(usd("980.04"));
    book.close();
    expect(book.balance).toBe(usd("-980.04"));
    expect(book.desk.transactions.at(-1)).toMatchObject({
      kind: "negative_balance_correction",
      amount_minor: usd("0.14"),
    });
  });

  it("and a payout that is given back repays it: 1,499.00 of 2,000.00 after a loss of 501.00", () => {
    const book = new Book({ leverage: 500 });
    must(book.deposit("2000.00"));
    const payout = must(book.withdraw("1800.00", "processing"));
    book.open("buy", "0.30");
    book.price("1.08340");
    expect(book.desk.transactions.at(-1)).toMatchObject({ amount_minor: usd("301.00") });
    expect(book.balance).toBe(0n);
    const failed = must(book.giveBack(payout));
    expect(failed.status).toBe("failed");
    expect(book.balance).toBe(usd("1499.00"));
    const [given, repaid] = book.desk.ledger.slice(-2);
    expect(given).toMatchObject({ kind: "withdrawal", amount_minor: usd("1800.00") });
    expect(repaid).toMatchObject({ kind: "negative_balance_correction", amount_minor: usd("-301.00") });
    expect(repaid?.transaction_id).toBe(payout.id);
    expect(book.desk.contra.reduce((sum, { amount_minor }) => sum + amount_minor, book.balance)).toBe(0n);
  });

  it("nor the credit that a loss has spent: it is there again when a payout comes back", () => {
    const book = new Book({ leverage: 500 }, { credit_minor: usd("100.00") });
    must(book.deposit("2000.00"));
    const payout = must(book.withdraw("1800.00", "processing"));
    book.open("buy", "0.30");
    book.price("1.08340");
    expect(book.desk.balance).toMatchObject({ balance_minor: 0n, credit_minor: 0n });
    expect(book.desk.transactions.at(-1)).toMatchObject({ amount_minor: usd("201.00") });
    must(book.giveBack(payout));
    expect(book.desk.balance).toMatchObject({ balance_minor: usd("1499.00"), credit_minor: usd("100.00") });
  });

  it("and of two payouts the later one repays only what came after it", () => {
    const book = new Book({ leverage: 500 });
    must(book.deposit("1000.00"));
    const first = must(book.withdraw("900.00", "processing"));
    book.open("buy", "0.10");
    book.price("1.07010");
    expect(book.desk.transactions.at(-1)).toMatchObject({ amount_minor: usd("200.00") });
    must(book.deposit("500.00"));
    const second = must(book.withdraw("400.00", "processing"));
    book.open("buy", "0.10");
    book.price("1.05010");
    expect(book.desk.transactions.at(-1)).toMatchObject({ amount_minor: usd("100.00") });
    must(book.giveBack(second));
    expect(book.balance).toBe(usd("300.00"));
    must(book.giveBack(first));
    // 1,000.00 and 500.00 in, 300.00 and 200.00 lost, nothing paid out.
    expect(book.balance).toBe(usd("1000.00"));
  });
});

it("a payout that its platform brought back before a loss, and reported after it, counts once for the next one", () => {
  const book = new Book({ leverage: 500 });
  must(book.deposit("2000.00"));
  const [first, second] = [must(book.withdraw("900.00", "processing")), must(book.withdraw("900.00", "processing"))];
  book.open("buy", "0.30");
  book.price("1.08340");
  book.bringBackLate(first, 1);
  expect(book.balance).toBe(usd("599.00"));
  must(book.giveBack(second));
  // 2,000.00 in, 501.00 lost, nothing paid out.
  expect(book.balance).toBe(usd("1499.00"));
});

describe("a forced return while a position floats", () => {
  it("is not paid by the profit of a hedge whose other leg has lost it: 900.00 are owed, 0.90 are forgiven", () => {
    const book = new Book({ leverage: 500 });
    const paid = must(book.deposit("1000.00"));
    book.open("buy", "0.09");
    book.open("sell", "0.09");
    must(book.withdraw("900.00", "completed"));
    book.price("1.20000");
    book.close(0);
    must(book.move(paid, { status: "returned", reason: { code: "fraud" }, force: true }));
    expect(book.desk.balance.debt_minor).toBe(usd("900.00"));
    book.close(0);
    expect(book.balance).toBe(usd("-900.00"));
    expect(book.desk.transactions.at(-1)).toMatchObject({ amount_minor: usd("0.90") });
  });

  it("owes nothing of a loss that comes back before the close", () => {
    const book = new Book({ leverage: 500 });
    const paid = must(book.deposit("1000.00"));
    book.open("sell", "0.10");
    const start = book.market;
    book.price("1.15000");
    must(book.move(paid, { status: "returned", reason: { code: "fraud" }, force: true }));
    book.market = start;
    book.close();
    expect(book.balance).toBe(0n);
    expect(book.desk.balance.debt_minor).toBe(0n);
  });
});

describe("an account that its platform decides for", () => {
  it("gets no correction of ours: its close leaves -1,010.00, and the platform's own 1,010.00 leave 0.00", () => {
    const book = new Book({ leverage: 500, platform: "mt5", platform_login: "5001" });
    must(book.deposit("500.00"));
    book.open("buy", "1.00", "mt5:live-1");
    book.price("1.08500");
    expect(book.desk.positions.size).toBe(1);
    book.close();
    expect(book.balance).toBe(usd("-1010.00"));
    expect(book.desk.transactions).toHaveLength(1);
    must(book.deposit("1010.00"));
    expect(book.desk.balance).toMatchObject({ balance_minor: 0n, debt_minor: 0n });
  });

  it("gets none either when a trade of ours is the last one that closes", () => {
    const book = new Book({ leverage: 500, platform: "mt5", platform_login: "5001" });
    must(book.deposit("500.00"));
    book.open("buy", "1.00", "mt5:live-1");
    book.open("buy", "0.01");
    book.price("1.08500");
    book.close(0);
    book.close(0);
    // The loss of the trade of ours is forgiven, that of the platform's is not.
    expect(book.balance).toBe(usd("-1010.00"));
    expect(book.desk.transactions.at(-1)).toMatchObject({ amount_minor: usd("15.10") });
  });
});

describe("money that a platform took", () => {
  const platform = { leverage: 500, platform: "mt5", platform_login: "5001" } as const;
  const operate = (book: Book, kind: Operation["kind"], amount: string, authoritative: "platform" | "service") => {
    const operation = { operation_id: `B-${book.desk.ledger.length}`, platform_login: "5001", kind, amount };
    const { floating_minor } = metricsAt(book.market, book.desk.state, decisionTime);
    const links = { tenant, named: undefined, candidates: [], said: undefined };
    const source = { id: "src_01JD0000000000000000000001", name: "mt5:live-1", authoritative };
    const state = { ...book.desk.state, floating_minor };
    const decision = applyOperation(state, operation, links, { source, at: decisionTime }, context);
    book.desk.apply(decision);
  };

  it("is not forgiven with a trade of ours, where the platform decides: 200.00 of a swap stay owed", () => {
    const book = new Book(platform);
    must(book.deposit("100.00"));
    book.open("buy", "0.01");
    operate(book, "swap", "-300.00", "platform");
    book.close();
    expect(book.balance).toBe(usd("-200.00"));
    operate(book, "correction", "200.00", "platform");
    expect(book.desk.balance).toMatchObject({ balance_minor: 0n, debt_minor: 0n });
  });

  it("leaves no debt once a dividend has paid it while no position is open", () => {
    const book = new Book(platform);
    must(book.deposit("100.00"));
    operate(book, "withdrawal", "200.00", "service");
    expect(book.desk.balance.debt_minor).toBe(usd("100.00"));
    operate(book, "dividend", "100.00", "service");
    expect(book.desk.balance).toMatchObject({ balance_minor: 0n, debt_minor: 0n });
  });
});
