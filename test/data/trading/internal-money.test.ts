import { describe, expect, it } from "vitest";
import { symbols } from "../../../shared/table/entities.ts";
import { brokerage } from "../../support/builders/brokerage.ts";
import { someSymbol } from "../../support/builders/trading.ts";
import { putItem, putMarket, putQuote } from "../../support/builders/trading-data.ts";
import { newCaller } from "../../support/emulator/request.ts";
import { failure } from "../../support/emulator/watched-endpoint.ts";
import { api, broker, caller, eurusd, floor, tenant, trader } from "./trading-cases.ts";

/** Transfers there and back; `npm run check:long -- --only transfers` makes more. */
const transferTurns = Number(process.env["TRANSFER_TURNS"] ?? "15");

const checker = newCaller({ tenant_id: caller.tenant_id });

describe("an adjustment", () => {
  const adjust = (account: { id: string }, amount: string) =>
    api.call(caller, "POST", "/transactions/adjustment", {
      body: { account_id: account.id, amount, reason: { code: "goodwill", message: "Late payout" } },
    });
  const approve = (id: string, by = checker) =>
    api.call(by, "PATCH", `/transactions/${id}`, { body: { status: "approved" } });

  it("is made by one application, approved by another, and then in the balance and the ledger", async () => {
    const account = await broker.account("100.00");
    const made = await adjust(account, "-40.25");
    expect([made.status, made.body.amount, made.body.status]).toEqual([201, "-40.25", "pending"]);
    expect((await approve(made.body.id, caller)).body.code).toBe("four_eyes_required");
    expect((await approve(made.body.id)).status).toBe(200);
    expect((await broker.get(`/accounts/${account.id}`)).balance).toBe("100.00");
    expect((await broker.move(made.body, "completed")).body).toMatchObject({ balance_after: "59.75" });
    const [entry] = (await broker.get(`/accounts/${account.id}/ledger`)).data;
    expect(entry).toMatchObject({ kind: "adjustment", amount: "-40.25", transaction_id: made.body.id });
    const listed = await broker.get("/transactions?kind=adjustment&status=completed");
    expect(listed.data.map(({ id }: { id: string }) => id)).toEqual([made.body.id]);
  });

  it("of two at once takes no more than there is, and margin follows it", async () => {
    const account = await trader("2000.00");
    await floor.open(account.id, eurusd);
    const made = await Promise.all([adjust(account, "-500.00"), adjust(account, "-500.00")]);
    for (const { body } of made) expect((await approve(body.id)).status).toBe(200);
    const ends = await Promise.all(made.map(({ body }) => broker.move(body, "completed")));
    expect(ends.map(({ status }) => status).toSorted()).toEqual([200, 409]);
    expect((await broker.get(`/accounts/${account.id}`)).balance).toBe("1500.00");
  });

  it("is refused where a trading platform keeps the balance", async () => {
    const account = await broker.account(undefined, { platform: "mt5", platform_login: "70001" });
    expect(await adjust(account, "1.00")).toMatchObject({ status: 409, body: { code: "platform_account" } });
  });
});

