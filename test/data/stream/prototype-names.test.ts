import { afterAll, describe, expect, it } from "vitest";
import type { StreamConnection } from "../../../shared/domain/stream/connection.ts";
import { streamConnections } from "../../../shared/table/entities.ts";
import { bridge, opening } from "../../support/builders/bridge.ts";
import { brokerage } from "../../support/builders/brokerage.ts";
import { putMarket } from "../../support/builders/trading-data.ts";
import { startApi } from "../../support/emulator/api.ts";
import { newCaller } from "../../support/emulator/request.ts";
import { startSocketEndpoint } from "../../support/emulator/socket-endpoint.ts";

const api = await startApi();
const gateway = await startSocketEndpoint();
Object.assign(process.env, gateway.environment);
const { endSubscription } = await import("../../../shared/stream/subscriptions.ts");
const { readAll } = await import("../../../shared/table/store.ts");
const { streaming } = await import("../../support/emulator/streaming.ts");
afterAll(async () => {
  await gateway.stop();
  await api.stop();
});

/** Names that every object has by its prototype: a map whose keys users choose may have a member of each name. */
const names = Object.getOwnPropertyNames(Object.prototype);
const caller = newCaller();
const broker = brokerage(api, caller);
await putMarket(api, caller.tenant_id);
const { newSource, trader } = bridge(api, caller);
const call = (method: string, address: string, body: object) => api.call(caller, method, address, { body });

describe("a name that every object has", () => {
  it("is one like others as a key of metadata", async () => {
    for (const name of names.filter((each) => each !== "__proto__")) {
      const { id, metadata } = await broker.client({ metadata: { [name]: "1", other: "2" } });
      expect(metadata).toEqual({ [name]: "1", other: "2" });
      const patched = await call("PATCH", `/clients/${id}`, { metadata: { [name]: "3" } });
      expect([name, patched.status, patched.body.metadata]).toEqual([name, 200, { [name]: "3", other: "2" }]);
      const removed = await call("PATCH", `/clients/${id}`, { metadata: { [name]: null } });
      expect([name, removed.status, removed.body.metadata]).toEqual([name, 200, { other: "2" }]);
      const put = await call("PATCH", `/clients/${id}`, { metadata: { [name]: "4" } });
      expect([name, put.status, (await broker.get(`/clients/${id}`)).metadata]).toEqual([
        ...[name, 200],
        { [name]: "4", other: "2" },
      ]);
    }
  });

  it("is one like others as a symbol", async () => {
    const source = await newSource();
    const { login } = await trader();
    const terms = {
      ...{ description: "Euro against US dollar", asset_class: "forex", calc_mode: "forex" },
      ...{ base_currency: "EUR", quote_currency: "USD", margin_currency: "EUR", digits: 5, point: "0.00001" },
      ...{ pip_size: "0.0001", contract_size: "100000", lot_min: "0.01", lot_max: "100.00", lot_step: "0.01" },
      commission: { type: "none", amount: "0", currency: "USD" },
      swap: { type: "none", long: "0", short: "0", triple_day: null, rollover_time: "22:00" },
      sessions: [{ day: "monday", open: "00:00", close: "24:00" }],
    };
    for (const symbol of names) {
      const [made] = await source.send({ type: "symbol", data: { ...terms, symbol } });
      expect([symbol, made]).toMatchObject([symbol, { status: "applied" }]);
    }
    const quotes = names.map((symbol, place) => ({
      seq: String(place + 1),
      symbol,
      bid: "1.10000",
      ask: "1.10010",
      time: new Date().toISOString(),
    }));
    const sent = await call("POST", `${source.path}/quotes`, { quotes });
    expect([sent.status, sent.text]).toMatchObject([200, expect.anything()]);
    for (const symbol of names) {
      expect([symbol, await broker.get(`/symbols/${symbol}`)]).toMatchObject([symbol, { symbol }]);
      expect([symbol, await broker.get(`/quotes/${symbol}`)]).toMatchObject([symbol, { symbol, bid: "1.10000" }]);
      const [opened] = await source.send(opening(login, `d-${symbol}`, `p-${symbol}`, { symbol, lots: "0.01" }));
      expect([symbol, opened]).toMatchObject([symbol, { status: "applied" }]);
    }
    const work = streaming(api, gateway, caller.tenant_id);
    const one = await work.connect();
    await work.subscribe(one, "1", [{ name: "quotes", symbols: names }]);
    await work.runAll();
    const shown = work.messages(one).flatMap(({ type, quote }) => (type === "quote" ? [quote.symbol] : []));
    expect(shown.toSorted()).toEqual(names.toSorted());
    expect(Object.keys((await work.set())?.quotes ?? {}).toSorted()).toEqual(names.toSorted());
  });

  it("is one like others as a name of a subscription", async () => {
    const work = streaming(api, gateway, caller.tenant_id);
    const one = await work.connect();
    for (const name of names) {
      await work.subscribe(one, name, [{ name: "margin" }]);
      const [held] = await readAll(streamConnections, [streamConnections.keyOf(one)]);
      expect([name, await endSubscription(held as StreamConnection, name)]).toMatchObject([name, { ok: true }]);
      await expect(work.subscribe(one, name, [{ name: "events" }])).rejects.toThrow("1 field failed validation.");
    }
  });
});
