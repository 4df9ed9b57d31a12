import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { draftTenant } from "../../shared/domain/access/tenant.ts";
import { accountBody, ledgerBody, withdrawableMinor } from "../../shared/domain/accounts/account.ts";
import { openAccount } from "../../shared/domain/accounts/open-account.ts";
import type { Account } from "../../shared/domain/records/account.ts";
import type { Balance } from "../../shared/domain/records/balance.ts";
import type { Ledger } from "../../shared/domain/records/ledger.ts";
import { limits } from "../../shared/limits.ts";
import type { CreateAccount } from "../../shared/schema/account.ts";
import {
  accepted,
  changesOf,
  createdItems,
  decisionContext,
  decisionTime,
  refused,
  someAccount,
  someClient,
  tenantId,
} from "../support/builders/decisions.ts";

const tenant = draftTenant(tenantId, decisionTime);

function opened(fields: Omit<CreateAccount, "client_id"> = {}, client = someClient()) {
  return openAccount(client, tenant, { client_id: client.id, ...fields }, decisionContext());
}

describe("opening an account", () => {
  it.each([
    ["a closed client", { status: "closed" }, {}, "client_closed"],
    ["a suspended client", { status: "suspended" }, {}, "client_suspended"],
    ["a client with all its accounts", { account_count: limits.client.max_accounts }, {}, "too_many_accounts"],
    ["31 times for a retail client's live account", {}, { leverage: 31 }, "leverage_not_allowed"],
    ["levels the wrong way round", {}, { margin_call_level: "50.00", stop_out_level: "50.00" }, "validation_failed"],
    ["a re-arm level at the call level", {}, { margin_rearm_level: "100.00" }, "validation_failed"],
    ["a stop-out under 50 for a retail client", {}, { stop_out_level: "49.99" }, "validation_failed"],
  ] as const)("refuses %s", (_, fields, request, code) => {
    expect(refused(opened(request, someClient(fields))).code).toBe(code);
  });

  it.each([
    ["closed before the number of accounts", { status: "closed", account_count: 99 }, {}, "client_closed"],
    ["accounts before leverage", { account_count: 99 }, { leverage: 1000 }, "too_many_accounts"],
    ["leverage before levels", {}, { leverage: 31, stop_out_level: "1" }, "leverage_not_allowed"],
  ] as const)("looks at %s", (_, fields, request, code) => {
    expect(refused(opened(request, someClient(fields))).code).toBe(code);
  });

  it.each([
    ["retail", "live", 30, 30],
    ["retail", "demo", 100, 1000],
    ["professional", "live", 100, 1000],
    ["eligible_counterparty", "live", 100, 1000],
  ] as const)("gives a %s client's %s account the leverage %i and allows %i", (classification, type, usual, most) => {
    const client = someClient({ classification });
    expect(accepted(opened({ type }, client)).result.account.leverage).toBe(usual);
    expect(accepted(opened({ type, leverage: most }, client)).result.account.leverage).toBe(most);
    if (most < 1000) {
      expect(refused(opened({ type, leverage: most + 1 }, client))).toMatchObject({
        extra: { max: most },
        errors: [{ pointer: "#/leverage" }],
      });
    }
  });

  it("takes a client alone, and fills in every default", () => {
    const { result } = accepted(opened());
    expect(result.account).toMatchObject({
      number: "55555555",
      type: "live",
      group_id: "default",
      name: null,
      currency: "USD",
      leverage: 30,
      position_mode: "hedging",
      margin_calculation: "max",
      platform: "internal",
      platform_login: null,
      swap_free: false,
      negative_balance_protection: true,
      margin_call_level: "100.00",
      stop_out_level: "50.00",
      margin_rearm_level: "105.00",
      stop_out_order: "most_losing_first",
      stop_out_mode: "full",
      status: "active",
      trading_mode: "full",
      created_at: decisionTime,
      version: 1,
    });
    expect(result.balance).toEqual({
      account_id: result.account.id,
      tenant_id: tenantId,
      client_id: result.account.client_id,
      currency: "USD",
      accepts: "all",
      balance_minor: 0n,
      available_minor: 0n,
      held_minor: 0n,
      credit_minor: 0n,
      debt_minor: 0n,
      used_margin_minor: 0n,
      leverage: result.account.leverage,
      terms_version: 1,
      seq: 0,
      pos_version: 0,
      positions_sum: 0,
      positions: 0,
      pending: 0,
      updated_at: decisionTime,
    });
  });

  it("nets when the positions do, unless the caller says how margin is calculated", () => {
    expect(accepted(opened({ position_mode: "netting" })).result.account.margin_calculation).toBe("net");
    const said = accepted(opened({ position_mode: "netting", margin_calculation: "sum" }));
    expect(said.result.account.margin_calculation).toBe("sum");
  });

  it.each([
    [{ margin_call_level: "120" }, ["120.00", "50.00", "125.00"]],
    [{ margin_call_level: "99.5", stop_out_level: "50" }, ["99.50", "50.00", "104.50"]],
    [{ margin_call_level: "80.05", margin_rearm_level: "80.06" }, ["80.05", "50.00", "80.06"]],
  ] as const)("shows the levels of %o with two digits", (request, levels) => {
    const { account } = accepted(opened(request)).result;
    expect([account.margin_call_level, account.stop_out_level, account.margin_rearm_level]).toEqual(levels);
  });

  it("writes profile and money apart, counts the account on the active client, and tells of it once", () => {
    const client = someClient();
    const { result, changes, events } = accepted(opened({}, client));
    expect(createdItems<Account>(changes, "account")).toEqual([result.account]);
    expect(createdItems<Balance>(changes, "balance")).toEqual([result.balance]);
    expect(changesOf(changes, "adjust")).toEqual([
      {
        op: "adjust",
        entity: "client",
        id: client.id,
        add: { account_count: 1, open_accounts: 1 },
        require: [
          { attribute: "status", is: "equal", value: "active" },
          { attribute: "account_count", is: "below", value: limits.client.max_accounts },
        ],
      },
    ]);
    expect(events).toMatchObject([
      {
        type: "account.created",
        resource: { id: result.account.id, version: 1 },
        client_id: client.id,
        account_id: result.account.id,
        object: accountBody(result.account, result.balance),
      },
    ]);
  });

  it("draws a number that may be drawn again, and keeps one that was asked for", () => {
    const numbers = (request: Omit<CreateAccount, "client_id">) =>
      changesOf(accepted(opened(request)).changes, "claim").map(({ kind, value, drawn }) => [kind, value, drawn]);
    expect(numbers({})).toEqual([["account_number", "55555555", true]]);
    expect(numbers({ number: "12345678", platform: "mt5", platform_login: "9" })).toEqual([
      ["account_number", "12345678", false],
      ["platform_login", '["mt5","9"]', undefined],
    ]);
  });

  it("keeps two platforms with the same login apart", () => {
    const login = (platform: "mt4" | "mt5") =>
      changesOf(accepted(opened({ platform, platform_login: "9" })).changes, "claim")[1]?.value;
    expect(login("mt4")).not.toBe(login("mt5"));
  });
});

