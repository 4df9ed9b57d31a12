import { describe, expect, it } from "vitest";
import { bridge, moneyMoved } from "../../support/builders/bridge.ts";
import { brokerage } from "../../support/builders/brokerage.ts";
import { putMarket } from "../../support/builders/trading-data.ts";
import { asOperator, newCaller, type TestCaller, withScopes } from "../../support/emulator/request.ts";
import { api } from "./feed-cases.ts";

const rule = { over: { USD: "100.00" }, approvers: 2, roles: ["finance"] } as const;
const rules = [
  { kind: "withdrawal", ...rule },
  { kind: "deposit", ...rule },
];

/** A brokerage of its own with rules, a maker, three others of finance, and a bridge that only feeds. */
async function guarded(authoritative: "platform" | "service" = "platform", approval_rules: object[] = rules) {
  const owner = newCaller();
  await putMarket(api, owner.tenant_id);
  const people = ["Ana", "Eva", "Tom", "Uma"].map((name) => asOperator(owner, name, "finance"));
  const [ana, eva, tom, uma] = people as [TestCaller, TestCaller, TestCaller, TestCaller];
  const { newSource, unusedLogin } = bridge(api, withScopes(owner, "feed:read", "feed:write"));
  const source = await newSource({ authoritative });
  const link = { platform: "mt5", platform_login: unusedLogin(), source_id: source.id };
  const account = await brokerage(api, owner).account(undefined, { type: "demo", ...link });
  const login = link.platform_login;
  await source.send(moneyMoved(login, "B-0", "deposit", "9000.00"));
  const patched = await api.call(owner, "PATCH", "/settings", { body: { approval_rules } });
  if (patched.status !== 200) throw new Error(patched.text);
  const as = (who: TestCaller) => brokerage(api, who);
  const moneyOf = () => as(owner).get(`/accounts/${account.id}/balance`);
  return { owner, ana, eva, tom, uma, source, account, login, as, moneyOf };
}

describe("an item that names a transaction which still needs approvals", () => {
  it.each(["platform", "service"] as const)("is set aside, and booked by the last approval (%s)", async (kind) => {
    const { ana, eva, tom, source, account, login, as, moneyOf } = await guarded(kind);
    const withdrawal = await as(ana).withdrawal(account, "5000.00");
    const item = moneyMoved(login, "B-1", "withdrawal", "5000.004", { reference: withdrawal.id });
    expect(await source.send(item)).toMatchObject([
      { status: "rejected", code: "approval_required", candidates: [withdrawal.id] },
    ]);
    const waiting = await as(ana).get(`/transactions/${withdrawal.id}`);
    expect(waiting.set_aside).toMatchObject({ operation_id: "B-1", reported_amount: "5000.004" });
    const early = await as(ana).move(withdrawal, "completed");
    expect([early.status, early.body.code]).toEqual([409, "approval_required"]);
    expect(await moneyOf()).toMatchObject({ balance: "9000.00", held: "5000.00" });
    expect((await as(eva).move(withdrawal, "approved")).body.status).toBe("pending");
    const last = await as(tom).move(withdrawal, "approved");
    expect(last.body).toMatchObject({
      status: "processing",
      set_aside: null,
      platform_operations: [{ operation_id: "B-1", confirmed: true, reported_amount: "5000.004" }],
    });
    expect(last.body.command_id).toBeUndefined();
    expect(await moneyOf()).toMatchObject({ balance: "4000.00", held: "0.00" });
    expect(await source.rejects()).toEqual([]);
    expect(await source.send(item)).toMatchObject([{ status: "duplicate", transaction_id: withdrawal.id }]);
    expect((await as(ana).move(withdrawal, "completed")).body.status).toBe("completed");
  });
});

