import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Account, Balance, Ledger } from "../../shared/domain/account.ts";
import { replayFrom } from "../../shared/domain/debt.ts";
import type { Decision } from "../../shared/domain/decision.ts";
import { applyOperation } from "../../shared/domain/feed/join-operation.ts";
import type { Operation } from "../../shared/domain/feed/platform-money.ts";
import { least } from "../../shared/domain/money.ts";
import { moveTransaction } from "../../shared/domain/move-transaction.ts";
import type { TradingDecision } from "../../shared/domain/trading/changes.ts";
import { closeTrade } from "../../shared/domain/trading/close-trade.ts";
import { metricsAt } from "../../shared/domain/trading/margin.ts";
import { executeTrade } from "../../shared/domain/trading/open-trade.ts";
import type { Market } from "../../shared/domain/trading/quote.ts";
import { evaluateMargin } from "../../shared/domain/trading/stop-out.ts";
import {
  requestDeposit,
  requestWithdrawal,
  reversedFrom,
  type Surroundings,
  type Transaction,
} from "../../shared/domain/transaction.ts";
import type { UpdateTransaction } from "../../shared/schema/transaction.ts";
import { type JudgedEntry, judgeDebt } from "../support/debt-oracle.ts";
import { decisionContext, decisionTime, someAccount, someClient } from "../support/decisions.ts";
import { marketAt, someMarket, someSymbol, tradingAccount, usd } from "../support/trading.ts";
import { TradingDesk } from "../support/trading-desk.ts";

const { tenant } = someAccount();
const context = decisionContext();

/** A client's account with its money and its trades, driven by the decisions of the service alone. */
class Book {
  readonly desk: TradingDesk;
  market: Market;
  /** Numbers of the postings after which the account was left without a position, or followed by a platform. */
  readonly settles = new Map<number, "due" | "owed">();
  /** What of the balance was lost again by open positions at each posting, by its place in the ledger. */
  readonly offsets: bigint[] = [];
  /** Numbers of the postings after which there was no position. */
  private readonly flats: number[] = [];

  constructor(fields: Partial<Account> = {}, money: Partial<Balance> = {}, market = someMarket()) {
    this.desk = new TradingDesk(tradingAccount("0.00", fields, money));
    this.market = market;
  }

  get around(): Surroundings {
    const { account, balance, state } = this.desk;
    if (balance.positions === 0) return { tenant, account, balance };
    const metrics = metricsAt(this.market, state, decisionTime);
    const backed = metrics.equity_minor - metrics.credit_minor - metrics.used_margin_minor;
    const payable_minor = least(balance.balance_minor, backed);
    const { floating_minor, stale } = metrics;
    return { tenant, account, balance, margin: { payable_minor, floating_minor, stale, liquidating: false } };
  }

  /** Applies a decision about money; undefined when it was refused. */
  private take(decision: Decision<Transaction>): Transaction | undefined {
    const { floating_minor } = metricsAt(this.market, this.desk.state, decisionTime);
    const profit = this.realised > 0n ? this.realised : 0n;
    const lost = floating_minor < 0n ? -floating_minor : 0n;
    const taken = decision.ok ? this.desk.apply(decision) : undefined;
    while (this.offsets.length < this.desk.ledger.length) this.offsets.push(profit < lost ? profit : lost);
    return taken;
  }

  deposit(amount: string): Transaction | undefined {
    const request = { account_id: this.desk.account.id, amount, status: "completed" } as const;
    return this.take(requestDeposit(this.around, request, context));
  }

  withdraw(amount: string, status: "processing" | "completed", fee = "0"): Transaction | undefined {
    const request = { account_id: this.desk.account.id, amount, fee };
    const asked = this.take(requestWithdrawal(someClient(), this.around, request, context));
    return asked && this.move(asked, { status });
  }

