import type { JsonObject } from "./document.ts";

/** Base address that absolute links of the examples begin with. */
export const exampleBaseUrl = "https://api.brokerage.example/v2";

/** The identifiers of the examples, by the first part of the path that they are used in. Tests put real ones there. */
export const exampleIds: Readonly<Record<string, string>> = {
  clients: "cli_01JD0000000000000000000001",
  accounts: "acc_01JD0000000000000000000002",
  transactions: "txn_01JD0000000000000000000003",
  events: "evt_01JD0000000000000000000004",
  applications: "app_01JD0000000000000000000006",
  webhook_endpoints: "whe_01JD0000000000000000000008",
  deliveries: "dlv_01JD0000000000000000000009",
  feed: "src_01JD000000000000000000000B",
  trades: "trd_01JD000000000000000000000A",
  positions: "pos_01JD000000000000000000000B",
  orders: "ord_01JD000000000000000000000C",
};

/** The collection that a path is about: `clients` of `/clients/{id}` and of `/sandbox/clients/{id}/verify`. */
export function collectionOf(path: string): string {
  const [first = "", second = ""] = path.split("/").slice(1);
  return first === "sandbox" ? second : first;
}

/** What stands in paths beside identifiers, by the name of the parameter. */
export const exampleNames: Readonly<Record<string, string>> = { symbol: "EURUSD", seq: "921" };

const { clients: client_id, accounts: account_id, transactions: transaction_id, events: event_id } = exampleIds;
const ledgerEntryId = "led_01JD0000000000000000000005";
const tenantId = "brk_01JD0000000000000000000007";
const requestId = "5f0d7c7e-4d9e-4a43-9b0e-0f6f5a0c2d11";
const actor = { type: "api_application", id: exampleIds["applications"] };
const created_at = "2026-11-21T06:30:00.123Z";
const completed_at = "2026-11-21T06:31:12.456Z";
const links = (targets: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(targets).map(([relation, path]) => [relation, { href: exampleBaseUrl + path }]));

const client: JsonObject = {
  id: client_id,
  object: "client",
  type: "individual",
  email: "ana@example.com",
  first_name: "Ana",
  last_name: "Silva",
  company_name: null,
  external_id: "crm-4711",
  middle_name: null,
  phone: "+351912345678",
  date_of_birth: "1990-12-31",
  nationality: "PT",
  country: "PT",
  address: { line1: "Rua Augusta 1", city: "Lisboa", postal_code: "1100-048", country: "PT" },
  registration_number: null,
  language: "pt",
  time_zone: "Europe/Lisbon",
  classification: "retail",
  risk_level: "low",
  tags: ["vip"],
  status: "active",
  suspended_reason: null,
  closed_at: null,
  verification_status: "verified",
  verification: {
    level: "full",
    provider: "identity-provider",
    reference: "check-991",
    submitted_at: created_at,
    verified_at: completed_at,
    verified_by: exampleIds["applications"],
    expires_at: null,
    rejection_reasons: [],
  },
  account_count: 1,
  created_at,
  updated_at: completed_at,
  version: 2,
  metadata: { branch: "lisbon" },
  _links: links({ self: `/clients/${client_id}`, accounts: `/clients/${client_id}/accounts` }),
};

const money = {
  balance: "1000.00",
  credit: "0.00",
  held: "250.00",
  available_balance: "750.00",
  floating_pnl: "0.00",
  equity: "1000.00",
  used_margin: "0.00",
  free_margin: "750.00",
  margin_level: null,
  withdrawable: "750.00",
};

