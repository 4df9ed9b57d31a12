import { expect } from "vitest";
import type { Account } from "../../../shared/domain/account.ts";
import { draftRisk } from "../../../shared/domain/trading/risk.ts";
import { routes } from "../../../shared/routes/index.ts";
import { balances, orders, positions, risks } from "../../../shared/table/entities.ts";
import { itemOf } from "../../../shared/table/write.ts";
import { decisionContext, someAccount } from "../../support/builders/decisions.ts";
import { someMarket, someOrder, somePosition } from "../../support/builders/trading.ts";
import { type Credentials, fundedAccount, getToken, someClient } from "../../support/stack/api-client.ts";
import { floorOf } from "../../support/stack/cloud-floor.ts";
import type { Receiver } from "../../support/stack/receiver.ts";
import type { Stack } from "../../support/stack/stack.ts";
import { eventually } from "../../support/wait.ts";
import { tellOfRefusals, tellOfSealing } from "./audit.ts";
import { tellOfBooks } from "./books.ts";
import { tellOfDrift } from "./drift.ts";
import { tellOfCommands, tellOfInternalMoney } from "./money.ts";
import { tellOfOperators, tellOfPersons } from "./operators.ts";
import { type Placing, put, quote, quoteSymbol, type StoryOptions, unused, withPlacing } from "./stack.ts";
import { tellOfStream } from "./stream.ts";

/** An application from its creation to its end, with its tokens; changes under keys, so that answers are kept. */
async function tellOfApplications({ api, baseUrl }: Stack): Promise<void> {
  const made = await api.call<{ id: string } & Credentials>("POST", "/applications", {
    body: { name: "Story", scopes: ["clients:read"] },
    headers: { "Idempotency-Key": "application" },
  });
  const { client_id, client_secret, id } = made.body;
  const post = (path: string, fields: Record<string, string>) =>
    fetch(`${baseUrl}/oauth/${path}`, {
      method: "POST",
      body: new URLSearchParams({ client_id, client_secret, ...fields }),
    });
  const token = await getToken(baseUrl, { client_id, client_secret });
  const first = (await (await post("token", { grant_type: "client_credentials" })).json()) as { refresh_token: string };
  await post("token", { grant_type: "refresh_token", refresh_token: first.refresh_token });
  await post("token", { grant_type: "client_credentials", client_secret: "wrong" });
  await post("revoke", { token: first.refresh_token });
  await post("revoke", { token });
  await fetch(`${baseUrl}/.well-known/jwks.json`);
  const path = `/applications/${id}`;
  const call = (method: string, address: string, body?: object) =>
    api.call(method, address, {
      ...(body === undefined ? {} : { body }),
      headers: { "Idempotency-Key": method + address },
    });
  await call("PATCH", path, { name: "Renamed" });
  await call("POST", `${path}/rotate_secret`, { grace_seconds: 0 });
  await call("DELETE", path);
}

/**
 * Endpoints from their creation to their end: one that takes its events, one that fails until a long rung of the
 * ladder, which only the sweep can send, one that is deleted, so that the sweep has something to cancel, and one that
 * answers 410, which the deliverer may note and not write.
 */