describe("an item that is sent again under its name", () => {
  it.each(["platform", "service"] as const)(
    "is set aside until the last approval, then known by what was joined (%s)",
    async (kind) => {
      const { owner, ana, eva, tom, source, account, login, as, moneyOf } = await guarded(kind);
      const withdrawal = await as(ana).withdrawal(account, "5000.00");
      const item = moneyMoved(login, "B-1", "withdrawal", "5000.00", { reference: withdrawal.id });
      const other = moneyMoved(login, "B-1", "withdrawal", "4000.00", { reference: withdrawal.id });
      const waits = { status: "rejected", code: "approval_required", candidates: [withdrawal.id] };
      // The other amount comes last, and the approvals join what was set aside.
      for (const each of [item, item, other]) expect(await source.send(each)).toMatchObject([waits]);
      expect(await source.send(item, other)).toMatchObject([waits, waits]);
      expect(await moneyOf()).toMatchObject({ balance: "9000.00", held: "5000.00" });
      for (const who of [eva, tom]) await as(who).move(withdrawal, "approved");
      expect(await moneyOf()).toMatchObject({ balance: "4000.00", held: "0.00" });
      expect((await source.rejects()).map(({ seq }: { seq: string }) => seq)).not.toContain("2");
      expect(await source.send(item, other)).toMatchObject([
        { status: "duplicate", transaction_id: withdrawal.id },
        { status: "rejected", code: "deal_conflict" },
      ]);
      const retry = async (seq: string) => {
        const answer = await api.call(owner, "POST", `${source.path}/rejects/${seq}/retry`);
        return [answer.body.status, answer.body.code];
      };
      expect(await retry("3")).toEqual(["duplicate", undefined]);
      expect((await retry("4"))[1]).toBe("deal_conflict");
      expect(await moneyOf()).toMatchObject({ balance: "4000.00", held: "0.00" });
    },
  );

  it("is noted as set aside where its number was rejected, by a batch that was not answered", async () => {
    const { owner, ana, eva, tom, source, as } = await guarded("service");
    const [login, other] = ["77000010", "77000011"];
    const item = (platform_login: string, more: object) =>
      moneyMoved(platform_login, "B-1", "deposit", "5000.00", more);
    const batch = (more: object = {}) => {
      const items = [item(login, more), item(other, more)].map((each, place) => ({ seq: String(2 + place), ...each }));
      return { first_seq: "2", items };
    };
    // The process ends before it moves the source on.
    api.watched.interfere = ({ operation, input }) =>
      operation === "UpdateItem" && JSON.stringify(input).includes("next_seq")
        ? { status: 400, body: { __type: "AccessDeniedException" } }
        : undefined;
    expect((await source.raw(batch())).status).toBe(500);
    api.watched.interfere = () => undefined;
    expect(await source.rejects()).toMatchObject([{ code: "account_not_found" }, { code: "account_not_found" }]);
    const link = { type: "demo", platform: "mt5", platform_login: login, source_id: source.id };
    const account = await as(owner).account(undefined, link);
    const deposit = await as(ana).deposit(account, "5000.00");
    const sent = await source.raw(batch({ reference: deposit.id }));
    expect(sent.body.results[0]).toMatchObject({ code: "approval_required", candidates: [deposit.id] });
    expect((await source.rejects())[0]).toMatchObject({ seq: "2", code: "approval_required" });
    for (const who of [eva, tom]) await as(who).move(deposit, "approved");
    expect(await as(ana).get(`/transactions/${deposit.id}`)).toMatchObject({ status: "completed", set_aside: null });
    expect((await source.rejects()).map(({ seq }: { seq: string }) => seq)).toEqual(["3"]);
    const again = item(login, { reference: deposit.id });
    const known = { first_seq: sent.body.expected_next_seq, items: [{ seq: sent.body.expected_next_seq, ...again }] };
    expect((await source.raw(known)).body.results).toMatchObject([{ status: "duplicate", transaction_id: deposit.id }]);
  });

  it("resolves its own reject, not the one that has its number", async () => {
    const { owner, ana, eva, tom, source, account, login, as } = await guarded();
    const withdrawal = await as(ana).withdrawal(account, "5000.00");
    await source.send(moneyMoved("40000001", "B-7", "deposit", "1.00"));
    const [{ seq }] = await source.rejects();
    const item = moneyMoved(login, "B-1", "withdrawal", "5000.00", { reference: withdrawal.id });
    const again = await source.raw({ first_seq: seq, items: [{ seq, ...item }] });
    expect(again.body.results).toMatchObject([{ status: "rejected", code: "sequence_conflict" }]);
    const rejects: readonly { readonly reject_id: string; readonly code: string }[] = await source.rejects();
    const { reject_id = "" } = rejects.find(({ code }) => code === "sequence_conflict") ?? {};
    const retried = await api.call(owner, "POST", `${source.path}/rejects/${reject_id}/retry`);
    expect(retried.body.code).toBe("approval_required");
    for (const who of [eva, tom]) await as(who).move(withdrawal, "approved");
    expect(await source.rejects()).toMatchObject([{ reject_id: seq, item: { data: { operation_id: "B-7" } } }]);
  });
});

