import { describe, expect, it } from "vitest";
import { feedRejects } from "../../../shared/table/entities.ts";
import { closing, moneyMoved, opening, reversal } from "../../support/builders/bridge.ts";
import { broker, caller, newSource, trader } from "./feed-cases.ts";

const { changeItem } = await import("../../../shared/table/items.ts");

const update = (type: string, data: object, at?: string) => ({ type, data, ...(at === undefined ? {} : { at }) });

const said = (results: readonly { status: string }[]) => results.map(({ status }) => status);

describe("what a platform changes", () => {
  it("of a position and of an account is applied once, in the order of the feed", async () => {
    const [source, { id, login }] = [await newSource({ swap_reporting: "accrued" }), await trader()];
    const at = "2026-11-21T06:31:00.000Z";
    const items = [
      opening(login, "D-1", "P-1"),
      update("position_update", { position_id: "P-1", stop_loss: "1.09", swap: "-6.20" }, at),
      update("account_update", { platform_login: login, leverage: 50, group: "vip", access: "close_only" }, at),
      update("position_update", { position_id: "P-1", stop_loss: null, swap: "-7.00" }, "2026-11-21T06:32:00.000Z"),
    ];
    expect(said(await source.send(...items))).toEqual(["applied", "applied", "applied", "applied"]);
    expect(said(await source.send(...items))).toEqual(["duplicate", "duplicate", "duplicate", "duplicate"]);
    const [position] = (await broker.get(`/accounts/${id}/positions`)).data;
    expect(position).toMatchObject({ stop_loss: null, swap: "-7.00", used_margin: "2200.20" });
    const account = await broker.get(`/accounts/${id}`);
    expect(account).toMatchObject({ leverage: 50, group_id: "vip", trading_mode: "close_only", balance: "9996.50" });
    const [night] = await source.send(update("swap", { position_id: "P-1", amount: "-1.00", for_date: "2026-11-20" }));
    expect(night).toMatchObject({ status: "rejected", code: "validation_failed" });
    expect(await source.get()).toMatchObject({ swap_reporting: "accrued" });
  });
});

describe("a deal that a platform takes back", () => {
  it("is taken back once, in the batch of the deal and after it, and its position can be closed again", async () => {
    const [source, { id, login }] = [await newSource(), await trader()];
    const items = [
      opening(login, "D-1", "P-1"),
      closing("D-2", "P-1", { profit: "340.00", commission: "-3.50" }),
      reversal(login, "R-1", "D-2"),
    ];
    const results = await source.send(...items);
    expect(said(results)).toEqual(["applied", "applied", "applied"]);
    expect(results[2].trade_id).toBe(results[0].trade_id);
    expect(said(await source.send(...items))).toEqual(["duplicate", "duplicate", "duplicate"]);
    expect(await broker.get(`/accounts/${id}/balance`)).toMatchObject({ balance: "9996.50", used_margin: "1100.10" });
    const trade = await broker.get(`/trades/${results[0].trade_id}`);
    expect(trade).toMatchObject({ status: "open", close_reason: null, gross_pnl: null, commission: "-3.50" });
    const [again] = await source.send(reversal(login, "R-2", "D-2"));
    expect(again).toMatchObject({ status: "rejected", code: "unknown_deal" });
    expect(said(await source.send(closing("D-3", "P-1", { lots: "0.40" }), reversal(login, "R-3", "D-3")))).toEqual([
      "applied",
      "applied",
    ]);
    expect(said(await source.send(reversal(login, "R-4", "D-1")))).toEqual(["applied"]);
    expect(await broker.get(`/accounts/${id}/balance`)).toMatchObject({ balance: "10000.00", used_margin: "0.00" });
    const closed = await broker.get(`/accounts/${id}/trades?close_reason=reversed`);
    expect(closed.data.map(({ net_pnl }: { net_pnl: string }) => net_pnl)).toEqual(["0.00", "0.00"]);
  });

  it("gives back what was corrected since, once, and what is corrected again", async () => {
    const source = await newSource({ authoritative: "service" });
    const { id, login } = await trader("100.00");
    const balance = async () => (await broker.get(`/accounts/${id}/balance`)).balance;
    const deals = [
      opening(login, "D-1", "P-1", { commission: "0", lots: "0.01" }),
      closing("D-2", "P-1", { profit: "-300.00" }),
    ];
    expect(said(await source.send(...deals))).toEqual(["applied", "applied"]);
    expect(await balance()).toBe("0.00");
    expect(said(await source.send(reversal(login, "R-1", "D-2")))).toEqual(["applied"]);
    expect(await balance()).toBe("100.00");
    const again = [closing("D-3", "P-1", { profit: "-150.00" }), reversal(login, "R-2", "D-3")];
    expect(said(await source.send(...again))).toEqual(["applied", "applied"]);
    expect(await balance()).toBe("100.00");
  });

  it.each([
    ["a position", {}],
    ["a part of one", { lots: "0.01" }],
  ])("that closed %s leaves no debt of a fee that found less money by it", async (_, part) => {
    const source = await newSource({ authoritative: "service" });
    const { id, login } = await trader("100.00");
    const terms = { commission: "0", lots: "0.02" };
    const loses = (deal: string, position: string, profit: string, more = {}) =>
      closing(deal, position, { commission: "0", profit, ...more });
    const items = [
      opening(login, "D-1", "P-1", terms),
      opening(login, "D-2", "P-2", terms),
      loses("D-3", "P-1", "-150.00", part),
      moneyMoved(login, "B-1", "fee", "-0.10"),
      reversal(login, "R-1", "D-3"),
      loses("D-4", "P-1", "-50.00"),
      loses("D-5", "P-2", "-100.00"),
    ];
    for (const item of items) expect(said(await source.send(item))).toEqual(["applied"]);
    // The fee was paid from 100.00: all that is below zero is a loss of trading, which is corrected.
    expect((await broker.get(`/accounts/${id}/balance`)).balance).toBe("0.00");
  });

  it("of a netting position that it turned round gives the name back", async () => {
    const source = await newSource();
    const { login } = await trader("10000.00", { position_mode: "netting", margin_calculation: "net" });
    const turned = { side: "sell", lots: "1.50" };
    const [first] = await source.send(
      opening(login, "D-1", "N-1"),
      opening(login, "D-2", "N-1", turned),
      reversal(login, "R-1", "D-2"),
    );
    const [closed] = await source.send(closing("D-3", "N-1"));
    expect(closed).toMatchObject({ status: "applied", trade_id: first.trade_id });
  });
});

