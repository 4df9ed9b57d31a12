import { afterAll, describe, expect, it } from "vitest";
import { usedMargin } from "../../../shared/domain/trading/margin.ts";
import { limits } from "../../../shared/limits.ts";
import { accounts, balances } from "../../../shared/table/entities.ts";
import type { Held } from "../../../shared/trading/holdings.ts";
import { brokerage } from "../../support/builders/brokerage.ts";
import { someSymbol } from "../../support/builders/trading.ts";
import { putMarket, putQuote } from "../../support/builders/trading-data.ts";
import { startApi } from "../../support/emulator/api.ts";
import { type RawItem, scanTable } from "../../support/emulator/raw-table.ts";
import { newCaller } from "../../support/emulator/request.ts";
import { failure } from "../../support/emulator/watched-endpoint.ts";
import { findings } from "../../support/oracles/oracle.ts";

const api = await startApi();
afterAll(async () => {
  const found = await findings(api.emulator);
  await api.stop();
  expect(found).toEqual([]);
});
const { tradingFloor } = await import("../../support/builders/trading-floor.ts");

const caller = newCaller();
const tenant = caller.tenant_id;
const broker = brokerage(api, caller);
const floor = tradingFloor(tenant);
await putMarket(api, tenant);

const eurusd = { symbol: "EURUSD", side: "buy", lots: "1.00" } as const;

/** A demo account, so that retail leverage does not hold it back. */
const trader = (amount: string, more: object = {}) => broker.account(amount, { type: "demo", leverage: 100, ...more });

async function itemsOf(accountId: string, type: string): Promise<RawItem[]> {
  const items = await scanTable(api.emulator);
  return items.filter((item) => item["et"] === type && item["account_id"] === accountId);
}

/** A body of an answer. */
type Body = Awaited<ReturnType<typeof broker.get>>;

/** The kinds of the events of an account that its commits wrote, those of its opening and deposit left out. */
async function announced(accountId: string): Promise<string[]> {
  const outboxes = (await scanTable(api.emulator)).filter(({ et }) => et === "OUTBOX");
  const bodies = outboxes
    .toSorted((a, b) => (String(a["sk"]) < String(b["sk"]) ? -1 : 1))
    .flatMap(({ events }) => (events as string[]).map((event) => JSON.parse(event)));
  return bodies
    .filter(({ account_id }) => account_id === accountId)
    .map(({ body }) => body.type)
    .filter((type) => !type.startsWith("account.") && !type.startsWith("transaction."));
}

