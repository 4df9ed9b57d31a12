import { describe, expect, it, vi } from "vitest";
import { limits } from "../../../shared/limits.ts";
import { bridge, moneyMoved } from "../../support/builders/bridge.ts";
import { atOnce, brokerage } from "../../support/builders/brokerage.ts";
import { startJudgedApi } from "../../support/emulator/judged-api.ts";
import { lambdaContext, newCaller } from "../../support/emulator/request.ts";

const api = await startJudgedApi();

const { handler: sweepEvents } = await import("../../../functions/events/sweep-due.ts");

const caller = newCaller();
const broker = brokerage(api, caller);
const { newSource, unusedLogin } = bridge(api, caller);

const call = (method: string, address: string, body?: object, headers?: Record<string, string | readonly string[]>) =>
  api.call(caller, method, address, { ...(body === undefined ? {} : { body }), ...(headers ? { headers } : {}) });
const done = { status: "completed" };
const balanceOf = async ({ id }: { id: string }) => (await broker.get(`/accounts/${id}/balance`)).balance;

/** A source with an account that is linked to it, and what its bridge does with commands. */
async function linked() {
  const source = await newSource();
  const link = { platform: "mt5", platform_login: unusedLogin(), source_id: source.id };
  const account = await broker.account(undefined, { type: "demo", ...link });
  const commands = `${source.path}/commands`;
  return {
    source,
    account: account as { id: string; client_id: string },
    login: link.platform_login,
    take: async (body: object = {}, key?: string) => {
      const headers = key === undefined ? undefined : { "Idempotency-Key": key };
      const answer = await call("POST", `${commands}/take`, body, headers);
      expect(answer.status).toBe(200);
      return answer.body.data;
    },
    ack: (id: string, body: object) => call("POST", `${commands}/${id}/ack`, body),
    requeue: (id: string) => call("POST", `${commands}/${id}/requeue`),
    get: async (id: string) => (await call("GET", `${commands}/${id}`)).body,
    list: async (query = "") => (await call("GET", `${commands}${query}`)).body.data,
  };
}

