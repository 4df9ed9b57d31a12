import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Account, Balance, Contra, Ledger } from "../../shared/domain/account.ts";
import type { Decision, Requirement } from "../../shared/domain/decision.ts";
import { formatAmount, minorDigits } from "../../shared/domain/money.ts";
import { expireTransaction, moveTransaction } from "../../shared/domain/move-transaction.ts";
import {
  requestDeposit,
  requestWithdrawal,
  type Surroundings,
  type Transaction,
  transactionBody,
} from "../../shared/domain/transaction.ts";
import { limits } from "../../shared/limits.ts";
import type { CurrencyCode } from "../../shared/schema/fields.ts";
import type { Scope } from "../../shared/schema/scope.ts";
import { type CreateDeposit, type TransactionState, TransactionStatus } from "../../shared/schema/transaction.ts";
import {
  accepted,
  allScopesBut,
  changesOf,
  createdItems,
  decisionContext,
  decisionTime,
  refused,
  someAccount,
  someClient,
} from "../support/decisions.ts";

type Body = Omit<CreateDeposit, "account_id">;
type Kind = "deposit" | "withdrawal";

/** Decides either kind with the same body on an account that has 1000.00 unless told otherwise. */
function request(
  kind: Kind,
  body: Body,
  on = someAccount({}, { balance_minor: 100_000n }),
  context = decisionContext(),
) {
  const whole = { account_id: on.account.id, ...body };
  return kind === "deposit" ? requestDeposit(on, whole, context) : requestWithdrawal(someClient(), on, whole, context);
}

const kinds = ["deposit", "withdrawal"] as const;

describe.each(kinds)("a %s is refused", (kind) => {
  it.each([
    ["in another currency", { amount: "1", currency: "EUR" }, {}, "currency_mismatch", "#/currency"],
    ["with a third digit", { amount: "1.001" }, {}, "amount_precision", "#/amount"],
    ["with a fee of three digits", { amount: "1", fee: "0.001" }, {}, "amount_precision", "#/fee"],
    ["without an amount to speak of", { amount: "0.00" }, {}, "validation_failed", "#/amount"],
    ["with a fee as large as itself", { amount: "1.00", fee: "1" }, {}, "fee_too_high", "#/fee"],
    ["expired at birth", { amount: "1", expires_at: decisionTime }, {}, "validation_failed", "#/expires_at"],
    [
      "as completed without the scope to settle",
      { amount: "1", status: "completed" },
      {},
      "insufficient_scope",
      undefined,
    ],
  ] as const)("%s", (_, body, money, code, pointer) => {
    const on = someAccount({}, { balance_minor: 100_000n, ...money });
    const context = decisionContext({ scopes: ["transactions:write"] });
    const refusal = refused(request(kind, body, on, context));
    expect(refusal.code).toBe(code);
    expect(refusal.errors?.map((error) => error.pointer)).toEqual(pointer === undefined ? undefined : [pointer]);
  });

  it.each([
    ["the currency before the amount", { amount: "1.001", currency: "EUR" }, {}, "currency_mismatch"],
    ["the amount before the fee", { amount: "1.001", fee: "2" }, {}, "amount_precision"],
    ["the fee before the end", { amount: "1", fee: "1", expires_at: decisionTime }, {}, "fee_too_high"],
  ] as const)("looking at %s", (_, body, money, code) => {
    expect(refused(request(kind, body, someAccount({}, { balance_minor: 100_000n, ...money }))).code).toBe(code);
  });
});

describe("an account that is not open to all", () => {
  it.each([
    ["disabled", "none", "account_disabled"],
    ["closed", "none", "account_closed"],
  ] as const)("%s takes neither kind, whatever else is wrong", (status, accepts, code) => {
    for (const kind of kinds) {
      const on = someAccount({ status }, { balance_minor: 100_000n, accepts });
      expect(refused(request(kind, { amount: "1", currency: "EUR" }, on)).code).toBe(code);
    }
  });

  it("that only closes takes deposits, so that a debt can be paid, and no withdrawals", () => {
    const on = someAccount({ trading_mode: "close_only" }, { balance_minor: 100_000n, accepts: "close_only" });
    expect(request("deposit", { amount: "1" }, on).ok).toBe(true);
    expect(refused(request("withdrawal", { amount: "1" }, on)).code).toBe("account_close_only");
  });
});