describe("a trading decision", () => {
  it("of an account that is not there is refused", async () => {
    const outcome = await floor.open("acc_01JD0000000000000000000009", eurusd);
    expect(outcome).toMatchObject({ kind: "refused", refusal: { code: "account_not_found" } });
  });

  it("that is refused changes nothing, its margin neither", async () => {
    const account = await trader("100.00");
    const outcome = await floor.open(account.id, eurusd);
    expect(outcome).toMatchObject({ kind: "refused", refusal: { code: "insufficient_margin" } });
    expect([await itemsOf(account.id, "RISK"), await announced(account.id)]).toEqual([[], []]);
  });

  it("writes trade, position, margin and the prices at which the account is looked at again, all at once", async () => {
    const account = await trader("2000.00");
    api.watched.takeCalls();
    expect((await floor.open(account.id, eurusd)).kind).toBe("done");
    const calls = api.watched.takeCalls().map(({ operation }) => operation);
    expect(calls.filter((operation) => operation === "TransactWriteItems")).toHaveLength(1);
    const [risk] = await itemsOf(account.id, "RISK");
    expect(risk).toMatchObject({ margin_status: "normal", margin_level: "180.89", armed: true, wake_at: null });
    const entries = await itemsOf(account.id, "EXPOSURE");
    expect(entries.map(({ pk }) => String(pk).split("|").slice(1, 4).join("|"))).toEqual(["EXP|EURUSD|dn"]);
    expect(await announced(account.id)).toEqual(["trade.opened"]);
  });

  it.each([
    ["the hold", "insufficient_margin"],
    ["the trade", 409],
  ] as const)("and a hold never pass each other: %s that comes between is seen", async (between, refused) => {
    const account = await trader("1500.00");
    const open = () => floor.open(account.id, eurusd);
    const hold = () =>
      api.call(caller, "POST", "/transactions/withdrawal", { body: { ...held, account_id: account.id } });
    const held = { amount: "1400.00" };
    let came = false;
    api.watched.interfere = async ({ operation }) => {
      if (operation !== "TransactWriteItems" || came) return undefined;
      came = true;
      const other = between === "the hold" ? (await hold()).status : (await open()).kind;
      expect(other).toBe(between === "the hold" ? 201 : "done");
      return undefined;
    };
    const outcome = between === "the hold" ? await open() : (await hold()).status;
    api.watched.interfere = () => undefined;
    expect(outcome).toEqual(
      typeof refused === "number"
        ? refused
        : expect.objectContaining({ refusal: expect.objectContaining({ code: refused }) }),
    );
    expect(Number((await broker.get(`/accounts/${account.id}/balance`)).free_margin)).toBeGreaterThanOrEqual(0);
  });

  it.each([
    ["another leverage", { leverage: 10 }],
    ["other levels", { margin_call_level: "170.00", stop_out_level: "150.00", margin_rearm_level: "175.00" }],
  ])("and %s of its account never pass each other, whichever is committed first", async (_, patch) => {
    const amend = (id: string) => api.call(caller, "PATCH", `/accounts/${id}`, { body: patch });
    const meet = async <T>(first: () => Promise<T>, between: () => Promise<unknown>) => {
      let came = false;
      api.watched.interfere = async ({ operation }) => {
        if (operation === "TransactWriteItems" && !came) {
          came = true;
          await between();
        }
        return undefined;
      };
      const outcome = await first();
      api.watched.interfere = () => undefined;
      return outcome;
    };
    const half = { ...eurusd, lots: "0.50" };
    const opening = await trader("1000.00");
    const opened = await meet(
      () => floor.open(opening.id, half),
      () => amend(opening.id),
    );
    const amending = await trader("1000.00");
    const amended = await meet(
      () => amend(amending.id),
      () => floor.open(amending.id, half),
    );
    if ("leverage" in patch) {
      expect(opened).toMatchObject({ kind: "refused", refusal: { code: "insufficient_margin" } });
      expect([amended.status, amended.body.code]).toEqual([409, "leverage_change_breaches_margin"]);
    } else {
      expect([opened.kind, amended.status]).toEqual(["done", 200]);
      for (const { id } of [opening, amending]) {
        const [entry] = await itemsOf(id, "EXPOSURE");
        // Equity of 935.09 is 170 % of 550.05; the other levels would wait for 1.09110.
        expect(Number(entry?.["trigger"])).toBeGreaterThan(109_860);
      }
    }
  });

  it("is named by every entry of the ledger that it booked", async () => {
    const account = await trader("2000.00");
    const opened = await floor.open(account.id, eurusd);
    await floor.close(account.id, 0);
    const trade = opened.kind === "done" ? opened.result.trade?.id : undefined;
    const { data } = await broker.get(`/accounts/${account.id}/ledger`);
    expect(data).toMatchObject([
      {
        kind: "realised_pnl",
        trade_id: trade,
        transaction_id: null,
        _links: { trade: { href: `https://api.test.example/v2/trades/${trade}` } },
      },
      { kind: "deposit", trade_id: null },
    ]);
  });

  it("leaves no trace of margin behind when its last position is closed", async () => {
    const account = await trader("2000.00");
    await floor.open(account.id, eurusd);
    await floor.close(account.id, 0, "0.40");
    await floor.close(account.id, 0);
    expect(await itemsOf(account.id, "EXPOSURE")).toEqual([]);
    const [risk] = await itemsOf(account.id, "RISK");
    expect(risk).toMatchObject({ margin_level: null, triggers: [], positions_sum: { number: "0" } });
    expect(risk).not.toHaveProperty("list_pk");
    expect(await announced(account.id)).toEqual(["trade.opened", "trade.closed", "trade.closed"]);
  });

  it("is made again when another one came between, and none is lost", async () => {
    const account = await trader("20000.00");
    await Promise.all(Array.from({ length: 6 }, () => floor.open(account.id, { ...eurusd, lots: "0.10" })));
    expect(await itemsOf(account.id, "POSITION")).toHaveLength(6);
    expect((await broker.get(`/accounts/${account.id}`)).used_margin).toBe("660.06");
  });
});