describe("a closing that is taken back after a later deal opened a position of the same name", () => {
  const inTurn = async (source: Awaited<ReturnType<typeof newSource>>, items: Parameters<typeof source.send>) => {
    const results = [];
    for (const item of items) results.push(...(await source.send(item)));
    return results;
  };
  const netting = async () => (await trader("10000.00", { position_mode: "netting", margin_calculation: "net" })).login;
  const story = (login: string) => [
    opening(login, "E-1", "M-1", { commission: "0" }),
    closing("E-2", "M-1", { profit: "1.00", commission: "0" }),
    opening(login, "E-3", "M-1", { side: "sell", commission: "0" }),
  ];

  it.each(["in one batch", "one by one"])("has the name again once that deal is taken back, %s", async (way) => {
    const [source, login] = [await newSource(), await netting()];
    const items = [...story(login), reversal(login, "R-3", "E-3"), reversal(login, "R-2", "E-2")];
    const results = way === "one by one" ? await inTurn(source, items) : await source.send(...items);
    expect(said(results)).toEqual(["applied", "applied", "applied", "applied", "applied"]);
    const [closed] = await source.send(closing("E-4", "M-1", { profit: "2.00", commission: "0" }));
    expect(closed).toMatchObject({ status: "applied", trade_id: results[0].trade_id });
  });

  it("leaves the name to a position that is open", async () => {
    const [source, login] = [await newSource(), await netting()];
    const [, , later] = await source.send(...story(login));
    expect(later.status).toBe("applied");
    const [back] = await source.send(reversal(login, "R-2", "E-2"));
    const [closed] = await source.send(closing("E-4", "M-1", { profit: "2.00", commission: "0" }));
    expect([back.code, closed]).toEqual([
      "deal_not_reversible",
      expect.objectContaining({ status: "applied", trade_id: later.trade_id }),
    ]);
  });
});

describe("an item of an unknown type", () => {
  it("is put aside as it came and applied by a retry once its type is known", async () => {
    const [source, { id, login }] = [await newSource(), await trader()];
    const [unknown] = await source.send(update("account_renamed", { platform_login: login, name: "x" }));
    expect(unknown).toMatchObject({ status: "rejected", code: "validation_failed" });
    const [reject] = await source.rejects();
    expect(reject).toMatchObject({ status: "open", item: { type: "account_renamed", data: { name: "x" } } });
    // The upgrade: what is stored of the item is of a type that is known by now.
    const item = JSON.stringify({
      seq: reject.seq,
      type: "account_update",
      data: { platform_login: login, group: "vip" },
    });
    await changeItem(feedRejects.key(caller.tenant_id, source.id, reject.seq), { set: { item } });
    expect((await source.retry(reject.seq)).body).toMatchObject({ status: "applied" });
    expect(await broker.get(`/accounts/${id}`)).toMatchObject({ group_id: "vip" });
    expect((await source.rejects("?status=resolved"))[0]).toMatchObject({ seq: reject.seq });
  });
});

describe("a clock that is off", () => {
  it.each([
    ["of a server that is three hours ahead", 3 * 3_600_000],
    ["of the year 2999", Date.parse("2999-01-01T00:00:00.000Z") - Date.now()],
    ["that was never set", -Date.now()],
  ])("%s books its deals at their receipt, and says so each time", async (_, ahead_ms) => {
    const [source, { login }] = [await newSource(), await trader()];
    const at = new Date(Math.round((Date.now() + ahead_ms) / 1000) * 1000).toISOString();
    const before = new Date().toISOString();
    const items = [
      { ...opening(login, "D-1", "P-1"), at },
      { ...closing("D-2", "P-1"), at },
    ];
    const results = await source.send(...items);
    expect(results).toMatchObject([
      { status: "applied", reported_at: at },
      { status: "applied", reported_at: at },
    ]);
    const trade = await broker.get(`/trades/${results[0].trade_id}`);
    for (const time of [trade.open_at, trade.close_at]) {
      expect(time >= before && time <= new Date().toISOString()).toBe(true);
    }
    expect(await source.send(...items)).toMatchObject([{ status: "duplicate", reported_at: at }, { reported_at: at }]);
  });

  it.each([-30 * 86_400_000, 240_000])("within bounds (%i ms) is believed", async (ahead_ms) => {
    const [source, { login }] = [await newSource(), await trader()];
    const at = new Date(Date.now() + ahead_ms).toISOString();
    const [opened] = await source.send({ ...opening(login, "D-1", "P-1"), at });
    expect(opened).not.toHaveProperty("reported_at");
    expect((await broker.get(`/trades/${opened.trade_id}`)).open_at).toBe(at);
  });
});
