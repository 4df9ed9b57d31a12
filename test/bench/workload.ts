import { setTimeout } from "node:timers/promises";
import { routes } from "../../shared/routes/index.ts";
import type { Route } from "../../shared/routes/route.ts";
import { newId } from "../../shared/runtime/ids.ts";
import { clients, operators } from "../../shared/table/entities.ts";
import { bridge, opening } from "../support/builders/bridge.ts";
import { brokerage, clientRequest } from "../support/builders/brokerage.ts";
import { putMarket } from "../support/builders/trading-data.ts";
import { startApi, type TestApi } from "../support/emulator/api.ts";
import { functionEnvironment } from "../support/emulator/emulator.ts";
import { newCaller, proxyEvent, type RequestParts, type TestCaller } from "../support/emulator/request.ts";
import { type TableCall, unitsOf } from "../support/emulator/watched-endpoint.ts";
import { startTokenService } from "../support/stack/token-service.ts";
import { exhaustedDelivery, publishedEvent } from "./delivery-work.ts";
import { jobWork } from "./job-work.ts";
import { auditWork, platformWork } from "./platform-work.ts";
import { sandboxWork } from "./sandbox-work.ts";

/** Calls of one request of a row to DynamoDB. */
export interface RowCost {
  readonly calls: number;
  readonly read_units: number;
  readonly write_units: number;
}

/** The calls that one request of a row made. */
export interface RowCalls {
  readonly calls: readonly TableCall[];
  /** Messages that it sent to queues. */
  readonly messages: number;
}

/** The work that the bench gives to the functions, with the services that they do it on. */
export interface Workload {
  /** Environment of every process that is measured. */
  readonly environment: Readonly<Record<string, string>>;
  /** A new event for a function; undefined where the bench has none, and only its loading is measured. */
  readonly eventFor: (file: string) => Promise<unknown>;
  /** Cost of a request of a row on DynamoDB; undefined where the bench has no request. */
  readonly costOf: (row: Route) => Promise<RowCost | undefined>;
  /** The calls of one request of a row, each held for so long by its operation; undefined as above. */
  readonly callsOf: (row: Route, holdMs?: (operation: string) => number) => Promise<RowCalls | undefined>;
  /** The real handlers, for work of another kind. */
  readonly api: TestApi;
  readonly stop: () => Promise<void>;
}

/** A request of the work. */
export interface Asked {
  readonly address: string;
  readonly parts?: RequestParts;
  /** Open rows are called without an application. */
  readonly open?: true;
  /** The caller, where it is not the one brokerage of the bench. */
  readonly as?: TestCaller;
}

/** Starts the services, fills the tables as a small brokerage would, and knows a request for every row. */
export async function startWorkload(): Promise<Workload> {
  const api = await startApi("stream", "watched");
  try {
    return await workloadOn(api);
  } catch (error) {
    // Its server would keep the process alive.
    await api.stop();
    throw error;
  }
}