const account: JsonObject = {
  id: account_id,
  object: "account",
  number: "48213377",
  client_id,
  type: "live",
  group_id: "default",
  name: "Main account",
  currency: "USD",
  leverage: 30,
  position_mode: "hedging",
  margin_calculation: "max",
  platform: "internal",
  platform_login: null,
  swap_free: false,
  negative_balance_protection: true,
  status: "active",
  trading_mode: "full",
  ...money,
  margin_status: "normal",
  margin_call_level: "100.00",
  stop_out_level: "50.00",
  margin_rearm_level: "105.00",
  stop_out_order: "most_losing_first",
  stop_out_mode: "full",
  metrics_as_of: completed_at,
  metrics_stale: false,
  balance_version: 1,
  disabled_at: null,
  disabled_reason: null,
  closed_at: null,
  created_at,
  updated_at: created_at,
  version: 1,
  metadata: {},
  _links: links({
    self: `/accounts/${account_id}`,
    client: `/clients/${client_id}`,
    ledger: `/accounts/${account_id}/ledger`,
  }),
};

const statusHistory = [
  { from: null, to: "pending", at: created_at, actor, reason: null },
  { from: "pending", to: "completed", at: completed_at, actor, reason: null },
];

const transaction: JsonObject = {
  id: transaction_id,
  object: "transaction",
  kind: "deposit",
  account_id,
  client_id,
  amount: "1000.00",
  fee: "0.00",
  net_amount: "1000.00",
  currency: "USD",
  method: "bank_transfer",
  provider: null,
  provider_reference: null,
  external_id: "payment-8812",
  source: { iban: "**** 0154", holder: "Ana Silva" },
  destination: null,
  description: "First deposit",
  status: "completed",
  status_reason: null,
  status_history: statusHistory,
  balance_before: "0.00",
  balance_after: "1000.00",
  related_to: null,
  platform_operations: [],
  created_by: actor,
  approved_by: null,
  approved_at: null,
  completed_at,
  expires_at: null,
  created_at,
  updated_at: completed_at,
  version: 2,
  metadata: {},
  _links: links({
    self: `/transactions/${transaction_id}`,
    account: `/accounts/${account_id}`,
    client: `/clients/${client_id}`,
  }),
};

const apiApplication: JsonObject = {
  id: actor.id,
  object: "application",
  name: "CRM",
  environment: "sandbox",
  client_id: "app_Zk3mX9qLw2RtYv7BnC4dPs8h",
  scopes: ["clients:read", "clients:write"],
  allowed_ips: ["203.0.113.0/24"],
  status: "active",
  revoked_at: null,
  access_token_ttl: 3600,
  refresh_token_ttl: 2_592_000,
  secret_rotated_at: null,
  previous_secret_expires_at: null,
  last_used_at: completed_at,
  rate: { per_minute: 1000, burst: 50, quotes_per_second: 100 },
  created_at,
  updated_at: created_at,
  version: 1,
  _links: links({ self: `/applications/${actor.id}` }),
};

const webhookEndpoint = {
  id: exampleIds["webhook_endpoints"],
  object: "webhook_endpoint",
  url: "https://hooks.example.com/broker",
  description: null,
  event_types: ["transaction.completed", "margin.call"],
  account_ids: [],
  group_ids: [],
  status: "enabled",
  disabled_reason: null,
  api_version: "v2",
  previous_secret_expires_at: null,
  consecutive_failures: 0,
  last_success_at: completed_at,
  last_failure_at: null,
  created_at,
  updated_at: created_at,
  version: 1,
  metadata: {},
  _links: links({
    self: `/webhook_endpoints/${exampleIds["webhook_endpoints"]}`,
    deliveries: `/webhook_endpoints/${exampleIds["webhook_endpoints"]}/deliveries`,
  }),
};