describe("a withdrawal is refused", () => {
  const on = someAccount({}, { balance_minor: 100_000n });
  const body = { account_id: on.account.id, amount: "1" };

  it("when the client is suspended", () => {
    const client = someClient({ status: "suspended" });
    expect(refused(requestWithdrawal(client, on, body, decisionContext())).code).toBe("client_suspended");
  });

  it("when the tenant wants verified clients and this one is not", () => {
    for (const policy of ["withdrawal", "live_account"] as const) {
      const strict = { ...on, tenant: { ...on.tenant, require_verified_client: policy } };
      expect(refused(requestWithdrawal(someClient(), strict, body, decisionContext())).code).toBe(
        "client_not_verified",
      );
      const verified = someClient({ verification_status: "verified" });
      expect(requestWithdrawal(verified, strict, body, decisionContext()).ok).toBe(true);
    }
  });

  it.each([
    ["the balance", { balance_minor: 100_000n }, "1000.01", "1000.00"],
    ["the balance without its holds", { balance_minor: 100_000n, held_minor: 90_009n }, "99.92", "99.91"],
    ["what is there after a loss", { balance_minor: -500n }, "0.01", "0.00"],
  ] as const)("when it is more than %s, and the refusal tells what is available", (_, money, amount, available) => {
    expect(refused(request("withdrawal", { amount }, someAccount({}, money)))).toMatchObject({
      code: "insufficient_funds",
      extra: { available_balance: available, currency: "USD" },
    });
  });

  const positions = { payable_minor: 60_000n, floating_minor: 0n, stale: false, liquidating: false };
  const held = someAccount({}, { balance_minor: 100_000n, held_minor: 10_000n, used_margin_minor: 40_000n });

  it("when open positions need it, and the refusal tells what can be withdrawn", () => {
    const on = { ...held, margin: positions };
    expect(refused(request("withdrawal", { amount: "500.01" }, on))).toMatchObject({
      code: "insufficient_free_margin",
      extra: { withdrawable: "500.00", currency: "USD" },
    });
    expect(request("withdrawal", { amount: "500.00" }, on).ok).toBe(true);
  });

  it.each([
    ["while a price that the account depends on is too old", { stale: true }, "metrics_stale"],
    [
      "while there is no way to convert a profit of the account",
      { stale: true, unconverted: { symbol: "EURGBP", from: "GBP", to: "USD" } },
      "no_conversion_path",
    ],
    ["while the account is being liquidated", { liquidating: true }, "liquidation_in_progress"],
  ] as const)("%s", (_, state, code) => {
    const on = { ...held, margin: { ...positions, ...state } };
    expect(refused(request("withdrawal", { amount: "0.01" }, on)).code).toBe(code);
    expect(refused(request("withdrawal", { amount: "0.01", status: "completed" }, on)).code).toBe(code);
    expect(request("deposit", { amount: "0.01", status: "completed" }, on).ok).toBe(true);
  });

  it("not when it is exactly what is available", () => {
    expect(request("withdrawal", { amount: "99.91" }, someAccount({}, { balance_minor: 9_991n })).ok).toBe(true);
  });
});

