import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { applyOperation } from "../../shared/domain/feed/join-operation.ts";
import type { OperationLinks } from "../../shared/domain/feed/reported.ts";
import { formatAmount } from "../../shared/domain/kernel/money.ts";
import { unjoinedLegsOf } from "../../shared/domain/money/legs.ts";
import { expireTransaction, moveTransaction } from "../../shared/domain/money/move.ts";
import { requestDeposit, requestWithdrawal } from "../../shared/domain/money/request.ts";
import type { AccountContext } from "../../shared/domain/money/transaction.ts";
import type { Change, Decision } from "../../shared/domain/records/change.ts";
import type { Transaction } from "../../shared/domain/records/transaction.ts";
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
} from "../support/builders/decisions.ts";
import {
  applied,
  context,
  done,
  inProcess,
  lost,
  nothingKnown,
  operation,
  origin,
  outcome,
  platformAccount,
  taken,
  transactionOf,
} from "./platform-money-cases.ts";

describe("an operation that names nothing", () => {
  const { accountContext, transaction } = transactionOf("deposit", { amount: "100.00" }, done);
  const decide = (links: Partial<OperationLinks>) =>
    applyOperation(
      { ...accountContext, floating_minor: 0n },
      operation("deposit", "100.00"),
      { ...nothingKnown(accountContext.tenant), ...links },
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
    expect(outcome(accountContext, decision.changes).balance.balance_minor).toBe(
      accountContext.balance.balance_minor + 10_000n,
    );
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
    const body = (accountContext: AccountContext) => ({
      account_id: accountContext.account.id,
      amount: "100.00",
      fee: "3.00",
    });
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
    const cancelled = moveTransaction(pending.transaction, pending.accountContext, { status: "cancelled" }, context);
    expect(unlisted(accepted(cancelled).changes)).toEqual(["forward 10000"]);
    const later = decisionContext({ now: "2026-12-31T00:00:00.000Z" });
    const expired = expireTransaction(pending.transaction, pending.accountContext, later);
    expect(expired && unlisted(accepted(expired).changes)).toEqual(["forward 10000"]);
    const paying = transactionOf("withdrawal", { amount: "100.00" }, inProcess);
    const failed = accepted(moveTransaction(paying.transaction, paying.accountContext, lost, context));
    expect([listed(failed.changes), unlisted(failed.changes)]).toEqual([["reverse 10000"], []]);
    const paid = transactionOf("deposit", { amount: "100.00" }, done);
    expect(listed(accepted(moveTransaction(paid.transaction, paid.accountContext, taken, context)).changes)).toEqual([
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
  accountContext = platformAccount({}, { balance_minor: 0n, available_minor: 0n });
  readonly own = new Map<string, Transaction>();
  /** Sum of the platform's operations. */
  theirs = 0n;
  private operations = 0;

  /** Money that is booked here and not reported by the platform yet. */
  get unreported(): bigint {
    const booked = [...this.own.values()].flatMap((transaction) =>
      unjoinedLegsOf(transaction).filter(({ name }) => name === "reverse" || isBooked(transaction)),
    );
    return booked.reduce((sum, { minor }) => sum + minor, 0n);
  }

  create(kind: "deposit" | "withdrawal", minor: number, fee: number): void {
    const body = { account_id: this.accountContext.account.id, amount: text(minor), fee: text(fee) };
    const decision =
      kind === "deposit"
        ? requestDeposit(this.accountContext, body, context)
        : requestWithdrawal(someClient(), this.accountContext, body, context);
    this.take(decision);
  }

  move(nth: number, request: UpdateTransaction): void {
    const transaction = this.pick(nth);
    if (transaction !== undefined) this.take(moveTransaction(transaction, this.accountContext, request, context));
  }

  /** The platform reports money: a leg of a transaction, or what it names and is not the money of. */
  report(nth: number, leg: number, off: number): void {
    const named = this.pick(nth);
    const legs = named === undefined ? [] : unjoinedLegsOf(named);
    const minor = (legs[leg % Math.max(1, legs.length)]?.minor ?? 7n) + BigInt(off);
    if (minor === 0n) return;
    this.operations += 1;
    const what = operation("adjustment", formatAmount(minor, "USD"), { operation_id: `B-${this.operations}` });
    const links = { ...nothingKnown(this.accountContext.tenant), named };
    this.theirs += minor;
    const decision = applyOperation({ ...this.accountContext, floating_minor: 0n }, what, links, origin, context);
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
    const { balance, transaction } = outcome(this.accountContext, changes);
    this.accountContext = { ...this.accountContext, balance };
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
          expect(books.accountContext.balance.balance_minor).toBe(books.theirs + books.unreported);
          const { balance_minor, held_minor, available_minor } = books.accountContext.balance;
          expect(available_minor).toBe(balance_minor - held_minor);
        }
        for (let nth = 0; nth < books.own.size; nth += 1) {
          for (const { name } of unjoinedLegsOf([...books.own.values()][nth] as Transaction)) {
            books.report(nth, name === "forward" ? 0 : 1, 0);
          }
        }
        expect([books.accountContext.balance.balance_minor, books.unreported]).toEqual([books.theirs, 0n]);
      }),
      { numRuns: 300 },
    );
  });
});
