import { describe, expect, it } from "vitest";
import { closing, moneyMoved, opening } from "../../support/builders/bridge.ts";
import { marketWatch } from "../../support/builders/market-watch.ts";
import { api, broker, call, caller, newSource, unusedLogin } from "./feed-cases.ts";

const margin = marketWatch(api);

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
});
