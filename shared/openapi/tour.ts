/** One request of the tour; everything else, such as the example of the body, comes from the document. */
export interface Step {
  /** Operation id of the row that it calls, as the route table has it. */
  readonly row: string;
  /** Name of the request; by default the summary of the row. */
  readonly name?: string;
  /** Members of the body that replace those of the row's example, or the body of a row without an example. */
  readonly body?: Readonly<Record<string, unknown>>;
  /** Query parameters that are sent; all others are listed but disabled. */
  readonly query?: Readonly<Record<string, string>>;
  /**
   * Variables that the response sets for later requests, each with the place in the response that its value is read
   * from. A row that answers 201 also sets the identifier of the created resource.
   */
  readonly keeps?: Readonly<Record<string, string>>;
  /** Expected status of a refusal; by default the request succeeds. */
  readonly status?: number;
  /** The effect of an earlier request is asynchronous: the request is repeated until the stored values are present. */
  readonly waits?: true;
  /** Variable without whose value `yes` the request is skipped: it destroys more than what the run has made. */
  readonly onlyWith?: string;
}

/** A folder of the Postman collection. */
export interface Chapter {
  readonly name: string;
  readonly description: string;
  readonly steps: readonly Step[];
}

/** A value that is different in every run, for members that must be unique. */
const fresh = "{{$guid}}";
/** Personal data that an identity check requires. */
const checked = { date_of_birth: "1990-12-31", country: "PT" };

/** From the account of before to the one that was created last. */
const betweenAccounts = { from_account_id: "{{paying_account_id}}", to_account_id: "{{account_id}}" };

/**
 * Every row of the sandbox in an order that succeeds in an empty brokerage: each request uses resources of earlier
 * ones, and removals come last. The requests of the Postman collection, and their order.
 */