describe("a removed approver, a tightened and a loosened rule", () => {
  it("are judged where the money leaves, and the queue names the way out", async () => {
    const { owner, ana, eva, tom, uma, account, as } = await guarded();
    for (const each of [ana, eva, tom, uma]) await api.call(each, "GET", "/transactions/queue");
    const withdrawal = await as(ana).withdrawal(account, "500.00");
    await as(eva).move(withdrawal, "approved");
    expect((await as(tom).move(withdrawal, "approved")).body.status).toBe("approved");
    const suspended = { body: { status: "suspended" } };
    const gone = await api.call(owner, "PATCH", `/operators/${tom.operator?.id}`, suspended);
    expect([gone.status, gone.body.status]).toEqual([200, "suspended"]);
    const paid = await as(ana).move(withdrawal, "completed");
    expect([paid.status, paid.body.code, paid.body.approvals_missing]).toEqual([409, "approval_required", 1]);
    const queue = async (who: TestCaller) => (await as(who).get("/transactions/queue")).data;
    expect(await queue(uma)).toMatchObject([{ id: withdrawal.id, approvals_missing: 1, approvers_left: 1 }]);
    expect([await queue(eva), await queue(ana)]).toEqual([[], []]);
    expect((await as(uma).move(withdrawal, "approved")).body).toMatchObject({
      ...{ status: "approved", approved_by: { name: "Uma" } },
    });
    const three = [{ ...rules[0], approvers: 3 }];
    await api.call(owner, "PATCH", "/settings", { body: { approval_rules: three } });
    expect((await as(ana).move(withdrawal, "completed")).body.approvals_missing).toBe(1);
    expect(await queue(ana)).toMatchObject([{ id: withdrawal.id, approvals_missing: 1, approvers_left: 0 }]);
    await api.call(owner, "PATCH", "/settings", { body: { approval_rules: rules } });
    expect((await as(ana).move(withdrawal, "completed")).body.status).toBe("processing");
  });

  it("joins the item by whatever move finds enough approvals, and issues no command", async () => {
    for (const status of ["processing", "completed", "approved"]) {
      const { owner, ana, eva, source, account, login, as, moneyOf } = await guarded();
      const withdrawal = await as(ana).withdrawal(account, "5000.00");
      await as(eva).move(withdrawal, "approved");
      await source.send(moneyMoved(login, "B-1", "withdrawal", "5000.00", { reference: withdrawal.id }));
      await api.call(owner, "PATCH", "/settings", { body: { approval_rules: [{ ...rules[0], approvers: 1 }] } });
      const moved = await as(status === "approved" ? eva : ana).move(withdrawal, status);
      expect(moved.body).toMatchObject({ status: "processing", platform_operations: [{ operation_id: "B-1" }] });
      expect(moved.body.command_id).toBeUndefined();
      expect(await moneyOf()).toMatchObject({ balance: "4000.00", held: "0.00" });
    }
  });
});