async function tellOfWebhooks({ api }: Stack, receiver: Receiver): Promise<{ endpoint: string; delivery: string }> {
  const statuses: Readonly<Record<string, number>> = { "/failing": 500, "/closed": 410 };
  receiver.answer = (call, reply) => {
    reply.writeHead(statuses[call.path] ?? 200).end();
  };
  const create = async (path: string, event_types: string[]) => {
    const body = { url: `${receiver.url}${path}`, event_types };
    const headers = { "Idempotency-Key": `endpoint${path}` };
    const made = await api.call<{ id: string }>("POST", "/webhook_endpoints", { body, headers });
    expect(made.status, made.text).toBe(201);
    return `/webhook_endpoints/${made.body.id}`;
  };
  const good = await create("/good", ["*"]);
  const failing = await create("/failing", ["client.created"]);
  const gone = await create("/gone", ["stop.out"]);
  const closed = await create("/closed", ["stop.out"]);
  const call = (method: string, path: string, body?: object) =>
    api.call<{ id: string }>(method, path, {
      ...(body === undefined ? {} : { body }),
      headers: { "Idempotency-Key": method + path },
    });
  await call("PATCH", good, { description: "Story" });
  await call("POST", `${good}/rotate_secret`, {});
  await call("DELETE", gone);
  const { body: sent } = await call("POST", `${good}/test`, { type: "client.created" });
  await eventually(async () => {
    const { body } = await api.call("GET", `/deliveries/${sent.id}`);
    return body["status"] === "succeeded" || undefined;
  });
  await call("POST", `/deliveries/${sent.id}/retry`);
  await call("POST", "/sandbox/events/trigger", { type: "stop.out", endpoint_id: good.split("/")[2] });
  await call("POST", `${closed}/test`, { type: "client.created" });
  await eventually(async () => {
    const { body } = await api.call("GET", closed);
    return body["status"] === "auto_disabled" || undefined;
  });
  await eventually(async () => {
    const { body } = await api.call("POST", `${good}/replay`, { body: { after_sequence: "0" } });
    return body["queued"] === 0 ? undefined : true;
  });
  await api.call("POST", "/clients", { body: someClient() });
  await eventually(() => receiver.received.filter(({ path }) => path === "/failing").length >= 4 || undefined, 60_000);
  await api.call("PATCH", failing, { body: { status: "disabled" } });
  return { endpoint: good.split("/")[2] ?? "", delivery: sent.id };
}

/** An account that a change of its terms liquidates, and one that a falling price calls and liquidates. */
async function tellOfPrices(stack: Stack): Promise<void> {
  const [forced, { account_id }] = [await fundedAccount(stack.api, "50.00"), await fundedAccount(stack.api, "50.00")];
  await quoteSymbol(stack);
  const floor = await floorOf(stack);
  await floor.open(forced.account_id, { symbol: "EURUSD", side: "buy", lots: "0.01" });
  const lower = { body: { leverage: 10, force: true } };
  expect((await stack.api.call("PATCH", `/accounts/${forced.account_id}`, lower)).status).toBe(200);
  const opened = await floor.open(account_id, { symbol: "EURUSD", side: "buy", lots: "0.01" });
  expect(opened.kind).toBe("done");
  await quote(stack, ["1.08000", "1.08010"]);
  await eventually(async () => {
    const { text } = await stack.api.call("GET", `/events?account_id=${account_id}`);
    return text.includes("margin.call") || undefined;
  });
  await quote(stack, ["1.05000", "1.05010"]);
  await eventually(async () => {
    const { text } = await stack.api.call("GET", `/events?account_id=${account_id}`);
    return text.includes("stop.out") || undefined;
  });
  // The sweep forgets the symbol once the price is back.
  await quote(stack, ["1.10000", "1.10010"]);
  const prices = [{ symbol: "GBPUSD", bid: "1.27000", ask: "1.27010" }];
  await stack.api.call("POST", "/sandbox/prices", { body: { prices } });
  await eventually(() => !unused(stack).includes("brokerage-sandbox-margin-sweep Delete") || undefined);
}

/** What an account trades and orders, in the place of a feed: identifiers of what is closed and of what waits. */
async function tellOfTrading(stack: Stack, account_id: string): Promise<Record<string, string>> {
  const { tenant_id } = stack;
  await quoteSymbol(stack);
  const floor = await floorOf(stack);
  const deal = { symbol: "EURUSD", side: "buy", lots: "0.01" } as const;
  const opened = [await floor.open(account_id, deal), await floor.open(account_id, deal)];
  expect(opened.map(({ kind }) => kind)).toEqual(["done", "done"]);
  const closed = await floor.close(account_id, 0);
  const trade = closed.kind === "done" ? closed.result?.trade : undefined;
  const now = new Date().toISOString();
  const order = someOrder({ tenant_id, account_id, created_at: now, updated_at: now });
  await put(stack, "main", itemOf(orders, order));
  return { trades: String(trade?.id), orders: order.id };
}