describe("credit", () => {
  const credit = (account: { id: string }, direction: string, amount: string, more: object = {}) =>
    api.call(caller, "POST", "/transactions/credit", {
      body: { account_id: account.id, direction, amount, reason: { code: "bonus" }, ...more },
    });
  const completed = async (account: { id: string }, direction: string, amount: string, more: object = {}) => {
    const made = await credit(account, direction, amount, more);
    expect([made.status, made.body.status]).toEqual([201, "pending"]);
    const { status, body } = await broker.move(made.body, "completed");
    expect([status, body.kind]).toEqual([200, `credit_${direction}`]);
    return body;
  };
  const moneyOf = async ({ id }: { id: string }) => {
    const { balance, credit: left, equity, withdrawable } = await broker.get(`/accounts/${id}`);
    return [balance, left, equity, withdrawable];
  };
  const lotsOf = async ({ id }: { id: string }) => {
    const { credit_lots: lots } = await broker.get(`/accounts/${id}/balance`);
    return lots.map(({ amount }: { amount: string }) => amount);
  };
  const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();

  it("raises equity, cannot be withdrawn, and entries that move credit take what ends first", async () => {
    const account = await broker.account("100.00");
    const kept = await completed(account, "in", "50.00");
    const ends = await completed(account, "in", "30.00", { expires_at: inHours(48) });
    expect([kept.credit, ends.credit.expired_at, ends.balance_after]).toEqual([
      { expires_at: null, expired_at: null },
      null,
      "100.00",
    ]);
    expect(await moneyOf(account)).toEqual(["100.00", "80.00", "180.00", "100.00"]);
    expect((await completed(account, "out", "40.00")).credit).toBeUndefined();
    expect(await lotsOf(account)).toEqual(["40.00"]);
    const { data } = await broker.get(`/accounts/${account.id}/ledger`);
    expect(data.map((entry: Record<string, unknown>) => [entry["kind"], entry["amount"], entry["moves"]])).toEqual([
      ["credit_out", "-40.00", "credit"],
      ["credit_in", "30.00", "credit"],
      ["credit_in", "50.00", "credit"],
      ["deposit", "100.00", "balance"],
    ]);
    const more = await credit(account, "out", "40.01");
    expect((await broker.move(more.body, "completed")).body).toMatchObject({
      status: 409,
      code: "insufficient_credit",
      credit: "40.00",
    });
  });

  it("follows four eyes, and is refused beyond ten lots and on an account of a platform", async () => {
    const own = newCaller({ tenant_id: caller.tenant_id });
    const account = await broker.account();
    await api.call(caller, "PATCH", "/settings", { body: { four_eyes: true } });
    const made = (await credit(account, "in", "1.00")).body;
    expect((await broker.move(made, "completed")).body.code).toBe("illegal_transition");
    expect((await broker.move(made, "approved")).body.code).toBe("four_eyes_required");
    const approve = { body: { status: "approved" } };
    expect((await api.call(own, "PATCH", `/transactions/${made.id}`, approve)).status).toBe(200);
    expect((await broker.move(made, "completed")).status).toBe(200);
    await api.call(caller, "PATCH", "/settings", { body: { four_eyes: false } });
    for (let count = 1; count < 10; count += 1) await completed(account, "in", "1.00");
    const last = await credit(account, "in", "1.00");
    expect((await broker.move(last.body, "completed")).body.code).toBe("too_many_credit_lots");
    await broker.move(last.body, "cancelled");
    const link = await api.call(caller, "PATCH", `/accounts/${account.id}`, { body: { platform_login: "70003" } });
    expect(link.status).toBe(200);
    const linked = await broker.account(undefined, { platform: "mt5", platform_login: "70004" });
    expect(await credit(linked, "in", "1.00")).toMatchObject({ status: 409, body: { code: "platform_account" } });
    expect((await credit(account, "out", "1.00", { expires_at: inHours(1) })).body).toMatchObject({
      status: 422,
      errors: [{ pointer: "#/expires_at" }],
    });
  });

  it.each([
    ["keep", "80.00"],
    ["remove", "0.00"],
    // 33.33 of 100.00 of 80.00 is 26.664.
    ["prorate", "53.33"],
  ])(
    "with the policy %s leaves %s after a withdrawal or a transfer of a third, and all once it failed",
    async (policy, left) => {
      const own = newCaller();
      const theirs = brokerage(api, own);
      const settings = { body: { credit_on_withdrawal: policy } };
      expect((await api.call(own, "PATCH", "/settings", settings)).body.credit_on_withdrawal).toBe(policy);
      const account = await theirs.account("100.00");
      const body = { account_id: account.id, direction: "in", amount: "80.00", reason: { code: "bonus" } };
      await theirs.move((await api.call(own, "POST", "/transactions/credit", { body })).body, "completed");
      const payout = await theirs.withdrawal(account, "33.33");
      expect((await theirs.get(`/accounts/${account.id}`)).credit).toBe("80.00");
      await theirs.move(payout, "processing");
      expect((await theirs.get(`/accounts/${account.id}`)).credit).toBe(left);
      await theirs.move(payout, "failed");
      expect((await theirs.get(`/accounts/${account.id}`)).credit).toBe("80.00");
      const { body: other } = await api.call(own, "POST", "/accounts", { body: { client_id: account.client_id } });
      const transfer = { from_account_id: account.id, to_account_id: other.id, amount: "33.33" };
      expect((await api.call(own, "POST", "/transactions/transfer", { body: transfer })).status).toBe(201);
      expect((await theirs.get(`/accounts/${account.id}`)).credit).toBe(left);
    },
  );

  it("that positions need is not taken back, carries them, and pays the loss with the last one", async () => {
    const account = await trader("900.00");
    await completed(account, "in", "500.00");
    expect(await floor.open(account.id, eurusd)).toMatchObject({ kind: "done" });
    const back = (await credit(account, "out", "400.00")).body;
    expect((await broker.move(back, "completed")).body).toMatchObject({
      status: 409,
      code: "insufficient_free_margin",
    });
    await broker.move(back, "cancelled");
    await putQuote(api, tenant, "EURUSD", ["1.08810", "1.08820"]);
    await floor.evaluate(account.id);
    await putQuote(api, tenant, "EURUSD", ["1.10000", "1.10010"]);
    expect(await moneyOf(account)).toEqual(["0.00", "200.00", "200.00", "0.00"]);
    const { data } = await broker.get(`/accounts/${account.id}/ledger?kind=credit_out`);
    expect(data.map(({ amount, moves }: Record<string, string>) => [amount, moves])).toEqual([
      ["300.00", "balance"],
      ["-300.00", "credit"],
    ]);
  });
});

