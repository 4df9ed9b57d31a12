import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type CurrencyCode, minorDigits } from "../../shared/currencies.ts";
import { formatAmount } from "../../shared/domain/kernel/money.ts";
import { moveTransaction } from "../../shared/domain/money/move.ts";
import { transactionBody } from "../../shared/domain/money/transaction.ts";
import type { Account } from "../../shared/domain/records/account.ts";
import type { Balance } from "../../shared/domain/records/balance.ts";
import type { Decision } from "../../shared/domain/records/change.ts";
import type { Contra, Ledger } from "../../shared/domain/records/ledger.ts";
import type { Transaction } from "../../shared/domain/records/transaction.ts";
import { limits } from "../../shared/limits.ts";
import type { TransactionState } from "../../shared/schema/transaction.ts";
import {
  accepted,
  allScopesBut,
  changesOf,
  createdItems,
  decisionContext,
  decisionTime,
  refused,
  someAccount,
} from "../support/builders/decisions.ts";
import { applied, type Body, kinds, reason, request, standing, step } from "./transaction-cases.ts";

describe("a completion", () => {
  it("is refused when margin needs the money meanwhile", () => {
    const { transaction, accountContext } = standing("withdrawal", "pending");
    const tight = {
      ...accountContext,
      margin: { payable_minor: 5_000n, floating_minor: 0n, stale: false, liquidating: false },
    };
    expect(refused(moveTransaction(transaction, tight, { status: "completed" }, decisionContext()))).toMatchObject({
      code: "insufficient_free_margin",
      extra: { withdrawable: "50.00", currency: "USD" },
    });
  });

  it("is refused when the balance would be larger than the service can hold", () => {
    const { transaction, accountContext } = standing("deposit", "pending");
    const holding = (balance_minor: bigint) => ({
      ...accountContext,
      balance: { ...accountContext.balance, balance_minor },
    });
    const full = holding(limits.money.max_minor - 9_899n);
    expect(refused(moveTransaction(transaction, full, { status: "completed" }, decisionContext())).code).toBe(
      "amount_too_large",
    );
    const fits = holding(limits.money.max_minor - 9_900n);
    expect(moveTransaction(transaction, fits, { status: "completed" }, decisionContext()).ok).toBe(true);
  });

  it("goes on after the account was disabled, since the money was promised before", () => {
    const { transaction, accountContext } = standing("deposit", "pending");
    const shut = { ...accountContext, balance: { ...accountContext.balance, accepts: "none" as const } };
    expect(moveTransaction(transaction, shut, { status: "completed" }, decisionContext()).ok).toBe(true);
  });

  it.each(kinds)("at creation writes both events of a %s, each with the version it tells of", (kind) => {
    const { result, events } = accepted(request(kind, { amount: "100", fee: "1", status: "completed" }));
    expect(result).toMatchObject({ status: "completed", version: 2, completed_at: decisionTime, expires_at: null });
    expect(events.map(({ type, resource, object }) => [type, resource.version, object])).toEqual([
      ["transaction.created", 1, expect.objectContaining({ status: "pending", version: 1, balance_after: null })],
      ["transaction.completed", 2, transactionBody(result)],
      ["transaction.updated", 2, transactionBody(result)],
    ]);
  });

  it.each(kinds)("books a %s no earlier than the posting before it, whatever the clock says", (kind) => {
    const posted_at = "2026-11-21T06:30:00.250Z";
    const on = someAccount({}, { balance_minor: 100_000n, posted_at, updated_at: decisionTime });
    const { changes } = accepted(request(kind, { amount: "100", fee: "1", status: "completed" }, on));
    const entries = [...createdItems<Ledger>(changes, "ledger"), ...createdItems<Contra>(changes, "contra")];
    expect(entries.length).toBeGreaterThan(1);
    expect(new Set(entries.map((entry) => entry.created_at))).toEqual(new Set([posted_at]));
    expect(changesOf(changes, "adjust")[0]?.set).toMatchObject({ posted_at });
  });

  it("is not held in a future that no difference of clocks explains", () => {
    const on = someAccount({}, { posted_at: "2027-11-21T06:30:00.000Z" });
    const { changes } = accepted(request("deposit", { amount: "100", status: "completed" }, on));
    expect(createdItems<Ledger>(changes, "ledger").map((entry) => entry.created_at)).toEqual([decisionTime]);
  });

  it("at creation takes no withdrawal that is not covered at the commit", () => {
    const { changes } = accepted(request("withdrawal", { amount: "100", status: "completed" }));
    expect(changesOf(changes, "adjust")[0]?.require).toEqual(
      expect.arrayContaining([
        { attribute: "accepts", is: "equal", value: "all" },
        { attribute: "seq", is: "equal", value: 0 },
        { attribute: "pos_version", is: "equal", value: 0 },
        { attribute: "available_minor", is: "at_least", value: 10_000n },
      ]),
    );
  });
});