  move(transaction: Transaction, request: UpdateTransaction): Transaction | undefined {
    const { around } = this;
    const from = reversedFrom(transaction, around.balance);
    const since_debit = from === undefined ? undefined : this.since(from);
    const found = since_debit === undefined ? around : { ...around, since_debit };
    const moved = this.take(moveTransaction(transaction, found, request, context));
    return moved;
  }

  private since(from: number): readonly Ledger[] {
    const entries = this.desk.ledger.filter(({ balance_version }) => balance_version >= from);
    const first = replayFrom(entries, from);
    return first === from ? entries : this.since(first);
  }

  giveBack(transaction: Transaction): Transaction | undefined {
    const reason = { code: "bank_rejected" };
    const status = transaction.status === "processing" ? "failed" : "returned";
    return this.move(transaction, { status, reason });
  }

  private trade(decide: () => TradingDecision<unknown>, source = "internal"): void {
    const { desk } = this;
    const [before, entries] = [desk.positions.size, desk.ledger.length];
    const followed = [source, ...[...desk.positions.values()].map((each) => each.source)];
    const platform = followed.some((name) => name !== "internal");
    const decision = decide();
    if (!decision.ok) return;
    desk.apply(decision);
    while (this.offsets.length < desk.ledger.length) this.offsets.push(0n);
    const posted = desk.ledger
      .slice(entries)
      .filter(({ kind }) => ["realised_pnl", "swap", "commission"].includes(kind));
    const last = posted.at(-1);
    const flat = before > 0 && desk.positions.size === 0;
    if (flat) this.flats.push(desk.ledger.length);
    if (last === undefined || !(flat || platform)) return;
    const forgiven = !platform && desk.account.negative_balance_protection;
    this.settles.set(last.balance_version, forgiven ? "due" : "owed");
  }

  open(side: "buy" | "sell", lots: string, source = "internal", symbol = "EURUSD"): void {
    const quote = this.market.quotes.get(symbol);
    const price = (side === "buy" ? quote?.ask : quote?.bid) ?? "0";
    const execution = { symbol, side, lots, price, source };
    this.trade(() => executeTrade(this.desk.state, this.market, execution, context), source);
  }

  close(nth = 0, lots?: string): void {
    const position = [...this.desk.positions.values()][nth % Math.max(1, this.desk.positions.size)];
    if (position === undefined) return;
    const quote = this.market.quotes.get(position.symbol);
    const price = (position.side === "buy" ? quote?.bid : quote?.ask) ?? "0";
    const closing = { price, reason: "client", ...(lots === undefined ? {} : { lots }) } as const;
    const open = this.desk.open(position.id);
    this.trade(() => closeTrade(this.desk.state, open, this.market, closing, context));
  }

  /** Sets a price and lets everything happen that it leads to. */
  price(at: string, symbol = "EURUSD"): void {
    const moved = marketAt({ [symbol]: { bid: at } }).quotes.get(symbol);
    const quotes = new Map([...this.market.quotes, ...(moved === undefined ? [] : [[symbol, moved] as const])]);
    this.market = { ...this.market, quotes };
    for (let running = true; running; ) {
      this.trade(() => {
        const decision = evaluateMargin(this.desk.state, this.market, this.desk.trades, context);
        running = decision.ok && decision.result.running;
        return decision;
      });
    }
  }

  /** The result of trading since the account last had no position, from the ledger. */
  private get realised(): bigint {
    const flat = this.flats.at(-1) ?? 0;
    const since = this.desk.ledger.filter(({ balance_version }) => balance_version > flat);
    const own = since.filter(({ kind }) => ["realised_pnl", "swap", "commission"].includes(kind));
    return own.reduce((sum, { amount_minor }) => sum + amount_minor, 0n);
  }

  /** The ledger for the oracle, which sees nothing that the service has decided. */
  get judged(): JudgedEntry[] {
    return this.desk.ledger.map((entry) => ({
      kind: entry.kind,
      amount: entry.amount_minor,
      transaction: entry.transaction_id ?? "",
      offset: this.offsets[entry.balance_version - 1] ?? 0n,
      settles: this.settles.get(entry.balance_version),
    }));
  }

