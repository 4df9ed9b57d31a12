import { afterAll, describe, expect, it } from "vitest";
import { atOnce, brokerage, statusCounts } from "../support/builders/brokerage.ts";
import { startApi } from "../support/emulator/api.ts";
import { asOperator, newCaller, type RequestParts, type TestCaller } from "../support/emulator/request.ts";

const api = await startApi();
afterAll(api.stop);

const caller = newCaller();
const [ana, eva, tom] = ["Ana", "Eva", "Tom"].map((name) => asOperator(caller, name, "finance"));
const [making, first, second] = [ana, eva, tom].map((each) => brokerage(api, each ?? caller));
if (making === undefined || first === undefined || second === undefined) throw new Error("Three operators are needed.");

const approval_rules = [{ kind: "withdrawal", over: { USD: "5.00" }, approvers: 2, roles: ["finance"] }];
const guarded = () => api.call(caller, "PATCH", "/settings", { body: { approval_rules } });

describe("a withdrawal above the amount of a rule", () => {
  it("needs two people other than its maker, counts one person once also in parallel, and names them", async () => {
    const account = await brokerage(api, caller).account("100.00");
    expect((await guarded()).body).toMatchObject({ approval_rules, proposed_approval_rules: null });
    const small = await making.withdrawal(account, "5.00");
    expect((await making.move(small, "completed")).status).toBe(200);

    const withdrawal = await making.withdrawal(account, "10.00");
    const body = { account_id: account.id, amount: "10.00", status: "completed" };
    const direct = await api.call(ana ?? caller, "POST", "/transactions/withdrawal", { body });
    expect([direct.status, direct.body.code]).toEqual([409, "approval_required"]);
    expect((await making.move(withdrawal, "approved")).body.code).toBe("four_eyes_required");
    const answers = await atOnce(5, () => first.move(withdrawal, "approved"));
    expect(statusCounts(answers)).toEqual({ 200: 5 });
    expect((await first.get(`/transactions/${withdrawal.id}`)).approvals).toHaveLength(1);
    expect((await first.move(withdrawal, "completed")).body).toMatchObject({
      ...{ code: "approval_required", approvals_missing: 1, roles: ["finance"] },
    });
    expect((await second.move(withdrawal, "approved")).body.approved_by).toMatchObject({
      type: "operator",
      name: "Tom",
    });
    expect((await second.move(withdrawal, "completed")).body.status).toBe("completed");
    const history = await second.get(`/transactions/${withdrawal.id}/history`);
    expect(history.data.map(({ actor }: { actor: { name: string } }) => actor.name)).toEqual([
      "Ana",
      "Eva",
      "Tom",
      "Tom",
    ]);
  });

  it("is approved and rejected by requests of their own as by the patch", async () => {
    await guarded();
    const account = await brokerage(api, caller).account("100.00");
    const decide = (by: TestCaller | undefined, { id }: { id: string }, verdict: string, parts: RequestParts = {}) =>
      api.call(by ?? caller, "POST", `/transactions/${id}/${verdict}`, parts);
    const withdrawal = await making.withdrawal(account, "10.00");
    const viewer = asOperator(caller, "Vic", "viewer");
    const refused = await Promise.all([
      decide(ana, withdrawal, "approve"),
      decide(caller, withdrawal, "approve"),
      decide(viewer, withdrawal, "approve"),
      decide(viewer, withdrawal, "reject", { body: { reason: { code: "fraud" } } }),
      decide(eva, withdrawal, "reject", { body: {} }),
    ]);
    expect(refused.map(({ status, body: { code } }) => [status, code])).toEqual([
      [403, "four_eyes_required"],
      [409, "approval_required"],
      [403, "insufficient_scope"],
      [403, "insufficient_scope"],
      [422, "validation_failed"],
    ]);
    expect((await making.get(`/transactions/${withdrawal.id}`)).version).toBe(withdrawal.version);

    const keyed = { headers: { "Idempotency-Key": "eva-approves" } };
    const once = await decide(eva, withdrawal, "approve", keyed);
    const replayed = await decide(eva, withdrawal, "approve", keyed);
    expect([once.status, once.body.status, once.body.approvals.length]).toEqual([200, "pending", 1]);
    expect(replayed.body).toEqual(once.body);
    const { body: approved } = await decide(tom, withdrawal, "approve");
    expect(approved).toMatchObject({ status: "approved", approved_by: { name: "Tom" } });
    const late = await decide(eva, withdrawal, "reject", { body: { reason: { code: "fraud" } } });
    expect([late.status, late.body.code]).toEqual([409, "illegal_transition"]);

    const other = await making.withdrawal(account, "10.00");
    const reason = { code: "fraud", message: "Another holder." };
    const { body: rejected } = await decide(eva, other, "reject", { body: { reason } });
    expect(rejected).toMatchObject({ status: "rejected", status_reason: reason });
    expect((await brokerage(api, caller).get(`/accounts/${account.id}/balance`)).available_balance).toBe("90.00");
  });

  it.each([
    [{ kind: "transfer_out" }, "#/approval_rules/0/kind"],
    [{ over: { USD: "5.001" } }, "#/approval_rules/0/over"],
    [{ over: { XXX: "5.00" } }, "#/approval_rules/0/over"],
    [{ over: { USD: "-1.00" } }, "#/approval_rules/0/over"],
    [{ approvers: 0 }, "#/approval_rules/0/approvers"],
    [{ approvers: 6 }, "#/approval_rules/0/approvers"],
    [{ roles: [] }, "#/approval_rules/0/roles"],
    [{ roles: ["root"] }, "#/approval_rules/0/roles/0"],
  ])("is refused a rule with %o", async (given, pointer) => {
    const rule = { kind: "withdrawal", over: { USD: "5.00" }, approvers: 2, ...given };
    const { status, body } = await api.call(caller, "PATCH", "/settings", { body: { approval_rules: [rule] } });
    expect([status, body.errors]).toEqual([422, [expect.objectContaining({ pointer })]]);
  });
});
