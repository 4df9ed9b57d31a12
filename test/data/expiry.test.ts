import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { atOnce, brokerage } from "../support/builders/brokerage.ts";
import { putMarket } from "../support/builders/trading-data.ts";
import { startApi } from "../support/emulator/api.ts";
import { lambdaContext, newCaller } from "../support/emulator/request.ts";
import { failure } from "../support/emulator/watched-endpoint.ts";
import { findings } from "../support/oracles/oracle.ts";
import { stretched } from "../support/wait.ts";

// The sweep publishes whatever is left over, so these have a table of their own.
const api = await startApi("stream", "watched");
afterAll(api.stop);
afterEach(() => {
  vi.useRealTimers();
});
afterAll(async () => expect(await findings(api.emulator)).toEqual([]));

const { handler: sweepEvents } = await import("../../functions/events/sweep-due.ts");

const { tradingFloor } = await import("../support/builders/trading-floor.ts");

const caller = newCaller();
const broker = brokerage(api, caller);

describe("a transaction without a decision", () => {
  it("fails as expired by the sweep, once, and gives back what it held; what was decided stays", async () => {
    const account = await broker.account("100.00");
    const soon = { expires_at: new Date(Date.now() + 3_600_000).toISOString() };
    const waiting = [
      await broker.withdrawal(account, "10.00", soon),
      await broker.deposit(account, "10.00", soon),
      await broker.withdrawal(account, "10.00", soon),
    ];
    const decided = await broker.withdrawal(account, "5.00", soon);
    await broker.move(decided, "processing");
    const [, , approved] = waiting;
    await broker.move(approved, "approved");
    const later = await broker.withdrawal(account, "1.00");
    let expired = 0;
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 3_600_001 });
    for (let round = 0; round < 2; round += 1) {
      const runs = await atOnce(2, () => sweepEvents({}, lambdaContext()));
      expired += runs.reduce((sum, run) => sum + (run["expired"] ?? 0), 0);
    }
    expect(expired).toBe(waiting.length);
    for (const { id } of waiting) {
      expect(await broker.get(`/transactions/${id}`)).toMatchObject({
        status: "failed",
        status_reason: { code: "expired" },
        expires_at: null,
      });
    }
    expect(await broker.get(`/transactions/${decided.id}`)).toMatchObject({ status: "processing" });
    expect(await broker.get(`/transactions/${later.id}`)).toMatchObject({ status: "pending" });
    expect(await broker.get(`/accounts/${account.id}`)).toMatchObject({ balance: "95.00", held: "1.00" });
    expect((await sweepEvents({}, lambdaContext()))["expired"]).toBe(0);
  });

  it("is made again under the same names, which its end has freed", async () => {
    const account = await broker.account();
    const names = { external_id: "again", provider: "psp", provider_reference: "again" };
    const ends = Date.now() + 3_600_000;
    const first = await broker.deposit(account, "1.00", { ...names, expires_at: new Date(ends).toISOString() });
    vi.useFakeTimers({ toFake: ["Date"], now: ends });
    await sweepEvents({}, lambdaContext());
    expect((await broker.get(`/transactions/${first.id}`)).status).toBe("failed");
    expect(await broker.deposit(account, "1.00", { ...names, status: "completed" })).toMatchObject(names);
  });

  it("holds its money and its names until its second, and not until the next sweep", async () => {
    const account = await broker.account("100.00");
    const names = { external_id: "at its second", provider: "psp", provider_reference: "at its second" };
    const ends = Date.now() + 2000;
    const first = await broker.withdrawal(account, "100.00", { expires_at: new Date(ends).toISOString() });
    const second = await broker.deposit(account, "1.00", { ...names, expires_at: new Date(ends).toISOString() });
    const swept = sweepEvents({}, lambdaContext());
    expect(await broker.get(`/accounts/${account.id}`)).toMatchObject({ held: "100.00", withdrawable: "0.00" });
    expect((await swept)["expired"]).toBe(2);
    expect(Date.now() - ends).toBeGreaterThanOrEqual(0);
    for (const { id } of [first, second]) {
      const { status, updated_at } = await broker.get(`/transactions/${id}`);
      expect([status, Date.parse(updated_at) - ends < stretched(1000)]).toEqual(["failed", true]);
    }
    expect(await broker.get(`/accounts/${account.id}`)).toMatchObject({ held: "0.00", withdrawable: "100.00" });
    expect(await broker.deposit(account, "1.00", { ...names, status: "completed" })).toMatchObject(names);
  });

  it("is not made when it would have expired already", async () => {
    const account = await broker.account();
    const body = { account_id: account.id, amount: "1.00", expires_at: new Date(Date.now() - 1).toISOString() };
    const answer = await api.call(caller, "POST", "/transactions/deposit", { body });
    expect(answer).toMatchObject({ status: 422, body: { errors: [{ pointer: "#/expires_at" }] } });
  });

  it("is neither approved nor paid once its time is over, also where the sweep has not come yet", async () => {
    const account = await broker.account("10.00");
    const ends = Date.now() + 3_600_000;
    const withdrawal = await broker.withdrawal(account, "10.00", { expires_at: new Date(ends).toISOString() });
    vi.useFakeTimers({ toFake: ["Date"], now: ends });
    for (const to of ["approved", "processing", "completed"]) {
      expect(await broker.move(withdrawal, to)).toMatchObject({
        status: 409,
        body: { code: "illegal_transition", allowed: ["rejected", "cancelled"] },
      });
    }
    const settle = `/sandbox/transactions/${withdrawal.id}/settle`;
    expect(await api.call(caller, "POST", settle)).toMatchObject({ status: 409, body: { code: "illegal_transition" } });
    await sweepEvents({}, lambdaContext());
    expect(await broker.get(`/transactions/${withdrawal.id}`)).toMatchObject({ status: "failed" });
    expect(await broker.get(`/accounts/${account.id}`)).toMatchObject({ balance: "10.00", held: "0.00" });
  });

  it("is decided by the caller or by the sweep, never by both", async () => {
    for (let turn = 0; turn < 5; turn += 1) {
      const account = await broker.account("10.00");
      const ends = Date.now() + 3_600_000;
      const withdrawal = await broker.withdrawal(account, "10.00", { expires_at: new Date(ends).toISOString() });
      vi.useFakeTimers({ toFake: ["Date"], now: ends + 1 });
      const [move] = await Promise.all([broker.move(withdrawal, "cancelled"), sweepEvents({}, lambdaContext())]);
      const { status } = await broker.get(`/transactions/${withdrawal.id}`);
      vi.useRealTimers();
      expect([move.status, status]).toEqual(move.status === 200 ? [200, "cancelled"] : [409, "failed"]);
    }
  });
});

