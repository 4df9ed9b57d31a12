import { UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { describe, expect, it } from "vitest";
import { newId } from "../../../shared/runtime/ids.ts";
import { balances } from "../../../shared/table/entities.ts";
import { brokerage } from "../../support/builders/brokerage.ts";
import { putMarket, putQuote } from "../../support/builders/trading-data.ts";
import { newCaller } from "../../support/emulator/request.ts";
import {
  all,
  api,
  broker,
  caller,
  demo,
  floor,
  get,
  type Item,
  idle,
  ids,
  lists,
  open,
  pending,
  sorted,
  tenant,
  traded,
  tradingFloor,
} from "./trading-reads-cases.ts";

describe.each(lists)("%s", (path, everything, queries, sorts) => {
  it("shows with every filter and sort what the full list filtered and sorted by hand has", async () => {
    const whole = await all(everything);
    expect(whole.length).toBeGreaterThan(5);
    for (const given of queries) {
      const query = {
        ...given,
        ...(given["account_id"] ? { account_id: traded[Number(given["account_id"])].id } : {}),
      };
      for (const sort of sorts) {
        const address = `${path}?${new URLSearchParams({ ...query, sort })}`;
        const meets = (item: Item) =>
          Object.entries(query).every(([name, words]) => String(words).split(",").includes(item[name]));
        expect([address, ids(await all(address))]).toEqual([address, ids(sorted(whole.filter(meets), sort))]);
      }
    }
  });

  it("of an account is the part of the list that is on it, and 404 when there is no account", async () => {
    const [account] = traded;
    const mine = (await all(everything)).filter(({ account_id }) => account_id === account.id);
    const own = everything.replace(path, `/accounts/${account.id}${path}`);
    expect(ids(await all(own))).toEqual(ids(mine));
    expect(mine.length).toBeGreaterThan(2);
    expect((await get(own, newCaller())).status).toBe(404);
  });

  it("is empty for another tenant, and shows none of its items by id", async () => {
    const stranger = newCaller();
    const [item] = await all(everything);
    expect((await get(everything, stranger)).body.data).toEqual([]);
    expect((await get(`${path}/${item.id}`, stranger)).body.code).toBe("not_found");
    expect((await get(`${path}/${newId(item.id.slice(0, 3))}`)).status).toBe(404);
  });

  it("answers 304 by id to who has it already", async () => {
    const { id } = (await all(everything))[0];
    const { headers } = await get(`${path}/${id}`);
    const again = await api.call(caller, "GET", `${path}/${id}`, {
      headers: { "If-None-Match": headers["ETag"] ?? "" },
    });
    expect([again.status, again.text, again.headers["ETag"]]).toEqual([304, "", headers["ETag"]]);
  });

  it("shows each item as GET by its id shows it", async () => {
    for (const item of (await all(everything)).slice(0, 4))
      expect((await get(`${path}/${item.id}`)).body).toEqual(item);
  });
});

describe("trades", () => {
  it("by their close are the closed ones, in a range that includes its beginning only", async () => {
    const closed = sorted(
      (await all("/trades")).filter(({ status }) => status === "closed"),
      "-close_at",
    );
    expect(closed.length).toBe(4);
    expect(ids(await all("/trades?sort=-close_at"))).toEqual(ids(closed));
    const [, second, third] = closed;
    const range = `close_from=${third.close_at}&close_to=${second.close_at}`;
    const within = closed.filter(({ close_at }) => close_at >= third.close_at && close_at < second.close_at);
    expect(within.length).toBeGreaterThan(0);
    for (const sort of ["-close_at", "-open_at"]) {
      expect(ids(await all(`/trades?sort=${sort}&${range}`)).toSorted()).toEqual(ids(within).toSorted());
    }
    const own = closed.filter(({ account_id }) => account_id === traded[1].id);
    expect(ids(await all(`/accounts/${traded[1].id}/trades?sort=-close_at`))).toEqual(ids(own));
    expect(await all("/trades?sort=-close_at&status=open")).toEqual([]);
  });

  it("within a range of their opening, whichever way they are sorted", async () => {
    const whole = await all("/trades?sort=open_at");
    const [from, to] = [whole[2].open_at, whole.at(-1).open_at];
    const within = whole.filter(({ open_at }) => open_at >= from && open_at < to);
    expect(ids(await all(`/trades?sort=open_at&open_from=${from}&open_to=${to}`))).toEqual(ids(within));
    const closed = within.filter(({ status }) => status === "closed");
    const address = `/trades?sort=-close_at&open_from=${from}&open_to=${to}`;
    expect(ids(await all(address))).toEqual(ids(sorted(closed, "-close_at")));
  });

  it("that are open, as positions, likewise: of all, of a symbol and of an account", async () => {
    const whole = await all("/positions?sort=opened_at");
    const [from, to] = [whole[1].opened_at, whole.at(-1).opened_at];
    for (const [address, own] of [
      ["/positions?", whole],
      [`/positions?symbol=${whole[1].symbol}&`, whole.filter(({ symbol }) => symbol === whole[1].symbol)],
      [`/accounts/${traded[0].id}/positions?`, whole.filter(({ account_id }) => account_id === traded[0].id)],
    ] as const) {
      const within = own.filter(({ opened_at }) => opened_at >= from && opened_at < to);
      expect(within.length).toBeGreaterThan(0);
      expect(ids(await all(`${address}sort=opened_at&opened_from=${from}&opened_to=${to}`))).toEqual(ids(within));
    }
  });

  it("and positions and orders refuse what no item can meet", async () => {
    for (const address of [
      "/trades?symbol=eur%7Cusd",
      "/trades?sort=close_at",
      "/trades?open_from=yesterday",
      "/positions?opened_to=tomorrow",
      "/positions?side=long",
      "/orders?status=open",
      "/accounts/metrics?account_ids=acc_1",
      "/accounts/metrics",
      "/accounts/margin_watch?sort=-margin_level",
    ]) {
      expect([address, (await get(address)).body.code]).toEqual([address, "invalid_parameter"]);
    }
    const detail = (await get("/trades?symbol=eur%7Cusd")).body.errors[0].detail;
    expect(detail).toBe("must be up to 20 names of symbols such as EURUSD, separated by commas");
  });
});

describe("the trades of a client", () => {
  it("are those of all its accounts in one order, of no other client, and 404 when there is no client", async () => {
    const own = await broker.client();
    const accounts: Item[] = [];
    for (const lots of ["0.10", "0.20"]) {
      const { body: account } = await api.call(caller, "POST", "/accounts", { body: { client_id: own.id, ...demo } });
      await broker.deposit(account, "5000.00", { status: "completed" });
      accounts.push(account);
      await open(account, "EURUSD", "buy", lots);
    }
    for (const account of accounts) {
      await open(account, "GBPUSD", "sell", "0.10");
      await floor.close(account.id, 0);
    }
    const address = `/clients/${own.id}/trades`;
    const mine = (await all("/trades")).filter(({ client_id }) => client_id === own.id);
    expect(mine.map(({ account_id }) => account_id)).toHaveLength(4);
    expect(ids(await all(address))).toEqual(ids(mine));
    expect(ids(await all(`${address}?sort=open_at&symbol=EURUSD`))).toEqual(
      ids(mine.filter(({ symbol }) => symbol === "EURUSD").toReversed()),
    );
    const closed = sorted(
      mine.filter(({ status }) => status === "closed"),
      "-close_at",
    );
    expect(closed).toHaveLength(2);
    expect(ids(await all(`${address}?sort=-close_at`))).toEqual(ids(closed));
    const [first] = accounts;
    expect(ids(await all(`${address}?account_id=${first.id}`))).toEqual(
      ids(mine.filter(({ account_id }) => account_id === first.id)),
    );
    expect(await all(`${address}?account_id=${traded[0].id}`)).toEqual([]);
    expect(await all(`/clients/${(await broker.client()).id}/trades`)).toEqual([]);
    expect((await get(address, newCaller())).status).toBe(404);
    expect((await get(`/clients/${newId("cli")}/trades`)).status).toBe(404);
  });
});

describe("orders", () => {
  it("are the pending ones unless another status is asked for", async () => {
    const shown = await all("/orders");
    expect(shown.map(({ status }) => status)).toEqual(["pending", "pending"]);
    expect(ids(await all(`/accounts/${pending.account_id}/orders`))).toEqual([pending.id]);
  });
});

describe("a position", () => {
  it("is valued at the newest price, moves its tag with it, and is gone with its last lot", async () => {
    const account = await broker.account("5000.00", demo);
    const trade = await open(account, "AUDUSD", "buy", "1.00");
    const address = `/positions/${trade.replace("trd_", "pos_")}`;
    const before = await get(address);
    expect(before.body).toMatchObject({
      open_price: "0.66020",
      current_price: "0.66000",
      gross_pnl: "-20.00",
      stale: false,
    });
    await putQuote(api, tenant, "AUDUSD", ["0.66120", "0.66140"]);
    const after = await get(address);
    expect(after.body).toMatchObject({ current_price: "0.66120", gross_pnl: "100.00", version: before.body.version });
    expect(after.headers["ETag"]).not.toBe(before.headers["ETag"]);
    const longAgo = new Date(Date.now() - 3_600_000).toISOString();
    await putQuote(api, tenant, "AUDUSD", ["0.66120", "0.66140"], { time: longAgo });
    expect((await get(address)).body).toMatchObject({ stale: true, quote_at: longAgo });
    await putQuote(api, tenant, "AUDUSD", ["0.66120", "0.66140"]);
    await floor.close(account.id, 0);
    expect((await get(address)).status).toBe(404);
    expect((await get(`/positions/${trade}`)).status).toBe(404);
    expect((await get(`/trades/${trade}`)).body).toMatchObject({ status: "closed", gross_pnl: "100.00" });
  });
});

/** The money of an account in every place that shows it. */
async function moneyOf({ id, client_id }: Item): Promise<Item[]> {
  const only = (list: Item) => list.find((item: Item) => (item.account_id ?? item.id) === id);
  const shown = [
    (await get(`/accounts/${id}`)).body,
    (await get(`/accounts/${id}/balance`)).body,
    only(await all("/accounts")),
    only(await all(`/clients/${client_id}/accounts`)),
    only((await get(`/accounts/metrics?account_ids=${idle.id},${id}`)).body.data),
  ];
  return shown.map(
    ({ balance, floating_pnl, equity, used_margin, free_margin, margin_level, withdrawable, metrics_as_of }) => {
      return { balance, floating_pnl, equity, used_margin, free_margin, margin_level, withdrawable, metrics_as_of };
    },
  );
}

describe("the money of an account", () => {
  it("is that of its balance when it has no positions, with the age of its last movement", async () => {
    const [money, ...others] = await moneyOf(idle);
    expect(money).toMatchObject({ equity: "50.00", used_margin: "0.00", margin_level: null, withdrawable: "50.00" });
    expect(others).toEqual(others.map(() => money));
  });

  it("is the same everywhere, moves with every price that its positions need, and tells the oldest", async () => {
    const account = await broker.account("2000.00", demo);
    await open(account, "EURUSD", "buy", "1.00");
    const oldest = new Date(Date.now() - 20_000).toISOString();
    for (const [bid, ask, pnl, time] of [
      ["1.10100", "1.10110", "90.00", new Date().toISOString()],
      ["1.09510", "1.09520", "-500.00", oldest],
    ] as const) {
      await putQuote(api, tenant, "EURUSD", [bid, ask], { time });
      const [money, ...others] = await moneyOf(account);
      expect(money).toMatchObject({
        balance: "2000.00",
        floating_pnl: pnl,
        used_margin: "1100.10",
        metrics_as_of: time,
      });
      expect(others).toEqual(others.map(() => money));
    }
    expect((await get(`/accounts/${account.id}`)).body).toMatchObject({
      equity: "1500.00",
      free_margin: "399.90",
      margin_level: "136.35",
      withdrawable: "399.90",
      margin_status: "normal",
      metrics_stale: false,
    });
    await putQuote(api, tenant, "EURUSD", ["1.09510", "1.09520"], {
      time: new Date(Date.now() - 61_000).toISOString(),
    });
    expect((await get(`/accounts/${account.id}/balance`)).body.metrics_stale).toBe(true);
    await putMarket(api, tenant);
  });

  it("of several accounts is in the order of the request, and names those that are not there", async () => {
    const unknown = newId("acc");
    const [first, second] = traded;
    const { body } = await get(`/accounts/metrics?account_ids=${second.id},${unknown},${first.id},${second.id}`);
    expect(body.data.map(({ account_id }: Item) => account_id)).toEqual([second.id, first.id]);
    expect(body.missing).toEqual([unknown]);
    const foreign = await get(`/accounts/metrics?account_ids=${first.id}`, newCaller());
    expect(foreign.body).toMatchObject({ data: [], missing: [first.id] });
  });

  it("is read again while the balance counts other positions than are there", async () => {
    const account = await broker.account("2000.00", demo);
    await open(account, "EURUSD", "buy", "0.10");
    const { client, tableName: TableName } = api.emulator;
    const { pk, sk } = balances.key(tenant, account.id);
    const count = (n: string) =>
      client.send(
        new UpdateItemCommand({
          TableName,
          Key: { pk: { S: pk }, sk: { S: sk } },
          UpdateExpression: "SET positions = :n",
          ExpressionAttributeValues: { ":n": { N: n } },
        }),
      );
    await count("2");
    let reads = 0;
    api.watched.interfere = async ({ operation }) => {
      if (operation !== "Query") return undefined;
      reads += 1;
      if (reads === 2) await count("1");
      return undefined;
    };
    const { body } = await get(`/accounts/${account.id}`);
    api.watched.interfere = () => undefined;
    expect([reads, body.used_margin]).toEqual([2, "110.01"]);
  });
});

describe("accounts by margin", () => {
  it("are listed lowest level first, live, with their state; those without positions are not", async () => {
    const own = newCaller();
    const theirs = brokerage(api, own);
    const ownFloor = tradingFloor(own.tenant_id);
    await putMarket(api, own.tenant_id);
    const accounts: Item[] = [];
    for (const amount of ["3000.00", "1200.00", "9000.00"]) {
      const account = await theirs.account(amount, demo);
      await ownFloor.open(account.id, { symbol: "EURUSD", side: "buy", lots: "1.00" });
      accounts.push(account);
    }
    await theirs.account("10.00", demo);
    const [second, lowest, highest] = accounts;
    const watch = async (query = "") => (await get(`/accounts/margin_watch${query}`, own)).body;
    const levels = ({ data }: Item) => data.map(({ account_id, margin_level }: Item) => [account_id, margin_level]);
    expect(levels(await watch())).toEqual([
      [lowest.id, "108.17"],
      [second.id, "271.79"],
      [highest.id, "817.19"],
    ]);
    const page = await watch("?limit=2");
    expect(page.data).toHaveLength(2);
    const next = await get(page._links.next.href.split("/v2")[1], own);
    expect(levels(next.body)).toEqual([[highest.id, "817.19"]]);
    await putQuote(api, own.tenant_id, "EURUSD", ["1.09800", "1.09810"]);
    const [watched] = (await watch()).data;
    expect(watched).toMatchObject({
      evaluated_margin_level: "108.17",
      margin_level: "89.99",
      margin_status: "margin_call",
    });
    const states = async (query: string) => {
      const { body } = await get(`/accounts?margin_status=${query}`, own);
      return body.data.map(({ id }: Item) => id);
    };
    expect(await states("margin_call")).toEqual([]);
    await ownFloor.evaluate(lowest.id);
    expect(await states("margin_call")).toEqual([lowest.id]);
    expect(await states("margin_call&type=live")).toEqual([]);
    expect(await states("normal")).not.toContain(lowest.id);
    expect((await states("normal,margin_call")).length).toBe(4);
    expect(levels(await watch("?margin_status=margin_call"))).toEqual([[lowest.id, "89.99"]]);
  });
});
