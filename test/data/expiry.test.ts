import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { atOnce, brokerage } from "../support/builders/brokerage.ts";
import { startApi } from "../support/emulator/api.ts";
import { lambdaContext, newCaller } from "../support/emulator/request.ts";
import { findings } from "../support/oracles/oracle.ts";

// The sweep publishes whatever is left over, so these have a table of their own.
const api = await startApi();
afterAll(api.stop);
afterEach(() => {
  vi.useRealTimers();
});
afterAll(async () => expect(await findings(api.emulator)).toEqual([]));

const { handler: sweepEvents } = await import("../../functions/events/sweep-events.ts");

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

  it("is not made when it would have expired already", async () => {
    const account = await broker.account();
    const body = { account_id: account.id, amount: "1.00", expires_at: new Date(Date.now() - 1).toISOString() };
    const answer = await api.call(caller, "POST", "/transactions/deposit", { body });
    expect(answer).toMatchObject({ status: 422, body: { errors: [{ pointer: "#/expires_at" }] } });
  });

  it("is decided by the caller or by the sweep, never by both", async () => {
    for (let turn = 0; turn < 5; turn += 1) {
      const account = await broker.account("10.00");
      const ends = Date.now() + 3_600_000;
      const withdrawal = await broker.withdrawal(account, "10.00", { expires_at: new Date(ends).toISOString() });
      vi.useFakeTimers({ toFake: ["Date"], now: ends + 1 });
      const [move] = await Promise.all([broker.move(withdrawal, "completed"), sweepEvents({}, lambdaContext())]);
      const { status } = await broker.get(`/transactions/${withdrawal.id}`);
      vi.useRealTimers();
      expect([move.status, status]).toEqual(move.status === 200 ? [200, "completed"] : [409, "failed"]);
    }
  });
});