describe("an item whose transaction has ended", () => {
  const ended = async (kind: "platform" | "service" = "platform") => {
    const given = await guarded(kind);
    const { ana, source, account, login, as } = given;
    const withdrawal = await as(ana).withdrawal(account, "5000.00");
    await source.send(moneyMoved(login, "B-1", "withdrawal", "5000.00", { reference: withdrawal.id }));
    expect((await as(ana).move(withdrawal, "cancelled")).body).toMatchObject({
      status: "cancelled",
      set_aside: { operation_id: "B-1" },
    });
    return { ...given, withdrawal };
  };

  it.each(["platform", "service"] as const)(
    "keeps the hold, waits in the queue, and is new money (%s)",
    async (kind) => {
      const { owner, ana, eva, tom, source, withdrawal, as, moneyOf } = await ended(kind);
      expect(await moneyOf()).toMatchObject({ balance: "9000.00", held: "5000.00" });
      const { data } = await as(eva).get("/transactions/queue");
      expect(data).toMatchObject([{ id: withdrawal.id, status: "cancelled", set_aside: { seq: "2" } }]);
      const listed = await as(eva).get("/transactions?status=cancelled");
      expect(listed.data.map(({ id }: { id: string }) => id)).toEqual([withdrawal.id]);
      expect((await as(eva).get("/transactions?status=pending")).data).toEqual([]);
      const feeder = withScopes(owner, "feed:read", "feed:write");
      const retry = (who: TestCaller, body?: object) =>
        api.call(who, "POST", `${source.path}/rejects/2/retry`, body === undefined ? {} : { body });
      expect((await retry(owner)).body.code).toBe("approval_required");
      const asked = await retry(owner, { confirm_new: true });
      const [again] = asked.body.candidates;
      expect([asked.body.code, again === withdrawal.id]).toEqual(["approval_required", false]);
      expect(await as(ana).get(`/transactions/${again}`)).toMatchObject({
        ...{ kind: "withdrawal", status: "pending", amount: "5000.00", related_to: withdrawal.id },
        set_aside: { operation_id: "B-1", created_for_item: true },
      });
      expect(await as(ana).get(`/transactions/${withdrawal.id}`)).toMatchObject({ set_aside: null });
      expect(await moneyOf()).toMatchObject({ balance: "9000.00", held: "5000.00" });
      expect((await as(ana).move({ id: again }, "completed")).body.code).toBe("approval_required");
      for (const who of [eva, tom]) await as(who).move({ id: again }, "approved");
      expect(await as(ana).get(`/transactions/${again}`)).toMatchObject({ status: "completed", set_aside: null });
      expect(await moneyOf()).toMatchObject({ balance: "4000.00", held: "0.00" });
      expect(feeder.scopes).toEqual(["feed:read", "feed:write"]);
    },
  );

  it("is taken back by a command that one asks for who did not act before", async () => {
    const { owner, eva, source, account, login, as, moneyOf } = await ended("service");
    const body = { take_back: true };
    const retry = (who: TestCaller) => api.call(who, "POST", `${source.path}/rejects/2/retry`, { body });
    const refused = await retry(owner);
    expect(refused.body).toMatchObject({ status: "rejected", code: "four_eyes_required" });
    const person = eva;
    const taken = await retry(person);
    expect(taken.body).toMatchObject({ status: "applied", command_id: expect.stringMatching(/^cmd_/) });
    expect(await moneyOf()).toMatchObject({ balance: "9000.00", held: "0.00" });
    const command = taken.body.command_id;
    const back = moneyMoved(login, "B-2", "deposit", "5000.00", { reference: command });
    expect(await source.send(back)).toMatchObject([{ status: "applied", command_id: command }]);
    expect(await moneyOf()).toMatchObject({ balance: "9000.00", held: "0.00" });
    expect((await as(owner).get(`/accounts/${account.id}`)).balance).toBe("9000.00");
  });
});

