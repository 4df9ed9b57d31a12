import { describe, expect, it } from "vitest";
import { accountBody } from "../../shared/domain/accounts/account.ts";
import { amendAccount, balanceBody, disableAccount } from "../../shared/domain/accounts/amend-account.ts";
import type { Account } from "../../shared/domain/records/account.ts";
import type { Balance } from "../../shared/domain/records/balance.ts";
import type { UpdateAccount } from "../../shared/schema/account.ts";
import {
  accepted,
  changesOf,
  decisionContext,
  decisionTime,
  refused,
  someAccount,
  someClient,
} from "../support/builders/decisions.ts";

const later = "2026-11-21T07:00:00.000Z";

function standing(fields: Partial<Account> = {}, money: Partial<Balance> = {}) {
  const { account, balance } = someAccount(fields, money);
  return { account, balance, client: someClient() };
}

const disabledFields = { status: "disabled", trading_mode: "none", trading_mode_before: "full" } as const;
const disabled = (money: Partial<Balance> = {}) => standing(disabledFields, { accepts: "none", ...money });
const amend = (owned: ReturnType<typeof standing>, patch: UpdateAccount) =>
  amendAccount(owned, patch, decisionContext({ now: later }));

describe("disabling an account", () => {
  it("shuts its gate in the same commit, whatever is in it, and tells so once", () => {
    const owned = standing({ trading_mode: "close_only" }, { balance_minor: 500n, pending: 2, positions: 1 });
    const { result, changes, events } = accepted(disableAccount(owned, decisionContext({ now: later })));
    expect(result.account).toMatchObject({
      status: "disabled",
      trading_mode: "none",
      trading_mode_before: "close_only",
      disabled_at: later,
      version: 2,
    });
    expect(changesOf(changes, "adjust")).toMatchObject([{ entity: "balance", set: { accepts: "none" }, require: [] }]);
    expect(events).toMatchObject([{ type: "account.updated", object: accountBody(result.account, result.balance) }]);
  });

  it("a second time changes nothing", () => {
    const decision = accepted(disableAccount(disabled(), decisionContext({ now: later })));
    expect([decision.changes, decision.events]).toEqual([[], []]);
  });

  it("is no way back from closed", () => {
    expect(refused(disableAccount(standing({ status: "closed" }), decisionContext()))).toMatchObject({
      code: "illegal_transition",
      extra: { from: "closed", to: "disabled", allowed: [] },
    });
  });
});

describe("the states of an account", () => {
  const states = ["active", "disabled", "closed"] as const;
  const legal = new Set(["active>disabled", "disabled>active", "disabled>closed"]);

  it.each(states.flatMap((from) => states.map((to) => [from, to] as const)))("from %s to %s", (from, to) => {
    const decision = amend(standing({ status: from }, { accepts: from === "active" ? "all" : "none" }), { status: to });
    if (from === to) expect(accepted(decision).changes).toEqual([]);
    else if (legal.has(`${from}>${to}`)) expect(accepted(decision).result.account.status).toBe(to);
    else expect(refused(decision).code).toBe("illegal_transition");
  });

  it.each([
    ["full", "all"],
    ["close_only", "close_only"],
    ["none", "close_only"],
  ] as const)("give back the trading mode %s, and the gate that goes with it", (mode, gate) => {
    const owned = standing({ ...disabledFields, trading_mode_before: mode }, { accepts: "none" });
    const { result, changes } = accepted(amend(owned, { status: "active" }));
    expect(result.account).toMatchObject({ trading_mode: mode, trading_mode_before: null, disabled_at: null });
    expect(changesOf(changes, "adjust").map(({ set }) => set?.["accepts"])).toEqual([gate]);
  });

  it.each([
    [{ balance_minor: 1n }, ["a balance"]],
    [{ balance_minor: -1n }, ["a balance"]],
    [{ credit_minor: 1n }, ["credit"]],
    [{ pending: 1 }, ["pending transactions"]],
    [{ positions: 1 }, ["positions"]],
    [{ held_minor: 1n }, ["items that were set aside"]],
    [{ aside_minor: 1n }, ["items that were set aside"]],
    [{ pending: 1, held_minor: 1n, aside_minor: 0n }, ["pending transactions"]],
  ] as const)("do not end while there is %o", (money, left) => {
    expect(refused(amend(disabled(money), { status: "closed" }))).toMatchObject({
      code: "account_not_empty",
      extra: { left },
    });
  });

  it("end on the condition that it is still empty, and leave the client one open account less", () => {
    const { result, changes } = accepted(amend(disabled(), { status: "closed" }));
    expect(result.account).toMatchObject({ status: "closed", closed_at: later });
    const [balance, client] = changesOf(changes, "adjust");
    expect(balance?.require.map(({ attribute, is }) => [attribute, is])).toEqual([
      ["positions", "equal"],
      ["pending", "equal"],
      ["balance_minor", "equal"],
      ["credit_minor", "equal"],
      ["held_minor", "equal"],
    ]);
    // Decisions from before the end are made again.
    expect(balance?.add).toEqual({ pos_version: 1 });
    expect(client).toMatchObject({ entity: "client", add: { open_accounts: -1 } });
  });
});

