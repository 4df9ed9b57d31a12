import { beforeAll, describe, expect, it } from "vitest";
import { closing, moneyMoved, opening } from "../../support/builders/bridge.ts";
import { counts, snapshots } from "../../support/builders/snapshots.ts";
import { putMarket } from "../../support/builders/trading-data.ts";
import { startJudgedApi } from "../../support/emulator/judged-api.ts";
import { newCaller } from "../../support/emulator/request.ts";

const api = await startJudgedApi();
const caller = newCaller();
beforeAll(() => putMarket(api, caller.tenant_id));
const { call, linked, resolve } = snapshots(api, caller);

/** A protected account that its source leaves to this service, after it has lost 1,400.00 of 1,000.00. */
async function ruined() {
  const desk = await linked({ negative_balance_protection: true });
  const { source, account, login } = desk;
  expect((await call("PATCH", source.path, { authoritative: "service" })).status).toBe(200);
  // A withdrawal of the platform that is more than there is leaves a debt of 100.00, which no correction forgives.
  await source.send(
    opening(login, "D-1", "P-1", { commission: "0" }),
    moneyMoved(login, "B-1", "withdrawal", "1100.00"),
    closing("D-2", "P-1", { profit: "-400.00" }),
  );
  const corrections = async () =>
    (await call("GET", `/accounts/${account.id}/transactions?kind=negative_balance_correction`)).body.data;
  return { ...desk, corrections };
}

describe("a loss of a linked account beyond its money, where the service decides", () => {
  it("is corrected here at once but for the debt, and on the platform by the command of its drift", async () => {
    const { source, login, balance, corrections, snapshot, theirs, drifts } = await ruined();
    const [correction, ...others] = await corrections();
    expect([correction, others, await balance()]).toMatchObject([
      { amount: "400.00", status: "completed" },
      [],
      "-100.00",
    ]);
    expect(await snapshot({ accounts: [theirs({ balance: "-500.00" })] })).toMatchObject(counts(0, 0, 1));
    const [drift] = await drifts();
    expect(drift).toMatchObject({ kind: "balance", ours: "-100.00", theirs: "-500.00" });
    expect(drift.explained_by).toEqual([{ type: "transaction", id: correction.id }]);
    const { command_id } = (await resolve(drift.id, "command_platform")).body;
    const commands = `${source.path}/commands`;
    expect((await call("POST", `${commands}/take`, {})).body.data).toMatchObject([
      { id: command_id, payload: { amount: "400.00", comment: command_id } },
    ]);
    await call("POST", `${commands}/${command_id}/ack`, { attempt: 1, status: "done", operation_id: "B-2" });
    expect(
      await source.send(moneyMoved(login, "B-2", "correction", "400.00", { reference: command_id })),
    ).toMatchObject([{ status: "applied", command_id }]);
    expect(await snapshot({ accounts: [theirs({ balance: "-100.00" })] })).toMatchObject(counts(1, 0, 0));
    expect([await balance(), (await corrections()).length]).toEqual(["-100.00", 1]);
    expect(await drifts()).toMatchObject([{ status: "resolved", resolution: { action: "agreed" } }]);
  });

  it("is joined with the correction that the platform makes by itself, once a person says so", async () => {
    const { source, login, balance, corrections, snapshot, theirs, drifts } = await ruined();
    const [correction] = await corrections();
    const [aside] = await source.send(moneyMoved(login, "B-2", "correction", "400.00"));
    expect(aside).toMatchObject({ code: "possible_duplicate", candidates: [correction.id] });
    expect((await source.retry(aside.seq, { transaction_id: correction.id })).body).toMatchObject({
      status: "applied",
    });
    expect(await snapshot({ accounts: [theirs({ balance: "-100.00" })] })).toMatchObject(counts(1, 0, 0));
    expect([await balance(), await drifts(), await source.rejects()]).toEqual(["-100.00", [], []]);
  });
});
