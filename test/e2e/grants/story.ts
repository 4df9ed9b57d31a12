import { expect } from "vitest";
import type { Account } from "../../../shared/domain/records/account.ts";
import { draftRisk } from "../../../shared/domain/trading/risk.ts";
import { balances, orders, positions, risks } from "../../../shared/table/entities.ts";
import { itemOf } from "../../../shared/table/write.ts";
import { decisionContext, someAccount } from "../../support/builders/decisions.ts";
import { someMarket, someOrder, somePosition } from "../../support/builders/trading.ts";
import { fundedAccount, someClient } from "../../support/stack/api-client.ts";
import { floorOf } from "../../support/stack/cloud-floor.ts";
import type { Receiver } from "../../support/stack/receiver.ts";
import type { Stack } from "../../support/stack/stack.ts";
import { eventually } from "../../support/wait.ts";
import { tellOfRefusals, tellOfSealing } from "./audit.ts";
import { tellOfBooks } from "./books.ts";
import { tellOfDrift } from "./drift.ts";
import { tellOfCommands, tellOfInternalMoney } from "./money.ts";
import { needed, type Placing, put, quote, quoteSymbol, type StoryOptions, withPlacing } from "./stack.ts";
import { tellOfStream } from "./stream.ts";

/**
 * Endpoints from which the sweep has work: one that fails until a long rung of the ladder, which only the sweep can
 * send, one that is deleted, so that there is something to cancel, and one that answers 410, which the deliverer may
 * note and not write. A last one takes what comes.
 */
async function tellOfWebhooks({ api }: Stack, receiver: Receiver): Promise<void> {
  const statuses: Readonly<Record<string, number>> = { "/failing": 500, "/closed": 410 };
  receiver.answer = (call, reply) => {
    reply.writeHead(statuses[call.path] ?? 200).end();
  };
  const create = async (path: string, event_types: string[]) => {
    const body = { url: `${receiver.url}${path}`, event_types };
    const made = await api.call<{ id: string }>("POST", "/webhook_endpoints", { body });
    expect(made.status, made.text).toBe(201);
    return `/webhook_endpoints/${made.body.id}`;
  };
  await create("/good", ["*"]);
  const failing = await create("/failing", ["client.created"]);
  const gone = await create("/gone", ["stop.out"]);
  const closed = await create("/closed", ["stop.out"]);
  expect((await api.call("DELETE", gone)).status).toBe(200);
  await api.call("POST", `${closed}/test`, { body: { type: "client.created" } });
  await eventually(async () => {
    const { body } = await api.call("GET", closed);
    return body["status"] === "auto_disabled" || undefined;
  });
  await api.call("POST", "/clients", { body: someClient() });
  await eventually(() => receiver.received.filter(({ path }) => path === "/failing").length >= 4 || undefined, 60_000);
  await api.call("PATCH", failing, { body: { status: "disabled" } });
}

/** An account that a falling price calls: the sweep forgets the symbol once the price is back. */
async function tellOfPrices(stack: Stack): Promise<void> {
  const { account_id } = await fundedAccount(stack.api, "50.00");
  await quoteSymbol(stack);
  const floor = await floorOf(stack);
  const opened = await floor.open(account_id, { symbol: "EURUSD", side: "buy", lots: "0.01" });
  expect(opened.kind).toBe("done");
  await quote(stack, ["1.08000", "1.08010"]);
  await eventually(async () => {
    const { text } = await stack.api.call("GET", `/events?account_id=${account_id}`);
    return text.includes("margin.call") || undefined;
  });
  await quote(stack, ["1.10000", "1.10010"]);
  await needed(stack, "margin-sweep Delete");
}

/** Acts of the sandbox's providers with the money of an account that has an open position. */
async function tellOfProviders(placing: Placing, post: (kind: string) => Promise<string>): Promise<void> {
  const { api } = placing.stack;
  const trigger = async (address: string) => {
    const headers = { "Idempotency-Key": address };
    const { status, text } = await api.call("POST", `/sandbox/${address}`, { headers });
    expect([status, text]).toEqual([200, text]);
  };
  const paid = await post("deposit");
  await withPlacing(placing, "sandbox-settle-transaction", () => trigger(`transactions/${paid}/settle`));
  await withPlacing(placing, "sandbox-return-transaction", () => trigger(`transactions/${paid}/return`));
  const declined = await post("withdrawal");
  await api.call("PATCH", `/transactions/${declined}`, { body: { status: "processing" } });
  await withPlacing(placing, "sandbox-fail-transaction", () => trigger(`transactions/${declined}/fail`));
  await withPlacing(placing, "sandbox-simulate-provider", async () => {
    const body = { account_id: placing.account_id, amount: "1.19", provider: "sandbox" };
    const { body: provided } = await api.call<{ id: string }>("POST", "/transactions/deposit", { body });
    await eventually(async () => {
      const { body: now } = await api.call("GET", `/transactions/${provided.id}`);
      return now["status"] === "completed" || undefined;
    });
  });
}

