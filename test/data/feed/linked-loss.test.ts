import { beforeAll, describe, expect, it, vi } from "vitest";
import { closing, moneyMoved, opening } from "../../support/builders/bridge.ts";
import { counts, position, snapshots } from "../../support/builders/snapshots.ts";
import { putMarket } from "../../support/builders/trading-data.ts";
import { startJudgedApi } from "../../support/emulator/judged-api.ts";
import { newCaller } from "../../support/emulator/request.ts";

const api = await startJudgedApi();
const caller = newCaller();
beforeAll(() => putMarket(api, caller.tenant_id));
const { call, linked, resolve } = snapshots(api, caller);

/** Log lines meanwhile. */
async function linesOf(act: () => Promise<unknown>): Promise<readonly string[]> {
  const written: string[] = [];
  const output = vi.spyOn(process.stdout, "write").mockImplementation((line) => written.push(String(line)) > 0);
  await act();
  output.mockRestore();
  return written;
}

/** A protected account that its source leaves to this service, after it has lost 1,400.00 of 1,000.00. */
async function ruined(authoritative: "platform" | "service" = "service") {
  const desk = await linked({ negative_balance_protection: true });
  const { source, account, login } = desk;
  expect((await call("PATCH", source.path, { authoritative })).status).toBe(200);
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

const amountOf = (command: { payload: { amount: string } }) => command.payload.amount;

describe("a loss of a linked account beyond its money, where the service decides", () => {
  it("is corrected here at once but for the debt, and on the platform by a command, without a drift", async () => {
    const { source, login, balance, corrections, snapshot, theirs, drifts } = await ruined();
    const [correction, ...others] = await corrections();
    expect([correction, others, await balance()]).toMatchObject([
      { amount: "400.00", status: "completed", platform_operations: [] },
      [],
      "-100.00",
    ]);
    const commands = `${source.path}/commands`;
    const waiting = (await call("GET", `${commands}/${correction.command_id}`)).body;
    expect(waiting).toMatchObject({
      ...{ status: "waiting", transaction_id: correction.id, drift_id: null, leg: null },
      ...{ type: "balance_operation", payload: { amount: "400.00", comment: correction.command_id } },
    });
    const before = theirs({ balance: "-500.00" });
    expect(await snapshot({ accounts: [before] })).toMatchObject({
      ...counts(1, 0, 0),
      left_out: [{ platform_login: login, ids: [correction.id] }],
    });
    const taken = (await call("POST", `${commands}/take`, {})).body.data;
    expect(taken.map((each: { id: string }) => each.id)).toEqual([waiting.id]);
    expect(await snapshot({ accounts: [before] })).toMatchObject(counts(1, 0, 0));
    const ack = { attempt: 1, status: "done", operation_id: "B-2" };
    for (let times = 0; times < 2; times += 1) {
      expect((await call("POST", `${commands}/${waiting.id}/ack`, ack)).status).toBe(200);
    }
    expect(await snapshot({ accounts: [before] })).toMatchObject(counts(1, 0, 0));
    const item = moneyMoved(login, "B-2", "correction", "400.00", { reference: waiting.id });
    expect(await source.send(item)).toMatchObject([{ status: "applied", command_id: waiting.id }]);
    expect(await source.send(item)).toMatchObject([{ status: "duplicate" }]);
    expect(await snapshot({ accounts: [theirs({ balance: "-100.00" })] })).toMatchObject(counts(1, 0, 0));
    expect([await balance(), (await corrections()).length, await drifts()]).toEqual(["-100.00", 1, []]);
  });

  it("is joined with the correction that the platform makes by itself, and not commanded then", async () => {
    const { source, login, balance, corrections, snapshot, theirs, drifts } = await ruined();
    const [correction] = await corrections();
    const [aside] = await source.send(moneyMoved(login, "B-2", "correction", "400.00"));
    expect(aside).toMatchObject({ code: "possible_duplicate", candidates: [correction.id] });
    expect((await call("POST", `${source.path}/commands/take`, {})).body.data).toEqual([]);
    expect((await source.retry(aside.seq, { transaction_id: correction.id })).body).toMatchObject({
      ...{ status: "applied", command_id: correction.command_id },
    });
    expect((await call("POST", `${source.path}/commands/take`, {})).body.data).toEqual([]);
    expect(await snapshot({ accounts: [theirs({ balance: "-100.00" })] })).toMatchObject(counts(1, 0, 0));
    expect([await balance(), await drifts(), await source.rejects()]).toEqual(["-100.00", [], []]);
  });

  it("is commanded once the operation that was put aside is new money", async () => {
    const { source, login, balance, corrections } = await ruined();
    const [correction] = await corrections();
    const [aside] = await source.send(moneyMoved(login, "B-2", "deposit", "400.00"));
    expect((await source.retry(aside.seq, { confirm_new: true })).body).toMatchObject({ status: "applied" });
    const taken = (await call("POST", `${source.path}/commands/take`, {})).body.data;
    expect([taken.map(amountOf), taken[0].id]).toEqual([["400.00"], correction.command_id]);
    expect(await balance()).toBe("300.00");
  });

  it("is a drift where the platform refuses, with an alarm, which a person resolves as any other", async () => {
    const { source, login, corrections, snapshot, theirs, drifts } = await ruined();
    const [correction] = await corrections();
    const commands = `${source.path}/commands`;
    await call("POST", `${commands}/take`, {});
    expect(await snapshot({ accounts: [theirs({ balance: "-501.00" })] })).toMatchObject(counts(0, 0, 1));
    const [shown] = await drifts();
    expect(shown).toMatchObject({ ours: "-500.00", theirs: "-501.00" });
    expect(shown.explained_by).toEqual([{ type: "command", id: correction.command_id }]);
    expect((await resolve(shown.id, "command_platform")).body).toMatchObject({
      ...{ code: "drift_changed", causes: [correction.command_id] },
    });
    const written = await linesOf(() =>
      call("POST", `${commands}/${correction.command_id}/ack`, { attempt: 1, status: "failed" }),
    );
    expect(written.filter((line) => line.includes('"MoneyNeedsAttention":1'))).toHaveLength(1);
    expect(await snapshot({ accounts: [theirs({ balance: "-500.00" })] })).toMatchObject(counts(0, 0, 1));
    const [drift] = await drifts();
    expect(drift).toMatchObject({ id: shown.id, ours: "-100.00", theirs: "-500.00" });
    expect(drift.explained_by).toEqual([{ type: "transaction", id: correction.id }]);
    const { command_id } = (await resolve(drift.id, "command_platform")).body;
    expect((await call("POST", `${commands}/take`, {})).body.data).toMatchObject([
      { id: command_id, drift_id: drift.id, payload: { amount: "400.00" } },
    ]);
    const item = moneyMoved(login, "B-2", "correction", "400.00", { reference: command_id });
    expect(await source.send(item)).toMatchObject([{ status: "applied", command_id }]);
    expect(await snapshot({ accounts: [theirs({ balance: "-100.00" })] })).toMatchObject(counts(1, 0, 0));
  });

  it("is followed by what late money repays of it, and by what a deal repays that is taken back", async () => {
    const late = await ruined();
    const an_hour_ago = new Date(Date.now() - 3_600_000).toISOString();
    // With 300.00 more before the loss, 200.00 of it were to be corrected: there is no debt either.
    await late.source.send({ ...moneyMoved(late.login, "B-2", "deposit", "300.00"), at: an_hour_ago });
    const taken = await ruined();
    const reversal = { reversal_id: "R-1", platform_login: taken.login, deal_id: "D-2" };
    expect(await taken.source.send({ type: "deal_reversal", data: reversal })).toMatchObject([{ status: "applied" }]);
    const held = [position("P-1")];
    for (const [{ source, balance, snapshot, theirs }, amounts, ours, platform] of [
      [late, ["400.00", "-200.00"], "0.00", { balance: "-200.00" }],
      [taken, ["400.00", "-400.00"], "-100.00", { balance: "-100.00", positions: held }],
    ] as const) {
      const commands = (await call("GET", `${source.path}/commands?sort=created_at`)).body.data;
      expect([commands.map(amountOf).toSorted().toReversed(), await balance()]).toEqual([amounts, ours]);
      expect(await snapshot({ accounts: [theirs(platform)] })).toMatchObject(counts(1, 0, 0));
    }
  });

  it("keeps its account with its source until the command has ended", async () => {
    const { source, account, login } = await linked({ negative_balance_protection: true });
    await call("PATCH", source.path, { authoritative: "service" });
    await source.send(opening(login, "D-1", "P-1", { commission: "0" }), closing("D-2", "P-1", { profit: "-1400.00" }));
    const [{ id }] = (await call("GET", `${source.path}/commands`)).body.data;
    expect((await call("PATCH", `/accounts/${account.id}`, { source_id: null })).body).toMatchObject({
      ...{ code: "account_not_empty", left: [id] },
    });
    expect((await call("DELETE", source.path)).body.code).toBe("source_busy");
  });

  it("waits where its source is paused, and is not commanded where the platform decides", async () => {
    const paused = await ruined();
    await call("PATCH", paused.source.path, { paused: true });
    expect((await call("POST", `${paused.source.path}/commands/take`, {})).body.data).toEqual([]);
    const followed = await ruined("platform");
    expect([await followed.corrections(), await followed.balance()]).toEqual([[], "-500.00"]);
    expect((await call("GET", `${followed.source.path}/commands`)).body.data).toEqual([]);
  });
});
