import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { atOnce, brokerage, statusCounts } from "../support/builders/brokerage.ts";
import { startApi } from "../support/emulator/api.ts";
import { newCaller } from "../support/emulator/request.ts";
import { findings } from "../support/oracles/oracle.ts";

const api = await startApi("stream");
afterAll(api.stop);
// Whatever the tests did, the books of all of them must balance at the end.
afterAll(async () => expect(await findings(api.emulator)).toEqual([]));

const caller = newCaller();
const broker = brokerage(api, caller);

describe("money", () => {
  it("goes in by a deposit: pending first, credited without its fee when completed, once in the ledger", async () => {
    const account = await broker.account();
    const deposit = await broker.deposit(account, "1000.00", { fee: "2.50" });
    expect(deposit).toMatchObject({
      status: "pending",
      amount: "1000.00",
      fee: "2.50",
      net_amount: "997.50",
      version: 1,
    });
    expect(await broker.get(`/accounts/${account.id}`)).toMatchObject({ balance: "0.00", available_balance: "0.00" });
    const { status, body } = await broker.move(deposit, "completed");
    expect(status).toBe(200);
    expect(body).toMatchObject({ status: "completed", balance_before: "0.00", balance_after: "997.50", version: 2 });
    expect(await broker.get(`/accounts/${account.id}`)).toMatchObject({
      balance: "997.50",
      available_balance: "997.50",
      held: "0.00",
      balance_version: 1,
    });
    expect((await broker.get(`/accounts/${account.id}/ledger`)).data).toMatchObject([
      {
        kind: "deposit",
        amount: "997.50",
        balance_before: "0.00",
        balance_after: "997.50",
        transaction_id: deposit.id,
      },
    ]);
  });

  it("goes out by a withdrawal: held at once, debited when completed", async () => {
    const account = await broker.account("1000.00");
    const withdrawal = await broker.withdrawal(account, "300.00", { fee: "1.00" });
    expect(await broker.get(`/accounts/${account.id}`)).toMatchObject({
      balance: "1000.00",
      held: "300.00",
      available_balance: "700.00",
      withdrawable: "700.00",
    });
    const { body } = await broker.move(withdrawal, "completed");
    expect(body).toMatchObject({ balance_before: "1000.00", balance_after: "700.00", net_amount: "299.00" });
    expect(await broker.get(`/accounts/${account.id}`)).toMatchObject({
      balance: "700.00",
      held: "0.00",
      available_balance: "700.00",
      balance_version: 2,
    });
  });

  it.each(["rejected", "cancelled"])("comes back to what is available when its withdrawal is %s", async (status) => {
    const account = await broker.account("100.00");
    const withdrawal = await broker.withdrawal(account, "60.00");
    expect((await broker.move(withdrawal, status)).body).toMatchObject({ status, balance_after: null });
    expect(await broker.get(`/accounts/${account.id}`)).toMatchObject({ held: "0.00", available_balance: "100.00" });
    const again = await broker.move(withdrawal, "completed");
    expect(again).toMatchObject({ status: 409, body: { code: "illegal_transition", allowed: [] } });
  });

  it("keeps every digit of an amount that no double can hold, as a string and as a number", async () => {
    for (const body of ['"90071992547409.93"', "90071992547409.93"]) {
      const account = await broker.account();
      const answer = await api.call(caller, "POST", "/transactions/deposit", {
        body: `{"account_id":"${account.id}","amount":${body},"status":"completed"}`,
      });
      expect(answer).toMatchObject({ status: 201, body: { amount: "90071992547409.93" } });
      expect(await broker.get(`/accounts/${account.id}`)).toMatchObject({ balance: "90071992547409.93" });
    }
  });

  it("is kept in whole yen on an account in yen", async () => {
    const account = await broker.account("15000", { currency: "JPY" });
    expect(await broker.get(`/accounts/${account.id}`)).toMatchObject({ balance: "15000", currency: "JPY" });
    const refused = await api.call(caller, "POST", "/transactions/deposit", {
      body: { account_id: account.id, amount: "1.5" },
    });
    expect(refused).toMatchObject({ status: 422, body: { code: "amount_precision" } });
  });

  it("can go up to the bound of the service and not beyond", async () => {
    const account = await broker.account();
    const most = { amount: "999999999999999.99", status: "completed" };
    for (let turn = 0; turn < 10; turn += 1) await broker.deposit(account, most.amount, { status: "completed" });
    const over = await api.call(caller, "POST", "/transactions/deposit", { body: { account_id: account.id, ...most } });
    expect(over).toMatchObject({ status: 422, body: { code: "amount_too_large" } });
    expect(await broker.get(`/accounts/${account.id}`)).toMatchObject({ balance: "9999999999999999.90" });
  });
});