/** An account with an open position and an order, every change of its money, and its end. */
async function tellOfMargin({ stack, saboteur }: StoryOptions): Promise<void> {
  const { api, tenant_id } = stack;
  const { account_id } = await fundedAccount(api, "100.00");
  await quoteSymbol(stack);
  const { body } = await api.call<Record<string, never>>("GET", `/accounts/${account_id}`);
  const account = { ...body, tenant_id } as unknown as Account;
  const deal = { symbol: "EURUSD", side: "buy", lots: "0.01", open_price: "1.10010" } as const;
  const position = somePosition(account, someMarket(), { ...deal, tenant_id });
  const { balance } = someAccount({}, { balance_minor: 10_000n });
  const context = decisionContext({ tenant_id });
  const own = { account_id, tenant_id, seq: 1, positions: 1, used_margin_minor: 1100n };
  // Due since some time after it was written, as an abandoned liquidation is: the sweep sends for it.
  const written = { created_at: "2026-11-21T06:00:00.000Z", updated_at: "2026-11-21T06:00:00.000Z" };
  const risk = { ...draftRisk(account, context), ...written, triggers: [], wake_at: context.now };
  const of = { seq: 0, pos_version: 0 };
  await put(
    stack,
    "main",
    itemOf(positions, position),
    itemOf(risks, { ...risk, ...of }),
    itemOf(balances, { ...balance, ...own }),
  );
  // Every change below evaluates the account and moves its wake, so the sweep has to find it first.
  await needed(stack, "margin-sweep SendAccounts");
  const move = (path: string, fields: object) => api.call("PATCH", path, { body: fields });
  const post = async (kind: string, status?: string) => {
    const body = { account_id, amount: "1.00", ...(status === undefined ? {} : { status }) };
    const made = await api.call<{ id: string }>("POST", `/transactions/${kind}`, { body });
    expect(made.status, made.text).toBe(201);
    return made.body.id;
  };
  const placing = { stack, saboteur, account_id };
  for (const kind of ["deposit", "withdrawal"]) {
    await withPlacing(placing, `create-${kind}`, () => post(kind, "completed"));
  }
  const pending = `/transactions/${await post("withdrawal")}`;
  const completed = await withPlacing(placing, "update-transaction", () => move(pending, { status: "completed" }));
  expect(completed.status).toBe(200);
  await tellOfProviders(placing, post);
  // The account is disabled: its order is for the sweep to cancel.
  const now = new Date().toISOString();
  const order = someOrder({ tenant_id, account_id, created_at: now, updated_at: now });
  await put(stack, "main", itemOf(orders, order));
  expect((await api.call("DELETE", `/accounts/${account_id}`)).status).toBe(200);
}

/** Items of a bridge for an account, with one that is put aside and closes its position when it is retried. */
async function tellOfFeed({ api }: Stack): Promise<void> {
  const { account_id } = await fundedAccount(api, "5000.00");
  const login = { platform: "mt5", platform_login: "7001" };
  const { body: live } = await api.call<{ client_id: string }>("GET", `/accounts/${account_id}`);
  await api.call("POST", "/accounts", { body: { client_id: live.client_id, ...login } });
  const headers = { "Idempotency-Key": "source" };
  const body = { name: "mt5:story", platform: "mt5" };
  const { body: source } = await api.call<{ id: string }>("POST", "/feed/sources", { body, headers });
  const path = `/feed/sources/${source.id}`;
  const { platform_login } = login;
  const deal = { platform_login, symbol: "EURUSD", side: "buy", lots: "1.00", price: "1.10010" };
  const price = { price: "1.10350" };
  const items = [
    { type: "balance_operation", data: { operation_id: "B-1", platform_login, amount: "5000.00", kind: "deposit" } },
    { type: "execution", data: { action: "close", deal_id: "D-0", position_id: "P-1", ...price } },
    { type: "execution", data: { action: "open", deal_id: "D-1", position_id: "P-1", ...deal } },
    { type: "execution", data: { action: "open", deal_id: "D-2", position_id: "P-2", ...deal } },
    { type: "execution", data: { action: "close", deal_id: "D-3", position_id: "P-2", ...price } },
  ].map((item, place) => ({ seq: String(place + 1), ...item }));
  const sent = await api.call<{ results: { status: string }[] }>("POST", `${path}/batches`, {
    body: { first_seq: "1", items },
  });
  const statuses = sent.body.results.map(({ status }) => status);
  expect(statuses, sent.text).toEqual(["applied", "rejected", "applied", "applied", "applied"]);
  const retried = await api.call<{ status: string }>("POST", `${path}/rejects/2/retry`);
  expect(retried.body.status, retried.text).toBe("applied");
}