interface Book {
  readonly account: Account;
  balance: Balance;
  readonly transactions: Transaction[];
  readonly ledger: Ledger[];
  readonly contra: Contra[];
}

function decide(
  book: Book,
  { what, minor, feeShare, direct, which }: Parameters<typeof play>[1],
): Decision<Transaction> {
  const accountContext = { ...someAccount(), account: book.account, balance: book.balance };
  const { account } = book;
  const currency = account.currency;
  if (what === "deposit" || what === "withdrawal") {
    const body: Body = {
      amount: formatAmount(minor, currency),
      fee: formatAmount((minor * BigInt(feeShare)) / 100n, currency),
      ...(direct ? { status: "completed" as const } : {}),
    };
    return request(what, body, accountContext);
  }
  const transaction = book.transactions[which % Math.max(1, book.transactions.length)];
  if (transaction === undefined) return { ok: false, refusal: { code: "not_found", detail: "" } };
  return moveTransaction(transaction, accountContext, { status: what as TransactionState, reason }, decisionContext());
}

function play(book: Book, one: typeof step extends fc.Arbitrary<infer S> ? S : never): void {
  const decision = decide(book, one);
  if (!decision.ok) {
    refused(decision);
    return;
  }
  book.balance = applied(book.balance, decision.changes);
  for (const { before, after } of changesOf(decision.changes, "update")) {
    book.transactions.splice(book.transactions.indexOf(before as Transaction), 1, after as Transaction);
  }
  book.transactions.push(...createdItems<Transaction>(decision.changes, "transaction"));
  book.ledger.push(...createdItems<Ledger>(decision.changes, "ledger"));
  book.contra.push(...createdItems<Contra>(decision.changes, "contra"));
}

function sum(amounts: readonly bigint[]): bigint {
  return amounts.reduce((total, amount) => total + amount, 0n);
}

function expectBalanced({ balance, transactions, ledger, contra }: Book): void {
  expect(balance.balance_minor).toBe(sum(ledger.map((entry) => entry.amount_minor)));
  expect(balance.available_minor).toBe(balance.balance_minor - balance.held_minor);
  expect(balance.available_minor >= 0n && balance.held_minor >= 0n).toBe(true);
  const open = transactions.filter(({ status }) => ["pending", "approved", "processing"].includes(status));
  expect(balance.pending).toBe(open.length);
  const holds = open.filter(({ kind, status }) => kind === "withdrawal" && status !== "processing");
  expect(balance.held_minor).toBe(sum(holds.map(({ amount_minor }) => amount_minor)));
  expect(sum([...ledger, ...contra].map(({ amount_minor }) => amount_minor))).toBe(0n);
  expect(ledger.map(({ balance_version }) => balance_version)).toEqual(ledger.map((_, index) => index + 1));
  expect(balance.seq).toBe(ledger.length);
  for (const [index, entry] of ledger.entries()) {
    expect(entry.balance_before_minor).toBe(ledger[index - 1]?.balance_after_minor ?? 0n);
    expect(entry.balance_after_minor).toBe(entry.balance_before_minor + entry.amount_minor);
    const legs = contra.filter(({ ledger_id }) => ledger_id === entry.id);
    expect(entry.amount_minor + sum(legs.map(({ amount_minor }) => amount_minor))).toBe(0n);
    expect(new Set(legs.map(({ currency }) => currency))).toEqual(new Set([entry.currency]));
  }
  for (const done of transactions.filter(({ status }) => status === "completed")) {
    const entries = ledger.filter(({ transaction_id }) => transaction_id === done.id);
    const net = done.amount_minor - done.fee_minor;
    expect(entries.map(({ amount_minor }) => amount_minor)).toEqual([
      done.kind === "deposit" ? net : -done.amount_minor,
    ]);
    const legs = contra.filter(({ transaction_id }) => transaction_id === done.id);
    const names = new Set(legs.map((leg) => leg.control_account));
    const shares = Object.fromEntries(
      [...names].map((name) => [
        name,
        sum(legs.filter((leg) => leg.control_account === name).map((leg) => leg.amount_minor)),
      ]),
    );
    if (shares["payouts_in_transit"] === 0n) delete shares["payouts_in_transit"];
    expect(shares).toEqual({
      ...(done.kind === "deposit" ? { clearing: -done.amount_minor } : { payouts: net }),
      ...(done.fee_minor === 0n ? {} : { fee_income: done.fee_minor }),
    });
  }
}

