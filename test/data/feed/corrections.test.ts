import { beforeAll, describe, expect, it, vi } from "vitest";
import { moneyMoved } from "../../support/builders/bridge.ts";
import { counts, snapshots } from "../../support/builders/snapshots.ts";
import { putMarket } from "../../support/builders/trading-data.ts";
import { startJudgedApi } from "../../support/emulator/judged-api.ts";
import { lambdaContext, newCaller } from "../../support/emulator/request.ts";

const api = await startJudgedApi();
const { handler: sweepEvents } = await import("../../../functions/events/sweep-due.ts");
const caller = newCaller();
beforeAll(() => putMarket(api, caller.tenant_id));

const second = newCaller({ tenant_id: caller.tenant_id });
const { call, linked, resolve } = snapshots(api, caller);

/** A drift of 10.00 that the platform is asked to correct, with what its bridge does with the command. */
async function commanded() {
  const desk = await linked();
  const { source, snapshot, theirs, drifts } = desk;
  await snapshot({ accounts: [theirs({ balance: "1010.00" })] });
  const [{ id }] = await drifts();
  const drift = (await resolve(id, "command_platform")).body;
  const commands = `${source.path}/commands`;
  return {
    ...desk,
    drift,
    get: async () => (await call("GET", `${commands}/${drift.command_id}`)).body,
    take: () => call("POST", `${commands}/take`, {}),
    ack: (fields: object) => call("POST", `${commands}/${drift.command_id}/ack`, { attempt: 1, ...fields }),
    carriedOut: (operation_id: string, reference: string | null = drift.command_id) =>
      moneyMoved(desk.login, operation_id, "adjustment", "-10.00", { reference }),
  };
}

