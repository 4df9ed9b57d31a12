import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Account, Balance, Contra, Ledger } from "../../shared/domain/account.ts";
import type { Change, Decision } from "../../shared/domain/decision.ts";
import { applyOperation, type OperationLinks } from "../../shared/domain/feed/join-operation.ts";
import { type Operation, operationMinor } from "../../shared/domain/feed/platform-money.ts";
import { formatAmount } from "../../shared/domain/money.ts";
import { expireTransaction, moveTransaction } from "../../shared/domain/move-transaction.ts";
import {
  requestDeposit,
  requestWithdrawal,
  type Surroundings,
  type Transaction,
} from "../../shared/domain/transaction.ts";
import { unjoinedLegsOf } from "../../shared/domain/transaction-legs.ts";
import { limits } from "../../shared/limits.ts";
import type { UpdateTransaction } from "../../shared/schema/transaction.ts";
import {
  accepted,
  changesOf,
  createdItems,
  decisionContext,
  decisionTime,
  refused,
  someAccount,
  someClient,
} from "../support/decisions.ts";

const origin = {
  source: { id: "src_01JD0000000000000000000001", name: "mt5:live-1", authoritative: "platform" },
  at: "2026-11-21T06:00:00.000Z",
} as const;
const platform = { platform: "mt5", platform_login: "50012345" } as const;
const context = decisionContext();

const operation = (kind: Operation["kind"], amount: string, more: Partial<Operation> = {}): Operation => ({
  operation_id: "B-1",
  platform_login: "50012345",
  kind,
  amount,
  ...more,
});

const nothingKnown = (tenant: Surroundings["tenant"]): OperationLinks => ({
  tenant,
  named: undefined,
  candidates: [],
  said: undefined,
});

/** An account of a platform with 1000.00, unless told otherwise. */
function platformAccount(fields: Partial<Account> = {}, money: Partial<Balance> = {}): Surroundings {
  return someAccount({ ...platform, ...fields }, { balance_minor: 100_000n, ...money });
}

/** What a decision makes of a balance, and the transaction, entries and legs that it writes. */
function outcome(around: Surroundings, changes: readonly Change[]) {
  let balance = around.balance as unknown as Record<string, unknown>;
  for (const { set, add } of changesOf(changes, "adjust").filter(({ entity }) => entity === "balance")) {
    balance = { ...balance, ...set };
    for (const [name, by] of Object.entries(add ?? {})) {
      const value = balance[name];
      balance[name] = typeof value === "bigint" ? value + BigInt(by) : Number(value) + Number(by);
    }
  }
  return {
    balance: balance as unknown as Balance,
    ledger: createdItems<Ledger>(changes, "ledger"),
    contra: createdItems<Contra>(changes, "contra"),
    transaction: [
      ...createdItems<Transaction>(changes, "transaction"),
      ...changesOf(changes, "update")
        .filter(({ entity }) => entity === "transaction")
        .map(({ after }) => after as unknown as Transaction),
    ][0],
  };
}

/** Applies an operation; a refusal fails the test. */
function applied(around: Surroundings, what: Operation, links: Partial<OperationLinks> = {}) {
  const decision = applyOperation(
    { ...around, floating_minor: 0n },
    what,
    { ...nothingKnown(around.tenant), ...links },
    origin,
    context,
  );
  if (!decision.ok) throw new Error(`Refused: ${decision.refusal.code}: ${decision.refusal.detail}`);
  return { decision, ...outcome(around, decision.changes as readonly Change[]) };
}

