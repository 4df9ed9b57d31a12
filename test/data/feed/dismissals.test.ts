import { beforeAll, describe, expect, it } from "vitest";
import { closing, moneyMoved, opening } from "../../support/builders/bridge.ts";
import { brokerage } from "../../support/builders/brokerage.ts";
import { snapshots } from "../../support/builders/snapshots.ts";
import { putMarket } from "../../support/builders/trading-data.ts";
import { startJudgedApi } from "../../support/emulator/judged-api.ts";
import { newCaller, withScopes } from "../../support/emulator/request.ts";

const api = await startJudgedApi();
const caller = newCaller();
beforeAll(() => putMarket(api, caller.tenant_id));

const broker = brokerage(api, caller);
const { linked, resolve } = snapshots(api, caller);
const body = { reason: { code: "wrong_amount", message: "The platform confirmed the first one." } };

describe("a rejected item that a person dismisses", () => {
  it("is resolved with the reason, is never applied, and explains no drift any more", async () => {
    const { source, login, snapshot, theirs, drifts } = await linked();
    const night = (amount: string) => ({
      type: "swap",
      data: { position_id: "P-1", amount, for_date: "2026-11-20" },
    });
    await source.send(
      opening(login, "D-1", "P-1", { commission: "0" }),
      night("-2.00"),
      moneyMoved(login, "OPX", "fee", "-1.00"),
    );
    const results = await source.send(
      night("-6.00"),
      moneyMoved(login, "OPX", "fee", "-9.00"),
      closing("D-9", "NOSUCH"),
    );
    expect(results.map(({ code }: { code: string }) => code)).toEqual([
      ...["deal_conflict", "deal_conflict", "unknown_position"],
    ]);
    await snapshot({ accounts: [theirs({ balance: "1.00" })] });
    const [drift] = await drifts("&kind=balance");
    const [swap, fee] = results.map(({ seq: id }: { seq: string }) => ({ type: "reject", id }));
    expect(drift.explained_by.toSorted((one: typeof swap, other: typeof swap) => (one.id < other.id ? -1 : 1))).toEqual(
      [...[swap, fee]],
    );
    const causes = async () => (await resolve(drift.id, "adopt_platform")).body.causes;
    expect((await causes()).toSorted()).toEqual([swap.id, fee.id]);
    const path = `${source.path}/rejects/${swap.id}`;
    const asked = (as = caller) => api.call(as, "POST", `${path}/dismiss`, { body });
    expect((await asked(withScopes(caller, "feed:write"))).body).toMatchObject({ scope: "transactions:settle" });
    const dismissed = await asked();
    expect([dismissed.status, dismissed.body]).toMatchObject([
      200,
      { status: "resolved", resolution: "dismissed", ...body, booked: { amount: "-2" }, tries: 1 },
    ]);
    expect(await asked()).toMatchObject({ status: 409, body: { code: "illegal_transition" } });
    expect((await api.call(caller, "POST", `${path}/retry`)).body).toMatchObject({ status: "duplicate" });
    expect(await causes()).toEqual([fee.id]);
    const shown = (await api.call(caller, "GET", `${source.path}/rejects?status=resolved`)).body.data;
    expect(shown).toMatchObject([{ reject_id: swap.id, ...body }]);
    expect((await api.call(caller, "POST", `${source.path}/rejects/x/dismiss`, { body })).status).toBe(404);
  });

  it("is not money that its account holds", async () => {
    const { source, account, login } = await linked();
    await broker.deposit(account, "50.00", { status: "completed" });
    const [aside] = await source.send(moneyMoved(login, "B-1", "deposit", "50.00"));
    expect(aside).toMatchObject({ code: "possible_duplicate" });
    const path = `${source.path}/rejects/${aside.seq}/dismiss`;
    expect(await api.call(caller, "POST", path, { body })).toMatchObject({
      ...{ status: 409, body: { code: "illegal_transition" } },
    });
  });
});
