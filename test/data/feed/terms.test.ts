import { afterEach, describe, expect, it, vi } from "vitest";
import { opening } from "../../support/builders/bridge.ts";
import { lambdaContext } from "../../support/emulator/request.ts";
import { broker, call, newSource, unusedLogin } from "./feed-cases.ts";

const { handler: sweepEvents } = await import("../../../functions/events/sweep-due.ts");
afterEach(() => vi.useRealTimers());

/** A linked account with an open position, and what its bridge does with the commands of its terms. */
async function linked() {
  const source = await newSource();
  const login = unusedLogin();
  const link = { platform: "mt5", platform_login: login, source_id: source.id };
  const { id } = await broker.account(undefined, { type: "demo", leverage: 100, ...link });
  const money = { operation_id: `${login}-1`, platform_login: login, amount: "10000.00", kind: "deposit" };
  await source.send({ type: "balance_operation", data: money }, opening(login, `${login}-2`, `${login}-a`));
  const commands = `${source.path}/commands`;
  return {
    source,
    login,
    path: `/accounts/${id}`,
    patch: async (body: object) => (await call("PATCH", `/accounts/${id}`, body)).body,
    take: async () => (await call("POST", `${commands}/take`, {})).body.data,
    ack: async (command: string, body: object) =>
      (await call("POST", `${commands}/${command}/ack`, { attempt: 1, ...body })).body,
    command: async (command: string) => (await call("GET", `${commands}/${command}`)).body,
    requeue: async (command: string) => (await call("POST", `${commands}/${command}/requeue`)).body,
  };
}

describe("terms of an account that a platform keeps", () => {
  it("change once the platform has changed them, with the margin of the open positions", async () => {
    const { path, patch, take, ack, source } = await linked();
    const before = await broker.get(path);
    expect(before).toMatchObject({ leverage: 100, used_margin: "1100.10", pending: null });
    await patch({ leverage: 200 });
    // Both are commands of one lane, so the later one waits for the end of the first.
    const first = await take();
    expect(first).toMatchObject([{ type: "set_leverage", payload: { leverage: 200 }, attempt: 1 }]);
    const asked = await patch({ name: "Second", leverage: 200, group_id: "vip" });
    const { leverage, group_id } = asked.pending;
    expect(asked).toMatchObject({ name: "Second", leverage: 100, group_id: "default", used_margin: "1100.10" });
    expect([leverage.value, group_id.value]).toEqual([200, "vip"]);
    expect(await broker.get(path)).toMatchObject({ pending: asked.pending, version: 3 });
    expect(await take()).toEqual([]);
    expect(await patch({ leverage: 50 })).toMatchObject({ code: "command_outstanding", command_id: first[0].id });
    expect(await ack(first[0].id, { status: "done" })).toMatchObject({ status: "done" });
    expect(await broker.get(path)).toMatchObject({ leverage: 200, used_margin: "550.05", pending: { group_id } });
    const [second] = await take();
    expect(second).toMatchObject({ type: "set_group", payload: { group: "vip" } });
    await ack(second.id, { status: "failed", error: { code: "no_such_group" } });
    expect(await broker.get(path)).toMatchObject({ group_id: "default", pending: null });
    expect(await patch({ source_id: null, platform_login: null })).toMatchObject({ source_id: null });
    expect(await source.rejects()).toEqual([]);
  });

  it("are no access while the account is disabled, and what there was before once it is active", async () => {
    const { path, patch, take, ack } = await linked();
    const disabled = (await call("DELETE", path)).body;
    expect(disabled).toMatchObject({
      status: "disabled",
      trading_mode: "none",
      pending: { trading_mode: { value: "none" } },
    });
    const [first] = await take();
    expect(first).toMatchObject({ type: "set_account_access", lane: "risk", payload: { access: "none" } });
    expect(await patch({ status: "active" })).toMatchObject({ code: "command_outstanding", command_id: first.id });
    expect(await ack(first.id, { status: "done" })).toMatchObject({ status: "done" });
    expect(await patch({ status: "active" })).toMatchObject({ status: "active", trading_mode: "full" });
    const [second] = await take();
    expect(second).toMatchObject({ payload: { access: "full" } });
    await ack(second.id, { status: "done" });
    expect(await broker.get(path)).toMatchObject({ status: "active", trading_mode: "full", pending: null });
  });

  it("raise an alarm where the platform refuses to take the access of a disabled account", async () => {
    const { path, patch, take, ack } = await linked();
    const written: string[] = [];
    const output = vi.spyOn(process.stdout, "write").mockImplementation((line) => written.push(String(line)) > 0);
    const alarms = () => written.filter((line) => line.includes('"MoneyNeedsAttention":1')).length;
    const refuse = async () => {
      const [{ id }] = await take();
      return ack(id, { status: "failed", error: { code: "no_rights" } });
    };
    await patch({ leverage: 200 });
    expect([(await refuse()).status, alarms()]).toEqual(["failed", 0]);
    await call("DELETE", path);
    expect([(await refuse()).status, alarms()]).toEqual(["failed", 1]);
    expect(await broker.get(path)).toMatchObject({ status: "disabled", trading_mode: "none", pending: null });
    // More access than there is leaves no danger.
    await patch({ status: "active" });
    expect([(await refuse()).status, alarms()]).toEqual(["failed", 1]);
    output.mockRestore();
  });

  it("stay pending while the outcome is unknown, until a report or a person settles them", async () => {
    const { source, login, path, patch, take, command, requeue } = await linked();
    const { pending } = await patch({ trading_mode: "close_only", group_id: "vip" });
    expect(await take()).toMatchObject([{ lane: "risk" }, { lane: "money" }]);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 61_000 });
    await sweepEvents({}, lambdaContext());
    expect(await command(pending.group_id.command_id)).toMatchObject({ status: "unknown", error: null });
    expect(await patch({ platform_login: "elsewhere" })).toMatchObject({ code: "account_not_empty" });
    const items = [
      { type: "account_update", data: { platform_login: login, access: "close_only", leverage: 50 } },
      { type: "account_update", data: { platform_login: login, group: "other" } },
    ];
    expect(await source.send(...items)).toMatchObject([{ status: "applied" }, { status: "applied" }]);
    const { group_id } = pending;
    expect(await broker.get(path)).toMatchObject({ trading_mode: "close_only", leverage: 50, group_id: "other" });
    expect((await broker.get(path)).pending).toEqual({ group_id });
    expect(await command(pending.trading_mode.command_id)).toMatchObject({ status: "done" });
    expect(await requeue(group_id.command_id)).toMatchObject({ status: "waiting", attempt: 1 });
    expect(await patch({ group_id: "default" })).toMatchObject({ pending: { group_id: { value: "default" } } });
    expect(await command(group_id.command_id)).toMatchObject({ status: "cancelled" });
    expect(await take()).toMatchObject([{ payload: { group: "default" } }]);
  });
});