describe("money that a platform moved", () => {
  it.each([
    ["a close-only account", { trading_mode: "close_only" }, { accepts: "close_only" }],
    ["a disabled account", { status: "disabled", trading_mode: "none" }, { accepts: "none" }],
    ["an account whose money is held", {}, { held_minor: 90_000n, available_minor: 10_000n }],
    ["an account with less than that", {}, { balance_minor: 1_000n, available_minor: 1_000n }],
  ] as const)("is taken from %s as it happened", (_, fields, money) => {
    const around = platformAccount(fields, money);
    const { balance, transaction } = applied(around, operation("withdrawal", "300.00"));
    expect(balance.balance_minor).toBe(around.balance.balance_minor - 30_000n);
    expect(balance.available_minor).toBe(around.balance.available_minor - 30_000n);
    expect(balance.held_minor).toBe(around.balance.held_minor);
    expect(transaction).toMatchObject({ status: "completed", kind: "withdrawal", amount_minor: 30_000n });
  });

  it("comes to a disabled account as it happened", () => {
    const around = platformAccount({ status: "disabled" }, { accepts: "none" });
    expect(applied(around, operation("deposit", "300.00")).balance.balance_minor).toBe(130_000n);
  });

  it("is put aside on a closed account, and where the balance cannot be stored", () => {
    const decide = (around: Surroundings, what: Operation) =>
      applyOperation(
        { ...around, floating_minor: 0n },
        what,
        nothingKnown(around.tenant),
        origin,
        context,
      ) as Decision<unknown>;
    const closed = platformAccount({ status: "closed" }, { accepts: "none", balance_minor: 0n, available_minor: 0n });
    expect(refused(decide(closed, operation("deposit", "1.00"))).code).toBe("account_closed");
    const { max_minor } = limits.money;
    const full = platformAccount({}, { balance_minor: max_minor });
    expect(refused(decide(full, operation("deposit", "0.01"))).code).toBe("amount_too_large");
    const owing = platformAccount({}, { balance_minor: -max_minor });
    expect(refused(decide(owing, operation("withdrawal", "0.01"))).code).toBe("amount_too_large");
  });

  it.each([
    ["deposit", "100.00", 10_000n],
    ["withdrawal", "100.00", -10_000n],
    ["withdrawal", "-100.00", -10_000n],
    ["adjustment", "-0.01", -1n],
    ["fee", "-3.50", -350n],
    ["fee", "3.50", 350n],
  ] as const)("of kind %s and amount %s has its sign from both", (kind, amount, minor) => {
    expect(accepted(operationMinor(operation(kind, amount), { currency: "USD" })).result).toBe(minor);
  });

  it.each([
    ["deposit", "-100.00", "sign_mismatch"],
    ["deposit", "0.00", "validation_failed"],
    ["adjustment", "-0.00", "validation_failed"],
    ["adjustment", "-0.001", "amount_precision"],
  ] as const)("of kind %s and amount %s is none: %s", (kind, amount, code) => {
    expect(refused(operationMinor(operation(kind, amount), { currency: "USD" })).code).toBe(code);
  });

  it("has one entry and one leg for every kind, together nothing, whatever the amount", () => {
    const kinds = [
      "adjustment",
      "fee",
      "commission",
      "dividend",
      "swap",
      "correction",
      "deposit",
      "withdrawal",
    ] as const;
    const size = fc.bigInt({ min: 1n, max: 10n ** 15n });
    fc.assert(
      fc.property(fc.constantFrom(...kinds), size, fc.boolean(), (kind, minor, negative) => {
        const sign = negative && kind !== "deposit" ? "-" : "";
        const around = platformAccount();
        const amount = `${sign}${formatAmount(minor, "USD")}`;
        const { balance, ledger, contra, transaction } = applied(around, operation(kind, amount));
        const moved = kind === "withdrawal" || sign === "-" ? -minor : minor;
        expect(balance.balance_minor).toBe(100_000n + moved);
        expect(ledger.map((entry) => [entry.kind, entry.amount_minor])).toEqual([[kind, moved]]);
        expect(contra.map(({ amount_minor }) => amount_minor)).toEqual([-moved]);
        expect(transaction?.balance_after_minor).toBe(100_000n + moved);
      }),
    );
  });

  it("belongs to its operation for good, and to no provider's reference", () => {
    const { decision, transaction } = applied(platformAccount(), operation("deposit", "1.00"));
    const claims = changesOf(decision.changes as readonly Change[], "claim");
    expect(claims.map(({ kind, owner, value }) => [kind, owner, value])).toEqual([
      ["source_operation", transaction?.id, JSON.stringify([origin.source.id, "B-1"])],
    ]);
    expect(transaction?.platform_operations).toEqual([
      { source_id: origin.source.id, operation_id: "B-1", leg: "forward", at: origin.at },
    ]);
  });

  it("that only platforms book cannot be moved by the API", () => {
    const { transaction } = applied(platformAccount(), operation("fee", "-3.50"));
    if (transaction === undefined) throw new Error("There is no transaction.");
    const reason = { code: "mistake" };
    const decision = moveTransaction(transaction, platformAccount(), { status: "returned", reason }, context);
    expect(refused(decision).code).toBe("illegal_transition");
  });
});