const tradingSymbol = {
  symbol: "EURUSD",
  object: "symbol",
  description: "Euro against US dollar",
  asset_class: "forex",
  base_currency: "EUR",
  quote_currency: "USD",
  margin_currency: "EUR",
  calc_mode: "forex",
  digits: 5,
  point: "0.00001",
  pip_size: "0.0001",
  contract_size: "100000",
  lot_min: "0.01",
  lot_max: "100.00",
  lot_step: "0.01",
  max_leverage: null,
  margin_factor: "1",
  commission: { type: "per_lot", amount: "3.50", currency: "USD" },
  swap: { type: "points", long: "-6.20", short: "1.10", triple_day: "wednesday", rollover_time: "22:00" },
  stops_level: 0,
  max_deviation_percent: null,
  trading_mode: "enabled",
  sessions: [{ day: "monday", open: "00:00", close: "24:00" }],
  holidays: ["2026-12-25"],
  market_status: "open",
  next_open_at: null,
  next_close_at: "2026-11-27T22:00:00.000Z",
  created_at,
  updated_at: created_at,
  version: 1,
  _links: links({ self: "/symbols/EURUSD", quote: "/quotes/EURUSD" }),
};

const quote = {
  symbol: "EURUSD",
  object: "quote",
  bid: "1.10000",
  ask: "1.10010",
  mid: "1.100050",
  spread_points: 10,
  time: completed_at,
  received_at: completed_at,
  age_ms: 240,
  stale: false,
  market_status: "open",
  session_open: "1.09950",
  day_high: "1.10120",
  day_low: "1.09900",
  sequence: "771",
  source: "mt5:live-1",
  _links: links({ self: "/quotes/EURUSD", symbol: "/symbols/EURUSD" }),
};

const feedResults = [
  { seq: "918", status: "applied", trade_id: "trd_01JD000000000000000000000A" },
  { seq: "919", status: "rejected", code: "unknown_position", detail: "Its position_id is not known." },
];

const sandboxPrice = {
  symbol: "EURUSD",
  bid: "1.08500",
  ask: "1.08510",
  time: completed_at,
  sequence: "7",
  mode: "frozen",
  seed: null,
};

const sandboxEffects = {
  orders_filled: [],
  orders_ended: [],
  trades_closed: [],
  accounts_evaluated: [account_id],
  complete: true,
};

const euroToDollar = {
  from: "EUR",
  to: "USD",
  via: [{ symbol: "EURUSD", op: "multiply", price: "1.100050" }],
  rate: "1.100050000000",
};

const trade = {
  id: exampleIds["trades"],
  object: "trade",
  account_id,
  client_id,
  symbol: "EURUSD",
  side: "buy",
  status: "closed",
  lots: "0.40",
  initial_lots: "0.40",
  parent_trade_id: "trd_01JD000000000000000000000D",
  position_id: null,
  order_id: null,
  currency: "USD",
  open_price: "1.10010",
  open_at: created_at,
  close_price: "1.10350",
  close_at: completed_at,
  close_reason: "partial_close",
  stop_loss: null,
  take_profit: "1.11000",
  gross_pnl: "136.00",
  commission: "-2.80",
  swap: "-2.48",
  conversion_fee: "0.00",
  net_pnl: "130.72",
  margin_rate: "1.1001",
  conversion: { from: "USD", to: "USD", via: [], rate: "1.000000000000" },
  pnl_source: "service",
  source: "internal",
  source_trade_id: null,
  created_at: completed_at,
  updated_at: completed_at,
  version: 1,
  _links: links({
    self: `/trades/${exampleIds["trades"]}`,
    account: `/accounts/${account_id}`,
    parent: "/trades/trd_01JD000000000000000000000D",
  }),
};

const position = {
  id: exampleIds["positions"],
  object: "position",
  account_id,
  client_id,
  symbol: "EURGBP",
  side: "buy",
  lots: "0.30",
  open_price: "0.86270",
  current_price: "0.86550",
  quote_at: completed_at,
  stale: false,
  currency: "USD",
  gross_pnl: "107.11",
  swap: "0.00",
  floating_pnl: "107.11",
  used_margin: "1100.05",
  margin_rate: "1.10005",
  conversion: {
    from: "GBP",
    to: "USD",
    via: [{ symbol: "GBPUSD", op: "multiply", price: "1.27510" }],
    rate: "1.275100000000",
  },
  stop_loss: null,
  take_profit: "0.87000",
  trade_ids: ["trd_01JD000000000000000000000B"],
  opened_at: created_at,
  updated_at: created_at,
  version: 1,
  _links: links({
    self: `/positions/${exampleIds["positions"]}`,
    account: `/accounts/${account_id}`,
    trade: "/trades/trd_01JD000000000000000000000B",
  }),
};