/** What the sandbox's providers do with a client, and with the money of an account that has an open position. */
async function tellOfProviders(placing: Placing, post: (kind: string) => Promise<string>): Promise<void> {
  const { api } = placing.stack;
  const trigger = async (address: string) => {
    const headers = { "Idempotency-Key": address };
    const { status, text } = await api.call("POST", `/sandbox/${address}`, { headers });
    expect([status, text]).toEqual([200, text]);
  };
  const { body: client } = await api.call<{ id: string }>("POST", "/clients", { body: someClient() });
  for (const name of ["verify", "reject"]) await trigger(`clients/${client.id}/${name}`);
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

/** An account with an open position, and every change of its money and its terms. */
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
  const own = { account_id, tenant_id, seq: 1, positions: 1, used_margin_minor: position.margin_minor };
  // Due since some time after it was written, as an abandoned liquidation is: the sweep sends for it.
  const written = { created_at: "2026-11-21T06:00:00.000Z", updated_at: "2026-11-21T06:00:00.000Z" };
  const risk = { ...draftRisk(account, context), ...written, triggers: [], positions_sum: 1, wake_at: context.now };
  await put(stack, "main", itemOf(positions, position), itemOf(risks, risk), itemOf(balances, { ...balance, ...own }));
  // Every change below evaluates the account and moves its wake, so the sweep has to find it first.
  await eventually(() => !unused(stack).includes("brokerage-sandbox-margin-sweep SendAccounts") || undefined);
  const move = (path: string, fields: object) => api.call("PATCH", path, { body: fields });
  const post = async (kind: string, status?: string) => {
    const body = { account_id, amount: "1.00", ...(status === undefined ? {} : { status }) };
    const made = await api.call<{ id: string }>("POST", `/transactions/${kind}`, { body });
    expect(made.status, made.text).toBe(201);
    return made.body.id;
  };
  expect((await move(`/accounts/${account_id}`, { leverage: 20 })).status).toBe(200);
  expect((await move(`/accounts/${account_id}`, { leverage: 30 })).status).toBe(200);
  const placing = { stack, saboteur, account_id };
  for (const kind of ["deposit", "withdrawal"]) {
    await withPlacing(placing, `create-${kind}`, () => post(kind, "completed"));
  }
  const pending = `/transactions/${await post("withdrawal")}`;
  const completed = await withPlacing(placing, "update-transaction", () => move(pending, { status: "completed" }));
  expect(completed.status).toBe(200);
  await tellOfProviders(placing, post);
  expect((await api.call("DELETE", `/accounts/${account_id}`)).status).toBe(200);
}

/** What a bridge sends of an account, with an item that is put aside and closes its position when it is retried. */
async function tellOfFeed({ api }: Stack): Promise<string> {
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
  const time = new Date().toISOString();
  const quotes = [{ symbol: "EURUSD", bid: "1.10000", ask: "1.10010", time, seq: "9" }];
  await api.call("POST", `${path}/quotes`, { body: { quotes } });
  expect((await api.call("POST", `${path}/epochs`, { headers: { "Idempotency-Key": "epoch" } })).status).toBe(200);
  const retried = await api.call<{ status: string }>("POST", `${path}/rejects/2/retry`);
  expect(retried.body.status, retried.text).toBe("applied");
  return source.id;
}