type Request = { readonly amount: string; readonly fee?: string; readonly status?: "completed" };

/** A transaction of the API with the account as it leaves it, moved on as asked. */
function transactionOf(kind: "deposit" | "withdrawal", request: Request, ...moves: readonly UpdateTransaction[]) {
  let around = platformAccount({}, { balance_minor: 500_000n, available_minor: 500_000n });
  const body = { account_id: around.account.id, ...request };
  const first = accepted(
    kind === "deposit" ? requestDeposit(around, body, context) : requestWithdrawal(someClient(), around, body, context),
  );
  around = { ...around, balance: outcome(around, first.changes).balance };
  let transaction = first.result;
  for (const move of moves) {
    const next = accepted(moveTransaction(transaction, around, move, context));
    around = { ...around, balance: outcome(around, next.changes).balance };
    transaction = next.result;
  }
  return { around, transaction };
}

const done = { status: "completed" } as const;
const inProcess = { status: "processing" } as const;
const lost = { status: "failed", reason: { code: "bank" } } as const;
const taken = { status: "returned", reason: { code: "chargeback" } } as const;

describe("an operation that names a transaction", () => {
  it.each([
    ["a completed deposit", "deposit", [done], "97.00", "completed", 0n],
    ["a pending deposit", "deposit", [], "97.00", "completed", 9_700n],
    ["an approved deposit", "deposit", [{ status: "approved" }], "97.00", "completed", 9_700n],
    ["a deposit in processing", "deposit", [inProcess], "97.00", "completed", 9_700n],
    ["a returned deposit", "deposit", [done, taken], "97.00", "returned", 0n],
    ["a completed withdrawal", "withdrawal", [done], "-100.00", "completed", 0n],
    ["a pending withdrawal", "withdrawal", [], "-100.00", "processing", -10_000n],
    ["a withdrawal in processing", "withdrawal", [inProcess], "-100.00", "processing", 0n],
    ["a payout that was given back", "withdrawal", [inProcess, lost], "-100.00", "failed", 0n],
  ] as const)("joins the forward leg of %s", (_, kind, moves, amount, status, books) => {
    const { around, transaction } = transactionOf(kind, { amount: "100.00", fee: "3.00" }, ...moves);
    const four_eyes = { ...around, tenant: { ...around.tenant, four_eyes: true } };
    const joined = applied(four_eyes, operation(kind, amount), { named: transaction });
    expect(joined.balance.balance_minor - around.balance.balance_minor).toBe(books);
    expect(joined.transaction).toMatchObject({ id: transaction.id, status, version: transaction.version + 1 });
    expect(joined.transaction?.platform_operations).toMatchObject([{ operation_id: "B-1", leg: "forward" }]);
    expect(joined.decision.result).toEqual({ transaction_id: transaction.id });
    const { held_minor, balance_minor, available_minor, pending } = joined.balance;
    expect([held_minor, available_minor]).toEqual([0n, balance_minor]);
    expect(pending).toBe(status === "processing" ? 1 : 0);
    const legs = changesOf(joined.decision.changes as readonly Change[], "unlist").map(({ leg }) => leg);
    expect(legs.map(({ leg, amount_minor }) => [leg, String(amount_minor)])).toEqual(
      [kind === "deposit" ? 1 : -1].flatMap((sign) => [
        ["forward", String(sign * 10_000)],
        ["forward", String(sign * 9_700)],
      ]),
    );
  });

  it.each([
    ["a returned deposit", "deposit", [done, taken], "-97.00"],
    ["a deposit that was returned without its fee", "deposit", [done, { ...taken, keep_fee: true }], "-100.00"],
    ["a returned withdrawal", "withdrawal", [done, taken], "100.00"],
    ["a payout that was given back", "withdrawal", [inProcess, lost], "100.00"],
  ] as const)("joins the reverse leg of %s and books nothing", (_, kind, moves, amount) => {
    const { around, transaction } = transactionOf(kind, { amount: "100.00", fee: "3.00" }, ...moves);
    const joined = applied(around, operation("adjustment", amount), { named: transaction });
    expect(joined.ledger).toEqual([]);
    expect(joined.transaction?.platform_operations).toMatchObject([{ leg: "reverse" }]);
    const [name] = unjoinedLegsOf(joined.transaction ?? transaction).map(({ name }) => name);
    expect(name).toBe("forward");
  });

  it.each([
    ["of another amount", done, "96.99"],
    ["gross instead of net", done, "100.00"],
    ["that gives back what was not given back here", done, "-97.00"],
  ] as const)("%s is booked beside it", (_, move, amount) => {
    const { around, transaction } = transactionOf("deposit", { amount: "100.00", fee: "3.00" }, move);
    const {
      balance,
      decision,
      transaction: made,
    } = applied(around, operation("adjustment", amount), {
      named: transaction,
    });
    expect(formatAmount(balance.balance_minor - around.balance.balance_minor, "USD")).toBe(amount);
    expect(made).toMatchObject({ related_to: transaction.id });
    expect(decision.result).toEqual({ transaction_id: made?.id, related_to: transaction.id });
  });

  it("of another account, or that ended without money, is booked beside it", () => {
    const { around, transaction } = transactionOf("deposit", { amount: "100.00" }, { status: "cancelled" });
    const own = applied(around, operation("deposit", "100.00"), { named: transaction });
    expect(own.transaction).toMatchObject({ related_to: transaction.id, status: "completed" });
    const foreign = transactionOf("deposit", { amount: "100.00" }, done).transaction;
    const other = applied(platformAccount(), operation("deposit", "100.00"), { named: foreign });
    expect(other.transaction).toMatchObject({ related_to: foreign.id });
    expect(other.balance.balance_minor).toBe(110_000n);
  });

  it("a second time is booked beside it", () => {
    const { around, transaction } = transactionOf("deposit", { amount: "100.00" }, done);
    const first = applied(around, operation("deposit", "100.00"), { named: transaction });
    const second = applied(around, operation("deposit", "100.00", { operation_id: "B-2" }), {
      named: first.transaction,
    });
    expect(second.transaction).toMatchObject({ related_to: transaction.id });
    expect(second.balance.balance_minor).toBe(around.balance.balance_minor + 10_000n);
  });
});