const order = {
  id: exampleIds["orders"],
  object: "order",
  account_id,
  client_id,
  symbol: "EURUSD",
  side: "sell",
  type: "limit",
  lots: "0.50",
  price: "1.12000",
  stop_price: null,
  limit_price: null,
  stop_loss: "1.12500",
  take_profit: null,
  time_in_force: "gtc",
  expires_at: null,
  status: "pending",
  filled_at: null,
  trade_id: null,
  reject_reason: null,
  source: "internal",
  source_order_id: null,
  created_at,
  updated_at: created_at,
  version: 1,
  _links: links({ self: `/orders/${exampleIds["orders"]}`, account: `/accounts/${account_id}` }),
};

const accountBalance = {
  object: "account_balance",
  account_id,
  currency: "USD",
  ...money,
  margin_status: "normal",
  metrics_as_of: completed_at,
  metrics_stale: false,
  balance_version: 1,
  _links: links({ self: `/accounts/${account_id}/balance`, account: `/accounts/${account_id}` }),
};

/** The trade that {@link trade} is a part of, when it was opened. */
const opened: JsonObject = {
  id: "trd_01JD000000000000000000000D",
  object: "trade",
  account_id,
  client_id,
  symbol: "EURUSD",
  side: "buy",
  status: "open",
  lots: "1.00",
  initial_lots: "1.00",
  parent_trade_id: null,
  position_id: "pos_01JD000000000000000000000D",
  order_id: null,
  currency: "USD",
  open_price: "1.10010",
  open_at: created_at,
  close_price: null,
  close_at: null,
  close_reason: null,
  stop_loss: null,
  take_profit: "1.12000",
  gross_pnl: null,
  commission: "-3.50",
  swap: "0.00",
  conversion_fee: "0.00",
  net_pnl: null,
  margin_rate: "1.1001",
  conversion: null,
  pnl_source: "service",
  source: "internal",
  source_trade_id: null,
  created_at,
  updated_at: created_at,
  version: 1,
  _links: links({ self: "/trades/trd_01JD000000000000000000000D", account: `/accounts/${account_id}` }),
};

/** An account of 2000.00 USD that bought 1.00 EURUSD and sold 0.50 USDJPY, at its margin call. */
const called = {
  balance: "2000.00",
  credit: "0.00",
  held: "0.00",
  available_balance: "2000.00",
  floating_pnl: "-409.81",
  equity: "1590.19",
  used_margin: "1600.10",
  free_margin: "-9.91",
  margin_level: "99.38",
  withdrawable: "0.00",
  margin_status: "margin_call",
  metrics_as_of: completed_at,
  metrics_stale: false,
};

/** The same account at its stop-out level. */
const beforeStopOut = {
  ...called,
  floating_pnl: "-1359.22",
  equity: "640.78",
  free_margin: "-959.32",
  margin_level: "40.04",
  margin_status: "stop_out",
};

/** And after the first position was closed. */
const afterStopOut = {
  ...called,
  balance: "840.00",
  available_balance: "840.00",
  floating_pnl: "-199.22",
  equity: "640.78",
  used_margin: "500.00",
  free_margin: "140.78",
  margin_level: "128.15",
  withdrawable: "140.78",
  margin_status: "normal",
};

const trading: JsonObject = { ...account, type: "demo", leverage: 100, balance_version: 1 };

const liquidated: JsonObject = {
  ...trading,
  ...afterStopOut,
  balance_version: 2,
  stop_out: {
    order: "most_losing_first",
    mode: "full",
    started_at: completed_at,
    before: beforeStopOut,
    after: afterStopOut,
    closed_trade_ids: ["trd_01JD000000000000000000000D"],
  },
};