async function workloadOn(api: TestApi): Promise<Workload> {
  const tokens = await startTokenService(api);
  const admin = newCaller();
  const application = await tokens.application({ scopes: [...admin.scopes] }, admin);
  const caller = { ...admin, application_id: application.id };
  const seeds = await seed(api, caller);
  const granted = await tokens.grant(application);
  const operator = { email: "ana@example.com", name: "Ana Silva", role: "finance" };
  const newOperator = async (action = "") => {
    const as = await newBrokerage(api);
    const { body } = await api.call(as, "POST", "/operators", { body: operator });
    return { as, address: `/operators/${body.id}${action}` };
  };
  const form = { "Content-Type": "application/x-www-form-urlencoded" };
  const fields = (more: object) => new URLSearchParams({ ...application.credentials, ...more }).toString();
  const special: Readonly<Record<string, () => Promise<Asked>>> = {
    create_token: async () => ({
      open: true,
      address: "/oauth/token",
      parts: { headers: form, body: fields({ grant_type: "client_credentials" }), atMs: Date.now() },
    }),
    revoke_token: async () => {
      const { body } = await tokens.grant(application);
      const parts = { headers: form, body: fields({ token: body.refresh_token }), atMs: Date.now() };
      return { open: true, address: "/oauth/revoke", parts };
    },
    create_stream_ticket: async () => ({ address: "/stream_tickets" }),
    create_operator: async () => ({ as: await newBrokerage(api), address: "/operators", parts: { body: operator } }),
    get_operator: () => newOperator(),
    get_operator_handover: () => newOperator("/handover"),
    invite_operator: () => newOperator("/invite"),
    reset_operator_credentials: async () => {
      const asked = await newOperator("/reset_credentials");
      const { changeItem } = await import("../../shared/table/items.ts");
      const id = asked.address.split("/")[2] ?? "";
      await changeItem(operators.key(asked.as.tenant_id, id), { set: { status: "active", pool_state: "ready" } });
      return asked;
    },
    update_operator: async () => ({ ...(await newOperator()), parts: { body: { name: newName() } } }),
    delete_operator: () => newOperator(),
    create_application: async () => ({
      as: await newBrokerage(api),
      address: "/applications",
      parts: { body: { name: "Bench", scopes: ["clients:read"] } },
    }),
    get_application: async () => ({ address: `/applications/${application.id}` }),
    update_application: async () => ({
      address: `/applications/${application.id}`,
      parts: { body: { name: newName() } },
    }),
    revoke_application: async () => {
      const { id, admin: as } = await tokens.application();
      return { as, address: `/applications/${id}` };
    },
    rotate_application_secret: async () => {
      const { id, admin: as } = await tokens.application();
      return { as, address: `/applications/${id}/rotate_secret`, parts: { body: { grace_seconds: 60 } } };
    },
  };
  const asked = async (row: Route): Promise<Asked | undefined> =>
    (special[row.id] ?? seeds.requests[row.id])?.() ?? plainRead(row, seeds.ids);
  const callerOf = ({ open, as }: Asked) => (open ? undefined : (as ?? caller));
  const eventFor = async (file: string): Promise<unknown> => {
    const row = routes.find((each) => each.file === file);
    if (row === undefined) return authorizerEvent(file, granted.body.access_token);
    const found = await asked(row);
    return found && proxyEvent(callerOf(found), row.method, found.address, found.parts).event;
  };
  const callsOf = async (row: Route, holdMs?: (operation: string) => number) => {
    const found = await asked(row);
    if (found === undefined) return undefined;
    // The first call loads the handler, which may read on its own.
    const call = (each: Asked) => api.call(callerOf(each), row.method, each.address, each.parts);
    await call(found);
    const again = (await asked(row)) ?? found;
    if (holdMs !== undefined) {
      api.watched.interfere = ({ operation }) => setTimeout(holdMs(operation), undefined);
    }
    api.watched.takeCalls();
    api.queues.takeMessages();
    const answer = await call(again);
    api.watched.interfere = () => undefined;
    if (answer.status >= 300) throw new Error(`${row.id}: ${answer.status} ${answer.text}`);
    return { calls: api.watched.takeCalls(), messages: api.queues.takeMessages().length };
  };
  const costOf = async (row: Route) => {
    const found = await callsOf(row);
    if (found === undefined) return undefined;
    const { calls } = found;
    const reads = calls.filter(({ operation }) => /^(?:BatchGetItem|Query|GetItem)$/.test(operation));
    const writes = calls.filter((each) => !reads.includes(each));
    return { calls: calls.length, read_units: unitsOf(reads), write_units: unitsOf(writes) };
  };
  const { pk, sk } = clients.key(caller.tenant_id, seeds.ids["clients"] ?? "");
  const environment = {
    ...functionEnvironment(api.emulator),
    ...api.secretsManager.environment,
    ...api.queues.environment,
    AWS_LAMBDA_INITIALIZATION_TYPE: "on-demand",
    // Lambda sets it; without it the first date of a process looks for the time zone of this machine.
    TZ: ":UTC",
    BENCH_CLIENT_PK: pk,
    BENCH_CLIENT_SK: sk,
  };
  return { environment, eventFor, costOf, callsOf, api, stop: api.stop };
}

interface Seeds {
  /** One resource of each kind, by the first segment of its path. */
  readonly ids: Readonly<Record<string, string>>;
  /** Requests that need a resource of their own each time, by the id of the row. */
  readonly requests: Readonly<Record<string, () => Promise<Asked>>>;
}

function today(): string {
  const day = new Date().toISOString().slice(0, 10);
  return `from=${day}&to=${day}`;
}