describe("an operation that names nothing", () => {
  const { around, transaction } = transactionOf("deposit", { amount: "100.00" }, done);
  const decide = (links: Partial<OperationLinks>) =>
    applyOperation(
      { ...around, floating_minor: 0n },
      operation("deposit", "100.00"),
      { ...nothingKnown(around.tenant), ...links },
      origin,
      context,
    );

  it("is put aside while it could be that of a transaction, which it names", () => {
    expect(refused(decide({ candidates: [transaction.id] }) as Decision<unknown>)).toMatchObject({
      code: "possible_duplicate",
      extra: { candidates: [transaction.id] },
    });
  });

  it("is new money when a person says so", () => {
    const decision = accepted(decide({ candidates: [transaction.id], said: "is_new" }) as Decision<unknown>);
    expect(outcome(around, decision.changes).balance.balance_minor).toBe(around.balance.balance_minor + 10_000n);
  });

  it("is the money that a person says it is, and nothing where it cannot be", () => {
    const decision = accepted(decide({ named: transaction, said: "is_named" }) as Decision<unknown>);
    expect(createdItems(decision.changes, "ledger")).toEqual([]);
    const other = transactionOf("deposit", { amount: "99.00" }, done).transaction;
    for (const named of [undefined, other]) {
      expect(refused(decide({ named, said: "is_named" }) as Decision<unknown>).code).toBe("transaction_mismatch");
    }
  });
});