describe("an evaluation", () => {
  it("of an account without positions writes nothing", async () => {
    const account = await trader("100.00");
    expect(await floor.evaluate(account.id)).toMatchObject({ again: false, closed: [] });
    expect(await itemsOf(account.id, "RISK")).toEqual([]);
  });

  it("calls once, liquidates 30 positions in steps, and says so once, in order", async () => {
    const account = await trader("2200.00", { stop_out_order: "most_losing_first" });
    const symbol = someSymbol("EURNOK", { quote_currency: "USD" });
    await putMarket(api, tenant, { EURNOK: ["1.10000", "1.10010"] }, [symbol]);
    for (let index = 0; index < 30; index += 1) {
      expect((await floor.open(account.id, { symbol: "EURNOK", side: "buy", lots: "0.05" })).kind).toBe("done");
    }
    await putQuote(api, tenant, "EURNOK", ["1.09500", "1.09510"]);
    await floor.evaluate(account.id);
    expect((await announced(account.id)).slice(30)).toEqual(["margin.call"]);
    await floor.evaluate(account.id);
    await putQuote(api, tenant, "EURNOK", ["1.07000", "1.07010"]);
    const last = await floor.evaluate(account.id);
    expect(last.running).toBe(false);
    const said = (await announced(account.id)).slice(31);
    // Nothing is left of the account, so the next call is armed again.
    expect(said).toEqual([...Array.from({ length: 30 }, () => "trade.closed"), "stop.out", "margin.recovered"]);
    await floor.evaluate(account.id);
    expect((await announced(account.id)).slice(31)).toEqual(said);
  });

  it("is carried on by whoever comes next when its worker dies after each step, and lets nothing else in", async () => {
    const account = await trader("1300.00");
    const symbol = someSymbol("EURSEK", { quote_currency: "USD" });
    await putMarket(api, tenant, { EURSEK: ["1.10000", "1.10010"] }, [symbol]);
    for (let index = 0; index < 20; index += 1) {
      await floor.open(account.id, { symbol: "EURSEK", side: "buy", lots: "0.05" });
    }
    await putQuote(api, tenant, "EURSEK", ["1.07500", "1.07510"]);
    const left: number[] = [];
    for (let step = 0; step < 2; step += 1) {
      let committed = 0;
      api.watched.interfere = ({ operation }) => {
        if (operation !== "TransactWriteItems") return undefined;
        committed += 1;
        return committed > 1 ? failure("ResourceNotFoundException") : undefined;
      };
      await expect(floor.evaluate(account.id)).rejects.toThrow();
      api.watched.interfere = () => undefined;
      left.push((await itemsOf(account.id, "POSITION")).length);
      const [risk] = await itemsOf(account.id, "RISK");
      expect(String(risk?.["due_pk"])).toMatch(/^DUE\|RISK\|/);
      const refused = { kind: "refused", refusal: { code: "liquidation_in_progress" } };
      expect(await floor.open(account.id, eurusd)).toMatchObject(refused);
    }
    expect(left).toEqual([12, 4]);
    expect(await floor.evaluate(account.id)).toMatchObject({ running: false, again: false });
    expect((await announced(account.id)).filter((type) => type === "stop.out")).toHaveLength(1);
  });

  it("covers the debt of a protected account by a transaction that is listed and that nobody can return", async () => {
    const account = await trader("500.00");
    const symbol = someSymbol("EURDKK", { quote_currency: "USD" });
    await putMarket(api, tenant, { EURDKK: ["1.10000", "1.10010"] }, [symbol]);
    await floor.open(account.id, { symbol: "EURDKK", side: "buy", lots: "0.40" });
    await putQuote(api, tenant, "EURDKK", ["1.08500", "1.08510"]);
    await floor.evaluate(account.id);
    const asked = [
      `/accounts/${account.id}/transactions?kind=negative_balance_correction`,
      "/transactions?kind=negative_balance_correction&status=completed",
    ];
    for (const address of asked) {
      const { data } = await broker.get(address);
      const [correction] = data.filter(({ account_id }: { account_id: string }) => account_id === account.id);
      expect(correction).toMatchObject({ amount: "104.00", balance_before: "-104.00", balance_after: "0.00" });
      const refused = await broker.move(correction, "returned", { force: true });
      expect([refused.status, refused.body.code, refused.body.allowed]).toEqual([409, "illegal_transition", []]);
    }
    expect((await broker.get(`/accounts/${account.id}`)).balance).toBe("0.00");
  });

  it("is repaid by a payout that comes back later: 1,499.00 of 2,000.00 are left of a loss of 501.00", async () => {
    const account = await trader("2000.00", { leverage: 1000 });
    const symbol = someSymbol("EURNOK", { quote_currency: "USD" });
    await putMarket(api, tenant, { EURNOK: ["1.10000", "1.10000"] }, [symbol]);
    const payout = await broker.withdrawal(account, "1800.00");
    expect((await broker.move(payout, "processing")).status).toBe(200);
    await floor.open(account.id, { symbol: "EURNOK", side: "buy", lots: "0.30" });
    await putQuote(api, tenant, "EURNOK", ["1.08330", "1.08330"]);
    await floor.evaluate(account.id);
    expect(await broker.get(`/accounts/${account.id}`)).toMatchObject({ balance: "0.00", balance_version: 4 });
    const failed = await broker.move(payout, "failed");
    expect([failed.status, failed.body.status]).toEqual([200, "failed"]);
    const shown = await broker.get(`/accounts/${account.id}`);
    expect(shown).toMatchObject({ balance: "1499.00", available_balance: "1499.00", balance_version: 6 });
    const { data } = await broker.get(`/accounts/${account.id}/ledger?limit=2`);
    expect(data).toMatchObject([
      { kind: "negative_balance_correction", amount: "-301.00", transaction_id: payout.id },
      { kind: "withdrawal", amount: "1800.00", transaction_id: payout.id },
    ]);
  });

  it("decides nothing on a price that is too old, and looks again at whatever price comes", async () => {
    const account = await trader("1200.00");
    await floor.open(account.id, eurusd);
    const old = new Date(Date.now() - 120_000).toISOString();
    await putQuote(api, tenant, "EURUSD", ["1.05000", "1.05010"], { time: old });
    expect(await floor.evaluate(account.id)).toMatchObject({ waiting: true, closed: [] });
    const entries = await itemsOf(account.id, "EXPOSURE");
    expect(entries.map(({ trigger }) => trigger).toSorted()).toEqual(["0", "1000000000000000000"]);
    await putQuote(api, tenant, "EURUSD", ["1.10000", "1.10010"]);
    await floor.close(account.id, 0);
  });
});