async function seed(api: TestApi, caller: TestCaller): Promise<Seeds> {
  const broker = brokerage(api, caller);
  const account = await broker.account("100000.00");
  for (let turn = 0; turn < 20; turn += 1) await broker.deposit(account, "10.00");
  const transaction = await broker.deposit(account, "1.00");
  const { body: second } = await api.call(caller, "POST", "/accounts", { body: { client_id: account.client_id } });
  const inEuros = { client_id: account.client_id, currency: "EUR" };
  const { body: euros } = await api.call(caller, "POST", "/accounts", { body: inEuros });
  const endpoint = { url: "https://hooks.example.com/broker", event_types: ["*"] };
  // A brokerage may have few endpoints, so what makes or removes one has a brokerage of its own.
  const ownEndpoint = async () => {
    const as = newCaller();
    const { body } = await api.call(as, "POST", "/webhook_endpoints", { body: endpoint });
    return { as, address: `/webhook_endpoints/${body.id}` };
  };
  const hook = await api.call(caller, "POST", "/webhook_endpoints", { body: endpoint });
  const event = await publishedEvent(api, caller.tenant_id);
  const exhausted = await exhaustedDelivery(api, hook.body.id, event);
  const traded = await trading(api, caller, (await broker.account("100000.00")).id);
  return {
    ids: {
      clients: account.client_id,
      accounts: account.id,
      transactions: transaction.id,
      webhook_endpoints: hook.body.id,
      events: event.id,
      deliveries: exhausted.id,
      ...traded.ids,
    },
    requests: {
      create_client: async () => ({ address: "/clients", parts: { body: clientRequest() } }),
      update_client: async () => ({
        address: `/clients/${account.client_id}`,
        parts: { body: { first_name: newName() } },
      }),
      create_review: async () => ({
        address: `/clients/${account.client_id}/reviews`,
        parts: { body: { note: newName() } },
      }),
      create_account: async () => ({
        address: "/accounts",
        parts: { body: { client_id: (await broker.client()).id } },
      }),
      update_account: async () => ({
        address: `/accounts/${account.id}`,
        parts: { body: { name: `Account ${Math.random()}` } },
      }),
      disable_account: async () => ({ address: `/accounts/${(await broker.account()).id}` }),
      create_deposit: async () => ({
        address: "/transactions/deposit",
        parts: { body: { account_id: account.id, amount: "1000.00" } },
      }),
      create_withdrawal: async () => ({
        address: "/transactions/withdrawal",
        parts: { body: { account_id: account.id, amount: "1.00" } },
      }),
      create_adjustment: async () => ({
        address: "/transactions/adjustment",
        parts: { body: { account_id: account.id, amount: "1.00", reason: { code: "bench" } } },
      }),
      create_credit: async () => ({
        address: "/transactions/credit",
        parts: { body: { account_id: account.id, direction: "in", amount: "1.00", reason: { code: "bench" } } },
      }),
      create_transfer: async () => ({
        address: "/transactions/transfer",
        parts: { body: { from_account_id: account.id, to_account_id: second.id, amount: "1.00" } },
      }),
      create_transfer_quote: async () => {
        // A price that is older than a minute converts nothing.
        await putMarket(api, caller.tenant_id);
        const body = { from_account_id: account.id, to_account_id: euros.id, amount: "1.00" };
        return { address: "/transfer_quotes", parts: { body } };
      },
      summarize_transactions: async () => ({ address: `/transactions/summary?${today()}` }),
      report_money: async () => ({ address: `/reports/money?${today()}&currency=USD` }),
      get_statement: async () => ({ address: `/accounts/${account.id}/statement?${today()}` }),
      report_closing_balances: async () => ({ address: `/reports/closing_balances?${today()}` }),
      report_income: async () => ({ address: `/reports/income?${today()}` }),
      report_usage: async () => ({ address: `/usage?${today()}` }),
      update_transaction: async () => ({
        address: `/transactions/${(await broker.deposit(account, "1.00")).id}`,
        parts: { body: { status: "completed" } },
      }),
      approve_transaction: async () => ({
        address: `/transactions/${(await broker.deposit(account, "1.00")).id}/approve`,
      }),
      reject_transaction: async () => ({
        address: `/transactions/${(await broker.deposit(account, "1.00")).id}/reject`,
        parts: { body: { reason: { code: "bench" } } },
      }),
      create_webhook_endpoint: async () => {
        const as = await newBrokerage(api);
        return { as, address: "/webhook_endpoints", parts: { body: endpoint } };
      },
      update_webhook_endpoint: async () => ({
        ...(await ownEndpoint()),
        parts: { body: { event_types: ["client.created"] } },
      }),
      delete_webhook_endpoint: ownEndpoint,
      rotate_webhook_secret: async () => {
        const { as, address } = await ownEndpoint();
        return { as, address: `${address}/rotate_secret`, parts: { body: { grace_seconds: 60 } } };
      },
      test_webhook_endpoint: async () => {
        const { as, address } = await ownEndpoint();
        return { as, address: `${address}/test`, parts: { body: { type: "client.created" } } };
      },
      replay_events: async () => ({
        address: `/webhook_endpoints/${hook.body.id}/replay`,
        parts: { body: { after_sequence: "0" } },
      }),
      retry_delivery: async () => ({
        address: `/deliveries/${(await exhaustedDelivery(api, hook.body.id, event)).id}/retry`,
      }),
      ...traded.requests,
      ...sandboxWork(api),
      ...platformWork(api),
      ...auditWork(api),
      ...jobWork(api),
      update_settings: async () => ({
        as: await newBrokerage(api),
        address: "/settings",
        parts: { body: { four_eyes: true } },
      }),
    },
  };
}