  get balance(): bigint {
    return this.desk.balance.balance_minor;
  }
}

function must<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("It was refused.");
  return value;
}

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

it("an account that was stored before debts were kept owes no loss that its open positions follow", () => {
  const book = new Book({ leverage: 500 });
  must(book.deposit("1000.00"));
  book.open("buy", "0.10");
  book.open("sell", "0.10");
  book.price("1.25000");
  book.close(1);
  const { debt_minor: _kept, ...old } = book.desk.balance;
  book.desk.balance = old;
  book.price("1.10010");
  book.close();
  expect(book.balance).toBe(0n);
});

const amount = fc.integer({ min: 1, max: 60 }).map((tens) => `${tens * 10}.00`);
const lots = fc.constantFrom("0.10", "0.20", "0.30");
const nth = fc.nat({ max: 9 });
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant("deposit" as const), amount }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant("pay" as const), amount, whole: fc.boolean() }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("give_back" as const), nth, keep_fee: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("force" as const), nth }) },
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
  steps: readonly (typeof step extends fc.Arbitrary<infer T> ? T : never)[],
) {
  const book = new Book({ leverage: 500, ...fields }, { credit_minor: credit });
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
    if (each.do === "force") {
      const deposit = known(deposits[each.nth % Math.max(1, deposits.length)]);
      if (deposit) book.move(deposit, { status: "returned", reason: { code: "fraud" }, force: true });
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
    fc.array(step, { minLength: 10, maxLength: 60, size: "max" }),
  );

  it("balance, credit and debt are those of a replay of the whole ledger without what was given back", () => {
    let [corrected, repaid] = [0, 0];
    fc.assert(
      fc.property(programs, ([credit, fields, steps]) => {
        const book = ran(credit, fields, steps);
        const { balance_minor, credit_minor, debt_minor } = book.desk.balance;
        const judged = judgeDebt(book.judged, credit);
        expect({ balance: balance_minor, credit: credit_minor, debt: debt_minor }).toEqual(judged);
        corrected += book.desk.transactions.filter(({ kind }) => kind === "negative_balance_correction").length;
        repaid += book.desk.ledger.filter(({ settlement }) => settlement === "repayment").length;
      }),
      { numRuns: Number(process.env["DEBT_RUNS"] ?? "600") },
    );
    // A generator that no longer reaches these states would find nothing.
    expect([corrected > 100, repaid > 10]).toEqual([true, true]);
  });

  it("no account is corrected by more than its trades have lost, and each ledger follows from itself", () => {
    fc.assert(
      fc.property(programs, ([credit, fields, steps]) => {
        const { ledger, contra, balance } = ran(credit, fields, steps).desk;
        const sum = (kinds: readonly string[], lost = false) =>
          ledger
            .filter(({ kind, amount_minor }) => kinds.includes(kind) && (!lost || amount_minor < 0n))
            .reduce((total, { amount_minor }) => total + amount_minor, 0n);
        const given = sum(["negative_balance_correction", "credit_out", "credit_in"]);
        expect(given >= 0n && given <= -sum(["realised_pnl", "swap", "commission"], true)).toBe(true);
        let before = 0n;
        for (const [place, entry] of ledger.entries()) {
          expect(entry.balance_version).toBe(place + 1);
          expect(entry.balance_before_minor).toBe(before);
          before += entry.amount_minor;
          expect(entry.balance_after_minor).toBe(before);
        }
        expect(before).toBe(balance.balance_minor);
        const legs = contra.filter(({ ledger_id }) => ledger_id !== null);
        const off = legs.reduce((total, { amount_minor }) => total + amount_minor, before);
        expect(off).toBe(0n);
        expect(balance.available_minor).toBe(balance.balance_minor - balance.held_minor);
      }),
      { numRuns: 300 },
    );
  });
});