describe("the money of an account that is linked to a source", () => {
  it("moves by a command, which is booked once whether its item or its acknowledgement comes first", async () => {
    const { source, account, login, take, ack, get } = await linked();
    const deposit = await broker.deposit(account, "100.00", { ...done, fee: "1.00" });
    expect(deposit).toMatchObject({ status: "processing", outcome: null });
    expect(await balanceOf(account)).toBe("0.00");
    const [command] = await take();
    expect(command).toMatchObject({
      id: deposit.command_id,
      payload: { amount: "99.00", comment: deposit.command_id },
    });
    const item = moneyMoved(login, "B-1", "deposit", "99.00", { reference: command.id });
    expect(await source.send(item)).toMatchObject([{ status: "applied", transaction_id: deposit.id }]);
    expect((await ack(command.id, { attempt: 1, status: "done", operation_id: "B-1" })).body.status).toBe("done");
    expect(await source.send(item)).toMatchObject([{ status: "duplicate" }]);
    const next = await broker.deposit(account, "10.00", done);
    await take();
    expect((await ack(next.command_id, { attempt: 1, status: "done", operation_id: "B-2" })).status).toBe(200);
    expect(await broker.get(`/transactions/${next.id}`)).toMatchObject({
      status: "completed",
      platform_operations: [{ operation_id: "B-2", confirmed: false }],
    });
    const second = moneyMoved(login, "B-2", "deposit", "10.00", { reference: next.command_id });
    expect(await source.send(second)).toMatchObject([{ status: "applied", transaction_id: next.id }]);
    expect(await broker.get(`/transactions/${next.id}`)).toMatchObject({
      platform_operations: [{ operation_id: "B-2", confirmed: true }],
    });
    expect(await get(next.command_id)).toMatchObject({ status: "done", operation_id: "B-2", leg: "forward" });
    expect(await balanceOf(account)).toBe("109.00");
  });

  it("is held while a withdrawal waits for its platform, and given back by the opposite command", async () => {
    const { source, account, login, take, ack } = await linked();
    await source.send(moneyMoved(login, "B-0", "deposit", "500.00"));
    const withdrawal = await broker.withdrawal(account, "200.00");
    const moved = await broker.move(withdrawal, "processing");
    expect(moved.body).toMatchObject({ status: "processing", command_id: expect.stringMatching(/^cmd_/) });
    expect(await broker.get(`/accounts/${account.id}/balance`)).toMatchObject({ balance: "500.00", held: "200.00" });
    const [command] = await take();
    expect(command.payload.amount).toBe("-200.00");
    const blocked = await broker.move(withdrawal, "failed");
    expect([blocked.status, blocked.body.code]).toEqual([409, "command_outstanding"]);
    await ack(command.id, { attempt: 1, status: "done", operation_id: "B-1" });
    expect(await broker.get(`/accounts/${account.id}/balance`)).toMatchObject({ balance: "300.00", held: "0.00" });
    expect((await broker.move(withdrawal, "failed")).body.status).toBe("processing");
    const [back] = await take();
    expect(back).toMatchObject({ leg: "reverse", payload: { amount: "200.00" } });
    const results = await source.send(
      moneyMoved(login, "B-1", "withdrawal", "200.00", { reference: command.id }),
      moneyMoved(login, "B-2", "deposit", "200.00", { reference: back.id }),
    );
    expect(results).toMatchObject([{ status: "applied" }, { status: "applied", transaction_id: withdrawal.id }]);
    await ack(back.id, { attempt: 1, status: "done", operation_id: "B-2" });
    expect(await broker.get(`/transactions/${withdrawal.id}`)).toMatchObject({ status: "failed" });
    expect(await balanceOf(account)).toBe("500.00");
  });

  it("is claimed once by an acknowledgement: an operation that is other money already is refused", async () => {
    const { source, account, login, take, ack } = await linked();
    await source.send(moneyMoved(login, "B-1", "deposit", "7.00"));
    const deposit = await broker.deposit(account, "100.00", done);
    await take();
    const refused = await ack(deposit.command_id, { attempt: 1, status: "done", operation_id: "B-1" });
    expect([refused.status, refused.body.code]).toEqual([409, "operation_known"]);
    expect(await balanceOf(account)).toBe("7.00");
  });

  it("is settled by hand with the operation of the platform, and not on an account without a source", async () => {
    const { source, account, login } = await linked();
    const deposit = await broker.deposit(account, "100.00", done);
    const settle = (id: string, operation_id: string) =>
      call("PATCH", `/transactions/${id}`, { status: "completed", operation_id });
    expect((await settle(deposit.id, "B-1")).body.status).toBe("completed");
    expect(await source.send(moneyMoved(login, "B-1", "deposit", "100.00"))).toMatchObject([{ status: "applied" }]);
    expect(await balanceOf(account)).toBe("100.00");
    const other = await broker.deposit(account, "3.00");
    expect((await settle(other.id, "B-1")).body.code).toBe("operation_known");
    expect((await settle(other.id, "B-11")).body.status).toBe("completed");
    const unnamed = { status: "rejected", code: "possible_duplicate", candidates: [other.id] };
    expect(await source.send(moneyMoved(login, "B-2", "deposit", "3.00"))).toMatchObject([unnamed]);
    expect((await source.retry("2", { transaction_id: other.id })).body).toMatchObject({ status: "applied" });
    expect(await balanceOf(account)).toBe("103.00");
    const internal = await broker.deposit(await broker.account(), "5.00");
    const refused = await settle(internal.id, "B-2");
    expect([refused.status, refused.body.code]).toEqual([422, "not_linked"]);
  });
});

