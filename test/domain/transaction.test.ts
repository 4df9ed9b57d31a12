import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { expireTransaction, moveTransaction } from "../../shared/domain/money/move.ts";
import { requestDeposit, requestWithdrawal } from "../../shared/domain/money/request.ts";
import { type AccountContext, transactionBody } from "../../shared/domain/money/transaction.ts";
import type { Scope } from "../../shared/schema/scope.ts";
import type { TransactionState } from "../../shared/schema/transaction.ts";
import {
  accepted,
  activeGivers,
  allScopesBut,
  changesOf,
  decisionContext,
  decisionTime,
  refused,
  someAccount,
  someClient,
} from "../support/builders/decisions.ts";
import { applied, kinds, reason, request, standing, states } from "./transaction-cases.ts";

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

  it("when the client is suspended; a closed one may withdraw what came back, and gets no deposit", () => {
    const client = someClient({ status: "suspended" });
    expect(refused(requestWithdrawal(client, on, body, decisionContext())).code).toBe("client_suspended");
    const closed = someClient({ status: "closed" });
    expect(requestWithdrawal(closed, on, body, decisionContext()).ok).toBe(true);
    expect(refused(requestDeposit({ ...on, client: closed }, body, decisionContext())).code).toBe("client_closed");
    const deposit = accepted(requestDeposit(on, body, decisionContext())).result;
    for (const status of ["processing", "completed"] as const) {
      const move = moveTransaction(deposit, { ...on, client: closed }, { status }, decisionContext());
      expect(refused(move).code).toBe("client_closed");
    }
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

describe.each(kinds)("the status of a %s", (kind) => {
  it.each(pairs.filter(([from, to]) => from !== to && !arrows.has(`${from}>${to}`)))(
    "cannot go from %s to %s, and the refusal tells where it can go",
    (from, to) => {
      const { transaction, accountContext } = standing(kind, from);
      const decision = moveTransaction(transaction, accountContext, { status: to, reason }, decisionContext());
      const allowed = [...arrows.keys()].filter((arrow) => arrow.startsWith(`${from}>`)).map((a) => a.split(">")[1]);
      const refusal = refused(decision);
      expect(refusal).toMatchObject({ code: "illegal_transition", extra: { from, to } });
      expect(new Set(refusal.extra?.["allowed"] as string[])).toEqual(new Set(allowed));
    },
  );

  it.each([...arrows])("goes by %s with the scope %s, and not without it", (arrow, scope) => {
    const [from, to] = arrow.split(">") as [TransactionState, TransactionState];
    const { transaction, accountContext } = standing(kind, from);
    const poor = decisionContext({ scopes: allScopesBut(scope) });
    expect(refused(moveTransaction(transaction, accountContext, { status: to, reason }, poor))).toMatchObject({
      code: "insufficient_scope",
      extra: { scope },
    });
    const rich = decisionContext({ scopes: [scope] });
    const { result, events } = accepted(moveTransaction(transaction, accountContext, { status: to, reason }, rich));
    expect(result).toMatchObject({ status: to, version: transaction.version + 1, status_reason: reason });
    expect(result.expires_at).toBe(to === "approved" ? transaction.expires_at : null);
    expect(result.status_history.at(-1)).toMatchObject({ from, to, at: decisionTime, reason });
    expect(events.map(({ type }) => type)).toEqual([
      ...(to === "completed" ? ["transaction.completed"] : []),
      "transaction.updated",
    ]);
  });

  it.each(states)("stays %s without a change when that is what is asked for, or nothing is", (status) => {
    const { transaction, accountContext } = standing(kind, status);
    for (const patch of [{ status }, {}, { reason }]) {
      const decision = accepted(moveTransaction(transaction, accountContext, patch, decisionContext()));
      expect([decision.result, decision.changes, decision.events]).toEqual([transaction, [], []]);
    }
  });

  it("needs a reason to become rejected", () => {
    const { transaction, accountContext } = standing(kind, "pending");
    expect(
      refused(moveTransaction(transaction, accountContext, { status: "rejected" }, decisionContext())).errors,
    ).toEqual([{ pointer: "#/reason", code: "required", detail: expect.any(String) }]);
  });

  it("is written on the condition of the version that was read", () => {
    const { transaction, accountContext } = standing(kind, "pending");
    for (const status of ["completed", "rejected", "cancelled"] as const) {
      const { changes, result } = accepted(
        moveTransaction(transaction, accountContext, { status, reason }, decisionContext()),
      );
      expect(changesOf(changes, "update")).toEqual([
        { op: "update", entity: "transaction", before: transaction, after: result },
      ]);
    }
  });

  it("gives back what was held when it is rejected or cancelled, and books nothing", () => {
    const { transaction, accountContext } = standing(kind, "pending");
    for (const status of ["rejected", "cancelled"] as const) {
      const { changes } = accepted(moveTransaction(transaction, accountContext, { status, reason }, decisionContext()));
      const after = applied(accountContext.balance, changes);
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

describe("four eyes", () => {
  const strict = (accountContext: AccountContext) => ({
    ...accountContext,
    tenant: { ...accountContext.tenant, four_eyes: true },
  });
  const other = decisionContext({ actor: { type: "application", id: "app_01JD0000000000000000000001", name: "ERP" } });

  it.each(kinds)("let the creator of a %s neither approve nor pay it, and another approve it", (kind) => {
    const { transaction, accountContext } = standing(kind, "pending");
    const on = strict(accountContext);
    for (const status of ["completed", "processing"] as const) {
      expect(refused(moveTransaction(transaction, on, { status }, decisionContext())).extra).toMatchObject({
        allowed: ["approved", "rejected", "cancelled"],
      });
    }
    const own = moveTransaction(transaction, on, { status: "approved" }, decisionContext());
    expect(refused(own).code).toBe("four_eyes_required");
    const approved = accepted(moveTransaction(transaction, on, { status: "approved" }, other)).result;
    expect(approved).toMatchObject({ approved_by: other.actor, approved_at: decisionTime });
    const givers = activeGivers(approved);
    expect(moveTransaction(approved, { ...on, givers }, { status: "completed" }, decisionContext()).ok).toBe(true);
    const rich = strict(someAccount({}, { balance_minor: 1_000n }));
    const direct = request(kind, { amount: "1", status: "completed" }, rich);
    expect(refused(direct).code).toBe("four_eyes_required");
  });
});

describe("a transaction without a decision", () => {
  const daysLater = (days: number) =>
    decisionContext({ now: new Date(Date.parse(decisionTime) + days * 86_400_000).toISOString() });

  it.each(kinds)("of kind %s fails as expired at its time and not before, and releases what it held", (kind) => {
    for (const status of ["pending", "approved"] as const) {
      const { transaction, accountContext } = standing(kind, status);
      expect(expireTransaction(transaction, accountContext, daysLater(6.99))).toBeUndefined();
      const expired = expireTransaction(transaction, accountContext, daysLater(7));
      if (expired === undefined) throw new Error("It did not expire.");
      const { result, changes } = accepted(expired);
      expect(result).toMatchObject({ status: "failed", status_reason: { code: "expired" }, expires_at: null });
      expect(applied(accountContext.balance, changes)).toMatchObject({
        held_minor: 0n,
        available_minor: 100_000n,
        pending: 0,
      });
    }
  });

  it.each(kinds)("of kind %s goes no further at its time, though it has not failed yet, and may still end", (kind) => {
    for (const status of ["pending", "approved"] as const) {
      const { transaction, accountContext } = standing(kind, status);
      const move = (to: TransactionState, days: number) =>
        moveTransaction(transaction, accountContext, { status: to, reason }, daysLater(days));
      const ends: readonly TransactionState[] =
        status === "pending" ? ["rejected", "cancelled"] : ["cancelled", "failed"];
      for (const to of ends) expect(accepted(move(to, 7)).result.status).toBe(to);
      for (const to of ["approved", "processing", "completed"] as const) {
        if (to === status) continue;
        expect(accepted(move(to, 6.99)).result.status).toBe(to);
        expect(refused(move(to, 7))).toEqual({
          code: "illegal_transition",
          detail: `A ${status} transaction cannot become ${to} after its end at ${transaction.expires_at}.`,
          extra: { from: status, to, allowed: ends },
        });
      }
    }
  });

  it("that is in processing is completed at any time: it has no end any more", () => {
    const { transaction, accountContext } = standing("deposit", "processing");
    expect(moveTransaction(transaction, accountContext, { status: "completed" }, daysLater(30)).ok).toBe(true);
  });

  it.each(["processing", "completed", "rejected", "cancelled", "failed", "returned"] as const)(
    "stays when it is %s",
    (status) => {
      const { transaction, accountContext } = standing("withdrawal", status);
      expect(
        expireTransaction({ ...transaction, expires_at: decisionTime }, accountContext, daysLater(30)),
      ).toBeUndefined();
    },
  );
});