describe("a pending transaction", () => {
  it.each(kinds)("of kind %s has every default, a history of one entry and an end after seven days", (kind) => {
    const { result, events } = accepted(request(kind, { amount: "100.5" }));
    expect(result).toMatchObject({
      kind,
      amount_minor: 10_050n,
      fee_minor: 0n,
      currency: "USD",
      method: "other",
      status: "pending",
      status_history: [{ from: null, to: "pending", at: decisionTime, reason: null }],
      balance_before_minor: null,
      balance_after_minor: null,
      expires_at: "2026-11-28T06:30:00.000Z",
      version: 1,
    });
    expect(events).toMatchObject([{ type: "transaction.created", object: transactionBody(result) }]);
  });

  it("of a deposit changes nothing of the money but the number of open transactions", () => {
    const { changes } = accepted(request("deposit", { amount: "100" }));
    expect(changesOf(changes, "adjust").map(({ set, add }) => [set, add])).toEqual([
      [{ updated_at: decisionTime }, { pending: 1 }],
    ]);
  });

  it("of a withdrawal holds its amount on the condition that it is still covered", () => {
    const on = someAccount({}, { balance_minor: 100_000n, credit_minor: 10_000n });
    const { changes } = accepted(request("withdrawal", { amount: "100.01" }, on));
    expect(changesOf(changes, "adjust").map(({ add, require }) => [add, require])).toEqual([
      [
        { held_minor: 10_001n, available_minor: -10_001n, pending: 1 },
        [
          { attribute: "accepts", is: "equal", value: "all" },
          { attribute: "pos_version", is: "equal", value: 0 },
          { attribute: "available_minor", is: "at_least", value: 10_001n },
        ],
      ],
    ]);
  });

  it("claims its external id, and its reference together with the provider", () => {
    const body = { amount: "1", external_id: "x", provider: "psp", provider_reference: "r" };
    const claims = changesOf(accepted(request("deposit", body)).changes, "claim");
    expect(claims.map(({ kind, value, refusal }) => [kind, value, refusal.code])).toEqual([
      ["transaction_external_id", "x", "external_id_taken"],
      ["provider_reference", '["psp","r"]', "duplicate_provider_reference"],
    ]);
  });

  it("keeps its end as UTC with milliseconds, however the caller wrote it", () => {
    const { result } = accepted(request("deposit", { amount: "1", expires_at: "2026-12-01T00:00:00+02:00" }));
    expect(result.expires_at).toBe("2026-11-30T22:00:00.000Z");
  });

  it("keeps of an account number its last four characters and nothing else", () => {
    const text = fc.stringMatching(/^[A-Z]{2}\d{2}[A-Z0-9]{10,30}$/);
    fc.assert(
      fc.property(text, text, (iban, wallet) => {
        const { result, events } = accepted(
          request("deposit", { amount: "1", source: { iban, wallet, card_last4: "4242", holder: "Ana" } }),
        );
        expect(result.source).toEqual({
          iban: `****${iban.slice(-4)}`,
          wallet: `****${wallet.slice(-4)}`,
          card_last4: "4242",
          holder: "Ana",
        });
        const all = JSON.stringify([result, events], (_, value) => (typeof value === "bigint" ? `${value}` : value));
        expect(all).not.toContain(iban);
        expect(all).not.toContain(wallet);
      }),
    );
  });

  it("shows nothing of what is internal", () => {
    const body = transactionBody(accepted(request("deposit", { amount: "1" })).result);
    expect(Object.keys(body).filter((name) => name.endsWith("_minor") || name === "tenant_id")).toEqual([]);
  });
});

const states = TransactionStatus.def.entries ? (Object.keys(TransactionStatus.def.entries) as TransactionState[]) : [];

/** Every arrow that a caller can ask for, with the scope each needs. */
const arrows = new Map<string, Scope>([
  ["pending>approved", "transactions:approve"],
  ["pending>processing", "transactions:settle"],
  ["pending>completed", "transactions:settle"],
  ["pending>rejected", "transactions:approve"],
  ["pending>cancelled", "transactions:write"],
  ["approved>processing", "transactions:settle"],
  ["approved>completed", "transactions:settle"],
  ["approved>cancelled", "transactions:write"],
  ["approved>failed", "transactions:settle"],
  ["processing>completed", "transactions:settle"],
  ["processing>failed", "transactions:settle"],
  ["completed>returned", "transactions:settle"],
]);

const pairs = states.flatMap((from) => states.map((to) => [from, to] as const));

/** How a transaction comes into each state. */
const ways: Readonly<Record<TransactionState, readonly TransactionState[]>> = {
  pending: [],
  approved: ["approved"],
  processing: ["processing"],
  completed: ["completed"],
  rejected: ["rejected"],
  cancelled: ["cancelled"],
  failed: ["approved", "failed"],
  returned: ["completed", "returned"],
};

