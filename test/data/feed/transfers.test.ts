import { describe, expect, it } from "vitest";
import { bridge, moneyMoved } from "../../support/builders/bridge.ts";
import { brokerage } from "../../support/builders/brokerage.ts";
import { startJudgedApi } from "../../support/emulator/judged-api.ts";
import { lambdaContext, newCaller } from "../../support/emulator/request.ts";
import { failure } from "../../support/emulator/watched-endpoint.ts";

const api = await startJudgedApi();

const { handler: sweepEvents } = await import("../../../functions/events/sweep-due.ts");

const caller = newCaller();
const broker = brokerage(api, caller);
const { newSource, unusedLogin } = bridge(api, caller);

const call = async (method: string, address: string, body?: object, as = caller) =>
  (await api.call(as, method, address, body === undefined ? {} : { body })).body;
const balanceOf = async ({ id }: { id: string }) => (await broker.get(`/accounts/${id}/balance`)).balance;
const shown = async (id: string) => {
  const { status, transfer } = await broker.get(`/transactions/${id}`);
  return [status, transfer.status];
};

/** An account with 100.00 here, another one of its client that is linked to a source and has 100.00, and a bridge. */
async function sides() {
  const source = await newSource();
  const login = unusedLogin();
  const own = await broker.account("100.00");
  const link = { platform: "mt5", platform_login: login, source_id: source.id };
  const linked = await broker.account(undefined, { client_id: own.client_id, ...link });
  await source.send(moneyMoved(login, `B-0-${login}`, "deposit", "100.00"));
  const take = async () => (await call("POST", `${source.path}/commands/take`, {})).data[0];
  return {
    ...{ source, own, linked, login, take },
    transfer: (from: { id: string }, to: { id: string }, amount = "40.00") =>
      call("POST", "/transactions/transfer", { from_account_id: from.id, to_account_id: to.id, amount }),
    ack: (id: string, status: string, operation_id?: string) =>
      call("POST", `${source.path}/commands/${id}/ack`, { attempt: 1, status, operation_id }),
  };
}

describe("a transfer with an account of a platform", () => {
  it("debits the platform first, and is completed by the acknowledgement of the debit", async () => {
    const { own, linked, take, ack, transfer } = await sides();
    const out = await transfer(linked, own);
    expect(out).toMatchObject({ status: "approved", transfer: { status: "pending", transaction_id: null } });
    expect(await shown(out.id)).toEqual(["processing", "debiting"]);
    const command = await take();
    expect(command).toMatchObject({ transaction_id: out.id, payload: { amount: "-40.00" } });
    await ack(command.id, "done", "B-1");
    expect(await shown(out.id)).toEqual(["completed", "completed"]);
    expect([await balanceOf(linked), await balanceOf(own)]).toEqual(["60.00", "140.00"]);
    const { transfer: leg } = await broker.get(`/transactions/${out.id}`);
    expect(await broker.get(`/transactions/${leg.transaction_id}`)).toMatchObject({
      ...{ kind: "transfer_in", account_id: own.id, amount: "40.00" },
      transfer: { transaction_id: out.id, status: "completed" },
    });
  });

  it("credits the platform once its debit stands in transit, and gives it back when the platform refuses", async () => {
    const { own, linked, take, ack, transfer } = await sides();
    const [first, second] = [await transfer(own, linked), await transfer(own, linked, "10.00")];
    expect([await shown(first.id), await balanceOf(own)]).toEqual([["processing", "crediting"], "50.00"]);
    await ack((await take()).id, "done", "B-1");
    await ack((await take()).id, "failed");
    expect([await shown(first.id), await shown(second.id)]).toEqual([
      ["completed", "completed"],
      ["failed", "failed"],
    ]);
    expect([await balanceOf(own), await balanceOf(linked)]).toEqual(["60.00", "140.00"]);
  });

  it("goes on by the sweep, wherever the function dies, also when its operation is reported first", async () => {
    const { source, own, linked, login, take, transfer } = await sides();
    let commits = 0;
    api.watched.interfere = ({ operation }) => {
      if (operation !== "TransactWriteItems") return undefined;
      commits += 1;
      return commits > 1 ? failure("AccessDeniedException") : undefined;
    };
    const out = await transfer(linked, own);
    api.watched.interfere = () => undefined;
    expect(await shown(out.id)).toEqual(["approved", "pending"]);
    expect((await sweepEvents({}, lambdaContext()))["transferred"]).toBeGreaterThan(0);
    expect(await shown(out.id)).toEqual(["processing", "debiting"]);
    const { id: reference } = await take();
    const item = moneyMoved(login, "B-1", "withdrawal", "40.00", { reference });
    expect(await source.send(item)).toMatchObject([{ status: "applied", transaction_id: out.id }]);
    expect(await shown(out.id)).toEqual(["processing", "crediting"]);
    await sweepEvents({}, lambdaContext());
    expect(await shown(out.id)).toEqual(["completed", "completed"]);
    expect([await balanceOf(linked), await balanceOf(own)]).toEqual(["60.00", "140.00"]);
  });

  it("is refused where the source has ended, and fixed by a quote only where it is debited here", async () => {
    const { source, own, linked, transfer } = await sides();
    const quote = await api.call(caller, "POST", "/transfer_quotes", {
      body: { from_account_id: linked.id, to_account_id: own.id, amount: "1.00" },
    });
    expect([quote.status, quote.body.code]).toEqual([409, "platform_account"]);
    await call("DELETE", source.path);
    expect((await transfer(linked, own)).code).toBe("source_ended");
    const out = await transfer(own, linked);
    expect(await shown(out.id)).toEqual(["failed", "failed"]);
    expect(await balanceOf(own)).toBe("100.00");
  });
});

