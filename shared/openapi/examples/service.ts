import { actor, completed_at, created_at, links, tenantId } from "./identifiers.ts";

/** The rest of a window at 06:30:00.123. */
function windowOf(name: string, limit: number, used: number, period_seconds = 1) {
  const resets_at = period_seconds === 1 ? "2026-11-21T06:30:01.000Z" : "2026-11-21T06:31:00.000Z";
  return { name, limit, used, remaining: limit - used, period_seconds, resets_at };
}

const exampleTicket = "stk_t9mXc2QvR7bYw4KpZs6LhNd8Gf3JaTe5UiVo1PqBxMz";

/** Examples of the replies about the service and its tokens, by component. */
export const serviceReplies: Readonly<Record<string, unknown>> = {
  Health: { status: "ok", environment: "sandbox", time: created_at },
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
  Me: {
    object: "caller",
    operator: null,
    application: { id: actor.id, name: "CRM", client_id: "app_Zk3mX9qLw2RtYv7BnC4dPs8h", status: "active" },
    tenant_id: tenantId,
    environment: "sandbox",
    scopes: ["clients:read", "clients:write"],
    limits: { per_minute: 1000, burst: 50, quotes_per_second: 100 },
    _links: links({ self: "/me" }),
  },
  RateLimits: {
    object: "rate_limits",
    caller: { type: "application", id: actor.id },
    as_of: created_at,
    windows: [
      windowOf("minute", 1000, 3, 60),
      windowOf("burst", 50, 1),
      windowOf("quotes", 100, 0),
      windowOf("feed", 50, 0),
      windowOf("feed_quotes", 50, 0),
    ],
    gateway: { per_second: 150, burst: 300 },
    token_endpoint: { failures_per_minute: 10 },
    _links: links({ self: "/status/limits" }),
  },
  StreamTicket: {
    object: "stream_ticket",
    ticket: exampleTicket,
    expires_at: "2026-11-21T06:31:00.000Z",
    url: `wss://stream.brokerage.example?ticket=${exampleTicket}`,
  },
  OpenApiDocument: { openapi: "3.0.3", info: { title: "Brokerage API", version: "2.0.0" }, paths: {} },
  AsyncApiDocument: { asyncapi: "3.0.0", info: { title: "Brokerage stream", version: "2.0.0" }, channels: {} },
  Settings: {
    object: "settings",
    tenant_id: tenantId,
    name: "Example Markets",
    require_verified_client: "none",
    four_eyes: true,
    transfer_mark_up_percent: "0.50",
    credit_on_withdrawal: "keep",
    day_end: { time: "17:00", zone: "America/New_York" },
    brokerage: {
      ...{ name: "Example Markets Ltd", address: "1 Harbour Street, London", registration_number: "01234567" },
      ...{ licence: "FCA 123456", contact: "help@example.com", website: null },
    },
    approval_rules: [{ kind: "withdrawal", over: { USD: "5000.00" }, approvers: 2, roles: ["finance", "owner"] }],
    proposed_approval_rules: null,
    proposed_four_eyes: null,
    currencies: ["USD", "EUR", "GBP", "CHF", "JPY", "AUD"],
    default_leverage: 100,
    max_leverage_retail: 30,
    min_stop_out_retail: "50.00",
    transaction_expiry_days: 7,
    created_at,
    updated_at: completed_at,
    version: 2,
    _links: links({ self: "/settings" }),
  },
  TokenReply: {
    access_token: "eyJhbGciOiJFUzI1NiIsInR5cCI6ImF0K2p3dCIsImtpZCI6IjEifQ.eyJzdWIiOiJhcHAifQ.c2lnbmF0dXJl",
    token_type: "Bearer",
    expires_in: 3600,
    refresh_token: `rt_${"0".repeat(118)}`,
    refresh_token_expires_in: 2_592_000,
    issued_token_type: "urn:ietf:params:oauth:token-type:access_token",
    scope: "clients:read clients:write",
  },
};
