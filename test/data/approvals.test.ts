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

describe("the queue", () => {
  const walked = async (by: TestCaller, query = ""): Promise<Record<string, unknown>[]> => {
    const found: Record<string, unknown>[] = [];
    for (let address: string | undefined = `/transactions/queue?limit=2${query}`; address !== undefined; ) {
      const { status, body, text } = await api.call(by, "GET", address);
      expect([status, text]).toEqual([200, text]);
      found.push(...body.data);
      address = body._links.next?.href.split("/v2")[1];
    }
    return found;
  };

  it("shows each person what waits for them, oldest first, with its rule and what is missing", async () => {
    const own = newCaller();
    const [maker, approver, other] = ["Ana", "Eva", "Tom"].map((name) => asOperator(own, name, "finance"));
    if (maker === undefined || approver === undefined || other === undefined) throw new Error("Three are needed.");
    await api.call(own, "PATCH", "/settings", { body: { approval_rules } });
    const account = await brokerage(api, own).account("100.00");
    const by = brokerage(api, maker);
    const small = await by.withdrawal(account, "5.00");
    const made = [];
    for (const amount of ["10.00", "11.00", "12.00", "13.00", "14.00"]) made.push(await by.withdrawal(account, amount));
    const theirs = await brokerage(api, approver).withdrawal(account, "15.00");
    const ids = made.map(({ id }) => id);
    const idsOf = (items: readonly Record<string, unknown>[]) => items.map(({ id }) => id);
    // No one else is there yet who could give a second approval, so it waits for everyone.
    expect((await walked(own))[0]).toMatchObject({ id: ids[0], approvals_missing: 2, approvers_left: 1 });
    for (const each of [approver, other]) await walked(each);

    expect(idsOf(await walked(maker))).toEqual([theirs.id]);
    expect(idsOf(await walked(approver))).toEqual(ids);
    expect(idsOf(await walked(other))).toEqual([...ids, theirs.id]);
    expect(await walked(asOperator(own, "Max", "owner"))).toEqual([]);
    expect(await walked(own)).toEqual([]);
    const { rule, approvals_missing, approvers_left, age_seconds, ...transaction } = (await walked(other))[0] ?? {};
    expect([rule, approvals_missing, age_seconds]).toEqual([approval_rules[0], 2, expect.any(Number)]);
    expect(approvers_left).toBe(2);
    expect(transaction).toEqual(await by.get(`/transactions/${ids[0]}`));

    await brokerage(api, approver).move({ id: ids[1] }, "approved");
    await brokerage(api, approver).move({ id: ids[2] }, "rejected");
    expect(idsOf(await walked(approver))).toEqual([ids[0], ids[3], ids[4]]);
    const left = await walked(other);
    expect(left.map(({ id, approvals_missing: missing }) => [id, missing])).toEqual([
      [ids[0], 2],
      [ids[1], 1],
      [ids[3], 2],
      [ids[4], 2],
      [theirs.id, 2],
    ]);
    expect(await walked(other, "&kind=deposit")).toEqual([]);
    expect(await walked(other, `&account_id=${account.id}&kind=withdrawal`)).toHaveLength(5);
    expect(idsOf(left)).not.toContain(small.id);
  });

  it("shows what four eyes ask for to applications too, but never what they created", async () => {
    const maker = newCaller();
    const approver = newCaller({ tenant_id: maker.tenant_id });
    const account = await brokerage(api, maker).account("100.00");
    const deposit = await brokerage(api, maker).deposit(account, "1.00");
    expect(await walked(approver)).toEqual([]);
    await api.call(maker, "PATCH", "/settings", { body: { four_eyes: true } });
    expect(await walked(approver)).toMatchObject([{ id: deposit.id, rule: null, approvals_missing: 1 }]);
    expect(await walked(maker)).toEqual([]);
    await brokerage(api, approver).move(deposit, "approved");
    expect(await walked(approver)).toEqual([]);
  });
});