/** A brokerage of its own. Its first request makes it, which is no part of what is measured. */
async function newBrokerage(api: TestApi): Promise<TestCaller> {
  const as = newCaller();
  await api.call(as, "GET", "/settings");
  return as;
}

/** A market, a source that feeds it, and twenty open positions of one account. */
async function trading(api: TestApi, caller: TestCaller, account: string): Promise<Seeds> {
  const { tradingFloor } = await import("../support/builders/trading-floor.ts");
  await putMarket(api, caller.tenant_id);
  const floor = tradingFloor(caller.tenant_id);
  let trade = "";
  for (let turn = 0; turn < 20; turn += 1) {
    const opened = await floor.open(account, { symbol: "EURUSD", side: "buy", lots: "0.01" });
    if (opened.kind !== "done" || opened.result.trade === undefined) {
      throw new Error(`No trade was opened: ${JSON.stringify(opened)}`);
    }
    trade = opened.result.trade.id;
  }
  const { sumOpenInterest } = await import("../../shared/trading/open-interest.ts");
  await sumOpenInterest(() => true);
  const own = await api.call(caller, "POST", "/feed/sources", {
    body: { name: "mt5:bench", platform: "mt5", authoritative: "platform" },
  });
  return {
    ids: { trades: trade, positions: trade.replace("trd_", "pos_"), sources: own.body.id },
    requests: {
      get_symbol: async () => ({ address: "/symbols/EURUSD" }),
      get_symbol_margin: async () => ({ address: `/symbols/EURUSD/margin?account_id=${account}` }),
      get_quote: async () => ({ address: "/quotes/EURUSD" }),
      list_quotes: async () => ({ address: "/quotes?symbols=EURUSD,GBPUSD,USDJPY" }),
      list_conversion_rates: async () => ({ address: "/conversion_rates?to=USD" }),
      create_margin_preview: async () => ({
        address: `/accounts/${account}/margin_preview`,
        parts: { body: { opens: [{ symbol: "EURUSD", side: "buy", lots: "0.10" }] } },
      }),
      get_account_metrics: async () => ({ address: `/accounts/metrics?account_ids=${account}` }),
      create_feed_source: async () => ({
        as: newCaller(),
        address: "/feed/sources",
        parts: { body: { name: "mt5:bench", platform: "mt5", authoritative: "platform" } },
      }),
      get_feed_source: async () => ({ address: `/feed/sources/${own.body.id}` }),
      list_feed_rejects: async () => ({ address: `/feed/sources/${own.body.id}/rejects` }),
      send_feed_batch: async () => {
        const { as, source: fed, item } = await tradingBridge(api);
        const body = { first_seq: "1", items: [{ seq: "1", ...item }] };
        return { as, address: `${fed.path}/batches`, parts: { body } };
      },
    },
  };
}

/** A brokerage of its own whose platform sends one deal: a batch without items would be free. */
async function tradingBridge(api: TestApi) {
  const as = newCaller();
  await putMarket(api, as.tenant_id);
  const platform = bridge(api, as);
  const { login } = await platform.trader();
  return { as, source: await platform.newSource({ authoritative: "platform" }), item: opening(login, "D-1", "P-1") };
}

/** A name that no resource has yet, so that it changes something. */
function newName(): string {
  return `Ana${Array.from({ length: 12 }, () => String.fromCharCode(97 + Math.floor(Math.random() * 26))).join("")}`;
}

/** A read needs nothing but the id of a resource that is there. */
function plainRead(row: Route, ids: Seeds["ids"]): Asked | undefined {
  if (row.method !== "GET") return undefined;
  const id = ids[row.path.split("/")[1] ?? ""];
  if (row.path.includes("{") && id === undefined) return undefined;
  const address = row.path.replace("{id}", id ?? "");
  return row.auth === "none" ? { address, open: true } : { address };
}

function authorizerEvent(file: string, token: string): unknown {
  if (file !== "oauth/authorize") return undefined;
  return {
    type: "REQUEST",
    methodArn: "arn:aws:execute-api:eu-west-1:000000000000:test/v2/GET/clients",
    multiValueHeaders: { Authorization: [`Bearer ${token}`] },
    requestContext: { requestId: newId("req"), identity: { sourceIp: "198.51.100.7" } },
  };
}
