import { describe, expect, it } from "vitest";
import type { Quote } from "../../../shared/domain/records/quote.ts";
import { limits } from "../../../shared/limits.ts";
import { closing, opening } from "../../support/builders/bridge.ts";
import { atOnce } from "../../support/builders/brokerage.ts";
import { scanTable } from "../../support/emulator/raw-table.ts";
import { newCaller, withScopes } from "../../support/emulator/request.ts";
import { api, broker, call, caller, newSource, trader, unusedLogin } from "./feed-cases.ts";

describe("text of a platform", () => {
  it("is cleaned: names padded with zero bytes are booked, and are the same names without them", async () => {
    const [source, { id, login }] = [await newSource(), await trader()];
    const [opened] = await source.send(
      opening(`${login}\u0000`, "t-1\u0000\u0000", "tp-1\u0000", { order_id: "\ud800" }),
    );
    expect(opened).toMatchObject({ status: "applied" });
    const [again, closed] = await source.send(opening(login, "t-1", "tp-1"), closing("t-2\u200b", "tp-1"));
    expect([again, closed]).toMatchObject([{ status: "duplicate" }, { status: "applied", trade_id: opened.trade_id }]);
    expect((await broker.get(`/trades/${opened.trade_id}`)).account_id).toBe(id);
    expect(await source.rejects()).toEqual([]);
  });
});

describe("a source", () => {
  it.each([
    [{ name: "internal", platform: "mt5" }, "#/name"],
    [{ name: "mt5:a|b", platform: "mt5" }, "#/name"],
    [{ name: "mt5:live-1", platform: "internal" }, "#/platform"],
    [{ name: "mt5:live-1", platform: "mt5", first_seq: "0" }, "#/first_seq"],
  ])("is not registered as %j", async (body, pointer) => {
    expect(await call("POST", "/feed/sources", body)).toMatchObject({
      status: 422,
      body: { code: "validation_failed", errors: [{ pointer }] },
    });
  });

  it("needs the scope feed:write", async () => {
    const poor = withScopes(caller, "trading:read", "settings:write");
    const answer = await api.call(poor, "POST", "/feed/sources", { body: { name: "mt5:poor", platform: "mt5" } });
    expect(answer).toMatchObject({ status: 403, body: { scope: "feed:write" } });
  });

  it("that has ended does not count against those that a brokerage may have", async () => {
    const own = newCaller();
    const register = (name: string) =>
      api.call(own, "POST", "/feed/sources", { body: { name: `mt5:${name}`, platform: "mt5" } });
    for (let count = 0; count < limits.feed.max_sources; count += 1) {
      const { body } = await register(`ended-${count}`);
      expect((await api.call(own, "DELETE", `/feed/sources/${body.id}`)).status).toBeLessThan(300);
    }
    const live = await atOnce(limits.feed.max_sources, (at) => register(`live-${at}`));
    expect(live.filter(({ status }) => status !== 201)).toEqual([]);
    expect(await register("one-more")).toMatchObject({ status: 409, body: { code: "too_many_feed_sources" } });
  });

  it("has a name of its own", async () => {
    const { name } = await newSource();
    const again = await call("POST", "/feed/sources", { name, platform: "mt4" });
    expect(again).toMatchObject({ status: 409, body: { code: "source_name_taken" } });
  });

  it("is stale until its first batch, an empty one will do, and tells its lag", async () => {
    const source = await newSource({ first_seq: "918" });
    expect(await source.get()).toMatchObject({
      stale: true,
      lag_ms: null,
      expected_next_seq: "918",
      accepted_through: null,
    });
    await source.send();
    expect(await source.get()).toMatchObject({ stale: false, expected_next_seq: "918", authoritative: "platform" });
  });
});

