import { afterAll, describe, expect, it } from "vitest";
import { atOnce, brokerage, clientRequest, statusCounts } from "../support/builders/brokerage.ts";
import { startApi } from "../support/emulator/api.ts";
import { newCaller, type RequestParts } from "../support/emulator/request.ts";
import { findings } from "../support/oracles/oracle.ts";

const api = await startApi();
afterAll(api.stop);
// Whatever the tests did, the books, the markers and the events of all of them must agree at the end.
afterAll(async () => expect(await findings(api.emulator)).toEqual([]));

const caller = newCaller();
const broker = brokerage(api, caller);
const call = (method: string, address: string, parts?: RequestParts) => api.call(caller, method, address, parts);
const patch = (address: string, body: object, headers: Record<string, string> = {}) =>
  call("PATCH", address, { body, headers });
const post = (kind: "deposit" | "withdrawal", account: { id: string }, amount: string, more: object = {}) =>
  call("POST", `/transactions/${kind}`, { body: { account_id: account.id, amount, ...more } });

describe("an account that is disabled", () => {
  it("is shown disabled, and the same bytes with the same tag the second time", async () => {
    const account = await broker.account("10.00");
    const first = await call("DELETE", `/accounts/${account.id}`);
    expect(first).toMatchObject({ status: 200, body: { status: "disabled", trading_mode: "none", version: 2 } });
    expect(first.body.disabled_at).not.toBeNull();
    const second = await call("DELETE", `/accounts/${account.id}`);
    expect([second.status, second.text, second.headers["ETag"]]).toEqual([200, first.text, first.headers["ETag"]]);
    expect((await patch(`/accounts/${account.id}`, { status: "disabled" })).text).toBe(first.text);
    expect((await call("GET", `/accounts/${account.id}`)).text).toBe(first.text);
  });

  it("takes no deposit and no withdrawal, while what is pending can be decided", async () => {
    const account = await broker.account("100.00");
    const deposit = await broker.deposit(account, "5.00");
    const withdrawal = await broker.withdrawal(account, "20.00");
    const cancelled = await broker.withdrawal(account, "30.00");
    await call("DELETE", `/accounts/${account.id}`);
    for (const kind of ["deposit", "withdrawal"] as const) {
      for (const more of [{}, { status: "completed" }]) {
        const refused = await post(kind, account, "1.00", more);
        expect(refused).toMatchObject({ status: 409, body: { code: "account_disabled" } });
      }
    }
    expect((await broker.move(deposit, "completed")).status).toBe(200);
    expect((await broker.move(withdrawal, "processing")).status).toBe(200);
    expect((await broker.move(withdrawal, "completed")).status).toBe(200);
    expect((await broker.move(cancelled, "cancelled")).status).toBe(200);
    expect(await broker.get(`/accounts/${account.id}`)).toMatchObject({ balance: "85.00", held: "0.00" });
  });

  it.each(["full", "close_only", "none"])("has its trading mode %s again when it is active again", async (mode) => {
    const account = await broker.account();
    await patch(`/accounts/${account.id}`, { trading_mode: mode });
    await call("DELETE", `/accounts/${account.id}`);
    expect(await patch(`/accounts/${account.id}`, { trading_mode: "full" })).toMatchObject({
      status: 409,
      body: { code: "account_disabled" },
    });
    const back = await patch(`/accounts/${account.id}`, { status: "active" });
    expect(back.body).toMatchObject({ status: "active", trading_mode: mode, disabled_at: null, disabled_reason: null });
    const statuses = [await post("deposit", account, "1.00"), await post("withdrawal", account, "1.00")];
    expect(statuses.map(({ body }) => body.code)).toEqual(
      mode === "full" ? [undefined, "insufficient_funds"] : [undefined, "account_close_only"],
    );
  });

  it("keeps a reason, which can be put right", async () => {
    const account = await broker.account();
    const address = `/accounts/${account.id}`;
    expect((await patch(address, { status: "disabled", disabled_reason: "fraud" })).body.disabled_reason).toBe("fraud");
    expect((await patch(address, { disabled_reason: "a check" })).body).toMatchObject({
      disabled_reason: "a check",
      version: 3,
    });
  });

  it("never gets a transaction afterwards, however many come at the same time", async () => {
    for (let turn = 0; turn < 10; turn += 1) {
      const account = await broker.account("50.00");
      const [disabled, ...answers] = await Promise.all([
        call("DELETE", `/accounts/${account.id}`),
        ...Array.from({ length: 6 }, (_, index) =>
          post(index % 2 === 0 ? "deposit" : "withdrawal", account, "1.00", index < 2 ? { status: "completed" } : {}),
        ),
      ]);
      expect(disabled.status).toBe(200);
      const codes = answers.filter(({ status }) => status !== 201).map(({ body }) => body.code);
      expect(codes.filter((code) => code !== "account_disabled")).toEqual([]);
      expect((await post("deposit", account, "1.00")).body.code).toBe("account_disabled");
    }
  });
});