describe("many at once on one account", () => {
  it("50 withdrawals of 100.01 from 1000.00: 9 accepted, 41 refused with 422, none told to try again", async () => {
    const account = await broker.account("1000.00");
    const answers = await atOnce(50, () =>
      api.call(caller, "POST", "/transactions/withdrawal", { body: { account_id: account.id, amount: "100.01" } }),
    );
    expect(statusCounts(answers)).toEqual({ 201: 9, 422: 41 });
    for (const { status, body } of answers) if (status === 422) expect(body.code).toBe("insufficient_funds");
    expect(await broker.get(`/accounts/${account.id}`)).toMatchObject({
      held: "900.09",
      available_balance: "99.91",
      balance: "1000.00",
    });
  });

  it("50 covered withdrawals are all accepted", async () => {
    const account = await broker.account("1000.00");
    const answers = await atOnce(50, () =>
      api.call(caller, "POST", "/transactions/withdrawal", { body: { account_id: account.id, amount: "20.00" } }),
    );
    expect(statusCounts(answers)).toEqual({ 201: 50 });
    expect(await broker.get(`/accounts/${account.id}`)).toMatchObject({ held: "1000.00", available_balance: "0.00" });
  });

  it("no mix of amounts ever holds more than there is, and everything that fits at the end was accepted", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 40_000 }), { minLength: 10, maxLength: 30 }),
        async (cents) => {
          const account = await broker.account("1000.00");
          const answers = await atOnce(cents.length, (index) =>
            api.call(caller, "POST", "/transactions/withdrawal", {
              body: { account_id: account.id, amount: ((cents[index] ?? 0) / 100).toFixed(2) },
            }),
          );
          const accepted = cents.filter((_, index) => answers[index]?.status === 201);
          const refused = cents.filter((_, index) => answers[index]?.status === 422);
          expect(accepted.length + refused.length).toBe(cents.length);
          const total = accepted.reduce((sum, each) => sum + each, 0);
          expect(total).toBeLessThanOrEqual(100_000);
          for (const each of refused) expect(total + each).toBeGreaterThan(100_000);
          expect((await broker.get(`/accounts/${account.id}`)).held).toBe((total / 100).toFixed(2));
        },
      ),
      { numRuns: 8 },
    );
  });

  it("20 attempts to complete, reject or cancel one withdrawal: one wins, the rest see its end", async () => {
    const account = await broker.account("500.00");
    const withdrawal = await broker.withdrawal(account, "200.00");
    const states = ["completed", "rejected", "cancelled"] as const;
    const answers = await atOnce(20, (index) => broker.move(withdrawal, states[index % 3] ?? "completed"));
    const { status } = await broker.get(`/transactions/${withdrawal.id}`);
    for (const [index, answer] of answers.entries()) {
      expect(answer.status).toBe(states[index % 3] === status ? 200 : 409);
    }
    const { version } = await broker.get(`/transactions/${withdrawal.id}`);
    expect(version).toBe(2);
  });

  it("deposits completed at once are booked one after the other; one answered with a retry had no effect", async () => {
    const account = await broker.account();
    const answers = await atOnce(10, () =>
      api.call(caller, "POST", "/transactions/deposit", {
        body: { account_id: account.id, amount: "1.00", status: "completed" },
      }),
    );
    const booked = answers.filter(({ status }) => status === 201).length;
    expect(booked).toBeGreaterThan(0);
    for (const { status, headers } of answers)
      if (status !== 201) expect([status, headers["Retry-After"]]).toEqual([503, "1"]);
    expect(await broker.get(`/accounts/${account.id}`)).toMatchObject({
      balance: `${booked}.00`,
      balance_version: booked,
    });
  });

  it("deposits to 40 accounts share no item and are all booked", async () => {
    const accounts = await atOnce(40, () => broker.account());
    const answers = await atOnce(40, (index) =>
      api.call(caller, "POST", "/transactions/deposit", {
        body: { account_id: accounts[index]?.id, amount: "5.00", status: "completed" },
      }),
    );
    expect(statusCounts(answers)).toEqual({ 201: 40 });
  });
});

describe("any history of an account", () => {
  const step = fc.record({
    what: fc.constantFrom("deposit", "withdrawal", "completed", "rejected", "cancelled"),
    cents: fc.integer({ min: 1, max: 50_000 }),
    feeShare: fc.integer({ min: 0, max: 99 }),
    direct: fc.boolean(),
    which: fc.nat(9),
  });

  it("leaves the books balanced, with one event for each thing that happened", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 20 }), async (steps) => {
        const account = await broker.account();
        const made: { id: string }[] = [];
        for (const { what, cents, feeShare, direct, which } of steps) {
          if (what === "deposit" || what === "withdrawal") {
            const amount = (cents / 100).toFixed(2);
            const fee = (Math.floor((cents * feeShare) / 100) / 100).toFixed(2);
            const status = direct ? { status: "completed" } : {};
            const body = { account_id: account.id, amount, fee, ...status };
            const answer = await api.call(caller, "POST", `/transactions/${what}`, { body });
            expect([201, 422]).toContain(answer.status);
            if (answer.status === 201) made.push(answer.body);
          } else {
            const transaction = made[which % Math.max(1, made.length)];
            if (transaction !== undefined) expect([200, 409]).toContain((await broker.move(transaction, what)).status);
          }
        }
      }),
      { numRuns: 6 },
    );
    expect(await findings(api.emulator)).toEqual([]);
  });
});
