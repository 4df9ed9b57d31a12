import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { brokerage } from "../../support/builders/brokerage.ts";
import { startApi } from "../../support/emulator/api.ts";
import { newCaller, type TestCaller } from "../../support/emulator/request.ts";

const api = await startApi();
afterAll(api.stop);
afterEach(() => {
  vi.useRealTimers();
});
const { settledMoney } = await import("../../../shared/trading/money-report.ts");

const report = (caller: TestCaller, from: string, to: string, currency = "USD") =>
  api.call(caller, "GET", `/reports/money?from=${from}&to=${to}&currency=${currency}`);
const at = (moment: string) => vi.useFakeTimers({ toFake: ["Date"], now: Date.parse(moment) });

/** Money that was settled on three days around the end of a month, in two currencies. */
async function settled() {
  const caller = newCaller();
  const broker = brokerage(api, caller);
  at("2030-01-30T23:59:59.990Z");
  const [usd, jpy] = [await broker.account("1000.00"), await broker.account("5000", { currency: "JPY" })];
  const returned = await broker.deposit(usd, "20.00", { fee: "1.00" });
  at("2030-01-31T00:00:00.000Z");
  await broker.move(returned, "completed");
  const paid = await broker.withdrawal(usd, "100.00", { fee: "0.50" });
  await broker.move(paid, "processing");
  const waiting = await broker.deposit(usd, "7.77");
  at("2030-02-01T12:00:00.000Z");
  await broker.move(paid, "completed");
  await broker.move(returned, "returned");
  const bounced = await broker.withdrawal(usd, "30.00", { status: "completed" });
  await broker.move(bounced, "returned");
  const failed = await broker.withdrawal(usd, "40.00");
  await broker.move(failed, "processing");
  await broker.move(failed, "failed");
  await broker.move(waiting, "rejected");
  return { caller, jpy };
}

const none = {
  ...{ deposits: "0.00", deposit_count: 0, returned_deposits: "0.00", returned_deposit_count: 0 },
  ...{ withdrawals: "0.00", withdrawal_count: 0, returned_withdrawals: "0.00", returned_withdrawal_count: 0 },
};

describe("the report of settled money", () => {
  it("has the February between a last day of January and a first one of March", async () => {
    const caller = newCaller();
    at("2030-02-15T12:00:00Z");
    await brokerage(api, caller).account("1000.00");
    for (const [from, to] of [
      ["2030-01-30", "2030-03-01"],
      ["2030-01-31", "2030-03-02"],
    ] as const) {
      const { body } = await report(caller, from, to);
      expect(body.data).toMatchObject([{ day: "2030-02-15", deposits: "1000.00", net: "1000.00" }]);
    }
  });

  it("has each day on which money was settled, exactly, over the end of a month, and no other money", async () => {
    const { caller } = await settled();
    const { body } = await report(caller, "2030-01-30", "2030-02-02");
    expect(body.data).toEqual([
      { ...none, day: "2030-01-30", deposits: "1000.00", deposit_count: 1, net: "1000.00" },
      { ...none, day: "2030-01-31", deposits: "20.00", deposit_count: 1, net: "20.00" },
      {
        ...{
          day: "2030-02-01",
          deposits: "0.00",
          deposit_count: 0,
          returned_deposits: "20.00",
          returned_deposit_count: 1,
        },
        ...{ withdrawals: "129.50", withdrawal_count: 2, returned_withdrawals: "30.00", returned_withdrawal_count: 1 },
        net: "-119.50",
      },
    ]);
    expect((await report(caller, "2030-01-31", "2030-01-31")).body.data).toEqual([
      { ...none, day: "2030-01-31", deposits: "20.00", deposit_count: 1, net: "20.00" },
    ]);
    const yen = (await report(caller, "2030-01-30", "2030-01-30", "JPY")).body.data;
    expect(yen).toMatchObject([{ deposits: "5000", withdrawals: "0", net: "5000" }]);
    expect((await report(newCaller(), "2030-01-30", "2030-02-02")).body.data).toEqual([]);
  });

  it("names days that it cannot report", async () => {
    const { caller } = await settled();
    const pointed = async (from: string, to: string) => {
      const { status, body } = await report(caller, from, to);
      return [status, body.errors.map(({ parameter, code }: Record<string, string>) => [parameter, code])];
    };
    expect(await pointed("2030-02-02", "2030-02-01")).toEqual([400, [["to", "out_of_range"]]]);
    expect(await pointed("2030-01-01", "2030-02-01")).toEqual([400, [["to", "out_of_range"]]]);
    const days = { from: "2030-01-30", to: "2030-02-02" };
    await expect(settledMoney(caller.tenant_id, days, "USD", 5)).rejects.toMatchObject({ code: "invalid_parameter" });
    expect((await settledMoney(caller.tenant_id, days, "USD", 6)).data).toHaveLength(3);
  });
});
