import { afterEach, describe, expect, it, vi } from "vitest";
import { atOnce, brokerage, clientRequest, statusCounts } from "../support/builders/brokerage.ts";
import { newCaller } from "../support/emulator/request.ts";
import { api, broker, caller, patch, post, raceTurns } from "./states-cases.ts";

describe("a transaction", () => {
  it("goes out in steps: approved, in processing, paid; what fails on the way is credited back", async () => {
    const account = await broker.account("100.00");
    const [paid, failed] = [
      await broker.withdrawal(account, "10.00", { fee: "1.00" }),
      await broker.withdrawal(account, "20.00"),
    ];
    for (const withdrawal of [paid, failed]) {
      expect((await broker.move(withdrawal, "approved")).body.approved_by.id).toBe(caller.application_id);
      expect((await broker.move(withdrawal, "processing")).body.expires_at).toBeNull();
    }
    expect(await broker.get(`/accounts/${account.id}`)).toMatchObject({ balance: "70.00", held: "0.00" });
    expect((await broker.move(paid, "cancelled")).body).toMatchObject({
      code: "illegal_transition",
      allowed: ["completed", "failed"],
    });
    expect((await broker.move(paid, "completed")).body).toMatchObject({ balance_after: "90.00" });
    expect((await broker.move(failed, "failed")).body).toMatchObject({ status_reason: { code: "by_test" } });
    expect(await broker.get(`/accounts/${account.id}`)).toMatchObject({ balance: "90.00", available_balance: "90.00" });
    const history = await broker.get(`/transactions/${paid.id}/history`);
    expect(history.data.map(({ to }: { to: string }) => to)).toEqual([
      "pending",
      "approved",
      "processing",
      "completed",
    ]);
    expect(history.data).toEqual((await broker.get(`/transactions/${paid.id}`)).status_history);
  });

  it.each([
    ["deposit", {}, "100.00"],
    ["deposit", { keep_fee: true }, "99.00"],
    ["withdrawal", {}, "100.00"],
    ["withdrawal", { keep_fee: true }, "99.00"],
  ] as const)("of kind %s that is returned with %o leaves %s", async (kind, more, left) => {
    const account = await broker.account("100.00");
    const { body } = await post(kind, account, "10.00", { fee: "1.00", status: "completed" });
    expect((await broker.move(body, "returned", more)).status).toBe(200);
    expect(await broker.get(`/accounts/${account.id}`)).toMatchObject({ balance: left, available_balance: left });
  });

  it("that is returned never takes what a withdrawal holds at the same time, unless it is forced", async () => {
    for (let turn = 0; turn < raceTurns; turn += 1) {
      const account = await broker.account();
      const deposit = await broker.deposit(account, "10.00", { status: "completed" });
      const [back, out] = await Promise.all([broker.move(deposit, "returned"), post("withdrawal", account, "10.00")]);
      expect([back.status, out.status]).toEqual(back.status === 200 ? [200, 422] : [409, 201]);
      expect(await broker.get(`/accounts/${account.id}`)).toMatchObject({ available_balance: "0.00" });
    }
  });

  it("that is returned by force may leave a debt: then the account only closes, and a credit reduces it", async () => {
    const account = await broker.account();
    const deposit = await broker.deposit(account, "10.00", { status: "completed" });
    await broker.withdrawal(account, "8.00", { status: "completed" });
    expect(await broker.move(deposit, "returned")).toMatchObject({ status: 409, body: { code: "insufficient_funds" } });
    expect((await broker.move(deposit, "returned", { force: true })).status).toBe(200);
    expect(await broker.get(`/accounts/${account.id}`)).toMatchObject({
      balance: "-8.00",
      withdrawable: "0.00",
      trading_mode: "close_only",
      version: 2,
    });
    expect((await post("withdrawal", account, "1.00")).body.code).toBe("account_close_only");
    await broker.deposit(account, "9.00", { status: "completed" });
    expect((await broker.get(`/accounts/${account.id}`)).balance).toBe("1.00");
  });

  it("moved to two ends at once has one of them", async () => {
    for (let turn = 0; turn < raceTurns; turn += 1) {
      const account = await broker.account("10.00");
      const withdrawal = await broker.withdrawal(account, "10.00");
      const ends = ["completed", "cancelled", "rejected", "processing", "approved"];
      const answers = await Promise.all(ends.map((status) => broker.move(withdrawal, status)));
      expect(answers.filter(({ status }) => status !== 200 && status !== 409)).toEqual([]);
      const finals = answers.filter(({ status, body }) => status === 200 && ends.slice(0, 3).includes(body.status));
      expect(finals.length).toBeLessThanOrEqual(1);
    }
  });

  it("of 10 at once with one provider reference or one external id is one", async () => {
    const account = await broker.account();
    const sets = [
      { provider: "psp", provider_reference: "race" },
      { provider_reference: "alone" },
      { external_id: "e" },
    ];
    for (const more of sets) {
      const answers = await atOnce(10, () => post("deposit", account, "1.00", more));
      expect(statusCounts(answers)).toEqual({ 201: 1, 409: 9 });
    }
    expect((await post("withdrawal", await broker.account("1.00"), "1.00", { external_id: "e" })).body.code).toBe(
      "external_id_taken",
    );
    const other = brokerage(api, newCaller());
    expect((await other.deposit(await other.account(), "1.00", sets[0])).status).toBe("pending");
  });
});