describe("a command", () => {
  it("is taken by one of many at the same time, and again by a repeated request under its key", async () => {
    const { account, take } = await linked();
    const deposit = await broker.deposit(account, "1.00", done);
    const answers = await atOnce(4, (place) => take({}, `take-${deposit.id}-${place}`));
    const taken = answers.flatMap((data, place) => (data.length > 0 ? [place] : []));
    expect(taken).toHaveLength(1);
    const [again] = await take({}, `take-${deposit.id}-${taken[0]}`);
    expect(again).toMatchObject({ id: deposit.command_id, attempt: 1, status: "taken" });
  });

  it("is not handed out without an Idempotency-Key, since a lost answer would lose it", async () => {
    const { source, account, take } = await linked();
    await broker.deposit(account, "1.00", done);
    const answer = await call("POST", `${source.path}/commands/take`, {}, { "Idempotency-Key": [] });
    expect(answer).toMatchObject({
      status: 400,
      body: { code: "idempotency_key_invalid", errors: [{ header: "Idempotency-Key", code: "required" }] },
    });
    expect(await take()).toMatchObject([{ attempt: 1 }]);
  });

  it("waits while another one of its account is taken, or its source is paused", async () => {
    const { source, account, take, ack, list } = await linked();
    const [first, second] = [await broker.deposit(account, "1.00", done), await broker.deposit(account, "2.00", done)];
    expect((await call("PATCH", source.path, { paused: true })).body.paused).toBe(true);
    expect(await take()).toEqual([]);
    await call("PATCH", source.path, { paused: false });
    expect(await take()).toMatchObject([{ id: first.command_id }]);
    expect(await take()).toEqual([]);
    await ack(first.command_id, { attempt: 1, status: "not_sent" });
    expect((await list("?status=waiting")).map(({ id }: { id: string }) => id)).toEqual([
      second.command_id,
      first.command_id,
    ]);
    expect(await take({ max: 1 })).toMatchObject([{ id: first.command_id, attempt: 2 }]);
    const stale = await ack(first.command_id, { attempt: 1, status: "failed" });
    expect(stale.body.status).toBe("taken");
    expect((await ack(first.command_id, { attempt: 3, status: "failed" })).status).toBe(422);
    expect((await ack(first.command_id, { attempt: 2, status: "failed" })).body.status).toBe("failed");
    expect(await broker.get(`/transactions/${first.id}`)).toMatchObject({ status: "failed" });
    expect(await take()).toMatchObject([{ id: second.command_id }]);
  });

  it("is taken although a hundred older ones wait for the lane of another account", async () => {
    const { source, account, take } = await linked();
    const link = { platform: "mt5", platform_login: unusedLogin(), source_id: source.id };
    const other = (await broker.account(undefined, { type: "demo", ...link })) as { id: string };
    const first = await broker.deposit(account, "1.00", done);
    for (let left = limits.commands.looked_at; left > 0; left -= 1) await broker.deposit(account, "1.00", done);
    const last = await broker.deposit(other, "2.00", done);
    expect((await take()).map(({ id }: { id: string }) => id)).toEqual([first.command_id, last.command_id]);
  });

  it("whose outcome is unknown is looked for, and handed out again by a person only after that", async () => {
    const { account, take, ack, requeue, get } = await linked();
    const deposit = await broker.deposit(account, "1.00", done);
    await take();
    await ack(deposit.command_id, { attempt: 1, status: "unknown" });
    expect(await broker.get(`/transactions/${deposit.id}`)).toMatchObject({ outcome: "unknown" });
    const early = await requeue(deposit.command_id);
    expect([early.status, early.body.code]).toEqual([409, "illegal_transition"]);
    const [search] = await take();
    expect(search).toMatchObject({ type: "find_operation", lane: null, payload: { comment: deposit.command_id } });
    expect((await ack(search.id, { attempt: 1, status: "done" })).body.status).toBe("done");
    expect(await get(deposit.command_id)).toMatchObject({ status: "unknown", not_found_at: expect.any(String) });
    expect((await requeue(deposit.command_id)).body.not_before).toEqual(expect.any(String));
    const settled = await call("PATCH", `/transactions/${deposit.id}`, {
      ...{ status: "failed", reason: { code: "not_found" }, not_found: true },
    });
    expect(settled.body).toMatchObject({ status: "failed", outcome: null });
    expect(await get(deposit.command_id)).toMatchObject({ status: "failed" });
  });

  it("becomes unknown when its lease runs out, and is handed out again ten minutes after that", async () => {
    const { account, take, ack, requeue, get } = await linked();
    const deposit = await broker.deposit(account, "1.00", done);
    await take({ lease_seconds: 10 });
    const written: string[] = [];
    const output = vi.spyOn(process.stdout, "write").mockImplementation((text) => written.push(String(text)) > 0);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 11_000 });
    await sweepEvents({}, lambdaContext());
    expect(await get(deposit.command_id)).toMatchObject({ status: "unknown", lease_until: expect.any(String) });
    const [search] = await take();
    await ack(search.id, { attempt: 1, status: "done" });
    vi.setSystemTime(Date.now() + 610_000);
    await sweepEvents({}, lambdaContext());
    expect(await get(deposit.command_id)).toMatchObject({ status: "unknown", not_found_at: expect.any(String) });
    expect((await requeue(deposit.command_id)).body).toMatchObject({ status: "waiting", attempt: 1 });
    vi.setSystemTime(Date.now() + 130_000);
    await sweepEvents({}, lambdaContext());
    output.mockRestore();
    const counted = ["CommandUnknown", "CommandLate"].map((name) =>
      written.some((line) => line.includes(`"${name}":1`)),
    );
    expect(counted).toEqual([true, true]);
    expect(await take()).toMatchObject([{ id: deposit.command_id, attempt: 2 }]);
  });

  it("is requeued by another application than the creator where the brokerage asks for four eyes", async () => {
    const { source, account, take, ack } = await linked();
    const deposit = await broker.deposit(account, "1.00", done);
    await take({ lease_seconds: 10 });
    await ack(deposit.command_id, { attempt: 1, status: "unknown" });
    const [search] = await take();
    await ack(search.id, { attempt: 1, status: "done" });
    await call("PATCH", "/settings", { four_eyes: true });
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 620_000 });
    const address = `${source.path}/commands/${deposit.command_id}/requeue`;
    const refused = await call("POST", address);
    expect([refused.status, refused.body.code]).toEqual([403, "four_eyes_required"]);
    const other = { ...caller, application_id: "app_01KAP0000000000000000000G9" };
    expect((await api.call(other, "POST", address)).body.status).toBe("waiting");
    await call("PATCH", "/settings", { four_eyes: false });
  });

  it.each(["", "/ack", "/requeue"])("of another source, or that is not there, is not found: %s", async (way) => {
    const [one, other] = [await linked(), await linked()];
    const deposit = await broker.deposit(one.account, "1.00", done);
    const body = way === "/ack" ? { attempt: 1, status: "done" } : undefined;
    for (const id of [deposit.command_id, "cmd_01JD0000000000000000000009"]) {
      const answer = await call(way === "" ? "GET" : "POST", `${other.source.path}/commands/${id}${way}`, body);
      expect(answer.status).toBe(404);
    }
  });
});