describe("an adjustment of an account of a platform", () => {
  it("is asked of the platform, and refused where its source has ended", async () => {
    const { source, linked, take, ack } = await sides();
    const body = { account_id: linked.id, amount: "-25.00", reason: { code: "goodwill" } };
    const { id } = await call("POST", "/transactions/adjustment", body);
    await call("PATCH", `/transactions/${id}`, { status: "approved" }, { ...newCaller(), tenant_id: caller.tenant_id });
    expect((await broker.move({ id }, "completed")).body.status).toBe("processing");
    const command = await take();
    expect([command.payload.amount, await balanceOf(linked)]).toEqual(["-25.00", "100.00"]);
    await ack(command.id, "done", "B-1");
    expect([(await broker.get(`/transactions/${id}`)).status, await balanceOf(linked)]).toEqual(["completed", "75.00"]);
    await call("DELETE", source.path);
    expect((await call("POST", "/transactions/adjustment", body)).code).toBe("source_ended");
  });
});

describe("a transfer to an account of another client", () => {
  it("is made when another application has approved it, and only by its debit", async () => {
    const [from, to] = [await broker.account("100.00"), await broker.account()];
    const body = { from_account_id: from.id, to_account_id: to.id, amount: "40.00" };
    const out = await call("POST", "/transactions/transfer", body);
    expect(out).toMatchObject({ status: "pending", transfer: { status: "pending" } });
    expect((await broker.get(`/accounts/${from.id}/balance`)).held).toBe("40.00");
    expect((await call("PATCH", `/transactions/${out.id}`, { status: "approved" })).code).toBe("four_eyes_required");
    const approver = { ...newCaller(), tenant_id: caller.tenant_id };
    await call("PATCH", `/transactions/${out.id}`, { status: "approved" }, approver);
    expect(await shown(out.id)).toEqual(["completed", "completed"]);
    expect([await balanceOf(from), await balanceOf(to)]).toEqual(["60.00", "40.00"]);
  });

  it("is released when it is cancelled, and cannot be declined by a provider", async () => {
    const [from, to] = [await broker.account("100.00"), await broker.account()];
    const body = { from_account_id: from.id, to_account_id: to.id, amount: "40.00" };
    const out = await call("POST", "/transactions/transfer", body);
    expect((await call("POST", `/sandbox/transactions/${out.id}/fail`)).code).toBe("illegal_transition");
    await call("PATCH", `/transactions/${out.id}`, { status: "cancelled" });
    expect(await shown(out.id)).toEqual(["cancelled", "failed"]);
    expect((await broker.get(`/accounts/${from.id}/balance`)).held).toBe("0.00");
  });
});
