import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { brokerage } from "../../support/builders/brokerage.ts";
import { startApi } from "../../support/emulator/api.ts";
import { newCaller, type TestCaller } from "../../support/emulator/request.ts";

const api = await startApi();
afterAll(api.stop);
afterEach(() => {
  vi.useRealTimers();
});
const { publishWaiting } = await import("../../support/emulator/publishing.ts");

const report = async (caller: TestCaller, from: string, to: string, more = "&currency=USD") => {
  await publishWaiting(api.emulator, caller.tenant_id);
  return api.call(caller, "GET", `/reports/money?from=${from}&to=${to}${more}`);
};
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
  ...{ currency: "USD", final: false },
  ...{ deposits: "0.00", deposit_count: 0, returned_deposits: "0.00", returned_deposit_count: 0 },
  ...{ withdrawals: "0.00", withdrawal_count: 0, returned_withdrawals: "0.00", returned_withdrawal_count: 0 },
};

describe("the report of settled money", () => {
  it("has each day on which money was settled, exactly, over the end of a month, and no other money", async () => {
    const { caller } = await settled();
    const { body } = await report(caller, "2030-01-30", "2030-02-02");
    expect(body.data).toEqual([
      { ...none, day: "2030-01-30", deposits: "1000.00", deposit_count: 1, net: "1000.00" },
      { ...none, day: "2030-01-31", deposits: "20.00", deposit_count: 1, net: "20.00" },
      {
        ...{
          day: "2030-02-01",
          currency: "USD",
          deposits: "0.00",
          deposit_count: 0,
          returned_deposits: "20.00",
          returned_deposit_count: 1,
        },
        ...{ withdrawals: "129.50", withdrawal_count: 2, returned_withdrawals: "30.00", returned_withdrawal_count: 1 },
        ...{ final: false, net: "-119.50" },
      },
    ]);
    expect((await report(caller, "2030-01-31", "2030-01-31")).body.data).toEqual([
      { ...none, day: "2030-01-31", deposits: "20.00", deposit_count: 1, net: "20.00" },
    ]);
    const yen = (await report(caller, "2030-01-30", "2030-01-30", "&currency=JPY")).body;
    expect([yen.currency, yen.data]).toMatchObject(["JPY", [{ deposits: "5000", withdrawals: "0", net: "5000" }]]);
    for (const more of ["", "&currency=USD,JPY"]) {
      const { body: both } = await report(caller, "2030-01-30", "2030-01-31", more);
      const rows = both.data.map(({ day, currency }: Record<string, string>) => `${day} ${currency}`);
      expect([both.currency, rows]).toEqual([null, ["2030-01-30 JPY", "2030-01-30 USD", "2030-01-31 USD"]]);
    }
    expect((await report(newCaller(), "2030-01-30", "2030-02-02")).body.data).toEqual([]);
  });

  it("has the money of live accounts, and play money only where it is asked for", async () => {
    const caller = newCaller();
    at("2030-03-05T12:00:00Z");
    const broker = brokerage(api, caller);
    await broker.account("1000.00");
    const play = await broker.account("50000.00", { type: "demo" });
    await broker.withdrawal(play, "100.00", { status: "completed" });
    const of = async (more: string) => {
      const { body } = await report(caller, "2030-03-05", "2030-03-05", more);
      const rows = body.data as readonly Record<string, string>[];
      return [body.account_type, ...rows.map(({ deposits, withdrawals }) => [deposits, withdrawals])];
    };
    expect(await of("")).toEqual(["live", ["1000.00", "0.00"]]);
    expect(await of("&account_type=demo")).toEqual(["demo", ["50000.00", "100.00"]]);
    const { data } = (await api.call(caller, "GET", `/accounts/${play.id}/transactions`)).body;
    expect(data.map(({ account_type }: { account_type: string }) => account_type)).toEqual(["demo", "demo"]);
  });

  it("names days that it cannot report", async () => {
    const caller = newCaller();
    const pointed = async (from: string, to: string) => {
      const { status, body } = await report(caller, from, to);
      return [status, body.errors.map(({ parameter, code }: Record<string, string>) => [parameter, code])];
    };
    expect(await pointed("2030-02-02", "2030-02-01")).toEqual([400, [["to", "out_of_range"]]]);
    expect(await pointed("2030-01-01", "2030-04-03")).toEqual([400, [["to", "out_of_range"]]]);
  });
});