describe("a source", () => {
  it("knows its accounts by their logins, which another source of the platform may have too", async () => {
    const [one, other] = [await newSource(), await newSource()];
    const login = unusedLogin();
    const open = (source_id: string | null) =>
      broker
        .client()
        .then(({ id }) =>
          call("POST", "/accounts", { client_id: id, platform: "mt5", platform_login: login, source_id }),
        );
    const [first, second, unlinked] = [await open(one.id), await open(other.id), await open(null)];
    expect([first.status, second.status, unlinked.status]).toEqual([201, 201, 201]);
    expect((await open(one.id)).body.code).toBe("platform_login_taken");
    await other.send(moneyMoved(login, "B-1", "deposit", "5.00"));
    expect(await balanceOf(second.body)).toBe("5.00");
    const found = await broker.get(`/accounts?platform_login=${login}`);
    expect(found.data.map(({ id }: { id: string }) => id).toSorted()).toEqual(
      [first.body.id, second.body.id, unlinked.body.id].toSorted(),
    );
    const third = await newSource();
    await third.send(moneyMoved(login, "B-1", "deposit", "3.00"));
    expect(await balanceOf(unlinked.body)).toBe("3.00");
  });

  it("is linked by a change while no money is open, and must be there and of the account's platform", async () => {
    const [source, cfd] = [await newSource(), await newSource({ platform: "ctrader", name: "ctrader:live-1" })];
    const account = await broker.account();
    const patch = (body: object) => call("PATCH", `/accounts/${account.id}`, body);
    const link = { source_id: source.id, platform_login: unusedLogin() };
    expect((await patch({ source_id: source.id })).body.errors[0].pointer).toBe("#/platform_login");
    const missing = await patch({ ...link, source_id: "src_01JD0000000000000000000009" });
    expect([missing.status, missing.body.code]).toEqual([422, "source_not_found"]);
    const pending = await broker.deposit(account, "1.00");
    expect((await patch(link)).body.code).toBe("account_not_empty");
    await broker.move(pending, "cancelled");
    expect((await patch(link)).body).toMatchObject({ platform: "mt5", source_id: source.id });
    expect((await patch({ source_id: cfd.id })).body.errors[0].pointer).toBe("#/platform");
    await broker.deposit(account, "1.00");
    expect((await patch({ source_id: null })).body.code).toBe("account_not_empty");
  });

  it("meets a deposit that was decided before the account was linked: it is marked for the platform", async () => {
    const source = await newSource();
    const [account, login] = [await broker.account(), unusedLogin()];
    api.watched.interfere = async ({ operation }) => {
      if (operation !== "TransactWriteItems") return undefined;
      api.watched.interfere = () => undefined;
      const link = { source_id: source.id, platform_login: login };
      expect((await call("PATCH", `/accounts/${account.id}`, link)).status).toBe(200);
      return undefined;
    };
    const deposit = await broker.deposit(account, "100.00");
    const [result] = await source.send(moneyMoved(login, "B-1", "deposit", "100.00"));
    expect(result).toMatchObject({ status: "rejected", code: "possible_duplicate", candidates: [deposit.id] });
  });

  it("does not end while a command is open; then it sends nothing, and its accounts take no money", async () => {
    const { source, account, login, take, ack } = await linked();
    const pending = await broker.deposit(account, "2.00");
    const deposit = await broker.deposit(account, "1.00", done);
    const busy = await call("DELETE", source.path);
    expect([busy.status, busy.body.code]).toEqual([409, "source_busy"]);
    await take();
    await ack(deposit.command_id, { attempt: 1, status: "failed" });
    expect((await call("DELETE", source.path)).body).toMatchObject({ status: "ended", ended_at: expect.any(String) });
    expect((await call("DELETE", source.path)).status).toBe(200);
    const quote = { symbol: "EURUSD", bid: "1.1", ask: "1.2", time: "2026-11-21T06:30:00Z", seq: "1" };
    const refused = await Promise.all([
      source.raw({ first_seq: "1", items: [] }),
      call("POST", `${source.path}/quotes`, { quotes: [quote] }),
      call("POST", `${source.path}/epochs`),
      call("POST", `${source.path}/commands/take`, {}),
      call("PATCH", source.path, { paused: true }),
      call("POST", "/transactions/deposit", { account_id: account.id, amount: "1.00" }),
      call("POST", "/transactions/withdrawal", { account_id: account.id, amount: "1.00" }),
      call("PATCH", `/transactions/${pending.id}`, done),
    ]);
    expect(refused.map(({ status, body }) => [status, body.code])).toEqual(refused.map(() => [409, "source_ended"]));
    expect(
      (
        await call("POST", "/accounts", {
          ...{ client_id: account.client_id, platform: "mt5", platform_login: login, source_id: source.id },
        })
      ).body.code,
    ).toBe("source_not_found");
    const sources = (await call("GET", "/feed/sources?limit=100")).body.data;
    expect(sources.find(({ id }: { id: string }) => id === source.id)).toMatchObject({ status: "ended" });
  });

  it("ends while a payout is in transit, which can still fail; its account can then be unlinked", async () => {
    const { source, account, login, take, ack } = await linked();
    await source.send(moneyMoved(login, "B-1", "deposit", "500.00"));
    const withdrawal = await broker.withdrawal(account, "200.00", done);
    await take();
    await ack(withdrawal.command_id, { attempt: 1, status: "done", operation_id: "B-2" });
    expect((await call("DELETE", source.path)).body.status).toBe("ended");
    const written: string[] = [];
    const output = vi.spyOn(process.stdout, "write").mockImplementation((line) => written.push(String(line)) > 0);
    const failed = (await broker.move(withdrawal, "failed")).body;
    output.mockRestore();
    expect(failed).toMatchObject({ status: "failed", outcome: "needs_attention" });
    expect(written.filter((line) => line.includes('"MoneyNeedsAttention":1'))).toHaveLength(1);
    expect(await balanceOf(account)).toBe("500.00");
    expect((await call("PATCH", `/accounts/${account.id}`, { source_id: null })).status).toBe(200);
  });

  it("is changed with its version, and a change that says what is already so changes nothing", async () => {
    const source = await newSource();
    const stale = await call("PATCH", source.path, { paused: true }, { "If-Match": '"7"' });
    expect(stale.status).toBe(412);
    expect((await call("DELETE", source.path, undefined, { "If-Match": '"7"' })).status).toBe(412);
    const { body } = await call("PATCH", source.path, { authoritative: "service" });
    expect(body).toMatchObject({ authoritative: "service", version: 2 });
    expect((await call("PATCH", source.path, { authoritative: "service" })).body.version).toBe(2);
  });
});