describe("a patch of an account", () => {
  it.each<UpdateAccount>([{}, { leverage: 30 }, { name: null }, { metadata: {} }, { margin_call_level: "100" }])(
    "that says what is so, %o, changes nothing",
    (patch) => expect(accepted(amend(standing(), patch)).changes).toEqual([]),
  );

  it.each([
    [{ leverage: 31 }, "leverage_not_allowed"],
    [{ margin_call_level: "50.00" }, "validation_failed"],
    [{ stop_out_level: "49.99" }, "validation_failed"],
    [{ margin_rearm_level: "100.00" }, "validation_failed"],
  ] as const)("is refused for %o with %s", (patch, code) => {
    expect(refused(amend(standing(), patch)).code).toBe(code);
  });

  it("moves the gate with the trading mode, and only with it", () => {
    expect(changesOf(accepted(amend(standing(), { name: "x" })).changes, "adjust")).toEqual([]);
    const { changes } = accepted(amend(standing(), { trading_mode: "close_only" }));
    expect(changesOf(changes, "adjust").map(({ set }) => set?.["accepts"])).toEqual(["close_only"]);
  });

  it("gives the old login up and claims the new one", () => {
    const owned = standing({ platform: "mt5", platform_login: "1" });
    const { changes } = accepted(amend(owned, { platform_login: "2" }));
    expect(changesOf(changes, "release").map(({ value }) => value)).toEqual(['["mt5","1"]']);
    expect(changesOf(changes, "claim").map(({ value }) => value)).toEqual(['["mt5","2"]']);
    const given = accepted(amend(owned, { platform_login: null })).changes;
    expect([changesOf(given, "release").length, changesOf(given, "claim").length]).toEqual([1, 0]);
  });

  it("of a closed account is refused, unless it says what is so", () => {
    const closed = standing({ status: "closed", trading_mode: "none" });
    expect(refused(amend(closed, { name: "x" })).code).toBe("account_closed");
    expect(accepted(amend(closed, { status: "closed" })).changes).toEqual([]);
  });
});

describe("the money of an account by itself", () => {
  it("is that of the account, with its version of postings", () => {
    const { account, balance } = standing({}, { balance_minor: 1_000n, held_minor: 400n, seq: 3 });
    const whole = accountBody(account, balance);
    const { object, account_id, _links, ...money } = balanceBody({ account, balance });
    expect([object, account_id, money.balance_version]).toEqual(["account_balance", account.id, 3]);
    expect(whole).toMatchObject(money);
    expect(money).toMatchObject({ withdrawable: "6.00", metrics_as_of: decisionTime });
  });
});