describe("an account that is closed", () => {
  it("was disabled and empty before; then its client has it no more, and nothing moves it", async () => {
    const account = await broker.account("10.00");
    const address = `/accounts/${account.id}`;
    expect((await patch(address, { status: "closed" })).body).toMatchObject({
      code: "illegal_transition",
      allowed: ["disabled"],
    });
    const pending = await broker.deposit(account, "1.00");
    await call("DELETE", address);
    expect(await patch(address, { status: "closed" })).toMatchObject({
      status: 409,
      body: { code: "account_not_empty", left: ["pending transactions", "a balance"] },
    });
    await broker.move(pending, "cancelled");
    expect((await patch(address, { status: "closed" })).body.left).toEqual(["a balance"]);
    await patch(address, { status: "active" });
    await broker.withdrawal(account, "10.00", { status: "completed" });
    await call("DELETE", address);
    const closing = await patch(`/clients/${account.client_id}`, { status: "closed" });
    expect(closing).toMatchObject({ status: 409, body: { code: "client_has_open_accounts" } });
    const closed = await patch(address, { status: "closed" });
    expect(closed).toMatchObject({ status: 200, body: { status: "closed" } });
    expect((await call("GET", address)).text).toBe(closed.text);
    for (const status of ["active", "disabled"]) {
      expect(await patch(address, { status })).toMatchObject({ status: 409, body: { allowed: [] } });
    }
    expect((await call("DELETE", address)).body.code).toBe("illegal_transition");
    expect((await patch(address, { name: "x" })).body.code).toBe("account_closed");
    expect((await patch(address, { status: "closed" })).text).toBe(closed.text);
    expect((await post("deposit", account, "1.00")).body.code).toBe("account_closed");
    expect((await patch(`/clients/${account.client_id}`, { status: "closed" })).status).toBe(200);
  });

  it("is disabled again when money comes back to it, and told so", async () => {
    const account = await broker.account("10.00");
    const withdrawal = await broker.withdrawal(account, "10.00", { status: "completed" });
    await call("DELETE", `/accounts/${account.id}`);
    await patch(`/accounts/${account.id}`, { status: "closed" });
    expect((await broker.move(withdrawal, "returned")).status).toBe(200);
    expect(await broker.get(`/accounts/${account.id}`)).toMatchObject({
      status: "disabled",
      closed_at: null,
      balance: "10.00",
      version: 4,
    });
  });

  it("is never closed with the money that comes back at the same time", async () => {
    for (let turn = 0; turn < 20; turn += 1) {
      const account = await broker.account("10.00");
      const withdrawal = await broker.withdrawal(account, "10.00", { status: "completed" });
      await call("DELETE", `/accounts/${account.id}`);
      const [back] = await Promise.all([
        broker.move(withdrawal, "returned"),
        patch(`/accounts/${account.id}`, { status: "closed" }),
      ]);
      expect(back.status).toBe(200);
      expect(await broker.get(`/accounts/${account.id}`)).toMatchObject({ status: "disabled", balance: "10.00" });
    }
  });
});