describe("a batch", () => {
  it.each([
    [
      "a gap inside",
      {
        first_seq: "1",
        items: [
          { seq: "1", type: "x" },
          { seq: "3", type: "x" },
        ],
      },
      "#/items/1/seq",
    ],
    ["a first number that is not its own", { first_seq: "1", items: [{ seq: "2", type: "x" }] }, "#/items/0/seq"],
    ["an item without a number", { first_seq: "1", items: [{ type: "x" }] }, "#/items/0/seq"],
  ])("with %s is refused as a whole", async (_, body, pointer) => {
    const { raw, get } = await newSource();
    expect(await raw(body)).toMatchObject({ status: 422, body: { errors: [{ pointer }] } });
    expect(await get()).toMatchObject({ expected_next_seq: "1", last_batch_at: null });
  });

  it("after a gap is refused with the number that is expected, and is no sign of life", async () => {
    const { raw, get } = await newSource();
    const answer = await raw({ first_seq: "7", items: [] });
    expect(answer).toMatchObject({ status: 409, body: { code: "sequence_gap", expected_seq: "1" } });
    expect((await get()).stale).toBe(true);
  });

  it("of more than 100 items is refused", async () => {
    const { raw } = await newSource();
    const items = Array.from({ length: 101 }, (_, place) => ({ seq: String(place + 1), type: "x" }));
    expect((await raw({ first_seq: "1", items })).status).toBe(422);
  });

  it("applies a partial close to the cent of the worked example, with the money that the platform names", async () => {
    const account = await trader();
    const source = await newSource();
    const [opened, swapped, closed] = await source.send(
      opening(account.login, "D-77", "P-41"),
      { type: "swap", data: { position_id: "P-41", amount: "-6.20", for_date: "2026-11-20" } },
      closing("D-78", "P-41", { lots: "0.40", profit: "136.00", commission: "-1.40", swap: "-2.48" }),
    );
    expect([opened.status, swapped.status, closed.status]).toEqual(["applied", "applied", "applied"]);
    expect(await broker.get(`/accounts/${account.id}/balance`)).toMatchObject({ balance: "10128.62" });
    expect(opened.trade_id).toMatch(/^trd_/);
    expect(closed.trade_id).not.toBe(opened.trade_id);
    expect(await source.get()).toMatchObject({ expected_next_seq: "4", accepted_through: "3" });
  });

  it("sent again changes nothing, under its numbers and under others", async () => {
    const account = await trader();
    const source = await newSource();
    const items = [opening(account.login, "D-1", "P-1"), closing("D-2", "P-1", { lots: "0.50" })];
    const first = await source.send(...items);
    const before = await broker.get(`/accounts/${account.id}/balance`);
    const same = await source.raw({
      first_seq: "1",
      items: items.map((item, at) => ({ seq: String(at + 1), ...item })),
    });
    expect(same.body.results.map(({ status }: { status: string }) => status)).toEqual(["duplicate", "duplicate"]);
    const rekeyed = await source.send(...items);
    expect(rekeyed.map(({ status }: { status: string }) => status)).toEqual(["duplicate", "duplicate"]);
    expect(rekeyed[1].trade_id).toBe(first[1].trade_id);
    expect(await broker.get(`/accounts/${account.id}/balance`)).toEqual(before);
  });

  it("sent twice at the same time is applied once", async () => {
    const accounts = [await trader(), await trader(), await trader()];
    const source = await newSource();
    const items = accounts.flatMap(({ login }, at) => [
      opening(login, `D-${at}a`, `P-${at}`),
      closing(`D-${at}b`, `P-${at}`, { profit: "340.00", commission: "-3.50" }),
    ]);
    const body = { first_seq: "1", items: items.map((item, at) => ({ seq: String(at + 1), ...item })) };
    const answers = await atOnce(4, () => source.raw(body));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    for (const { id } of accounts) {
      expect(await broker.get(`/accounts/${id}/balance`)).toMatchObject({ balance: "10333.00", used_margin: "0.00" });
    }
    expect(await source.get()).toMatchObject({ expected_next_seq: "7" });
  });

  it("books deposits and withdrawals of a platform as completed transactions", async () => {
    const account = await trader("100.00");
    const source = await newSource();
    const operation = (operation_id: string, kind: string, amount: string) => ({
      type: "balance_operation",
      data: { operation_id, platform_login: account.login, amount, kind },
    });
    const results = await source.send(
      operation("B-1", "deposit", "50.00"),
      operation("B-2", "withdrawal", "30.00"),
      operation("B-3", "withdrawal", "500.00"),
      operation("B-1", "deposit", "50.00"),
    );
    expect(results).toMatchObject([
      { status: "applied" },
      { status: "applied" },
      { status: "applied" },
      { status: "duplicate", transaction_id: results[0].transaction_id },
    ]);
    expect(await broker.get(`/accounts/${account.id}/balance`)).toMatchObject({ balance: "-380.00" });
    expect(await broker.get(`/transactions/${results[0].transaction_id}`)).toMatchObject({
      status: "completed",
      provider: source.name,
      provider_reference: "B-1",
    });
  });

  it("mirrors pending orders until they end", async () => {
    const account = await trader();
    const source = await newSource();
    const pending = (price: string, at: string) => ({
      type: "order",
      at,
      data: {
        ...{ order_id: "O-10", status: "pending", platform_login: account.login, type: "limit", symbol: "EURUSD" },
        ...{ side: "sell", lots: "0.50", price },
      },
    });
    const ended = (status: string) => ({ type: "order", data: { order_id: "O-10", status } });
    const results = await source.send(
      ended("cancelled"),
      pending("1.12000", "2026-11-21T06:30:00Z"),
      pending("1.13000", "2026-11-21T06:31:00Z"),
      pending("1.13000", "2026-11-21T06:31:00Z"),
      ended("filled"),
      ended("cancelled"),
    );
    expect(results.map(({ status, code }: { status: string; code?: string }) => code ?? status)).toEqual([
      "unknown_order",
      "applied",
      "applied",
      "duplicate",
      "applied",
      "illegal_transition",
    ]);
  });

  it("sets symbols before what comes after them, and keeps what positions are computed from", async () => {
    const account = await trader();
    const source = await newSource();
    const terms = {
      ...{ symbol: "EURSEK", description: "Euro against Swedish krona", asset_class: "forex", calc_mode: "forex" },
      ...{ base_currency: "EUR", quote_currency: "SEK", margin_currency: "EUR", digits: 5, point: "0.00001" },
      ...{ pip_size: "0.0001", contract_size: "100000", lot_min: "0.01", lot_max: "100.00", lot_step: "0.01" },
      commission: { type: "none", amount: "0", currency: "USD" },
      swap: { type: "none", long: "0", short: "0", triple_day: null, rollover_time: "22:00" },
      sessions: [{ day: "monday", open: "00:00", close: "24:00" }],
    };
    const results = await source.send(
      opening(account.login, "D-1", "P-1", { symbol: "EURSEK", price: "11.20000" }),
      { type: "symbol", data: terms },
      opening(account.login, "D-2", "P-2", { symbol: "EURSEK", price: "11.20000", lots: "0.10" }),
      { type: "symbol", data: { ...terms, trading_mode: "close_only", market_status: "halted" } },
      { type: "symbol", data: { ...terms, contract_size: "1000" } },
      {
        type: "symbol",
        data: { ...terms, point: "0.0001", sessions: [{ day: "monday", open: "10:00", close: "09:00" }] },
      },
    );
    expect(results.map(({ status, code }: { status: string; code?: string }) => code ?? status)).toEqual([
      "symbol_not_found",
      "applied",
      "applied",
      "applied",
      "immutable_field",
      "validation_failed",
    ]);
    const symbol = await broker.get("/symbols/EURSEK");
    expect(symbol).toMatchObject({ trading_mode: "close_only", market_status: "halted", version: 2 });
    // Brokers name the same pair on other terms with a suffix in lower case.
    for (const name of ["EURSEK.r", "EURSEKm"]) {
      const [set] = await source.send({ type: "symbol", data: { ...terms, symbol: name } });
      expect(set.status).toBe("applied");
      expect(await broker.get(`/symbols/${name}`)).toMatchObject({ symbol: name, version: 1 });
    }
  });
});

