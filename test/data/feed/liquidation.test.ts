import { afterEach, describe, expect, it, vi } from "vitest";
import { closing, moneyMoved, opening } from "../../support/builders/bridge.ts";
import { marketWatch } from "../../support/builders/market-watch.ts";
import { api, broker, call, caller, newSource, unusedLogin } from "./feed-cases.ts";

const margin = marketWatch(api);

afterEach(() => vi.useRealTimers());

describe("an account that this service liquidates by commands", () => {
  it("asks its platform to close, books its deals at its prices, and tells one stop-out", async () => {
    const source = await newSource({ authoritative: "service" });
    const login = unusedLogin();
    const link = { platform: "mt5", platform_login: login, source_id: source.id };
    const { id } = await broker.account(undefined, { type: "demo", leverage: 100, stop_out_level: "50.00", ...link });
    const evaluate = () => margin.evaluate([JSON.stringify({ tenant_id: caller.tenant_id, account_id: id })]);
    await source.send(
      moneyMoved(login, `${login}-1`, "deposit", "2600.00"),
      opening(login, `${login}-2`, `${login}-a`),
      opening(login, `${login}-3`, `${login}-b`),
    );
    await margin.price(caller.tenant_id, "EURUSD", ["1.09100", "1.09110"]);
    expect(await evaluate()).toEqual([]);
    const before = await broker.get(`/accounts/${id}`);
    expect(before).toMatchObject({ liquidation: "requested", margin_status: "stop_out" });
    const commands = `${source.path}/commands`;
    const { body: taken } = await call("POST", `${commands}/take`, {});
    expect(taken.data).toMatchObject([
      {
        ...{ type: "liquidate", lane: "risk", transaction_id: null, leg: null },
        payload: { symbol: "EURUSD", side: "buy", lots: "1.00", lots_before: "1.00" },
      },
    ]);
    const [command] = taken.data;
    const { position_id } = command.payload;
    const ack = (attempt: number) => call("POST", `${commands}/${command.id}/ack`, { attempt, status: "done" });
    expect((await ack(2)).status).toBe(422);
    expect((await ack(1)).body).toMatchObject({ status: "done", not_after: expect.any(String) });
    expect((await call("POST", `${commands}/${command.id}/requeue`)).body.code).toBe("illegal_transition");
    await evaluate();
    expect((await call("GET", commands)).body.data).toHaveLength(1);
    expect((await broker.get(`/accounts/${id}`)).balance).toBe(before.balance);
    const money = { profit: "-1010.00", price: "1.09000", reason: "stop_out" };
    expect(await source.send(closing(`${login}-4`, position_id, money))).toMatchObject([{ status: "applied" }]);
    await evaluate();
    const after = await broker.get(`/accounts/${id}`);
    expect([after.liquidation, after.margin_status]).toEqual([undefined, "margin_call"]);
  });

  const oil = (symbol: string) => ({
    ...{ symbol, description: "Oil", asset_class: "commodity", calc_mode: "cfd", base_currency: "USD" },
    ...{ quote_currency: "USD", margin_currency: "USD", digits: 2, point: "0.01", pip_size: "0.01" },
    ...{ contract_size: "1000", lot_min: "0.01", lot_max: "100.00", lot_step: "0.01", max_leverage: 10 },
    commission: { type: "none", amount: "0", currency: "USD" },
    swap: { type: "none", long: "0", short: "0", triple_day: null, rollover_time: "17:00" },
    zone: "America/New_York",
    sessions: [{ day: "sunday", open: "17:00", close: "24:00" }],
  });

  it.each([
    // Clocks go an hour ahead that Sunday: 17:00 is 21:00 UTC, and was 22:00 a week before.
    ["2027-03-14", "21:00"],
    ["2027-07-11", "21:00"],
    // They go back: 17:00 is 22:00 UTC, and was 21:00 a week before.
    ["2027-11-07", "22:00"],
  ])("asks from 17:00 of New York on, whatever clocks did that day (%s, at %s UTC)", async (day, opens) => {
    const opening_ms = Date.parse(`${day}T${opens}:00.000Z`);
    const at = (ms: number) => vi.useFakeTimers({ toFake: ["Date"], now: opening_ms + ms });
    at(-60_000);
    const source = await newSource({ authoritative: "service" });
    const [login, symbol] = [unusedLogin(), `WTI ${day}`];
    const link = { platform: "mt5", platform_login: login, source_id: source.id };
    const { id } = await broker.account(undefined, { type: "demo", leverage: 100, stop_out_level: "50.00", ...link });
    await source.send(
      { type: "symbol", data: oil(symbol) },
      moneyMoved(login, `${login}-1`, "deposit", "2500.00"),
      opening(login, `${login}-2`, `${login}-a`, { symbol, price: "20.00", commission: "0" }),
    );
    const asked = async () => {
      await margin.price(caller.tenant_id, symbol, ["18.00", "18.03"]);
      await margin.evaluate([JSON.stringify({ tenant_id: caller.tenant_id, account_id: id })]);
      return (await call("POST", `${source.path}/commands/take`, {})).body.data;
    };
    at(-1000);
    expect(await asked()).toEqual([]);
    at(0);
    expect(await asked()).toMatchObject([{ type: "liquidate", payload: { symbol, lots: "1.00" } }]);
  });
});