describe("the money of an account as it is shown", () => {
  it("adds up: equity, free margin, margin level and what can be paid out", () => {
    const money = {
      balance_minor: 100_000n,
      credit_minor: 10_000n,
      held_minor: 30_000n,
      used_margin_minor: 44_004n,
      seq: 7,
    };
    const { account, balance } = someAccount({}, money);
    expect(accountBody(account, balance)).toMatchObject({
      balance: "1000.00",
      credit: "100.00",
      held: "300.00",
      available_balance: "700.00",
      equity: "1100.00",
      used_margin: "440.04",
      free_margin: "359.96",
      margin_level: "249.97",
      withdrawable: "259.96",
      balance_version: 7,
    });
    expect(withdrawableMinor(balance, -6_000n)).toBe(19_996n);
  });

  it("has no margin level without margin, and shows yen without digits", () => {
    const { account, balance } = someAccount({ currency: "JPY" }, { balance_minor: 15_000n });
    expect(accountBody(account, balance)).toMatchObject({ balance: "15000", margin_level: null, held: "0" });
  });

  it("can never be paid out beyond the balance, never with credit, never with floating profit, never below 0", () => {
    const minor = fc.bigInt({ min: 0n, max: 10n ** 12n });
    const floating = fc.bigInt({ min: -(10n ** 12n), max: 10n ** 12n });
    fc.assert(
      fc.property(minor, minor, minor, minor, floating, (balance_minor, credit_minor, held_minor, margin, pnl) => {
        const money = { balance_minor, credit_minor, held_minor, used_margin_minor: margin };
        const { balance } = someAccount({}, money);
        const most = withdrawableMinor(balance, pnl);
        const loss = pnl < 0n ? -pnl : 0n;
        expect(most >= 0n).toBe(true);
        expect(most === 0n || most + held_minor <= balance_minor).toBe(true);
        expect(most === 0n || most + held_minor + margin <= balance_minor + pnl).toBe(true);
        expect(most).toBe(withdrawableMinor({ ...balance, credit_minor: 0n }, pnl));
        expect(withdrawableMinor(balance, -loss) <= most).toBe(true);
      }),
    );
  });

  it("shows nothing of what is internal", () => {
    const { account, balance } = someAccount();
    const shown = accountBody(account, { ...balance, pending: 3 });
    for (const name of ["tenant_id", "accepts", "seq", "pos_version", "balance_minor"]) {
      expect(Object.keys(shown)).not.toContain(name);
    }
    // The terms that wait for a platform, and not how many commands of the balance do.
    expect(shown.pending).toBeNull();
  });
});

describe("a ledger entry as it is shown", () => {
  const entry: Ledger = {
    id: "led_1",
    tenant_id: tenantId,
    account_id: "acc_1",
    kind: "withdrawal",
    amount_minor: -30_000n,
    currency: "USD",
    balance_before_minor: 100_000n,
    balance_after_minor: 70_000n,
    balance_version: 2,
    transaction_id: "txn_1",
    created_at: decisionTime,
  };

  it("has its amount with a sign, both balances and a link to its transaction", () => {
    expect(ledgerBody(entry)).toMatchObject({
      amount: "-300.00",
      balance_before: "1000.00",
      balance_after: "700.00",
      balance_version: 2,
      _links: { transaction: { href: "/v2/transactions/txn_1" } },
    });
    expect(ledgerBody({ ...entry, transaction_id: null })._links).not.toHaveProperty("transaction");
  });
});