describe("the names of a transaction", () => {
  const names = (name: string) => ({ external_id: name, provider: "psp", provider_reference: name });

  it.each([
    ["deposit", ["rejected"]],
    ["deposit", ["cancelled"]],
    ["deposit", ["processing", "failed"]],
    ["withdrawal", ["rejected"]],
    ["withdrawal", ["approved", "processing", "failed"]],
  ] as const)(
    "of a %s that ended by %j are free for the same one again, once, whatever comes late",
    async (kind, way) => {
      for (let turn = 0; turn < raceTurns; turn += 1) {
        const account = await broker.account("100.00");
        const name = `${kind}-${way.join("-")}-${turn}`;
        const { body: first } = await post(kind, account, "100.00", names(name));
        for (const to of way.slice(0, -1)) await broker.move(first, to);
        // The end itself races with those who try again.
        const [ended, ...early] = await Promise.all([
          broker.move(first, way.at(-1) ?? ""),
          ...[1, 2].map(() => post(kind, account, "100.00", names(name))),
        ]);
        expect(ended.status).toBe(200);
        const answers = [...early, ...(await atOnce(5, () => post(kind, account, "100.00", names(name))))];
        const made = answers.filter(({ status }) => status === 201);
        expect([made.length, answers.filter(({ status }) => ![201, 409, 422].includes(status))]).toEqual([1, []]);
        const second = made[0]?.body;
        // A late callback of the first books nothing, and the second is booked once.
        const late = await Promise.all([
          broker.move(first, "completed"),
          ...[1, 2, 3].map(() => broker.move(second, "completed")),
        ]);
        expect([late[0]?.status, late.slice(1).some(({ status }) => status === 200)]).toEqual([409, true]);
        expect((await broker.get(`/accounts/${account.id}`)).balance).toBe(kind === "deposit" ? "200.00" : "0.00");
        const found = await broker.get(`/transactions?external_id=${name}`);
        expect(found.data.map(({ id }: { id: string }) => id)).toEqual([second.id]);
      }
    },
  );

  it("are held by what is booked, returned or on its way", async () => {
    const account = await broker.account("100.00");
    for (const way of [[], ["approved"], ["processing"], ["completed"], ["completed", "returned"]]) {
      const name = `held-${way.join("-")}`;
      const first = await broker.deposit(account, "10.00", names(name));
      for (const to of way) await broker.move(first, to);
      expect((await post("deposit", account, "10.00", { external_id: name })).body.code).toBe("external_id_taken");
      const again = await post("deposit", account, "10.00", { provider: "psp", provider_reference: name });
      expect(again.body.code).toBe("duplicate_provider_reference");
    }
  });

  it("lead to what ended, until another one has them", async () => {
    const first = await broker.deposit(await broker.account(), "10.00", names("lead"));
    await broker.move(first, "rejected");
    expect((await broker.get("/transactions?external_id=lead")).data).toMatchObject([{ id: first.id }]);
  });

  it("have no spaces at their ends, and the case of a provider says nothing", async () => {
    const account = await broker.account();
    const first = await broker.deposit(account, "10.00", {
      ...{ external_id: " order 7\u00a0", provider: "Stripe", provider_reference: "\u2003pi_1 " },
    });
    expect(first).toMatchObject({ external_id: "order 7", provider: "Stripe", provider_reference: "pi_1" });
    expect((await post("deposit", account, "10.00", { external_id: "order 7 " })).body.code).toBe("external_id_taken");
    const again = await post("deposit", account, "10.00", { provider: "stripe", provider_reference: " pi_1" });
    expect(again.body.code).toBe("duplicate_provider_reference");
    for (const query of ["external_id=%20order%207", "provider_reference=pi_1%20"]) {
      expect((await broker.get(`/transactions?${query}`)).data).toMatchObject([{ id: first.id }]);
    }
  });
});