/** What an event carries, by its kind, where it is not what `GET` answers. */
interface EventData {
  readonly object: JsonObject;
  readonly previous?: JsonObject;
}

/** Samples of events that tell of more than a resource as it stands. */
export const eventData: Readonly<Record<string, EventData>> = {
  "trade.opened": { object: opened },
  "trade.closed": { object: trade, previous: { status: "open" } },
  "margin.call": { object: { ...trading, ...called }, previous: { margin_status: "normal" } },
  "margin.recovered": {
    object: { ...trading, ...afterStopOut, balance_version: 2 },
    previous: { margin_status: "margin_call" },
  },
  "stop.out": { object: liquidated },
};

/**
 * One answer for every schema that an answer shows, by the name of its component; pages are made of them. A schema
 * without one fails the tests.
 */
export const replyExamples: Readonly<Record<string, unknown>> = {
  AccountBalance: accountBalance,
  AccountMetrics: {
    object: "account_metrics",
    data: [accountBalance],
    missing: ["acc_01JD000000000000000000000E"],
    _links: links({ self: `/accounts/metrics?account_ids=${account_id},acc_01JD000000000000000000000E` }),
  },
  ApiApplication: apiApplication,
  LiquidatedAccount: liquidated,
  IssuedApiApplication: {
    ...apiApplication,
    last_used_at: null,
    client_secret: "sec_sandbox_0000000000000000000000000000000000000000000",
  },
  KeySet: {
    keys: [
      {
        kty: "EC",
        crv: "P-256",
        x: "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
        y: "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
        kid: "key_7Yc2kQm9XzR4tVb1NwLp",
        alg: "ES256",
        use: "sig",
      },
    ],
  },
  ConversionRates: {
    object: "conversion_rates",
    data: [{ ...euroToDollar, as_of: completed_at, stale: false }],
    _links: links({ self: "/conversion_rates" }),
  },
  DeletedWebhookEndpoint: { id: webhookEndpoint.id, object: "webhook_endpoint", deleted: true },
  EventTypeCatalogue: {
    object: "list",
    data: [
      {
        type: "client.created",
        description: "The event `client.created`.",
        opt_in: false,
        schema: { $schema: "https://json-schema.org/draft/2020-12/schema", type: "object" },
        sample: { id: event_id, object: "event", type: "client.created" },
      },
    ],
  },
  IssuedWebhookEndpoint: {
    ...webhookEndpoint,
    last_success_at: null,
    secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=",
  },
  Replay: { object: "replay", queued: 731, next_after_sequence: "185000" },
  WebhookDelivery: {
    id: exampleIds["deliveries"],
    object: "delivery",
    endpoint_id: webhookEndpoint.id,
    event_id,
    event_type: "transaction.completed",
    status: "retrying",
    attempt: 2,
    max_retries: 5,
    next_attempt_at: "2026-11-21T06:32:12.800Z",
    redelivery_of: null,
    attempts: [
      {
        number: 1,
        at: completed_at,
        duration_ms: 85,
        http_status: 500,
        error: "http_status",
        response_excerpt: "Internal Server Error",
      },
    ],
    created_at: completed_at,
    updated_at: completed_at,
    completed_at: null,
    version: 3,
    _links: links({
      self: `/deliveries/${exampleIds["deliveries"]}`,
      webhook_endpoint: `/webhook_endpoints/${webhookEndpoint.id}`,
      event: `/events/${event_id}`,
    }),
  },
  WebhookEndpoint: webhookEndpoint,
  BrokerageClient: client,
  BrokerageEvent: {
    id: event_id,
    object: "event",
    type: "transaction.completed",
    api_version: "v2",
    created_at: completed_at,
    timestamp: completed_at,
    environment: "sandbox",
    resource: { type: "transaction", id: transaction_id, version: 2 },
    actor,
    request_id: requestId,
    data: { object: transaction, previous: { status: "pending", version: 1 } },
    sequence: "184467",
    _links: links({ self: `/events/${event_id}`, resource: `/transactions/${transaction_id}` }),
  },
  FeedQuoteReceipt: {
    object: "feed_quote_receipt",
    accepted: 1,
    results: [
      { symbol: "EURUSD", seq: "771", status: "accepted" },
      { symbol: "GBPUSD", seq: "770", status: "refused", code: "old_sequence" },
    ],
  },
  FeedReceipt: {
    object: "feed_receipt",
    accepted_through: "919",
    expected_next_seq: "920",
    results: feedResults,
  },
  FeedReject: {
    object: "feed_reject",
    source_id: exampleIds["feed"],
    seq: "919",
    status: "open",
    item: { seq: "919", type: "execution", data: { action: "close", position_id: "P-40", price: "1.10350" } },
    code: "unknown_position",
    detail: "Its position_id is not known.",
    errors: [{ pointer: "#/data/position_id", code: "unknown_position", detail: "is not known" }],
    candidates: [],
    tries: 1,
    created_at,
    updated_at: created_at,
    version: 1,
    _links: links({
      source: `/feed/sources/${exampleIds["feed"]}`,
      retry: `/feed/sources/${exampleIds["feed"]}/rejects/919/retry`,
    }),
  },
  FeedResult: {
    seq: "918",
    status: "applied",
    code: "unknown_position",
    detail: "Its position_id is not known.",
    trade_id: "trd_01JD000000000000000000000A",
    order_id: "ord_01JD000000000000000000000C",
    transaction_id,
    related_to: "txn_01JD000000000000000000000E",
    candidates: ["txn_01JD000000000000000000000E"],
  },
  FeedSource: {
    id: exampleIds["feed"],
    object: "feed_source",
    name: "mt5:live-1",
    platform: "mt5",
    authoritative: "platform",
    expected_next_seq: "920",
    accepted_through: "919",
    quote_epoch: 1,
    last_batch_at: completed_at,
    lag_ms: 1200,
    stale: false,
    created_at,
    updated_at: completed_at,
    version: 3,
    _links: links({
      self: `/feed/sources/${exampleIds["feed"]}`,
      rejects: `/feed/sources/${exampleIds["feed"]}/rejects`,
    }),
  },
  Health: { status: "ok", environment: "sandbox", time: created_at },
  LedgerEntry: {
    id: ledgerEntryId,
    object: "ledger_entry",
    account_id,
    kind: "deposit",
    amount: "1000.00",
    currency: "USD",
    balance_before: "0.00",
    balance_after: "1000.00",
    balance_version: 1,
    transaction_id,
    trade_id: null,
    created_at: completed_at,
    _links: links({ account: `/accounts/${account_id}`, transaction: `/transactions/${transaction_id}` }),
  },
  Me: {
    object: "caller",
    application: { id: actor.id, name: "CRM", client_id: "app_Zk3mX9qLw2RtYv7BnC4dPs8h", status: "active" },
    tenant_id: tenantId,
    environment: "sandbox",
    scopes: ["clients:read", "clients:write"],
    limits: { per_minute: 1000, burst: 50, quotes_per_second: 100 },
    _links: links({ self: "/me" }),
  },
  OpenApiDocument: { openapi: "3.0.3", info: { title: "Brokerage API", version: "2.0.0" }, paths: {} },
  Order: order,
  Position: position,
  Quote: quote,
  QuoteSet: {
    object: "quote_set",
    data: [quote],
    missing: [{ symbol: "GER40", code: "no_quote" }],
    _links: links({ self: "/quotes?symbols=EURUSD,GER40" }),
  },
  SandboxDrive: {
    object: "sandbox_drive",
    account_id,
    reached_margin_level: "79.97",
    price: sandboxPrice,
    before: accountBalance,
    after: accountBalance,
    effects: sandboxEffects,
    events: [{ id: event_id, type: "margin.call", sequence: "43" }],
    events_complete: true,
  },
  SandboxReset: {
    id: "rst_01JD000000000000000000000D",
    object: "sandbox_reset",
    status: "completed",
    removed: {
      clients: 12,
      accounts: 19,
      transactions: 64,
      trades: 230,
      orders: 8,
      feed_sources: 1,
      other_items: 1874,
    },
    created_at,
    updated_at: completed_at,
    completed_at,
    version: 4,
    _links: links({ self: "/sandbox/reset" }),
  },
  SandboxPrices: { object: "sandbox_prices", data: [sandboxPrice], effects: sandboxEffects },
  Settings: {
    object: "settings",
    tenant_id: tenantId,
    require_verified_client: "none",
    four_eyes: true,
    currencies: ["USD", "EUR", "GBP", "CHF", "JPY", "AUD"],
    default_leverage: 100,
    transaction_expiry_days: 7,
    created_at,
    updated_at: completed_at,
    version: 2,
    _links: links({ self: "/settings" }),
  },
  SymbolMargin: {
    object: "symbol_margin",
    symbol: "EURUSD",
    account_id,
    currency: "USD",
    leverage: 30,
    side: "buy",
    lots: "1.00",
    price: "1.10010",
    quote_at: completed_at,
    stale: false,
    margin: "3667.00",
    margin_rate: "1.1001",
    conversion: {
      ...euroToDollar,
      via: [{ symbol: "EURUSD", op: "multiply", price: "1.10010" }],
      rate: "1.100100000000",
    },
    _links: links({
      self: "/symbols/EURUSD/margin",
      symbol: "/symbols/EURUSD",
      account: `/accounts/${account_id}`,
    }),
  },
  TokenReply: {
    access_token: "eyJhbGciOiJFUzI1NiIsInR5cCI6ImF0K2p3dCIsImtpZCI6IjEifQ.eyJzdWIiOiJhcHAifQ.c2lnbmF0dXJl",
    token_type: "Bearer",
    expires_in: 3600,
    refresh_token: `rt_${"0".repeat(118)}`,
    refresh_token_expires_in: 2_592_000,
    scope: "clients:read clients:write",
  },
  Trade: trade,
  TradingAccount: account,
  TradingSymbol: tradingSymbol,
  Transaction: transaction,
  TransactionHistory: {
    object: "transaction_history",
    transaction_id,
    data: statusHistory,
    _links: links({ self: `/transactions/${transaction_id}/history`, transaction: `/transactions/${transaction_id}` }),
  },
  WatchedAccount: {
    ...accountBalance,
    object: "watched_account",
    client_id,
    floating_pnl: "-560.00",
    equity: "440.00",
    used_margin: "440.04",
    free_margin: "-250.04",
    margin_level: "99.99",
    withdrawable: "0.00",
    margin_status: "margin_call",
    evaluated_at: completed_at,
    evaluated_margin_level: "100.00",
    liquidating: false,
  },
};

/** A path with example identifiers in the place of its parameters: `/clients/cli_01JD…/accounts`. */
function examplePath(path: string): string {
  const first = path.split("/")[1] ?? "";
  const named = path.replace(/\{(\w+)\}/g, (whole, name: string) => exampleNames[name] ?? whole);
  return named.replace("{id}", exampleIds[first] ?? `${first.slice(0, 3)}_01JD0000000000000000000000`);
}

/** A page of one item, as the list at this path shows it. */
export function examplePage(path: string, item: unknown): JsonObject {
  const here = exampleBaseUrl + examplePath(path);
  return {
    object: "list",
    data: [item],
    page: { limit: 1, has_more: true },
    _links: {
      self: { href: `${here}?limit=1` },
      first: { href: `${here}?limit=1` },
      next: { href: `${here}?limit=1&cursor=eyJ2IjoxfQ` },
    },
  };
}

/** The identifier of a request in the examples of problems. */
export const exampleRequestId = requestId;