describe("a drift whose difference the platform is asked for", () => {
  it("stays open until a snapshot includes the operation, of which nothing is booked", async () => {
    const { drift, source, take, ack, carriedOut, get, snapshot, drifts, balance } = await commanded();
    expect(drift).toMatchObject({ status: "open", command_id: expect.stringMatching(/^cmd_/), proposal: null });
    expect((await take()).body.data).toMatchObject([
      {
        ...{ id: drift.command_id, type: "balance_operation", lane: "money", drift_id: drift.id, transaction_id: null },
        payload: { amount: "-10.00", currency: "USD", comment: drift.command_id },
      },
    ]);
    expect((await resolve(drift.id, "command_platform")).body.code).toBe("command_outstanding");
    expect((await resolve(drift.id, "accept")).body.code).toBe("command_outstanding");
    await ack({ status: "done", operation_id: "B-1" });
    expect((await resolve(drift.id, "adopt_platform")).body.code).toBe("drift_changed");
    const [joined] = await source.send(carriedOut("B-1"));
    expect(joined).toMatchObject({ status: "applied", command_id: drift.command_id });
    expect(await get()).toMatchObject({ status: "done", operation_id: "B-1" });
    expect([await balance(), await snapshot()]).toMatchObject(["1000.00", counts(1, 0, 0)]);
    expect(await drifts()).toMatchObject([{ status: "resolved", resolution: { action: "agreed" } }]);
  });

  it("keeps its account from another login until the command has ended", async () => {
    const { account, drift, take, ack } = await commanded();
    const relink = () => call("PATCH", `/accounts/${account.id}`, { platform_login: "elsewhere" });
    expect((await relink()).body).toMatchObject({ code: "account_not_empty", left: [drift.command_id] });
    await take();
    await ack({ status: "failed", error: { code: "refused" } });
    expect((await relink()).body).toMatchObject({ platform_login: "elsewhere" });
  });

  it("is joined by a person where its operation names nothing, and a late acknowledgement is a duplicate", async () => {
    const { drift, source, take, ack, carriedOut, balance, snapshot } = await commanded();
    await take();
    const [aside] = await source.send(carriedOut("B-1", null));
    expect(aside).toMatchObject({ code: "possible_duplicate", candidates: [drift.command_id] });
    const retry = `${source.path}/rejects/${aside.seq}/retry`;
    expect((await call("POST", retry, { command_id: drift.command_id, confirm_new: true })).status).toBe(422);
    expect((await call("POST", retry, { command_id: drift.command_id })).body).toMatchObject({
      ...{ status: "applied", command_id: drift.command_id },
    });
    expect((await ack({ status: "done", operation_id: "B-1" })).body.status).toBe("done");
    expect([await balance(), await snapshot()]).toMatchObject(["1000.00", counts(1, 0, 0)]);
  });

  it("is joined by a person after a snapshot found the books equal with what was made by hand", async () => {
    const { account, drift, source, carriedOut, balance, snapshot, get } = await commanded();
    const [aside] = await source.send(carriedOut("B-1", null));
    const money = async () => (await call("GET", `/accounts/${account.id}/balance`)).body;
    expect([aside, await money()]).toMatchObject([{ candidates: [drift.command_id] }, { held: "10.00" }]);
    expect([await snapshot(), (await get()).status]).toMatchObject([counts(1, 0, 0), "cancelled"]);
    const retry = () => call("POST", `${source.path}/rejects/${aside.seq}/retry`, { command_id: drift.command_id });
    expect((await retry()).body).toMatchObject({ status: "applied", command_id: drift.command_id });
    expect((await retry()).body).toMatchObject({ status: "duplicate" });
    expect(await money()).toMatchObject({ balance: "1000.00", held: "0.00" });
    expect([await balance(), await snapshot()]).toMatchObject(["1000.00", counts(1, 0, 0)]);
    expect(await get()).toMatchObject({ status: "cancelled", operation_id: "B-1" });
  });

  it("has its command cancelled by a snapshot that finds another amount, and by an acceptance", async () => {
    const { source, drift, get, snapshot, theirs, drifts } = await commanded();
    const accounts = [theirs({ balance: "1011.00" })];
    await snapshot({ accounts });
    expect(await get()).toMatchObject({ status: "cancelled" });
    const again = (await resolve(drift.id, "command_platform")).body;
    expect((await resolve(drift.id, "accept")).body).toMatchObject({ status: "resolved" });
    const { data } = (await call("GET", `${source.path}/commands`)).body;
    expect(data.map(({ id, status }: Record<string, string>) => [id, status])).toEqual([
      [again.command_id, "cancelled"],
      [drift.command_id, "cancelled"],
    ]);
    expect(await drifts("&status=open")).toEqual([]);
  });

  it("is asked for by two applications with four eyes, looked for, and requeued by another", async () => {
    await call("PATCH", "/settings", { four_eyes: true });
    const { source, drift, snapshot, take, drifts } = await commanded();
    expect(drift).toMatchObject({ command_id: null, proposal: { action: "command_platform" } });
    expect((await resolve(drift.id, "command_platform")).body.code).toBe("four_eyes_required");
    const { command_id } = (await resolve(drift.id, "command_platform", second)).body;
    const address = `${source.path}/commands/${command_id}`;
    await take();
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 61_000 });
    await sweepEvents({}, lambdaContext());
    const [search] = (await take()).body.data;
    expect(search).toMatchObject({ type: "find_operation", drift_id: drift.id, payload: { comment: command_id } });
    await call("POST", `${source.path}/commands/${search.id}/ack`, { attempt: 1, status: "done" });
    vi.setSystemTime(Date.now() + 620_000);
    expect((await call("POST", `${address}/requeue`, undefined, second)).body.code).toBe("four_eyes_required");
    expect((await call("POST", `${address}/requeue`)).body).toMatchObject({ status: "waiting", attempt: 1 });
    await call("PATCH", "/settings", { four_eyes: false });
    await snapshot();
    expect((await call("GET", address)).body.status).toBe("cancelled");
    expect(await drifts()).toMatchObject([{ status: "resolved", resolution: { action: "agreed" } }]);
  });
});