describe("the markers of unjoined legs", () => {
  const listed = (changes: readonly Change[]) =>
    changesOf(changes, "list").map(({ leg: { leg, amount_minor } }) => `${leg} ${amount_minor}`);
  const unlisted = (changes: readonly Change[]) =>
    changesOf(changes, "unlist").map(({ leg: { leg, amount_minor } }) => `${leg} ${amount_minor}`);

  it("are written with a transaction of a platform's account, net and gross, and with none of our own", () => {
    const own = someAccount({}, { balance_minor: 100_000n });
    const body = (around: Surroundings) => ({ account_id: around.account.id, amount: "100.00", fee: "3.00" });
    expect(listed(accepted(requestDeposit(own, body(own), context)).changes)).toEqual([]);
    const theirs = platformAccount();
    expect(listed(accepted(requestDeposit(theirs, body(theirs), context)).changes)).toEqual([
      "forward 10000",
      "forward 9700",
    ]);
    const withdrawal = accepted(requestWithdrawal(someClient(), theirs, { ...body(theirs), ...done }, context));
    expect(listed(withdrawal.changes)).toEqual(["forward -10000", "forward -9700"]);
  });

  it("go when it ends without money, and come with what is given back", () => {
    const pending = transactionOf("deposit", { amount: "100.00" });
    const cancelled = moveTransaction(pending.transaction, pending.around, { status: "cancelled" }, context);
    expect(unlisted(accepted(cancelled).changes)).toEqual(["forward 10000"]);
    const later = decisionContext({ now: "2026-12-31T00:00:00.000Z" });
    const expired = expireTransaction(pending.transaction, pending.around, later);
    expect(expired && unlisted(accepted(expired).changes)).toEqual(["forward 10000"]);
    const paying = transactionOf("withdrawal", { amount: "100.00" }, inProcess);
    const failed = accepted(moveTransaction(paying.transaction, paying.around, lost, context));
    expect([listed(failed.changes), unlisted(failed.changes)]).toEqual([["reverse 10000"], []]);
    const paid = transactionOf("deposit", { amount: "100.00" }, done);
    expect(listed(accepted(moveTransaction(paid.transaction, paid.around, taken, context)).changes)).toEqual([
      "reverse -10000",
    ]);
  });

  it("of money that a platform moved come only with what the API gives back of it", () => {
    const { decision, transaction, balance } = applied(platformAccount(), operation("deposit", "50.00"));
    expect(listed(decision.changes as readonly Change[])).toEqual([]);
    if (transaction === undefined) throw new Error("There is no transaction.");
    const returned = accepted(moveTransaction(transaction, { ...platformAccount(), balance }, taken, context));
    expect(listed(returned.changes)).toEqual(["reverse -5000"]);
    expect(returned.result.updated_at >= decisionTime).toBe(true);
  });
});

/** The book of a platform beside ours: transactions of the API, and operations that the platform reports of them. */
class TwoBooks {
  around = platformAccount({}, { balance_minor: 0n, available_minor: 0n });
  readonly own = new Map<string, Transaction>();
  /** What the platform's operations came to. */
  theirs = 0n;
  private operations = 0;

  /** What is booked here and not reported by the platform yet. */
  get unreported(): bigint {
    const booked = [...this.own.values()].flatMap((transaction) =>
      unjoinedLegsOf(transaction).filter(({ name }) => name === "reverse" || isBooked(transaction)),
    );
    return booked.reduce((sum, { minor }) => sum + minor, 0n);
  }