describe("a verification that ends", () => {
  const path = (id: string) => `/clients/${id}`;
  const verified = async (expires_at: string): Promise<string> => {
    const { id } = await broker.client();
    const body = { verification_status: "verified", verification: { expires_at } };
    expect(await api.call(caller, "PATCH", path(id), { body })).toMatchObject({ status: 200 });
    return id;
  };

  it("moves its client to expired by the sweep, once; a closed client and one with a later end stay", async () => {
    const ends = Date.now() + 3_600_000;
    const [soon, later] = [new Date(ends).toISOString(), new Date(ends + 86_400_000).toISOString()];
    const [ended, closed, extended, ...others] = await Promise.all([soon, soon, soon, soon, later].map(verified));
    await api.call(caller, "PATCH", path(closed ?? ""), { body: { status: "closed" } });
    await api.call(caller, "PATCH", path(extended ?? ""), { body: { verification: { expires_at: later } } });
    const read = () => Promise.all([ended, closed, extended, ...others].map((id) => broker.get(path(id ?? ""))));
    vi.useFakeTimers({ toFake: ["Date"], now: ends });
    const runs = await atOnce(2, () => sweepEvents({}, lambdaContext()));
    expect(runs.reduce((sum, run) => sum + (run["lapsed"] ?? 0), 0)).toBe(2);
    const clients = await read();
    const status = "verification_status";
    expect(clients.map((client) => client[status])).toEqual([
      ...["expired", "verified", "verified", "expired", "verified"],
    ]);
    expect(clients[0]).toMatchObject({ version: 3, verification: { expires_at: soon } });
    expect((await sweepEvents({}, lambdaContext()))["lapsed"]).toBe(0);
    const { data } = await broker.get(`/clients?${status}=expired`);
    expect(data.map(({ id }: { id: string }) => id).toSorted()).toEqual([ended, others[0]].toSorted());
  });

  it("is not made with an end in the past", async () => {
    const { id } = await broker.client();
    const verification = { expires_at: new Date(Date.now() - 1).toISOString() };
    const body = { verification_status: "verified", verification };
    expect(await api.call(caller, "PATCH", path(id), { body })).toMatchObject({
      status: 422,
      body: { errors: [{ pointer: "#/verification/expires_at", code: "out_of_range" }] },
    });
  });
});

describe("credit that ends", () => {
  it("is taken from its account once, as far as it is left, wherever the sweep dies", async () => {
    const account = await broker.account("1000.00", { type: "demo", leverage: 100 });
    await putMarket(api, caller.tenant_id);
    const ends = Date.now() + 3_600_000;
    const grant = async (amount: string, more: object = {}) => {
      const body = { account_id: account.id, direction: "in", amount, reason: { code: "bonus" }, ...more };
      return broker.move((await api.call(caller, "POST", "/transactions/credit", { body })).body, "completed");
    };
    const granted = await grant("60.00", { expires_at: new Date(ends).toISOString() });
    await grant("10.00");
    const floor = tradingFloor(caller.tenant_id);
    expect(await floor.open(account.id, { symbol: "EURUSD", side: "buy", lots: "0.10" })).toMatchObject({
      kind: "done",
    });
    const back = { account_id: account.id, direction: "out", amount: "20.00", reason: { code: "bonus" } };
    await broker.move((await api.call(caller, "POST", "/transactions/credit", { body: back })).body, "completed");
    vi.useFakeTimers({ toFake: ["Date"], now: ends + 1 });
    let writes = 0;
    api.watched.interfere = ({ operation }) => {
      if (operation !== "TransactWriteItems") return undefined;
      writes += 1;
      return writes === 1 ? failure("ResourceNotFoundException") : undefined;
    };
    const runs = [await sweepEvents({}, lambdaContext())];
    runs.push(...(await atOnce(2, () => sweepEvents({}, lambdaContext()))), await sweepEvents({}, lambdaContext()));
    api.watched.interfere = () => undefined;
    expect(runs.map((run) => [run["expired"], run["failed"]]).toSorted()).toEqual([
      [0, 0],
      [0, 0],
      [0, 1],
      [1, 0],
    ]);
    expect(await broker.get(`/accounts/${account.id}`)).toMatchObject({ balance: "1000.00", credit: "10.00" });
    const { data } = await broker.get(`/accounts/${account.id}/ledger`);
    expect(data[0]).toMatchObject({
      kind: "credit_out",
      amount: "-40.00",
      moves: "credit",
      transaction_id: granted.body.id,
    });
    const { credit, status } = await broker.get(`/transactions/${granted.body.id}`);
    expect([status, credit.expired_at >= credit.expires_at]).toEqual(["completed", true]);
  });
});