/** Acts of an integrator on the market of the sandbox: a stop loss and a stop-out among them. */
async function tellOfSandboxMarket({ stack, saboteur }: StoryOptions): Promise<void> {
  // In a tenant of its own: its prices are for its own accounts.
  const { api, tenant_id } = await stack.newApplication();
  const { account_id } = await fundedAccount(api, "5000.00");
  let calls = 0;
  const post = async (path: string, body?: object) => {
    calls += 1;
    const headers = { "Idempotency-Key": `market-${calls}` };
    const answer = await api.call<{ id: string }>("POST", `/sandbox/${path}`, { headers, ...(body && { body }) });
    expect(answer.status, answer.text).toBeLessThan(300);
    return answer.body.id;
  };
  const euroAt = (bid: string) => post("prices", { prices: [{ symbol: "EURUSD", bid }] });
  const deal = { account_id, symbol: "EURUSD", side: "buy", lots: "0.10" };
  // The evaluator dies before it writes: otherwise it may act on a price before the request that sets the price.
  saboteur.targets.add("brokerage-sandbox-evaluate TransactWriteItems");
  await euroAt("1.10000");
  const first = await post("trades", deal);
  await post("trades", { ...deal, stop_loss: "1.09000" });
  await post(`trades/${first}/close`, {});
  await euroAt("1.08900");
  await post("trades", deal);
  await post(`accounts/${account_id}/drive`, { margin_level: "40.00" });
  saboteur.targets.clear();
  // A feed's price and one that walks act by the stream alone.
  await euroAt("1.10000");
  await post("trades", { ...deal, lots: "0.01", stop_loss: "1.09000" });
  await quote({ ...stack, tenant_id }, ["1.08000", "1.08010"]);
  await needed(stack, "sandbox-match");
  await post("prices", { prices: [{ symbol: "XAUUSD", mode: "walk" }] });
  await needed(stack, "sandbox-walk");
}

/** A brokerage of its own that is reset twice. */
async function tellOfResets(stack: Stack): Promise<void> {
  const { api } = await stack.newApplication();
  await fundedAccount(api, "100.00");
  await api.call("POST", "/feed/sources", { body: { name: "mt5:reset", platform: "mt5" } });
  for (const key of ["first", "second"]) {
    const begun = await api.call("POST", "/sandbox/reset", { headers: { "Idempotency-Key": key } });
    expect(begun.status, begun.text).toBe(202);
    await eventually(async () => {
      const { body } = await api.call("GET", "/sandbox/reset");
      return body["status"] === "completed" || undefined;
    }, 60_000);
  }
  const { body: left } = await api.call<{ data: object[] }>("GET", "/clients");
  expect(left.data).toEqual([]);
}

/** Changes of money and of prices while accounts have open positions. */
async function tellOfMoney(told: StoryOptions): Promise<void> {
  await tellOfPrices(told.stack);
  await tellOfMargin(told);
  await tellOfSandboxMarket(told);
  await tellOfInternalMoney(told);
  await tellOfCommands(told);
  await tellOfDrift(told);
  await tellOfFeed(told.stack);
}

/** Calls that no request of the other tests brings about on its own, or only sometimes. */
export async function tellStory(told: StoryOptions): Promise<void> {
  const { stack, receiver } = told;
  // Parts that run at the same time wait for clocks of their own most of the time.
  await Promise.all([tellOfBooks(told), tellOfMoney(told)]);
  await Promise.all([tellOfStream(stack), tellOfWebhooks(stack, receiver), tellOfResets(stack)]);
  await tellOfSealing(told);
  await tellOfRefusals(stack);
}