  create(kind: "deposit" | "withdrawal", minor: number, fee: number): void {
    const body = { account_id: this.around.account.id, amount: text(minor), fee: text(fee) };
    const decision =
      kind === "deposit"
        ? requestDeposit(this.around, body, context)
        : requestWithdrawal(someClient(), this.around, body, context);
    this.take(decision);
  }

  move(nth: number, request: UpdateTransaction): void {
    const transaction = this.pick(nth);
    if (transaction !== undefined) this.take(moveTransaction(transaction, this.around, request, context));
  }

  /** The platform reports money: a leg of a transaction, or what it names and is not the money of. */
  report(nth: number, leg: number, off: number): void {
    const named = this.pick(nth);
    const legs = named === undefined ? [] : unjoinedLegsOf(named);
    const minor = (legs[leg % Math.max(1, legs.length)]?.minor ?? 7n) + BigInt(off);
    if (minor === 0n) return;
    this.operations += 1;
    const what = operation("adjustment", formatAmount(minor, "USD"), { operation_id: `B-${this.operations}` });
    const links = { ...nothingKnown(this.around.tenant), named };
    this.theirs += minor;
    const decision = applyOperation({ ...this.around, floating_minor: 0n }, what, links, origin, context);
    if (!decision.ok) throw new Error(decision.refusal.detail);
    this.store(decision.changes as readonly Change[]);
  }

  private pick(nth: number): Transaction | undefined {
    return [...this.own.values()][nth % Math.max(1, this.own.size)];
  }

  private take(decision: Decision<Transaction>): void {
    if (decision.ok) this.store(decision.changes);
  }

  private store(changes: readonly Change[]): void {
    const { balance, transaction } = outcome(this.around, changes);
    this.around = { ...this.around, balance };
    if (transaction !== undefined) this.own.set(transaction.id, transaction);
  }
}

/** Whether the forward leg of a transaction was booked here. */
function isBooked({ kind, status, reverse_minor }: Transaction): boolean {
  if (reverse_minor !== undefined || status === "completed") return true;
  return kind === "withdrawal" && status === "processing";
}

/** Hundredths as an amount. */
function text(minor: number): string {
  return formatAmount(BigInt(minor), "USD");
}

describe("two books of one balance", () => {
  const place = fc.nat(5);
  const reason = { code: "by_test" };
  const request = fc.constantFrom<UpdateTransaction>(
    { status: "approved" },
    { status: "processing" },
    { status: "completed" },
    { status: "cancelled" },
    { status: "failed", reason },
    { status: "returned", reason },
    { status: "returned", reason, keep_fee: true },
    { status: "returned", reason, force: true },
  );
  const step = fc.oneof(
    fc.record({
      kind: fc.constantFrom("deposit", "withdrawal"),
      minor: fc.integer({ min: 2, max: 999 }),
      fee: fc.nat(1),
    }),
    fc.record({ place, request }),
    fc.record({ place, leg: fc.nat(1), off: fc.constantFrom(0, 0, 0, 1) }),
  );

  it("differ by what is booked here and not reported yet, and by nothing once all of it is", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const books = new TwoBooks();
        for (const one of steps) {
          if ("kind" in one) books.create(one.kind as "deposit", one.minor, one.fee);
          else if ("request" in one) books.move(one.place, one.request);
          else books.report(one.place, one.leg, one.off);
          expect(books.around.balance.balance_minor).toBe(books.theirs + books.unreported);
          const { balance_minor, held_minor, available_minor } = books.around.balance;
          expect(available_minor).toBe(balance_minor - held_minor);
        }
        for (let nth = 0; nth < books.own.size; nth += 1) {
          for (const { name } of unjoinedLegsOf([...books.own.values()][nth] as Transaction)) {
            books.report(nth, name === "forward" ? 0 : 1, 0);
          }
        }
        expect([books.around.balance.balance_minor, books.unreported]).toEqual([books.theirs, 0n]);
      }),
      { numRuns: 300 },
    );
  });
});