describe("an item that cannot be applied", () => {
  it("is put aside with every fault that it has, and holds up nothing", async () => {
    const account = await trader();
    const source = await newSource();
    const results = await source.send(
      { type: "execution", data: { action: "open", lots: 1, nonsense: true } },
      { type: "riddle", data: {} },
      { type: "execution", at: "yesterday", data: opening(account.login, "D-9", "P-9").data },
      { type: "symbol", data: "x".repeat(20_000) },
      closing("D-1", "P-unknown"),
      opening("0000", "D-2", "P-2"),
      opening(account.login, "D-3", "P-3", { lots: "0.005" }),
      opening(account.login, "D-4", "P-4", { commission: "-0.001" }),
      opening(account.login, "D-5", "P-5"),
    );
    expect(results.map(({ code, status }: { code?: string; status: string }) => code ?? status)).toEqual([
      "validation_failed",
      "validation_failed",
      "validation_failed",
      "payload_too_large",
      "unknown_position",
      "account_not_found",
      "applied",
      "applied",
      "applied",
    ]);
    const rejects = await source.rejects();
    expect(rejects.map(({ seq }: { seq: string }) => seq)).toEqual(["1", "2", "3", "4", "5", "6"]);
    expect(rejects[0]).toMatchObject({ tries: 1, status: "open", item: { type: "execution" } });
    const pointers = rejects[0].errors.map(({ pointer }: { pointer: string }) => pointer);
    expect(pointers).toEqual(expect.arrayContaining(["#/data/nonsense", "#/data/lots", "#/data/deal_id"]));
    expect(rejects[3].item).toEqual({ seq: "4", type: "symbol" });
  });

  it("is tried again when it is asked for, and is applied once what was missing is there", async () => {
    const source = await newSource();
    const login = unusedLogin();
    const [early] = await source.send(opening(login, "D-1", "P-1"));
    expect(early).toMatchObject({ status: "rejected", code: "account_not_found" });
    expect((await source.retry("1")).body).toMatchObject({ seq: "1", status: "rejected" });
    expect(await source.rejects()).toMatchObject([{ seq: "1", tries: 2, version: 2 }]);
    const account = await broker.account("5000.00", {
      type: "demo",
      leverage: 100,
      platform: "mt5",
      platform_login: login,
    });
    const answers = await atOnce(3, () => source.retry("1"));
    const statuses = answers.map(({ body }) => body.status).toSorted();
    expect(statuses).toEqual(["applied", "duplicate", "duplicate"]);
    expect(await source.rejects()).toEqual([]);
    expect(await source.rejects("?status=resolved")).toMatchObject([{ seq: "1", status: "resolved", tries: 3 }]);
    expect((await source.retry("1")).body).toEqual({ seq: "1", status: "duplicate" });
    expect(await broker.get(`/accounts/${account.id}/balance`)).toMatchObject({ balance: "4996.50" });
  });

  it("may come again under another number, and then resolves the one before", async () => {
    const source = await newSource();
    const login = unusedLogin();
    await source.send(opening(login, "D-1", "P-1"));
    await broker.account("5000.00", { type: "demo", leverage: 100, platform: "mt5", platform_login: login });
    expect(await source.send(opening(login, "D-1", "P-1"))).toMatchObject([{ status: "applied" }]);
    expect((await source.retry("1")).body.status).toBe("duplicate");
    expect(await source.rejects()).toEqual([]);
  });

  it("of an unknown id is not retried", async () => {
    const source = await newSource();
    for (const seq of ["1", "0", "x", "brk_"]) expect((await source.retry(seq)).status).toBe(404);
  });
});