describe("a deposit of 100.00 announced", () => {
  it("of which 97.50 arrived is booked once as it arrived, and shows both", async () => {
    for (let turn = 0; turn < raceTurns; turn += 1) {
      const account = await broker.account();
      const deposit = await broker.deposit(account, "100.00", { fee: "0.50", provider_reference: `arrived-${turn}` });
      const answers = await Promise.all([
        broker.move(deposit, "completed", { received_amount: "97.50" }),
        broker.move(deposit, "completed", { received_amount: "97.50" }),
        broker.move(deposit, "completed", { received_amount: "97.51" }),
        broker.move(deposit, "completed"),
      ]);
      const [one] = answers.filter(({ status }) => status === 200);
      const { balance } = await broker.get(`/accounts/${account.id}`);
      const shown = await broker.get(`/transactions/${deposit.id}`);
      expect([one?.body.amount, shown.amount, shown.net_amount]).toEqual([shown.amount, shown.amount, balance]);
      expect(shown.announced_amount).toBe(shown.amount === "100.00" ? undefined : "100.00");
      expect((await broker.get(`/accounts/${account.id}/ledger`)).data).toHaveLength(1);
    }
  });
});

afterEach(() => {
  vi.useRealTimers();
});

describe("the settings of a brokerage", () => {
  it("are its own, are changed by a merge patch, and stay as they are when nothing changes", async () => {
    const own = newCaller();
    const settings = await brokerage(api, own).get("/settings");
    expect(settings).toMatchObject({ tenant_id: own.tenant_id, four_eyes: false, version: 1 });
    const change = (body: object, headers: Record<string, string> = {}) =>
      api.call(own, "PATCH", "/settings", { body, headers });
    expect((await change({})).body).toEqual(settings);
    const { body } = await change({ currencies: ["EUR", "JPY", "EUR"], transaction_expiry_days: 1 });
    expect(body).toMatchObject({ currencies: ["EUR", "JPY"], transaction_expiry_days: 1, version: 2 });
    expect(await brokerage(api, own).get("/settings")).toEqual(body);
    expect((await change({ currencies: [] })).status).toBe(422);
    const answers = await atOnce(2, (index) => change({ default_leverage: 50 + index }, { "If-Match": '"2"' }));
    expect(statusCounts(answers)).toEqual({ 200: 1, 412: 1 });
    expect(await broker.get("/settings")).toMatchObject({ version: 1 });
  });

  it("say which currencies a new account may have, which is its first one unless USD is among them", async () => {
    const own = newCaller();
    const theirs = brokerage(api, own);
    await api.call(own, "PATCH", "/settings", { body: { currencies: ["JPY", "EUR"], default_leverage: 7 } });
    expect(await theirs.account()).toMatchObject({ currency: "JPY", leverage: 7 });
    expect(await theirs.account(undefined, { currency: "EUR" })).toMatchObject({ currency: "EUR" });
    const { id } = await theirs.client();
    const refused = await api.call(own, "POST", "/accounts", { body: { client_id: id, currency: "USD" } });
    expect(refused).toMatchObject({ status: 422, body: { errors: [{ pointer: "#/currency" }] } });
  });

  it("say how long a transaction waits", async () => {
    const own = newCaller();
    const theirs = brokerage(api, own);
    await api.call(own, "PATCH", "/settings", { body: { transaction_expiry_days: 3 } });
    const { created_at, expires_at } = await theirs.deposit(await theirs.account(), "1.00");
    expect(Date.parse(expires_at) - Date.parse(created_at)).toBe(3 * 86_400_000);
  });

  it("ask for a second pair of eyes: its maker cannot approve it, and without approval it is not paid", async () => {
    const maker = newCaller();
    const checker = newCaller({ tenant_id: maker.tenant_id });
    const [making, checking] = [brokerage(api, maker), brokerage(api, checker)];
    const account = await making.account("100.00");
    await api.call(maker, "PATCH", "/settings", { body: { four_eyes: true } });
    const withdrawal = await making.withdrawal(account, "10.00");
    for (const actor of [making, checking]) {
      for (const status of ["completed", "processing"]) {
        const answer = await actor.move(withdrawal, status);
        expect(answer).toMatchObject({ status: 409, body: { allowed: ["approved", "rejected", "cancelled"] } });
      }
    }
    const body = { account_id: account.id, amount: "1.00", status: "completed" };
    for (const kind of ["deposit", "withdrawal"]) {
      const direct = await api.call(checker, "POST", `/transactions/${kind}`, { body });
      expect(direct).toMatchObject({ status: 403, body: { code: "four_eyes_required" } });
    }
    expect(await making.move(withdrawal, "approved")).toMatchObject({
      status: 403,
      body: { code: "four_eyes_required" },
    });
    expect((await checking.move(withdrawal, "approved")).body.approved_by.id).toBe(checker.application_id);
    expect((await making.move(withdrawal, "completed")).status).toBe(200);
  });

  it("let a payout that comes back after the client was closed out again, and no other money in", async () => {
    const account = await broker.account("10.00");
    const other = await broker.account();
    const payout = await broker.withdrawal(account, "10.00", { status: "completed" });
    const close = async () => {
      await api.call(caller, "DELETE", `/accounts/${account.id}`);
      return patch(`/accounts/${account.id}`, { status: "closed" });
    };
    await close();
    expect((await patch(`/clients/${account.client_id}`, { status: "closed" })).status).toBe(200);
    expect((await broker.move(payout, "returned")).status).toBe(200);
    expect(await patch(`/accounts/${account.id}`, { status: "active" })).toMatchObject({
      status: 200,
      body: { status: "active", balance: "10.00" },
    });
    const refused = { status: 409, body: { code: "client_closed" } };
    expect(await post("deposit", account, "1.00")).toMatchObject(refused);
    expect(await post("deposit", account, "1.00", { status: "completed" })).toMatchObject(refused);
    const transfer = { from_account_id: account.id, to_account_id: other.id, amount: "1.00" };
    expect(await api.call(caller, "POST", "/transactions/transfer", { body: transfer })).toMatchObject(refused);
    expect(await api.call(caller, "POST", "/transfer_quotes", { body: transfer })).toMatchObject(refused);
    const reason = { code: "goodwill" };
    const own = { account_id: account.id, amount: "1.00", reason };
    for (const [kind, more] of [
      ["credit", { direction: "in" }],
      ["adjustment", {}],
    ] as const) {
      const answer = await api.call(caller, "POST", `/transactions/${kind}`, { body: { ...own, ...more } });
      expect(answer).toMatchObject(refused);
    }
    const received = { from_account_id: other.id, to_account_id: account.id, amount: "1.00" };
    expect(await api.call(caller, "POST", "/transactions/transfer", { body: received })).toMatchObject(refused);
    expect((await post("withdrawal", account, "10.00", { status: "completed" })).status).toBe(201);
    expect(await close()).toMatchObject({ status: 200, body: { status: "closed", balance: "0.00" } });
  });

  it("give a transfer back that reaches a client who was closed while it waited for its approval", async () => {
    const [account, other] = [await broker.account("10.00"), await broker.account("5.00")];
    const sides = { from_account_id: other.id, to_account_id: account.id, amount: "5.00" };
    const waiting = (await api.call(caller, "POST", "/transactions/transfer", { body: sides })).body;
    const payout = await broker.withdrawal(account, "10.00", { status: "completed" });
    await api.call(caller, "DELETE", `/accounts/${account.id}`);
    await patch(`/accounts/${account.id}`, { status: "closed" });
    await patch(`/clients/${account.client_id}`, { status: "closed" });
    await broker.move(payout, "returned");
    await patch(`/accounts/${account.id}`, { status: "active" });
    const checker = newCaller({ tenant_id: caller.tenant_id });
    const approval = await api.call(checker, "PATCH", `/transactions/${waiting.id}`, { body: { status: "approved" } });
    expect(approval.status).toBe(200);
    expect(await broker.get(`/transactions/${waiting.id}`)).toMatchObject({
      status: "failed",
      status_reason: { code: "client_closed" },
    });
    const balances = await Promise.all([account, other].map(({ id }) => broker.get(`/accounts/${id}`)));
    expect(balances.map(({ balance }) => balance)).toEqual(["10.00", "5.00"]);
  });

  it.each([
    ["none", [201, 201, 201]],
    ["withdrawal", [201, 409, 201]],
    ["live_account", [409, 409, 201]],
  ] as const)("want a client verified for %s", async (policy, [live, out, demo]) => {
    const own = newCaller();
    const theirs = brokerage(api, own);
    const account = await theirs.account("10.00");
    await api.call(own, "PATCH", "/settings", { body: { require_verified_client: policy } });
    const client = (await api.call(own, "POST", "/clients", { body: clientRequest() })).body;
    const open = (type: string) => api.call(own, "POST", "/accounts", { body: { client_id: client.id, type } });
    const withdraw = () =>
      api.call(own, "POST", "/transactions/withdrawal", { body: { account_id: account.id, amount: "1.00" } });
    const answers = [await open("live"), await withdraw(), await open("demo")];
    expect(answers.map(({ status }) => status)).toEqual([live, out, demo]);
    for (const { status, body } of answers) if (status === 409) expect(body.code).toBe("client_not_verified");
    for (const id of [client.id, account.client_id]) {
      await api.call(own, "PATCH", `/clients/${id}`, { body: { verification_status: "verified" } });
    }
    expect([(await open("live")).status, (await withdraw()).status]).toEqual([201, 201]);
    const patchOwner = (body: object) => api.call(own, "PATCH", `/clients/${account.client_id}`, { body });
    const ends = Date.now() + 60_000;
    await patchOwner({ verification: { expires_at: new Date(ends).toISOString() } });
    vi.useFakeTimers({ toFake: ["Date"], now: ends });
    expect((await withdraw()).status).toBe(out);
    // After an end the next one is asked for: without it the verification would have none.
    expect(await patchOwner({ verification_status: "verified" })).toMatchObject({
      status: 422,
      body: { errors: [{ pointer: "#/verification/expires_at", code: "required" }] },
    });
    const expires_at = new Date(ends + 60_000).toISOString();
    expect(await patchOwner({ verification_status: "verified", verification: { expires_at } })).toMatchObject({
      status: 200,
      body: { verification: { expires_at } },
    });
    expect((await withdraw()).status).toBe(201);
  });
});