describe("the money of an account with open positions", () => {
  const withdraw = (account: { id: string }, amount: string, more: object = {}) =>
    api.call(caller, "POST", "/transactions/withdrawal", { body: { account_id: account.id, amount }, ...more });
  const amend = (account: { id: string }, body: object) =>
    api.call(caller, "PATCH", `/accounts/${account.id}`, { body });

  it("is paid out as far as margin and losses leave it, and what no longer fits is refused at the end", async () => {
    const account = await trader("2000.00");
    await floor.open(account.id, eurusd);
    await putQuote(api, tenant, "EURUSD", ["1.09700", "1.09710"]);
    const refused = await withdraw(account, "589.91");
    expect([refused.status, refused.body.code, refused.body.withdrawable]).toEqual([
      409,
      "insufficient_free_margin",
      "589.90",
    ]);
    const first = await withdraw(account, "500.00");
    const second = await withdraw(account, "89.90");
    expect([first.status, second.status, (await withdraw(account, "0.01")).status]).toEqual([201, 201, 409]);
    expect((await broker.move(first.body, "completed")).status).toBe(200);
    await putQuote(api, tenant, "EURUSD", ["1.09690", "1.09700"]);
    const late = await broker.move(second.body, "processing");
    expect([late.status, late.body.code]).toEqual([409, "insufficient_free_margin"]);
    expect((await broker.move(second.body, "cancelled")).status).toBe(200);
    await putQuote(api, tenant, "EURUSD", ["1.10000", "1.10010"]);
  });

  it("is never held twice: of parallel withdrawals exactly those are accepted that margin allows", async () => {
    const account = await trader("2000.00");
    await floor.open(account.id, eurusd);
    const answers = await Promise.all(Array.from({ length: 6 }, () => withdraw(account, "200.00")));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 201, 201, 201, 409, 409]);
    expect((await broker.get(`/accounts/${account.id}`)).withdrawable).toBe("89.90");
  });

  it("is not decided on a price that is too old, and the same key may come again", async () => {
    const account = await trader("2000.00");
    await floor.open(account.id, eurusd);
    const old = new Date(Date.now() - 120_000).toISOString();
    await putQuote(api, tenant, "EURUSD", ["1.10000", "1.10010"], { time: old });
    const headers = { "Idempotency-Key": "stale-once" };
    const waiting = await withdraw(account, "10.00", { headers });
    expect([waiting.status, waiting.body.code, waiting.headers["Retry-After"]]).toEqual([409, "metrics_stale", "5"]);
    await putQuote(api, tenant, "EURUSD", ["1.10000", "1.10010"]);
    expect((await withdraw(account, "10.00", { headers })).status).toBe(201);
  });

  it("moves the prices at which the account is looked at with every posting", async () => {
    const account = await trader("2000.00");
    await floor.open(account.id, eurusd);
    const triggers = async () => (await itemsOf(account.id, "EXPOSURE")).map(({ trigger }) => Number(trigger));
    const [before = 0] = await triggers();
    await broker.deposit(account, "1000.00", { status: "completed" });
    const [richer = 0] = await triggers();
    expect(richer).toBeLessThan(before);
    const payment = await withdraw(account, "1000.00");
    expect(await triggers()).toEqual([richer]);
    await broker.move(payment.body, "completed");
    expect(await triggers()).toEqual([before]);
  });

  it("may go below its margin by a forced return, which makes the margin call at once", async () => {
    const account = await trader("100.00");
    const deposit = await broker.deposit(account, "2000.00", { status: "completed" });
    await floor.open(account.id, eurusd);
    const plain = await broker.move(deposit, "returned");
    expect([plain.status, plain.body.code]).toEqual([409, "insufficient_funds"]);
    expect((await broker.move(deposit, "returned", { force: true })).status).toBe(200);
    expect(await announced(account.id)).toEqual(["trade.opened", "margin.call"]);
    const [risk] = await itemsOf(account.id, "RISK");
    expect(risk?.["wake_at"]).not.toBeNull();
    expect(await floor.evaluate(account.id)).toMatchObject({ again: false, running: false });
    expect((await broker.get(`/accounts/${account.id}`)).balance).toBe("90.00");
  });

  it("takes another margin with another leverage, unless that would bring the margin call", async () => {
    const account = await trader("2000.00");
    await floor.open(account.id, eurusd);
    const refused = await amend(account, { leverage: 50 });
    expect([refused.status, refused.body.code]).toEqual([409, "leverage_change_breaches_margin"]);
    const lower = await amend(account, { leverage: 60 });
    expect([lower.status, lower.body.used_margin, lower.body.floating_pnl]).toEqual([200, "1833.50", "-10.00"]);
    const forced = await amend(account, { leverage: 50, force: true });
    expect([forced.status, forced.body.used_margin, forced.body.margin_status]).toEqual([
      200,
      "2200.20",
      "margin_call",
    ]);
    expect(await announced(account.id)).toEqual(["trade.opened", "margin.call"]);
  });

  it("applies at once to more positions than a transaction holds, and is stored although workers die", async () => {
    const account = await trader("90000.00", { margin_calculation: "sum" });
    const count = limits.trading.max_remargined + 2;
    for (let at = 0; at < count; at += 1) {
      const symbol = at % 2 === 0 ? "EURUSD" : "USDJPY";
      expect((await floor.open(account.id, { symbol, side: "buy", lots: "0.02" })).kind).toBe("done");
    }
    const [first] = (await broker.get(`/accounts/${account.id}/positions?limit=1&sort=opened_at`)).data;
    const shown = async () => {
      const [{ used_margin }, { data }, page, one] = await Promise.all([
        broker.get(`/accounts/${account.id}/balance`),
        broker.get(`/accounts/metrics?account_ids=${account.id}`),
        broker.get(`/positions?account_id=${account.id}&limit=100`),
        broker.get(`/positions/${first.id}`),
      ]);
      const listed = page.data.map(({ used_margin: own, version }: Body) => `${own} v${version}`);
      return {
        used_margin,
        same: data[0].used_margin,
        listed,
        one: `${one.used_margin} v${one.version}`,
      };
    };
    const { readKeys } = await import("../../../shared/table/store.ts");
    const { withPositions } = await import("../../../shared/trading/holdings.ts");
    const keys = [accounts.key(tenant, account.id), balances.key(tenant, account.id)];
    const heldBefore = (await readKeys(keys)) as unknown as Held;
    const amended = await amend(account, { leverage: 10 });
    const before = await shown();
    // 31 times 2,000 EUR at 1.10010 and 2,000 USD, a tenth of each.
    expect([amended.status, amended.body.used_margin, before.used_margin]).toEqual([200, "13020.62", "13020.62"]);
    expect([new Set(before.listed), before.one]).toEqual([new Set(["220.02 v2", "200.00 v2"]), "220.02 v2"]);
    const [risk] = await itemsOf(account.id, "RISK");
    expect(risk?.["wake_at"]).toBe(risk?.["updated_at"]);
    expect(await amend(account, { leverage: 20 })).toMatchObject({
      status: 409,
      body: { code: "leverage_change_in_progress" },
      headers: { "Retry-After": "1" },
    });
    // One worker dies before its first step is stored, the next one after it, and a third carries on.
    for (const end of ["before", "after"] as const) {
      let steps = 0;
      api.watched.interfere = ({ operation }) => {
        if (operation !== "TransactWriteItems") return undefined;
        steps += 1;
        return end === "after" && steps === 1 ? undefined : failure("ResourceNotFoundException");
      };
      await expect(floor.evaluate(account.id)).rejects.toThrow();
      api.watched.interfere = () => undefined;
      expect(await shown()).toEqual(before);
      const stored = await itemsOf(account.id, "POSITION");
      const follow = stored.filter(({ leverage_version }) => leverage_version !== undefined);
      expect(follow).toHaveLength(end === "before" ? 0 : count);
      if (end === "after") break;
      // What others do between two steps is decided on the margins of now.
      expect(await findings(api.emulator)).toEqual([]);
      await floor.open(account.id, { ...eurusd, lots: "0.02" });
      await floor.close(account.id, count);
    }
    await floor.evaluate(account.id);
    expect(await shown()).toEqual(before);
    // An account that was read before the change, and its positions after it: never a margin that there was not.
    const [seen] = await withPositions(tenant, [heldBefore]);
    expect([seen?.balance.used_margin_minor, usedMargin("sum", seen?.positions ?? [])]).toEqual([
      1_302_062n,
      1_302_062n,
    ]);
    expect((await itemsOf(account.id, "RISK"))[0]?.["wake_at"]).toBeNull();
    expect((await broker.get(`/accounts/${account.id}`)).version).toBe(amended.body.version);
    expect((await amend(account, { leverage: 20 })).status).toBe(200);
    await floor.evaluate(account.id);
  });

  it("stays with an account that is disabled, and keeps it from being closed", async () => {
    const account = await trader("2000.00");
    await floor.open(account.id, eurusd);
    const disabled = await api.call(caller, "DELETE", `/accounts/${account.id}`);
    expect([disabled.status, disabled.body.status, disabled.body.floating_pnl]).toEqual([200, "disabled", "-10.00"]);
    expect(await floor.open(account.id, eurusd)).toMatchObject({ refusal: { code: "account_disabled" } });
    const closed = await amend(account, { status: "closed" });
    expect([closed.status, closed.body.code, closed.body.left]).toEqual([
      409,
      "account_not_empty",
      ["positions", "a balance"],
    ]);
    await putQuote(api, tenant, "EURUSD", ["1.08500", "1.08510"]);
    const evaluation = await floor.evaluate(account.id);
    expect(evaluation.closed).toHaveLength(1);
    await putQuote(api, tenant, "EURUSD", ["1.10000", "1.10010"]);
  });
});