describe("any history of deposits, withdrawals and their moves", () => {
  const currencies = Object.keys(minorDigits) as CurrencyCode[];

  it("keeps money in balance after every step: ledger, holds, legs that sum to 0, no amount below 0", () => {
    fc.assert(
      fc.property(fc.constantFrom(...currencies), fc.array(step, { maxLength: 25 }), (currency, steps) => {
        const { account, balance } = someAccount({ currency });
        const book: Book = { account, balance, transactions: [], ledger: [], contra: [] };
        for (const one of steps) {
          play(book, one);
          expectBalanced(book);
        }
      }),
      { numRuns: 60 },
    );
  });
});

describe("a return", () => {
  const returned = { status: "returned", reason } as const;

  it.each([
    [
      "deposit",
      {},
      100_000n,
      [
        ["clearing", 10_000n],
        ["fee_income", -100n],
      ],
    ],
    ["deposit", { keep_fee: true }, 99_900n, [["clearing", 10_000n]]],
    [
      "withdrawal",
      {},
      100_000n,
      [
        ["payouts", -9_900n],
        ["fee_income", -100n],
      ],
    ],
    ["withdrawal", { keep_fee: true }, 99_900n, [["payouts", -9_900n]]],
  ] as const)(
    "of a %s with %o leaves the balance at %s minor units and reverses its legs",
    (kind, more, left, legs) => {
      const { transaction, accountContext } = standing(kind, "completed");
      const { changes } = accepted(
        moveTransaction(transaction, accountContext, { ...returned, ...more }, decisionContext()),
      );
      expect(applied(accountContext.balance, changes).balance_minor).toBe(left);
      const booked = createdItems<Contra>(changes, "contra").map((leg) => [leg.control_account, leg.amount_minor]);
      expect(booked).toEqual(legs);
      const [entry] = createdItems<Ledger>(changes, "ledger");
      expect(sum([entry?.amount_minor ?? 0n, ...legs.map(([, minor]) => minor)])).toBe(0n);
    },
  );

  it("that takes more than is there needs who approves to force it, and leaves a debt that only closes", () => {
    const { transaction, accountContext } = standing("deposit", "completed");
    const spent = {
      ...accountContext,
      balance: { ...accountContext.balance, balance_minor: 5_000n, available_minor: 5_000n },
    };
    expect(refused(moveTransaction(transaction, spent, returned, decisionContext()))).toMatchObject({
      code: "insufficient_funds",
      status: 409,
    });
    const forced = { ...returned, force: true };
    const settler = decisionContext({ scopes: allScopesBut("transactions:approve") });
    expect(refused(moveTransaction(transaction, spent, forced, settler)).extra).toEqual({
      scope: "transactions:approve",
    });
    const { changes } = accepted(moveTransaction(transaction, spent, forced, decisionContext()));
    expect(applied(spent.balance, changes)).toMatchObject({ balance_minor: -4_900n, accepts: "close_only" });
    expect(changesOf(changes, "update").map(({ entity, after }) => [entity, after])).toContainEqual([
      "account",
      expect.objectContaining({ trading_mode: "close_only", version: spent.account.version + 1 }),
    ]);
  });

  it("to a closed account disables it again, and the client has one open account more", () => {
    const { transaction, accountContext } = standing("withdrawal", "completed");
    const closed = {
      ...accountContext,
      account: { ...accountContext.account, status: "closed" as const, closed_at: decisionTime },
      balance: { ...accountContext.balance, accepts: "none" as const },
    };
    const { changes } = accepted(moveTransaction(transaction, closed, returned, decisionContext()));
    expect(changesOf(changes, "update").map(({ after }) => after)).toContainEqual(
      expect.objectContaining({ status: "disabled", closed_at: null }),
    );
    expect(changesOf(changes, "adjust").find(({ entity }) => entity === "client")?.add).toEqual({ open_accounts: 1 });
  });
});
