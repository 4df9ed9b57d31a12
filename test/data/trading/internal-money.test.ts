import { describe, expect, it } from "vitest";
import { newCaller } from "../../support/emulator/request.ts";
import { api, broker, caller, eurusd, floor, trader } from "./trading-cases.ts";

const checker = newCaller({ tenant_id: caller.tenant_id });

describe("an adjustment", () => {
  const adjust = (account: { id: string }, amount: string) =>
    api.call(caller, "POST", "/transactions/adjustment", {
      body: { account_id: account.id, amount, reason: { code: "goodwill", message: "Late payout" } },
    });
  const approve = (id: string, by = checker) =>
    api.call(by, "PATCH", `/transactions/${id}`, { body: { status: "approved" } });

  it("is made by one application, approved by another, and then in the balance and the ledger", async () => {
    const account = await broker.account("100.00");
    const made = await adjust(account, "-40.25");
    expect([made.status, made.body.amount, made.body.status]).toEqual([201, "-40.25", "pending"]);
    expect((await approve(made.body.id, caller)).body.code).toBe("four_eyes_required");
    expect((await approve(made.body.id)).status).toBe(200);
    expect((await broker.get(`/accounts/${account.id}`)).balance).toBe("100.00");
    expect((await broker.move(made.body, "completed")).body).toMatchObject({ balance_after: "59.75" });
    const [entry] = (await broker.get(`/accounts/${account.id}/ledger`)).data;
    expect(entry).toMatchObject({ kind: "adjustment", amount: "-40.25", transaction_id: made.body.id });
    const listed = await broker.get("/transactions?kind=adjustment&status=completed");
    expect(listed.data.map(({ id }: { id: string }) => id)).toEqual([made.body.id]);
  });

  it("of two at once takes no more than there is, and margin follows it", async () => {
    const account = await trader("2000.00");
    await floor.open(account.id, eurusd);
    const made = await Promise.all([adjust(account, "-500.00"), adjust(account, "-500.00")]);
    for (const { body } of made) expect((await approve(body.id)).status).toBe(200);
    const ends = await Promise.all(made.map(({ body }) => broker.move(body, "completed")));
    expect(ends.map(({ status }) => status).toSorted()).toEqual([200, 409]);
    expect((await broker.get(`/accounts/${account.id}`)).balance).toBe("1500.00");
  });

  it("is refused where a trading platform keeps the balance", async () => {
    const account = await broker.account(undefined, { platform: "mt5", platform_login: "70001" });
    expect(await adjust(account, "1.00")).toMatchObject({ status: 409, body: { code: "platform_account" } });
  });
});