describe("the names of a transaction that has ended", () => {
  const names = { provider: "Stripe", provider_reference: "r-1", external_id: "e-1" };

  it("are free once people have settled the item that is set aside for it", async () => {
    const { owner, ana, eva, source, account, login, as } = await guarded("service");
    const withdraw = () =>
      api.call(ana, "POST", "/transactions/withdrawal", {
        body: { account_id: account.id, amount: "500.00", ...names },
      });
    const first = await withdraw();
    expect(first.status).toBe(201);
    await source.send(moneyMoved(login, "B-1", "withdrawal", "500.00", { reference: first.body.id }));
    expect((await as(eva).move(first.body, "rejected")).body.status).toBe("rejected");
    expect((await withdraw()).body.code).toBe("external_id_taken");
    const body = { take_back: true };
    const person = eva;
    const asked = asOperator(owner, "Zoe", "finance");
    const acted = await api.call(person, "POST", `${source.path}/rejects/2/retry`, { body });
    expect(acted.body.code).toBe("four_eyes_required");
    const taken = await api.call(asked, "POST", `${source.path}/rejects/2/retry`, {
      body,
    });
    expect(taken.body.status).toBe("applied");
    expect((await withdraw()).status).toBe(201);
  });

  it("were never claimed for one that an item made: people reject it as often as they book it as new", async () => {
    const { owner, ana, eva, source, account, login, as, moneyOf } = await guarded("service");
    const own = { provider: source.name, provider_reference: "B-1" };
    const made = await api.call(ana, "POST", "/transactions/deposit", {
      body: { account_id: account.id, amount: "1.00", ...own },
    });
    expect(made.status).toBe(201);
    const [{ candidates }] = await source.send(moneyMoved(login, "B-1", "withdrawal", "8000.00"));
    let [id] = candidates;
    for (let round = 0; round < 2; round += 1) {
      expect((await as(eva).move({ id }, "rejected")).body).toMatchObject({ status: "rejected" });
      const body = { confirm_new: true };
      const retried = await api.call(owner, "POST", `${source.path}/rejects/2/retry`, { body });
      expect(retried.body.candidates).not.toEqual([id]);
      [id] = retried.body.candidates;
    }
    expect(await moneyOf()).toMatchObject({ balance: "9000.00", held: "8000.00" });
  });
});

describe("money without a reference above a rule", () => {
  it.each([
    ["withdrawal", "8000.00", "1000.00"],
    ["correction", "-7000.00", "2000.00"],
    ["adjustment", "-7000.00", "2000.00"],
    ["deposit", "5000.00", "14000.00"],
    ["correction", "5000.00", "14000.00"],
    ["correction", "4999.995", "14000.00"],
    ["credit_in", "5000.00", "9000.00"],
  ])(
    "of kind %s %s waits on a source that is not authoritative, and is booked by the last approval",
    async (kind, amount, left) => {
      const { ana, eva, tom, source, login, as, moneyOf } = await guarded("service");
      const [result] = await source.send(moneyMoved(login, "B-1", kind, amount));
      expect(result).toMatchObject({ status: "rejected", code: "approval_required" });
      const [id] = result.candidates;
      expect(await as(ana).get(`/transactions/${id}`)).toMatchObject({ kind, status: "pending", expires_at: null });
      const held = kind === "withdrawal" || amount.startsWith("-") ? amount.replace("-", "") : "0.00";
      expect(await moneyOf()).toMatchObject({ balance: "9000.00", held });
      expect((await as(ana).move({ id }, "completed")).body.code).toBe("approval_required");
      await as(eva).move({ id }, "approved");
      const booked = (await as(tom).move({ id }, "approved")).body;
      expect(booked).toMatchObject({ status: "completed", set_aside: null });
      const figure = /\.\d{3}$/.test(amount) ? amount : undefined;
      expect(booked.platform_operations[0].reported_amount).toBe(figure);
      expect(await moneyOf()).toMatchObject({ balance: left, held: "0.00" });
      expect(await source.rejects()).toEqual([]);
      expect(await source.send(moneyMoved(login, "B-1", kind, amount))).toMatchObject([{ status: "duplicate" }]);
    },
  );

  it("is booked as it happened on an authoritative source, and announced", async () => {
    const { owner, source, login, as, moneyOf } = await guarded("platform");
    const [result] = await source.send(moneyMoved(login, "B-1", "withdrawal", "8000.00"));
    expect(result).toMatchObject({ status: "applied" });
    expect(await moneyOf()).toMatchObject({ balance: "1000.00" });
    const { data } = await as(owner).get(`/transactions?kind=withdrawal`);
    expect(data).toMatchObject([{ id: result.transaction_id, status: "completed" }]);
    expect(await source.send(moneyMoved(login, "B-2", "fee", "-2.00"))).toMatchObject([{ status: "applied" }]);
  });

  it("is rejected by one, and then keeps its hold until people end it", async () => {
    const { eva, source, login, as, moneyOf } = await guarded("service");
    const [{ candidates }] = await source.send(moneyMoved(login, "B-1", "withdrawal", "12000.00"));
    expect(await moneyOf()).toMatchObject({ balance: "9000.00", held: "12000.00", available_balance: "-3000.00" });
    await as(eva).move({ id: candidates[0] }, "rejected");
    expect(await moneyOf()).toMatchObject({ held: "12000.00" });
    expect((await as(eva).get("/transactions/queue")).data).toMatchObject([{ id: candidates[0] }]);
  });
});

