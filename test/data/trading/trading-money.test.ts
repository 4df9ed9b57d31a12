import { describe, expect, it } from "vitest";
import { usedMargin } from "../../../shared/domain/trading/margin.ts";
import { sound } from "../../../shared/runtime/unreadable.ts";
import { accounts, balances } from "../../../shared/table/entities.ts";
import type { ListedAccount } from "../../../shared/trading/holdings.ts";
import { putQuote } from "../../support/builders/trading-data.ts";
import { announced, api, broker, caller, eurusd, floor, itemsOf, tenant, trader } from "./trading-cases.ts";

/** A body of an answer. */
type Body = Awaited<ReturnType<typeof broker.get>>;

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

  it("moves the price at which the account is looked at where it would come too late, and not otherwise", async () => {
    const account = await trader("2000.00");
    await floor.open(account.id, eurusd);
    const triggers = async () => (await itemsOf(account.id, "EXPOSURE")).map(({ trigger }) => Number(trigger));
    const [before = 0] = await triggers();
    await broker.deposit(account, "1000.00", { status: "completed" });
    expect(await triggers()).toEqual([before]);
    const payment = await withdraw(account, "1500.00");
    expect(await triggers()).toEqual([before]);
    await broker.move(payment.body, "completed");
    const [poorer = 0] = await triggers();
    expect(poorer).toBeGreaterThan(before);
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

  it("moves the margin of every position with one commit that writes none of them", async () => {
    const account = await trader("90000.00", { margin_calculation: "sum" });
    for (const symbol of ["EURUSD", "USDJPY", "EURUSD", "USDJPY"]) {
      expect((await floor.open(account.id, { symbol, side: "buy", lots: "0.02" })).kind).toBe("done");
    }
    const [first] = (await broker.get(`/accounts/${account.id}/positions?limit=1&sort=opened_at`)).data;
    const { readKeys } = await import("../../../shared/table/store.ts");
    const { withPositions } = await import("../../../shared/trading/holdings.ts");
    const keys = [accounts.key(tenant, account.id), balances.key(tenant, account.id)];
    const heldBefore = (await readKeys(keys)) as unknown as ListedAccount;
    const items = await itemsOf(account.id, "POSITION");
    const amended = await amend(account, { leverage: 10 });
    const [{ used_margin }, { data }, page, own, one] = await Promise.all([
      broker.get(`/accounts/${account.id}/balance`),
      broker.get(`/accounts/metrics?account_ids=${account.id}`),
      broker.get(`/positions?account_id=${account.id}`),
      broker.get(`/accounts/${account.id}/positions`),
      broker.get(`/positions/${first.id}`),
    ]);
    // Twice 2,000 EUR at 1.10010 and 2,000 USD, a tenth of each.
    expect([amended.status, amended.body.used_margin, used_margin, data[0].used_margin]).toEqual([
      200,
      ...Array.from({ length: 3 }, () => "840.04"),
    ]);
    const listed = page.data.map((each: Body) => `${each.used_margin} v${each.version}`);
    expect([new Set(listed), own.data]).toEqual([new Set(["220.02 v1", "200.00 v1"]), page.data]);
    expect(one).toMatchObject({ id: first.id, used_margin: "220.02", version: 1 });
    expect(await itemsOf(account.id, "POSITION")).toEqual(items);
    // An account that was read before the change, and its positions after it: the margin of one moment.
    const [seen] = (await withPositions(tenant, [heldBefore])).map(sound);
    expect(seen && [seen.balance.used_margin_minor, usedMargin(seen)]).toEqual([8_400n, 8_400n]);
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