export const tour: readonly Chapter[] = [
  {
    name: "Token",
    description: "Run this first: every other request sends the access token that it stores.",
    steps: [
      { row: "create_token", keeps: { access_token: "access_token", refresh_token: "refresh_token" } },
      { row: "get_key_set" },
    ],
  },
  {
    name: "Service",
    description: "The calling application and the policies of the brokerage.",
    steps: [
      { row: "get_health" },
      { row: "get_openapi" },
      { row: "get_asyncapi" },
      { row: "get_me" },
      { row: "get_limits" },
      { row: "get_settings" },
      // The tour has one application, which approves what it has created itself.
      { row: "update_settings", body: { four_eyes: false } },
    ],
  },
  {
    name: "Market",
    description: "Tradable symbols and their prices.",
    steps: [
      { row: "set_sandbox_prices", body: { prices: [{ symbol: "EURUSD", bid: "1.10000" }] } },
      { row: "list_symbols" },
      { row: "get_symbol" },
      { row: "get_quote" },
      { row: "list_quotes", query: { symbols: "EURUSD,GBPUSD" } },
      { row: "list_conversion_rates", query: { from: "EUR" } },
    ],
  },
  {
    name: "Webhooks",
    description: "Webhook endpoints. The URL of the example does not respond, so its deliveries are retried.",
    steps: [
      { row: "create_webhook_endpoint" },
      { row: "list_webhook_endpoints" },
      { row: "get_webhook_endpoint" },
      { row: "rotate_webhook_secret" },
      { row: "test_webhook_endpoint" },
    ],
  },
  {
    name: "Stream",
    description: "A ticket for the WebSocket stream; the stream itself is described at `/asyncapi.json`.",
    steps: [{ row: "create_stream_ticket" }],
  },
  {
    name: "Clients",
    description: "People and companies, and their verification.",
    steps: [
      { row: "create_client", name: "Create a client who is refused", body: { email: `${fresh}@example.com` } },
      { row: "update_client", name: "Begin an identity check", body: { verification_status: "pending", ...checked } },
      { row: "list_client_queue" },
      { row: "create_review" },
      { row: "list_reviews" },
      { row: "sandbox_reject_client" },
      { row: "create_client", body: { email: `${fresh}@example.com` } },
      { row: "sandbox_verify_client" },
      { row: "get_client" },
      { row: "update_client" },
      { row: "list_clients" },
    ],
  },
  {
    name: "Accounts",
    description: "Trading accounts of the client.",
    steps: [
      { row: "create_account" },
      { row: "get_account" },
      { row: "update_account" },
      { row: "list_accounts" },
      { row: "list_client_accounts" },
      { row: "get_balance" },
      { row: "get_account_metrics", query: { account_ids: "{{account_id}}" } },
      { row: "list_margin_watch" },
    ],
  },
  {
    name: "Transactions",
    description: "Deposits and withdrawals: completed, paid out and returned, and declined.",
    steps: [
      { row: "create_deposit", body: { amount: "5000.00" } },
      { row: "update_transaction" },
      { row: "get_transaction" },
      { row: "get_transaction_history" },
      { row: "create_withdrawal" },
      { row: "sandbox_settle_transaction" },
      { row: "sandbox_return_transaction" },
      { row: "create_deposit", name: "Create a deposit that fails" },
      { row: "sandbox_fail_transaction" },
      { row: "create_deposit", name: "Create a deposit to approve" },
      { row: "list_approval_queue" },
      { row: "approve_transaction" },
      { row: "create_deposit", name: "Create a deposit to reject" },
      { row: "reject_transaction" },
      { row: "create_adjustment", keeps: { paying_account_id: "account_id" } },
      { row: "create_credit", keeps: { paying_account_id: "account_id" } },
      { row: "create_account", name: "Create an account in another currency", body: { currency: "EUR" } },
      { row: "create_transfer_quote", body: betweenAccounts },
      { row: "create_transfer", body: betweenAccounts, keeps: { account_id: "account_id" } },
      { row: "list_transactions" },
      { row: "summarize_transactions", query: { from: "2026-11-01", to: "2026-11-30" } },
      { row: "report_money", query: { from: "2026-11-01", to: "2026-11-30", currency: "USD" } },
      { row: "report_closing_balances", query: { from: "2026-11-01", to: "2026-11-30" } },
      { row: "report_income", query: { from: "2026-11-01", to: "2026-11-30" } },
      { row: "report_usage", query: { from: "2026-11-01", to: "2026-11-30" } },
      { row: "report_reconciliation" },
      { row: "create_job", keeps: { job_id: "id" } },
      { row: "list_jobs" },
      { row: "get_job" },
      { row: "create_job_links", status: 409 },
      { row: "cancel_job" },
      { row: "list_client_transactions" },
      { row: "list_account_transactions" },
      { row: "list_ledger" },
      { row: "get_statement", query: { from: "2026-11-01", to: "2026-11-30" } },
    ],
  },
  {
    name: "Trading",
    description: "A trade, a pending order, and an account that is moved to a margin call.",
    steps: [
      { row: "get_symbol_margin", query: { account_id: "{{account_id}}", lots: "1.00" } },
      // Its first sum comes within a minute after the first position.
      { row: "get_exposure" },
      // Far enough away that the price that causes the margin call does not reach it.
      { row: "open_sandbox_trade", body: { stop_loss: "1.00000" }, keeps: { position_id: "position_id" } },
      { row: "get_trade" },
      { row: "list_trades" },
      { row: "list_client_trades" },
      { row: "list_account_trades" },
      { row: "get_position" },
      { row: "list_positions" },
      { row: "list_account_positions" },
      { row: "create_margin_preview" },
      { row: "place_sandbox_order" },
      { row: "get_order" },
      { row: "list_orders" },
      { row: "list_account_orders" },
      { row: "cancel_sandbox_order" },
      { row: "drive_sandbox_account" },
      { row: "close_sandbox_trade" },
    ],
  },
  {
    name: "Feed",
    description: "Input from a trading platform; an item that cannot be applied is set aside and retried.",
    steps: [
      { row: "create_feed_source", body: { name: `mt5:${fresh}` } },
      { row: "get_feed_source" },
      { row: "list_feed_sources" },
      { row: "update_feed_source" },
      { row: "send_feed_quotes" },
      { row: "begin_feed_epoch" },
      { row: "send_feed_batch", keeps: { seq: "results[0].seq" } },
      { row: "list_feed_rejects" },
      { row: "retry_feed_reject" },
      { row: "dismiss_feed_reject" },
      {
        row: "create_account",
        name: "Create an account that is linked to the source",
        body: { source_id: "{{feed_id}}", platform_login: fresh },
      },
      {
        row: "create_deposit",
        name: "Ask the platform for a deposit",
        body: { amount: "5000.00", status: "completed" },
      },
      { row: "take_commands", keeps: { command_id: "data[0].id" } },
      { row: "list_commands" },
      { row: "get_command" },
      // Only a command whose outcome is unknown can be handed out again.
      { row: "requeue_command", status: 409 },
      { row: "ack_command", body: { attempt: 1, status: "done", operation_id: fresh } },
    ],
  },
  {
    name: "Drift",
    description: "The accounts of the platform are compared with those of this service.",
    steps: [
      { row: "send_feed_snapshot", body: { snapshot_id: fresh } },
      { row: "list_feed_snapshots", keeps: { snapshot_id: "data[0].snapshot_id" }, waits: true },
      { row: "get_feed_snapshot" },
      { row: "list_drift", keeps: { drift_id: "data[0].id" }, waits: true },
      { row: "get_drift" },
      { row: "resolve_drift" },
    ],
  },
  {
    name: "Events",
    description: "Events and their deliveries.",
    steps: [
      { row: "list_event_types" },
      { row: "list_events", keeps: { event_id: "data[0].id" }, waits: true },
      { row: "get_event" },
      { row: "list_audit_entries", keeps: { audit_log_id: "data[0].id" }, waits: true },
      { row: "get_audit_entry" },
      { row: "verify_audit_log" },
      { row: "sandbox_trigger_event" },
      { row: "replay_events", body: { after_sequence: "0" } },
      { row: "list_deliveries", keeps: { delivery_id: "data[0].id" }, waits: true },
      { row: "get_delivery" },
      // The URL of the example never responds, and a delivery that is still being retried cannot be repeated.
      { row: "retry_delivery", status: 409 },
      { row: "update_webhook_endpoint" },
    ],
  },
  {
    name: "Applications",
    description: "Applications that may call this API. The application that is created here is revoked below.",
    steps: [
      { row: "create_application" },
      { row: "list_applications" },
      { row: "get_application" },
      { row: "update_application" },
      { row: "rotate_application_secret" },
    ],
  },
  {
    name: "Operators",
    description: "People who sign in. The operator that is invited here is removed below.",
    steps: [
      { row: "create_operator" },
      { row: "list_operators" },
      { row: "get_operator" },
      { row: "get_operator_handover" },
      { row: "update_operator" },
      { row: "invite_operator" },
      // An operator who has not signed in yet is invited again.
      { row: "reset_operator_credentials", status: 409 },
    ],
  },
  {
    name: "Cleaning up",
    description:
      "Removals. With `reset_sandbox` set to `yes` in the environment the sandbox is reset, which removes every " +
      "client with all their data; otherwise both requests of it are skipped. The token is revoked last: afterwards " +
      "only the first request works.",
    steps: [
      { row: "delete_feed_source" },
      { row: "disable_account" },
      { row: "delete_webhook_endpoint" },
      { row: "revoke_application" },
      { row: "delete_operator" },
      { row: "reset_sandbox", onlyWith: "reset_sandbox" },
      { row: "get_sandbox_reset", onlyWith: "reset_sandbox" },
      { row: "revoke_token", body: { token: "{{refresh_token}}" } },
    ],
  },
];