describe("a second person", () => {
  it("agrees to the link of an account with money, and to another authority of its source", async () => {
    // Four eyes take anyone who holds the scopes: in the sandbox developers for an account, applications for a source.
    const { owner, source, account, as } = await guarded("platform", []);
    expect((await api.call(owner, "PATCH", "/settings", { body: { four_eyes: true } })).status).toBe(200);
    const [ana, eva] = [asOperator(owner, "Ana", "developer"), asOperator(owner, "Eva", "developer")];
    const other = newCaller({ tenant_id: owner.tenant_id });
    const link = { source_id: source.id, platform_login: "77000001" };
    const patch = (who: TestCaller, body: object, address = `/accounts/${account.id}`) =>
      api.call(who, "PATCH", address, { body });
    const first = await patch(ana, link);
    expect(first.body).toMatchObject({
      ...{ platform_login: account.platform_login, proposed_link: { ...link, by: { name: "Ana" } } },
    });
    expect((await patch(ana, link)).body).toMatchObject({ version: first.body.version });
    // The handover shows it of who proposed it, and of who alone could agree.
    const proposalsOf = async ({ operator }: TestCaller) =>
      (await as(owner).get(`/operators/${operator?.id}/handover`)).proposals;
    await api.call(eva, "GET", "/me");
    const place = { resource_type: "account", resource_id: account.id, change: "proposed_link" };
    expect(await proposalsOf(ana)).toMatchObject([{ ...place, part: "made" }]);
    expect(await proposalsOf(eva)).toMatchObject([{ ...place, part: "needed" }]);
    const tom = asOperator(owner, "Tom", "developer");
    await api.call(tom, "GET", "/me");
    expect([await proposalsOf(eva), await proposalsOf(tom)]).toEqual([[], []]);
    const unscoped = { ...eva, scopes: ["accounts:read", "accounts:write", "accounts:terms"] as const };
    const refused = await api.call(unscoped, "PATCH", `/accounts/${account.id}`, { body: link });
    expect([refused.status, refused.body["scope"]]).toEqual([403, "transactions:approve"]);
    expect((await patch(eva, link)).body).toMatchObject({ ...link, proposed_link: null });
    const fresh = await as(owner).account(undefined, { type: "demo" });
    const own = { source_id: source.id, platform_login: "77000002" };
    expect((await patch(ana, own, `/accounts/${fresh.id}`)).body).toMatchObject(own);

    expect([await proposalsOf(ana), await proposalsOf(eva)]).toEqual([[], []]);
    const actsForTom = { ...newCaller({ tenant_id: owner.tenant_id }), operator_ids: [tom.operator?.id ?? ""] };
    const proposed = await patch(actsForTom, { authoritative: "service" }, source.path);
    expect(await proposalsOf(tom)).toEqual([
      {
        ...{ resource_type: "feed_source", resource_id: source.id, source_id: null, part: "made" },
        change: "proposed_authoritative",
        ...{ at: proposed.body.proposed_authoritative.at, expires_at: proposed.body.proposed_authoritative.expires_at },
      },
    ]);
    await patch(actsForTom, { authoritative: "platform" }, source.path);
    expect(await proposalsOf(tom)).toEqual([]);

    const asked = await patch(owner, { authoritative: "service" }, source.path);
    expect(asked.body).toMatchObject({
      authoritative: "platform",
      proposed_authoritative: { authoritative: "service" },
    });
    expect((await patch(owner, { authoritative: "service" }, source.path)).body.authoritative).toBe("platform");
    expect((await patch(other, { authoritative: "service" }, source.path)).body).toMatchObject({
      ...{ authoritative: "service", proposed_authoritative: null },
    });
  });
});