describe("a transfer", () => {
  const transfer = (from: { id: string }, to: { id: string }, amount: string, more: object = {}, headers = {}) =>
    api.call(caller, "POST", "/transactions/transfer", {
      body: { from_account_id: from.id, to_account_id: to.id, amount, ...more },
      headers,
    });
  const quote = (from: { id: string }, to: { id: string }, amount: string) =>
    api.call(caller, "POST", "/transfer_quotes", { body: { from_account_id: from.id, to_account_id: to.id, amount } });
  const second = async (first: { client_id: string }, more: object = {}) => {
    const made = await api.call(caller, "POST", "/accounts", { body: { client_id: first.client_id, ...more } });
    return made.body;
  };
  const balanceOf = async ({ id }: { id: string }) => (await broker.get(`/accounts/${id}`)).balance;

  it("books both legs in one commit, each with its ledger entry, and names the one in the other", async () => {
    const from = await broker.account("100.00");
    const to = await second(from);
    const { status, body } = await transfer(from, to, "40.00", { external_id: "move-1", description: "To savings" });
    expect([status, body.kind, body.status, body.amount, body.balance_after]).toEqual([
      201,
      "transfer_out",
      "completed",
      "40.00",
      "60.00",
    ]);
    expect(body.transfer).toMatchObject({ account_id: to.id, amount: "40.00", conversion: null, quote_id: null });
    const into = await broker.get(`/transactions/${body.transfer.transaction_id}`);
    expect(into).toMatchObject({ kind: "transfer_in", amount: "40.00", balance_after: "40.00", external_id: null });
    expect(into.transfer).toMatchObject({ transfer_id: body.transfer.transfer_id, transaction_id: body.id });
    expect((await broker.get(`/accounts/${to.id}/ledger`)).data).toMatchObject([{ kind: "transfer_in" }]);
    expect(await transfer(from, to, "60.01")).toMatchObject({ status: 422, body: { code: "insufficient_funds" } });
    expect((await broker.move(body, "returned")).body.code).toBe("illegal_transition");
  });

  it("between USD and JPY at a firm quote is exact to the digit on both sides, and uses the quote once", async () => {
    const dollars = await broker.account("1000.00");
    const yen = await second(dollars, { currency: "JPY" });
    const { status, body } = await quote(dollars, yen, "100.00");
    expect([status, body.credited_amount, body.credited_currency, body.mark_up_percent]).toEqual([
      200,
      "14924",
      "JPY",
      "0.50",
    ]);
    expect(body.conversion.via).toEqual([{ symbol: "USDJPY", op: "multiply", price: "149.990", mid: "150.000" }]);
    await putQuote(api, tenant, "USDJPY", ["100.000", "100.020"]);
    expect((await transfer(dollars, yen, "100.01", { quote_id: body.id })).body.code).toBe("transfer_quote_invalid");
    const answers = await Promise.all([1, 2].map(() => transfer(dollars, yen, "100.00", { quote_id: body.id })));
    expect(answers.map((each) => each.status).toSorted()).toEqual([201, 409]);
    await putQuote(api, tenant, "USDJPY", ["149.990", "150.010"]);
    expect([await balanceOf(dollars), await balanceOf(yen)]).toEqual(["900.00", "14924"]);
    const back = (await quote(yen, dollars, "14924")).body;
    expect(back.credited_amount).toBe("98.98");
    await quote(yen, dollars, "15");
    expect((await transfer(yen, dollars, "14924", { quote_id: back.id })).body.code).toBe("transfer_quote_invalid");
  });

  it("there and back again any number of times makes no money", async () => {
    const dollars = await broker.account("1000.00");
    const euros = await second(dollars, { currency: "EUR" });
    let held = "1000.00";
    for (let turn = 0; turn < transferTurns; turn += 1) {
      const there = await transfer(dollars, euros, held);
      const back = await transfer(euros, dollars, there.body.transfer.amount);
      expect([there.status, back.status]).toEqual([201, 201]);
      expect(Number(back.body.transfer.amount)).toBeLessThanOrEqual(Number(held));
      held = back.body.transfer.amount;
    }
    expect([await balanceOf(dollars), await balanceOf(euros)]).toEqual([held, "0.00"]);
  });

  it("at the prices of its commit keeps the spread, the mark-up and the rounding for the brokerage", async () => {
    const own = newCaller();
    await putMarket(api, own.tenant_id);
    const theirs = brokerage(api, own);
    const call = (path: string, body: object) => api.call(own, "POST", path, { body });
    await api.call(own, "PATCH", "/settings", { body: { transfer_mark_up_percent: "0" } });
    expect((await theirs.get("/settings")).transfer_mark_up_percent).toBe("0.00");
    await api.call(own, "PATCH", "/settings", { body: { transfer_mark_up_percent: "0.5" } });
    const from = await theirs.account("1000.00");
    const { body: to } = await call("/accounts", { client_id: from.client_id, currency: "EUR" });
    const sides = { from_account_id: from.id, to_account_id: to.id };
    const { body } = await call("/transactions/transfer", { ...sides, amount: "100.00" });
    // 100 / 1.10010 = 90.9008, less 0.5 % is 90.4463.
    expect(body.transfer).toMatchObject({ amount: "90.44", mark_up_percent: "0.50" });
    expect(await call("/transactions/transfer", { ...sides, amount: "0.01" })).toMatchObject({
      status: 422,
      body: { code: "amount_too_small" },
    });
    await putQuote(api, own.tenant_id, "EURUSD", ["1.1", "1.1"], { time: new Date(Date.now() - 90_000).toISOString() });
    expect(await call("/transactions/transfer", { ...sides, amount: "1.00" })).toMatchObject({
      status: 409,
      body: { code: "metrics_stale" },
    });
    await putItem(api, symbols, { ...someSymbol("EURUSD", { sessions: [] }), tenant_id: own.tenant_id });
    expect((await call("/transactions/transfer", { ...sides, amount: "1.00" })).body.code).toBe("market_closed");
    expect((await call("/transfer_quotes", { ...sides, amount: "1.00" })).body.code).toBe("market_closed");
  });

  it("leaves both accounts as they were wherever its function dies, and is made once by the same key", async () => {
    const from = await trader("2000.00");
    await floor.open(from.id, eurusd);
    const to = await second(from, { type: "demo" });
    let made = 0;
    for (let calls = 1; made === 0; calls += 1) {
      let seen = 0;
      api.watched.interfere = () => {
        seen += 1;
        return seen === calls ? failure("ResourceNotFoundException") : undefined;
      };
      const headers = { "Idempotency-Key": "transfer-once" };
      const answer = await transfer(from, to, "100.00", {}, headers).finally(() => {
        api.watched.interfere = () => undefined;
      });
      made = answer.status === 201 && seen < calls ? 1 : 0;
      const both = [await balanceOf(from), await balanceOf(to)];
      expect([
        ["2000.00", "0.00"],
        ["1900.00", "100.00"],
      ]).toContainEqual(both);
    }
    expect([await balanceOf(from), await balanceOf(to)]).toEqual(["1900.00", "100.00"]);
    expect((await broker.get(`/accounts/${from.id}/transactions?kind=transfer_out`)).data).toHaveLength(1);
  });

  it("of parallel ones both ways loses and makes no money, and takes no more than margin leaves", async () => {
    const one = await broker.account("100.00");
    const other = await second(one);
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, at) =>
        at % 2 === 0 ? transfer(one, other, "30.00") : transfer(other, one, "10.00"),
      ),
    );
    expect(answers.filter(({ status }) => status !== 201 && status !== 422 && status !== 503)).toEqual([]);
    const both = [await balanceOf(one), await balanceOf(other)].map(Number);
    expect((both[0] ?? 0) + (both[1] ?? 0)).toBe(100);
    const account = await trader("2000.00");
    await floor.open(account.id, eurusd);
    const demo = await second(account, { type: "demo" });
    expect(await transfer(account, demo, "890.00")).toMatchObject({
      status: 409,
      body: { code: "insufficient_free_margin", withdrawable: "889.90" },
    });
    expect((await transfer(account, demo, "889.90")).status).toBe(201);
  });

  it("is refused between one account and itself, live and demo, and where money is moved by hand", async () => {
    const from = await broker.account("100.00");
    const demo = await second(from, { type: "demo" });
    const linked = await second(from, { platform: "mt5", platform_login: "70002" });
    const codes = [];
    for (const to of [from, demo, linked]) codes.push((await transfer(from, to, "1.00")).body.code);
    expect(codes).toEqual(["transfer_not_allowed", "transfer_not_allowed", "platform_account"]);
    expect((await quote(from, await broker.account(), "1.00")).body.code).toBe("transfer_not_allowed");
    expect((await quote(from, await second(from), "1.00")).body.code).toBe("transfer_not_allowed");
    expect((await transfer(from, { id: "acc_01JD0000000000000000000009" }, "1.00")).body).toMatchObject({
      code: "account_not_found",
      errors: [{ pointer: "#/to_account_id" }],
    });
  });
});

