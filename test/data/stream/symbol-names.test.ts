import { afterAll, describe, expect, it } from "vitest";
import { bridge, opening } from "../../support/builders/bridge.ts";
import { brokerage } from "../../support/builders/brokerage.ts";
import { brokerNames } from "../../support/builders/symbol-names.ts";
import { putMarket } from "../../support/builders/trading-data.ts";
import { startApi } from "../../support/emulator/api.ts";
import { newCaller } from "../../support/emulator/request.ts";
import { startSocketEndpoint } from "../../support/emulator/socket-endpoint.ts";

const api = await startApi();
const gateway = await startSocketEndpoint();
Object.assign(process.env, gateway.environment);
const { streaming } = await import("../../support/emulator/streaming.ts");
afterAll(async () => {
  await gateway.stop();
  await api.stop();
});

const caller = newCaller();
const broker = brokerage(api, caller);
await putMarket(api, caller.tenant_id);
const { newSource, trader } = bridge(api, caller);
const source = await newSource();
const { id, login } = await trader();
const terms = {
  ...{ description: "Euro against US dollar", asset_class: "forex", calc_mode: "forex" },
  ...{ base_currency: "EUR", quote_currency: "USD", margin_currency: "EUR", digits: 5, point: "0.00001" },
  ...{ pip_size: "0.0001", contract_size: "100000", lot_min: "0.01", lot_max: "100.00", lot_step: "0.01" },
  commission: { type: "none", amount: "0", currency: "USD" },
  swap: { type: "none", long: "0", short: "0", triple_day: null, rollover_time: "22:00" },
  sessions: [{ day: "monday", open: "00:00", close: "24:00" }],
};

describe("the names that brokers give their symbols", () => {
  it("are the same by batch, quote, path, query, list and stream", async () => {
    const made = await source.send(...brokerNames.map((symbol) => ({ type: "symbol", data: { ...terms, symbol } })));
    expect(made.map(({ status }: { status: string }) => status)).toEqual(brokerNames.map(() => "applied"));
    const quotes = brokerNames.map((symbol, place) => ({
      ...{ seq: String(place + 1), symbol, bid: "1.10000", ask: "1.10010" },
      time: new Date().toISOString(),
    }));
    const sent = await api.call(caller, "POST", `${source.path}/quotes`, { body: { quotes } });
    expect([sent.status, sent.body.accepted]).toEqual([200, brokerNames.length]);
    for (const [place, symbol] of brokerNames.entries()) {
      const name = encodeURIComponent(symbol);
      const { _links } = await broker.get(`/symbols/${name}`);
      const [self, quote] = [_links.self, _links.quote].map(({ href }) => href.replace(/^.*\/v2/, ""));
      expect(await broker.get(self)).toMatchObject({ symbol });
      expect(await broker.get(quote)).toMatchObject({ symbol, bid: "1.10000" });
      expect((await broker.get(`/symbols?symbol=${name}`)).data).toMatchObject([{ symbol }]);
      expect((await broker.get(`/quotes?symbols=${name},EURUSD`)).data).toMatchObject([{ symbol }, {}]);
      expect(await broker.get(`/symbols/${name}/margin?account_id=${id}&lots=0.01`)).toMatchObject({ symbol });
      const [opened] = await source.send(opening(login, `d-${place}`, `p-${place}`, { symbol, lots: "0.01" }));
      expect([symbol, opened]).toMatchObject([symbol, { status: "applied" }]);
      expect((await broker.get(`/positions?symbol=${name}`)).data).toMatchObject([{ symbol }]);
      expect((await broker.get(`/trades?symbol=${name},EURUSD`)).data).toMatchObject([{ symbol }]);
    }
    expect(await source.rejects()).toEqual([]);
    const work = streaming(api, gateway, caller.tenant_id);
    const one = await work.connect();
    await work.subscribe(one, "1", [{ name: "quotes", symbols: [...brokerNames] }]);
    await work.runAll();
    const shown = work.messages(one).flatMap(({ type, quote }) => (type === "quote" ? [quote.symbol] : []));
    expect(shown.toSorted()).toEqual(brokerNames.toSorted());
  });

  it("are no symbol in a path that is not encoded right, nor where none has it", async () => {
    for (const path of ["/symbols/%FF", "/symbols/%2E%2E", "/symbols/BTC%252FUSD", "/quotes/A%7CB"]) {
      const answer = await api.call(caller, "GET", path);
      expect([path, answer.status, answer.body.code]).toEqual([path, 404, "symbol_not_found"]);
    }
  });
});
