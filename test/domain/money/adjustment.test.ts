import { describe, expect, it } from "vitest";
import { requestAdjustment } from "../../../shared/domain/money/adjustment.ts";
import { moveTransaction } from "../../../shared/domain/money/move.ts";
import type { AccountContext } from "../../../shared/domain/money/transaction.ts";
import type { Balance } from "../../../shared/domain/records/balance.ts";
import type { Transaction } from "../../../shared/domain/records/transaction.ts";
import { limits } from "../../../shared/limits.ts";
import type { TransactionState } from "../../../shared/schema/transaction.ts";
import {
  accepted,
  activeGivers,
  changesOf,
  createdItems,
  decisionContext,
  refused,
  someAccount,
} from "../../support/builders/decisions.ts";

const maker = decisionContext();
const checker = decisionContext({ actor: { type: "application", id: "app_01JD0000000000000000000009", name: "ERP" } });
const reason = { code: "fee_correction" };
const ask = (on: AccountContext, amount: string) =>
  requestAdjustment(on, { account_id: on.account.id, amount, reason }, maker);
const move = (adjustment: Transaction, on: AccountContext, status: TransactionState, by = checker) =>
  moveTransaction(adjustment, { ...on, givers: activeGivers(adjustment) }, { status, reason: { code: "by_test" } }, by);
const rich = (money: Partial<Balance> = {}) => someAccount({}, { balance_minor: 10_000n, pending: 1, ...money });
const approved = (on: AccountContext, amount: string) =>
  accepted(move(accepted(ask(on, amount)).result, on, "approved")).result;

describe("an adjustment", () => {
  it("is pending with its sign and its reason, and holds and books nothing", () => {
    const { result, changes, events } = accepted(ask(rich(), "-25.00"));
    expect(result).toMatchObject({ kind: "adjustment", status: "pending", amount_minor: -2500n, method: "internal" });
    expect(result.status_history).toMatchObject([{ to: "pending", reason: { code: "fee_correction", message: null } }]);
    expect(changesOf(changes, "adjust")).toMatchObject([{ add: { pending: 1 } }]);
    expect(createdItems(changes, "ledger")).toEqual([]);
    expect(events.map(({ type }) => type)).toEqual(["transaction.created"]);
  });

  it("is approved by another application than its own, whatever the policy is, and not completed before", () => {
    const on = rich();
    expect(on.tenant.four_eyes).toBe(false);
    const pending = accepted(ask(on, "1.00")).result;
    expect(refused(move(pending, on, "approved", maker)).code).toBe("four_eyes_required");
    for (const status of ["completed", "processing"] as const) {
      expect(refused(move(pending, on, status))).toMatchObject({
        code: "illegal_transition",
        extra: { allowed: ["approved", "rejected", "cancelled"] },
      });
    }
    expect(accepted(move(pending, on, "approved")).result.approved_by).toEqual(checker.actor);
  });

  it.each([
    ["25.00", 12_500n],
    ["-100.00", 0n],
  ])("of %s is booked against its own control account when it is completed", (amount, left) => {
    const on = rich();
    const { result, changes } = accepted(move(approved(on, amount), on, "completed", maker));
    const change = left - 10_000n;
    expect(result).toMatchObject({ status: "completed", balance_before_minor: 10_000n, balance_after_minor: left });
    expect(createdItems(changes, "ledger")).toMatchObject([{ kind: "adjustment", amount_minor: change }]);
    expect(createdItems(changes, "contra")).toMatchObject([{ control_account: "adjustment", amount_minor: -change }]);
    expect(changesOf(changes, "adjust")).toMatchObject([{ set: { balance_minor: left }, add: { pending: -1 } }]);
    expect(refused(move(result, on, "returned")).extra).toMatchObject({ allowed: [] });
  });

  it.each([
    ["what is held for a withdrawal", { held_minor: 5000n, available_minor: 5000n }, undefined, "insufficient_funds"],
    ["what open positions need", {}, { payable_minor: 9999n }, "insufficient_free_margin"],
    ["anything at an old price", {}, { stale: true }, "metrics_stale"],
    ["anything during a liquidation", {}, { liquidating: true }, "liquidation_in_progress"],
  ])("does not take %s", (_, money, margin, code) => {
    const on = rich(money);
    const seen = { payable_minor: 10_000n, floating_minor: 0n, stale: false, liquidating: false, ...margin };
    const held = margin === undefined ? on : { ...on, margin: seen };
    expect(refused(move(approved(on, "-100.00"), held, "completed"))).toMatchObject({ code });
    expect(accepted(move(approved(on, "100.00"), held, "completed")).result.status).toBe("completed");
  });

  it("gives a closed client nothing, and writes off what they owe as long as they owe it", () => {
    const client = { status: "closed" } as const;
    const owing = { ...rich({ balance_minor: -10_000n, available_minor: -10_000n, accepts: "close_only" }), client };
    expect(refused(ask(owing, "100.01")).code).toBe("client_closed");
    expect(accepted(ask({ ...rich(), client }, "-1.00")).result.status).toBe("pending");
    const write = approved(owing, "100.00");
    expect(accepted(move(write, owing, "completed")).result).toMatchObject({ balance_after_minor: 0n });
    const paid = { ...rich({ balance_minor: -1n, available_minor: -1n, accepts: "close_only" }), client };
    expect(refused(move(write, paid, "completed")).code).toBe("client_closed");
  });

  it("leaves an account with open positions the half of the bound that they may gain, as a deposit does", () => {
    const half = limits.money.max_traded_minor;
    const margin = { payable_minor: half, floating_minor: 0n, stale: false, liquidating: false };
    const on = { ...rich({ balance_minor: half, available_minor: half, positions: 1 }), margin };
    const without = rich({ balance_minor: half, available_minor: half });
    expect(refused(move(approved(on, "0.01"), on, "completed")).code).toBe("amount_too_large");
    expect(accepted(move(approved(on, "-0.01"), on, "completed")).result.status).toBe("completed");
    expect(accepted(move(approved(without, "0.01"), without, "completed")).result.status).toBe("completed");
  });

  it("meets a hold that was made at the same time", () => {
    const on = rich();
    const [change] = changesOf(accepted(move(approved(on, "-60.00"), on, "completed")).changes, "adjust");
    expect(change?.require).toContainEqual({ attribute: "available_minor", is: "at_least", value: 6000n });
  });

  it.each([
    ["of nothing", "0.00", {}, "validation_failed"],
    ["of minus nothing", "-0", {}, "validation_failed"],
    ["with a digit too many", "-1.001", {}, "amount_precision"],
    ["beyond the bound", "-99999999999999999.00", {}, "amount_too_large"],
    [
      "on a disabled account",
      "1.00",
      { account: { status: "disabled" }, balance: { accepts: "none" } },
      "account_disabled",
    ],
    ["on a closed account", "1.00", { account: { status: "closed" }, balance: { accepts: "none" } }, "account_closed"],
    ["on an account of a platform", "1.00", { account: { platform: "mt5", platform_login: "7" } }, "platform_account"],
  ] as const)("%s is refused", (_, amount, fields, code) => {
    const on = someAccount();
    const more = { account: {}, balance: {}, ...fields };
    const found = { ...on, account: { ...on.account, ...more.account }, balance: { ...on.balance, ...more.balance } };
    expect(refused(ask(found, amount)).code).toBe(code);
  });
});