/** A transaction that was moved into a state, with the account and the money that this left. */
function standing(kind: Kind, status: TransactionState): { transaction: Transaction; around: Surroundings } {
  const on = someAccount({}, { balance_minor: 100_000n });
  const made = accepted(request(kind, { amount: "100", fee: "1" }, on));
  let transaction = made.result;
  let around = { ...on, balance: applied(on.balance, made.changes) };
  for (const to of ways[status]) {
    const step = accepted(moveTransaction(transaction, around, { status: to, reason }, decisionContext()));
    transaction = step.result;
    around = { ...around, balance: applied(around.balance, step.changes) };
  }
  return { transaction, around };
}

const reason = { code: "manual", message: "by hand" };

describe.each(kinds)("the status of a %s", (kind) => {
  it.each(pairs.filter(([from, to]) => from !== to && !arrows.has(`${from}>${to}`)))(
    "cannot go from %s to %s, and the refusal tells where it can go",
    (from, to) => {
      const { transaction, around } = standing(kind, from);
      const decision = moveTransaction(transaction, around, { status: to, reason }, decisionContext());
      const allowed = [...arrows.keys()].filter((arrow) => arrow.startsWith(`${from}>`)).map((a) => a.split(">")[1]);
      const refusal = refused(decision);
      expect(refusal).toMatchObject({ code: "illegal_transition", extra: { from, to } });
      expect(new Set(refusal.extra?.["allowed"] as string[])).toEqual(new Set(allowed));
    },
  );

  it.each([...arrows])("goes by %s with the scope %s, and not without it", (arrow, scope) => {
    const [from, to] = arrow.split(">") as [TransactionState, TransactionState];
    const { transaction, around } = standing(kind, from);
    const poor = decisionContext({ scopes: allScopesBut(scope) });
    expect(refused(moveTransaction(transaction, around, { status: to, reason }, poor))).toMatchObject({
      code: "insufficient_scope",
      extra: { scope },
    });
    const rich = decisionContext({ scopes: [scope] });
    const { result, events } = accepted(moveTransaction(transaction, around, { status: to, reason }, rich));
    expect(result).toMatchObject({ status: to, version: transaction.version + 1, status_reason: reason });
    expect(result.expires_at).toBe(to === "approved" ? transaction.expires_at : null);
    expect(result.status_history.at(-1)).toMatchObject({ from, to, at: decisionTime, reason });
    expect(events.map(({ type }) => type)).toEqual([
      ...(to === "completed" ? ["transaction.completed"] : []),
      "transaction.updated",
    ]);
  });

  it.each(states)("stays %s without a change when that is what is asked for, or nothing is", (status) => {
    const { transaction, around } = standing(kind, status);
    for (const patch of [{ status }, {}, { reason }]) {
      const decision = accepted(moveTransaction(transaction, around, patch, decisionContext()));
      expect([decision.result, decision.changes, decision.events]).toEqual([transaction, [], []]);
    }
  });

  it("needs a reason to become rejected", () => {
    const { transaction, around } = standing(kind, "pending");
    expect(refused(moveTransaction(transaction, around, { status: "rejected" }, decisionContext())).errors).toEqual([
      { pointer: "#/reason", code: "required", detail: expect.any(String) },
    ]);
  });

  it("is written on the condition of the version that was read", () => {
    const { transaction, around } = standing(kind, "pending");
    for (const status of ["completed", "rejected", "cancelled"] as const) {
      const { changes, result } = accepted(moveTransaction(transaction, around, { status, reason }, decisionContext()));
      expect(changesOf(changes, "update")).toEqual([
        { op: "update", entity: "transaction", before: transaction, after: result },
      ]);
    }
  });

  it("gives back what was held when it is rejected or cancelled, and books nothing", () => {
    const { transaction, around } = standing(kind, "pending");
    for (const status of ["rejected", "cancelled"] as const) {
      const { changes } = accepted(moveTransaction(transaction, around, { status, reason }, decisionContext()));
      const after = applied(around.balance, changes);
      expect([after.balance_minor, after.held_minor, after.available_minor, after.pending, after.seq]).toEqual([
        100_000n,
        0n,
        100_000n,
        0,
        0,
      ]);
      expect(changesOf(changes, "create")).toEqual([]);
    }
  });
});