/** What an integrator does on the market of the sandbox: a stop loss, a cancelled order and a stop-out among it. */
async function tellOfSandboxMarket({ stack, saboteur }: StoryOptions): Promise<void> {
  // In a tenant of its own: its prices are for its own accounts.
  const { api } = await stack.newApplication();
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
  const order = await post("orders", { ...deal, type: "limit", price: "1.05000" });
  await post(`orders/${order}/cancel`);
  await post("trades", deal);
  await post(`accounts/${account_id}/drive`, { margin_level: "40.00" });
  saboteur.targets.clear();
  // A feed's price and one that walks act by the stream alone.
  await euroAt("1.10000");
  const stopped = await post("trades", { ...deal, lots: "0.01", stop_loss: "1.09000" });
  const source = await api.call<{ id: string }>("POST", "/feed/sources", {
    body: { name: "mt5:market", platform: "mt5" },
  });
  const price = { symbol: "EURUSD", bid: "1.08000", ask: "1.08010", time: new Date().toISOString(), seq: "1" };
  await api.call("POST", `/feed/sources/${source.body.id}/quotes`, { body: { quotes: [price] } });
  await eventually(async () => {
    const { body } = await api.call("GET", `/trades/${stopped}`);
    return body["close_reason"] === "stop_loss" || undefined;
  });
  await post("prices", { prices: [{ symbol: "XAUUSD", mode: "walk" }] });
  await eventually(async () => {
    const { body } = await api.call("GET", "/quotes/XAUUSD");
    return Number(body["sequence"]) > 2 || undefined;
  });
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

export async function tellStory(told: StoryOptions): Promise<void> {
  const { stack, receiver } = told;
  const { api } = stack;
  const { client_id, account_id } = await fundedAccount(api, "100.00");
  const patch = (path: string, body: unknown) =>
    api.call("PATCH", path, { body, headers: { "Idempotency-Key": path } });
  await patch(`/clients/${client_id}`, { email: "moved@example.com", external_id: "x-1" });
  await api.call("PATCH", `/clients/${client_id}`, { body: { external_id: null } });
  await patch(`/accounts/${account_id}`, { platform_login: "1001" });
  await api.call("PATCH", `/accounts/${account_id}`, { body: { platform_login: null } });
  await patch("/settings", { transaction_expiry_days: 14 });
  const withdrawal = await api.call<{ id: string }>("POST", "/transactions/withdrawal", {
    body: { account_id, amount: "1.00" },
  });
  const traded = await tellOfTrading(stack, account_id);
  const { body: open } = await api.call<{ data: { id: string }[] }>("GET", `/accounts/${account_id}/positions`);
  await api.call("DELETE", `/accounts/${account_id}`);
  await tellOfApplications(stack);
  await tellOfPrices(stack);
  await tellOfMargin(told);
  await tellOfSandboxMarket(told);
  await tellOfInternalMoney(told);
  await tellOfCommands(told);
  await tellOfStream(stack);
  await tellOfDrift(told);
  const feed = await tellOfFeed(stack);
  await tellOfResets(stack);
  const { endpoint, delivery } = await tellOfWebhooks(stack, receiver);
  await tellOfSealing(told);
  await tellOfBooks(told);
  const ids: Record<string, string> = {
    applications: stack.application_id,
    operators: await tellOfOperators(stack),
    clients: client_id,
    accounts: account_id,
    transactions: withdrawal.body.id,
    webhook_endpoints: endpoint,
    deliveries: delivery,
    feed,
    positions: String(open.data[0]?.id),
    ...traded,
  };
  for (const { method, path, auth } of routes) {
    if (method !== "GET" || auth !== "token") continue;
    const noun = path.split("/")[1] ?? "";
    const named = path.replace("{symbol}", "EURUSD");
    await api.call("GET", named.replace("{id}", ids[noun] ?? "evt_01JD0000000000000000000001"));
  }
  await api.call("GET", "/clients?email=moved@example.com");
  await api.call("GET", "/quotes?symbols=EURUSD");
  await api.call("GET", `/symbols/EURUSD/margin?account_id=${account_id}`);
  await api.call("GET", `/accounts/metrics?account_ids=${account_id}`);
  await api.call("GET", "/accounts?margin_status=margin_call");
  for (const query of ["status=open", `account_id=${account_id}`, `account_id=${account_id}&sort=-close_at`]) {
    await api.call("GET", `/trades?${query}`);
  }
  await api.call("GET", `/accounts/${account_id}/trades?sort=-close_at`);
  await api.call("GET", `/clients/${client_id}/trades?sort=-close_at`);
  for (const query of ["symbol=EURUSD", `account_id=${account_id}`]) await api.call("GET", `/positions?${query}`);
  // The account was disabled: its orders are cancelled by now, or about to be.
  for (const path of ["/orders", `/accounts/${account_id}/orders`]) {
    await api.call("GET", `${path}?status=pending,cancelled`);
  }
  await api.call("GET", `/orders?account_id=${account_id}&status=pending,cancelled`);
  await api.call("GET", "/transactions?status=pending");
  await api.call("GET", `/transactions?account_id=${account_id}`);
  await api.call("GET", `/transactions?client_id=${client_id}`);
  await api.call("GET", `/events?resource_id=${client_id}`);
  await api.call("GET", `/events?account_id=${account_id}`);
  await api.call("GET", `/audit_log?actor=${stack.application_id}`);
  await tellOfPersons(stack, client_id);
  await tellOfRefusals(stack);
}