describe("a stop-out that a platform did", () => {
  it("announces the call before it and the stop-out after it", async () => {
    const account = await trader("1200.00");
    const source = await newSource();
    await source.send(opening(account.login, "D-1", "P-1", { commission: "0" }));
    const [closed] = await source.send(
      closing("D-2", "P-1", { price: "1.09500", profit: "-510.00", reason: "stop_out" }),
    );
    expect(closed.status).toBe("applied");
    const outboxes = (await scanTable(api.emulator)).filter(({ et }) => et === "OUTBOX");
    const bodies = outboxes.map(({ events }) => (events as string[]).map((event) => JSON.parse(event)));
    const own = bodies.find(([first]) => first.body.type === "margin.call" && first.account_id === account.id) ?? [];
    expect(own.map(({ body }) => body.type)).toEqual(["margin.call", "trade.closed", "stop.out", "margin.recovered"]);
    expect(own[2].body.data.object.stop_out).toMatchObject({ closed_trade_ids: [closed.trade_id] });
  });
});

describe("prices", () => {
  const price = (symbol: string, bid: string, ask: string, seq: string) => ({
    ...{ symbol, bid, ask, seq, time: new Date().toISOString() },
  });
  const quoteOf = async (symbol: string): Promise<Quote> => broker.get(`/quotes/${symbol}`);

  it("of which one is crossed, zero, old or of an unknown symbol change nothing of it", async () => {
    const source = await newSource();
    const send = (...quotes: object[]) => call("POST", `${source.path}/quotes`, { quotes });
    await send(price("NZDUSD", "0.60490", "0.60510", "10"));
    const answer = await send(
      price("NZDUSD", "0.70000", "0.60000", "11"),
      price("NZDUSD", "0.00000", "0.60000", "12"),
      price("NZDUSD", "0.70000", "0.70010", "10"),
      price("NOPE", "1.00000", "1.00010", "13"),
    );
    expect(answer.body).toMatchObject({
      accepted: 0,
      results: [
        { status: "refused", code: "crossed" },
        { status: "refused", code: "invalid_price" },
        { status: "refused", code: "old_sequence" },
        { status: "refused", code: "symbol_not_found" },
      ],
    });
    expect(await quoteOf("NZDUSD")).toMatchObject({ bid: "0.60490", sequence: "10", source: source.name });
  });

  it("of one symbol leave the last, with the high and the low of all of them, however many come at once", async () => {
    const source = await newSource();
    const bids = ["0.66000", "0.67000", "0.65000", "0.66500"];
    const single = (place: number) =>
      call("POST", `${source.path}/quotes`, {
        quotes: [price("AUDUSD", bids[place] ?? "", "0.68000", String(place + 1))],
      });
    await single(0);
    const answers = await atOnce(3, (place) => single(place + 1));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(await quoteOf("AUDUSD")).toMatchObject({ bid: "0.66500", sequence: "4" });
  });

  it("are written two hundred at a time", async () => {
    const source = await newSource();
    const quotes = Array.from({ length: 200 }, (_, place) => {
      const symbol = ["EURUSD", "GBPUSD", "USDJPY", "EURGBP"][place % 4] ?? "";
      return price(
        symbol,
        symbol === "USDJPY" ? "150.000" : "1.10000",
        symbol === "USDJPY" ? "150.010" : "1.10010",
        String(place + 1),
      );
    });
    const { body } = await call("POST", `${source.path}/quotes`, { quotes });
    expect([body.accepted, body.results.length]).toEqual([200, 200]);
    expect(await quoteOf("EURGBP")).toMatchObject({ sequence: "200" });
  });
});
