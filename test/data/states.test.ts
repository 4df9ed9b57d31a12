import { describe, expect, it } from "vitest";
import { atOnce, statusCounts } from "../support/builders/brokerage.ts";
import { broker, call, patch, post, raceTurns } from "./states-cases.ts";

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
    for (let turn = 0; turn < raceTurns; turn += 1) {
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
    for (let turn = 0; turn < raceTurns; turn += 1) {
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
    for (let turn = 0; turn < raceTurns; turn += 1) {
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
    const { object, account_id, credit_lots, _links, ...amounts } = money;
    expect([object, account_id, credit_lots]).toEqual(["account_balance", account.id, []]);
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
    for (let turn = 0; turn < raceTurns; turn += 1) {
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