describe("an account that is changed", () => {
  it("keeps to the leverage of its kind", async () => {
    const account = await broker.account();
    const address = `/accounts/${account.id}`;
    const refused = await patch(address, { leverage: 31 });
    expect(refused).toMatchObject({ status: 422, body: { code: "leverage_not_allowed", max: 30 } });
    expect((await patch(address, { leverage: 10 })).body).toMatchObject({ leverage: 10, version: 2 });
    const { body: demo } = await call("POST", "/accounts", { body: { client_id: account.client_id, type: "demo" } });
    expect((await patch(`/accounts/${demo.id}`, { leverage: 1000 })).body.leverage).toBe(1000);
  });

  it("gives up its old login for another to take, and keeps it when the new one is taken", async () => {
    const login = { platform: "mt5", platform_login: "100" };
    const first = await broker.account(undefined, login);
    const second = await broker.account(undefined, { ...login, platform_login: "200" });
    const taken = await patch(`/accounts/${second.id}`, { platform_login: "100" });
    expect(taken).toMatchObject({ status: 409, body: { code: "platform_login_taken" } });
    expect((await patch(`/accounts/${first.id}`, { platform_login: "300" })).status).toBe(200);
    expect((await patch(`/accounts/${second.id}`, { platform_login: "100" })).status).toBe(200);
    expect((await patch(`/accounts/${first.id}`, { platform_login: null })).body.platform_login).toBeNull();
  });

  it("by two at once that name its version is changed by one; without, by both", async () => {
    for (let turn = 0; turn < 10; turn += 1) {
      const account = await broker.account();
      const address = `/accounts/${account.id}`;
      const bold = await atOnce(2, (index) => patch(address, { metadata: { [`a${index}`]: "1" } }));
      expect(statusCounts(bold)).toEqual({ 200: 2 });
      const tag = { "If-Match": '"3"' };
      const careful = await atOnce(2, (index) => patch(address, { metadata: { [`b${index}`]: "1" } }, tag));
      expect(statusCounts(careful)).toEqual({ 200: 1, 412: 1 });
      expect(careful.find(({ status }) => status === 412)?.headers["ETag"]).toBe('"4"');
      const { metadata, version } = await broker.get(address);
      expect([Object.keys(metadata).length, metadata.a0, metadata.a1, version]).toEqual([3, "1", "1", 4]);
    }
  });

  it("and is not deleted from another version than If-Match names", async () => {
    const { id } = await broker.account();
    const remove = (tag: string) => call("DELETE", `/accounts/${id}`, { headers: { "If-Match": tag } });
    expect((await remove('"2"')).status).toBe(412);
    expect((await remove('W/"1"')).status).toBe(412);
    expect((await remove('"9", "1"')).status).toBe(200);
    expect((await remove("*")).status).toBe(200);
  });

  it("answers a GET of its balance by what it has", async () => {
    const account = await broker.account("10.00");
    await broker.withdrawal(account, "4.00");
    const [whole, money] = [
      await broker.get(`/accounts/${account.id}`),
      await broker.get(`/accounts/${account.id}/balance`),
    ];
    const { object, account_id, _links, ...amounts } = money;
    expect([object, account_id]).toEqual(["account_balance", account.id]);
    expect(whole).toMatchObject(amounts);
    expect(_links.account.href).toBe(`https://api.test.example/v2/accounts/${account.id}`);
    expect(amounts).toMatchObject({ balance: "10.00", held: "4.00", withdrawable: "6.00" });
  });
});

describe("a client", () => {
  it("that is suspended withdraws nothing and opens nothing, and does both when it is active again", async () => {
    const account = await broker.account("10.00");
    const address = `/clients/${account.client_id}`;
    const reason = { status: "suspended", suspended_reason: "a check" };
    expect((await patch(address, reason)).body).toMatchObject(reason);
    expect((await post("withdrawal", account, "1.00")).body.code).toBe("client_suspended");
    const open = () => call("POST", "/accounts", { body: { client_id: account.client_id } });
    expect((await open()).body.code).toBe("client_suspended");
    expect((await patch(address, { status: "active" })).body.suspended_reason).toBeNull();
    expect((await post("withdrawal", account, "1.00")).status).toBe(201);
    expect((await open()).status).toBe(201);
  });

  it("that is closed while an account is opened is either closed or has it, never both", async () => {
    for (let turn = 0; turn < 20; turn += 1) {
      const client = await broker.client();
      const [open, close] = await Promise.all([
        call("POST", "/accounts", { body: { client_id: client.id } }),
        patch(`/clients/${client.id}`, { status: "closed" }),
      ]);
      const won = open.status === 201 ? [201, 409] : [409, 200];
      expect([open.status, close.status]).toEqual(won);
      expect((await broker.get(`/clients/${client.id}`)).account_count).toBe(open.status === 201 ? 1 : 0);
    }
  });

  it("by two at once that name its version is changed by one", async () => {
    const client = await broker.client();
    const answers = await atOnce(2, (index) =>
      patch(`/clients/${client.id}`, { first_name: `N${index}` }, { "If-Match": '"1"' }),
    );
    expect(statusCounts(answers)).toEqual({ 200: 1, 412: 1 });
  });
});

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
    for (let turn = 0; turn < 15; turn += 1) {
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
    for (let turn = 0; turn < 10; turn += 1) {
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

  it("ask for a second pair of eyes: who made it does not approve it, nobody pays what is not approved", async () => {
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
  });
});