describe("a completion", () => {
  it("is refused when margin needs the money meanwhile", () => {
    const { transaction, around } = standing("withdrawal", "pending");
    const tight = {
      ...around,
      margin: { payable_minor: 5_000n, floating_minor: 0n, stale: false, liquidating: false },
    };
    expect(refused(moveTransaction(transaction, tight, { status: "completed" }, decisionContext()))).toMatchObject({
      code: "insufficient_free_margin",
      extra: { withdrawable: "50.00", currency: "USD" },
    });
  });

  it("is refused when the balance would be larger than the service can hold", () => {
    const { transaction, around } = standing("deposit", "pending");
    const holding = (balance_minor: bigint) => ({ ...around, balance: { ...around.balance, balance_minor } });
    const full = holding(limits.money.max_minor - 9_899n);
    expect(refused(moveTransaction(transaction, full, { status: "completed" }, decisionContext())).code).toBe(
      "amount_too_large",
    );
    const fits = holding(limits.money.max_minor - 9_900n);
    expect(moveTransaction(transaction, fits, { status: "completed" }, decisionContext()).ok).toBe(true);
  });

  it("goes on after the account was disabled, since the money was promised before", () => {
    const { transaction, around } = standing("deposit", "pending");
    const shut = { ...around, balance: { ...around.balance, accepts: "none" as const } };
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

/** The balance after the adjustments among these changes; a requirement that does not hold fails the test. */
function applied(balance: Balance, changes: Extract<Decision<unknown>, { ok: true }>["changes"]): Balance {
  let after = { ...balance } as Record<string, unknown>;
  for (const { require, set, add } of changesOf(changes, "adjust")) {
    for (const requirement of require)
      if (!holds(after, requirement)) throw new Error(JSON.stringify(requirement.attribute));
    after = { ...after, ...set };
    for (const [name, more] of Object.entries(add ?? {})) {
      const now = after[name];
      after[name] = typeof now === "bigint" ? now + BigInt(more) : Number(now) + Number(more);
    }
  }
  return after as unknown as Balance;
}

function holds(item: Record<string, unknown>, { attribute, is, value }: Requirement): boolean {
  const now = item[attribute] as typeof value;
  if (is === "equal") return now === value;
  if (is === "not") return now !== value;
  return is === "at_least" ? now >= value : now < value;
}

interface Book {
  readonly account: Account;
  balance: Balance;
  readonly transactions: Transaction[];
  readonly ledger: Ledger[];
  readonly contra: Contra[];
}

const step = fc.record({
  what: fc.constantFrom("deposit", "withdrawal", ...states.filter((state) => state !== "pending")),
  minor: fc.bigInt({ min: 1n, max: 500_000n }),
  feeShare: fc.integer({ min: 0, max: 99 }),
  direct: fc.boolean(),
  which: fc.nat(20),
});

function decide(
  book: Book,
  { what, minor, feeShare, direct, which }: Parameters<typeof play>[1],
): Decision<Transaction> {
  const around = { ...someAccount(), account: book.account, balance: book.balance };
  const { account } = book;
  const currency = account.currency;
  if (what === "deposit" || what === "withdrawal") {
    const body: Body = {
      amount: formatAmount(minor, currency),
      fee: formatAmount((minor * BigInt(feeShare)) / 100n, currency),
      ...(direct ? { status: "completed" as const } : {}),
    };
    return request(what, body, around);
  }
  const transaction = book.transactions[which % Math.max(1, book.transactions.length)];
  if (transaction === undefined) return { ok: false, refusal: { code: "not_found", detail: "" } };
  return moveTransaction(transaction, around, { status: what as TransactionState, reason }, decisionContext());
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
      const { transaction, around } = standing(kind, "completed");
      const { changes } = accepted(moveTransaction(transaction, around, { ...returned, ...more }, decisionContext()));
      expect(applied(around.balance, changes).balance_minor).toBe(left);
      const booked = createdItems<Contra>(changes, "contra").map((leg) => [leg.control_account, leg.amount_minor]);
      expect(booked).toEqual(legs);
      const [entry] = createdItems<Ledger>(changes, "ledger");
      expect(sum([entry?.amount_minor ?? 0n, ...legs.map(([, minor]) => minor)])).toBe(0n);
    },
  );

  it("that takes more than is there needs an admin to force it, and leaves a debt that only closes", () => {
    const { transaction, around } = standing("deposit", "completed");
    const spent = { ...around, balance: { ...around.balance, balance_minor: 5_000n, available_minor: 5_000n } };
    expect(refused(moveTransaction(transaction, spent, returned, decisionContext()))).toMatchObject({
      code: "insufficient_funds",
      status: 409,
    });
    const forced = { ...returned, force: true };
    const settler = decisionContext({ scopes: allScopesBut("admin") });
    expect(refused(moveTransaction(transaction, spent, forced, settler)).extra).toEqual({ scope: "admin" });
    const { changes } = accepted(moveTransaction(transaction, spent, forced, decisionContext()));
    expect(applied(spent.balance, changes)).toMatchObject({ balance_minor: -4_900n, accepts: "close_only" });
    expect(changesOf(changes, "update").map(({ entity, after }) => [entity, after])).toContainEqual([
      "account",
      expect.objectContaining({ trading_mode: "close_only", version: spent.account.version + 1 }),
    ]);
  });

  it("to a closed account disables it again, and the client has one open account more", () => {
    const { transaction, around } = standing("withdrawal", "completed");
    const closed = {
      ...around,
      account: { ...around.account, status: "closed" as const, closed_at: decisionTime },
      balance: { ...around.balance, accepts: "none" as const },
    };
    const { changes } = accepted(moveTransaction(transaction, closed, returned, decisionContext()));
    expect(changesOf(changes, "update").map(({ after }) => after)).toContainEqual(
      expect.objectContaining({ status: "disabled", closed_at: null }),
    );
    expect(changesOf(changes, "adjust").find(({ entity }) => entity === "client")?.add).toEqual({ open_accounts: 1 });
  });
});

describe("four eyes", () => {
  const strict = (around: Surroundings) => ({ ...around, tenant: { ...around.tenant, four_eyes: true } });
  const other = decisionContext({ actor: { type: "api_application", id: "app_01JD0000000000000000000001" } });

  it.each(kinds)("let the creator of a %s neither approve nor pay it, and another approve it", (kind) => {
    const { transaction, around } = standing(kind, "pending");
    const on = strict(around);
    for (const status of ["completed", "processing"] as const) {
      expect(refused(moveTransaction(transaction, on, { status }, decisionContext())).extra).toMatchObject({
        allowed: ["approved", "rejected", "cancelled"],
      });
    }
    const own = moveTransaction(transaction, on, { status: "approved" }, decisionContext());
    expect(refused(own).code).toBe("four_eyes_required");
    const approved = accepted(moveTransaction(transaction, on, { status: "approved" }, other)).result;
    expect(approved).toMatchObject({ approved_by: other.actor, approved_at: decisionTime });
    expect(moveTransaction(approved, on, { status: "completed" }, decisionContext()).ok).toBe(true);
    const direct = request(
      kind,
      { amount: "1", status: "completed" },
      strict(someAccount({}, { balance_minor: 1_000n })),
    );
    expect(refused(direct).code).toBe("four_eyes_required");
  });
});

describe("a transaction that nobody decided on", () => {
  const daysLater = (days: number) =>
    decisionContext({ now: new Date(Date.parse(decisionTime) + days * 86_400_000).toISOString() });

  it.each(kinds)("of kind %s fails as expired at its time and not before, and releases what it held", (kind) => {
    for (const status of ["pending", "approved"] as const) {
      const { transaction, around } = standing(kind, status);
      expect(expireTransaction(transaction, around, daysLater(6.99))).toBeUndefined();
      const expired = expireTransaction(transaction, around, daysLater(7));
      if (expired === undefined) throw new Error("It did not expire.");
      const { result, changes } = accepted(expired);
      expect(result).toMatchObject({ status: "failed", status_reason: { code: "expired" }, expires_at: null });
      expect(applied(around.balance, changes)).toMatchObject({ held_minor: 0n, available_minor: 100_000n, pending: 0 });
    }
  });

  it.each(["processing", "completed", "rejected", "cancelled", "failed", "returned"] as const)(
    "stays when it is %s",
    (status) => {
      const { transaction, around } = standing("withdrawal", status);
      expect(expireTransaction({ ...transaction, expires_at: decisionTime }, around, daysLater(30))).toBeUndefined();
    },
  );
});