const { publishWaiting } = await import("../../support/emulator/publishing.ts");

describe("the summary of transactions", () => {
  const own = newCaller();
  const theirs = brokerage(api, own);
  const today = new Date().toISOString().slice(0, 10);
  const later = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
  const summary = (from: string, to: string) => api.call(own, "GET", `/transactions/summary?from=${from}&to=${to}`);

  it("has the sums of each day, type, status and currency, exact, and of no other brokerage", async () => {
    const account = await theirs.account("100.10");
    await theirs.deposit(account, "0.20", { fee: "0.05", status: "completed" });
    await theirs.deposit(account, "7.00");
    await theirs.withdrawal(account, "1.00");
    await theirs.account("1000", { currency: "JPY" });
    await theirs.account("9.00", { type: "demo" });
    await publishWaiting(api.emulator, own.tenant_id);
    const { status, body } = await summary(today, later);
    const rows = body.data.map(({ day, ...row }: { day: string }) => Object.values(row).join(" "));
    expect([status, rows]).toEqual([
      200,
      [
        "live deposit completed JPY 1 1000 0 1000",
        "live deposit completed USD 2 100.30 0.05 100.25",
        "live deposit pending USD 1 7.00 0.00 7.00",
        "live withdrawal pending USD 1 1.00 0.00 1.00",
        "demo deposit completed USD 1 9.00 0.00 9.00",
      ],
    ]);
    expect((await summary("2026-01-01", "2026-01-31")).body.data).toEqual([]);
  });

  it("refuses days in the wrong order, more than 92, and more rows than an answer takes", async () => {
    expect((await summary("2026-01-02", "2026-01-01")).status).toBe(400);
    expect([
      (await summary("2026-01-01", "2026-04-02")).status,
      (await summary("2026-01-01", "2026-04-03")).status,
    ]).toEqual([200, 400]);
    const { summarize } = await import("../../../shared/sums/summary.ts");
    const days = { from: today, to: later };
    expect((await summarize(own.tenant_id, days, 5)).data).toHaveLength(5);
    await expect(summarize(own.tenant_id, days, 4)).rejects.toMatchObject({ code: "invalid_parameter" });
  });

  it("is a table where that is asked for, a line for each row", async () => {
    const path = `/transactions/summary?from=${today}&to=${later}&format=csv`;
    const { status, text } = await api.call(own, "GET", path);
    const [head, ...lines] = text.trimEnd().split("\r\n");
    expect([status, head]).toEqual([200, "day,account_type,kind,status,currency,count,amount,fee,net_amount"]);
    expect(lines.map((line) => line.split(",").slice(1).join(","))).toContain(
      "live,deposit,completed,USD,2,100.30,0.05,100.25",
    );
  });
});
