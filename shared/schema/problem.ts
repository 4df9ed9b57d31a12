/** Detail of a 404 for a path of no endpoint: the gateway and the functions return the same. */
export const unknownPath = "The path is not known.";

const missing = (what: string) => `The ${what} does not exist.`;
const full = (owner: string, what: string) => `The ${owner} has reached the maximum number of ${what}.`;

/** The closed list of problem codes by HTTP status, each with its constant title (RFC 9457 3.1.3). */
const titles = {
  400: {
    malformed_json: "The body is not valid JSON.",
    duplicate_key: "The body contains a duplicate member name.",
    invalid_parameter: "A parameter is not valid.",
    unknown_parameter: "A query parameter is not known.",
    invalid_cursor: "The cursor does not belong to this list.",
    idempotency_key_invalid: "The Idempotency-Key is not valid.",
  },
  401: {
    unauthenticated: "A valid access token is required.",
  },
  403: {
    insufficient_scope: "The token lacks a scope.",
    address_not_allowed: "The application may not call from this address.",
    source_not_allowed: "The application is bound to other feed sources.",
    operators_only: "This address is for operators only.",
    four_eyes_required: "Another application or operator must approve this.",
  },
  404: {
    symbol_not_found: missing("symbol"),
    not_found: missing("resource"),
  },
  405: {
    method_not_allowed: "The path does not support this method.",
  },
  409: {
    illegal_transition: "The state does not allow this change.",
    approval_required: "The transaction needs more approvals.",
    account_disabled: "The account is disabled.",
    account_closed: "The account is closed.",
    account_close_only: "The account only allows closing positions.",
    account_not_empty: "The account is not empty.",
    client_closed: "The client is closed.",
    client_suspended: "The client is suspended.",
    client_has_open_accounts: "The client still has open accounts.",
    client_not_verified: "The client is not verified.",
    too_many_accounts: full("client", "accounts"),
    email_taken: "Another client has this email address.",
    external_id_taken: "The external id is already in use.",
    number_taken: "Another account has this number.",
    source_name_taken: "Another source has this name.",
    too_many_feed_sources: full("brokerage", "feed sources"),
    sequence_gap: "Items are missing before this batch.",
    platform_login_taken: "Another account has this platform login.",
    duplicate_provider_reference: "A transaction with this provider reference exists.",
    insufficient_free_margin: "The free margin does not cover the amount.",
    application_revoked: "The application is revoked.",
    too_many_applications: full("brokerage", "applications"),
    operator_exists: "Another operator has this email address.",
    too_many_operators: full("brokerage", "operators"),
    last_owner: "The brokerage needs an active owner.",
    too_many_webhook_endpoints: full("brokerage", "webhook endpoints"),
    too_many_jobs: full("brokerage", "jobs"),
    job_not_succeeded: "The job has not succeeded.",
    webhook_endpoint_disabled: "The webhook endpoint is not enabled.",
    secret_rotation_in_progress: "The previous secret is still valid.",
    insufficient_margin: "The free margin does not cover the trade.",
    leverage_change_breaches_margin: "The open positions do not allow this leverage.",
    liquidation_in_progress: "The account is being liquidated.",
    platform_account: "The account is managed by a trading platform.",
    margin_level_unreachable: "No price brings the account to this margin level.",
    market_closed: "The market of the symbol is closed.",
    metrics_stale: "A required price is too old.",
    symbol_disabled: "The symbol is disabled for new trades.",
    deal_conflict: "Something else was applied under this name.",
    sequence_conflict: "Another item was processed under this number.",
    possible_duplicate: "The money may belong to an existing transaction.",
    transaction_mismatch: "The money does not belong to this transaction.",
    command_outstanding: "A command to the trading platform has not ended yet.",
    source_busy: "Commands of the source have not ended yet.",
    snapshot_ahead: "Items that the snapshot includes are missing.",
    snapshot_conflict: "The snapshot contradicts what was received before.",
    drift_changed: "The account has changed since the drift was found.",
    source_ended: "The feed source has ended.",
    operation_known: "The operation belongs to another transaction.",
    transfer_quote_invalid: "The quote cannot be used for this transfer.",
    insufficient_credit: "The credit does not cover the amount.",
    too_many_credit_lots: full("account", "credits"),
    too_many_positions: full("account", "open positions"),
    exposure_too_large: "The positions or the balance of the account would exceed the limits of the service.",
  },
  410: {
    result_expired: "The result of the job has expired.",
  },
  412: {
    precondition_failed: "The resource has changed.",
  },
  413: {
    payload_too_large: "The body is too large.",
  },
  415: {
    unsupported_media_type: "The content type is not supported.",
  },
  422: {
    validation_failed: "Your request is not valid.",
    idempotency_key_reused: "The Idempotency-Key was used for another request.",
    insufficient_funds: "The available balance does not cover the amount.",
    client_not_found: missing("client"),
    webhook_endpoint_not_found: missing("webhook endpoint"),
    account_not_found: missing("account"),
    client_underage: "The client is under the minimum age.",
    leverage_not_allowed: "The leverage is not allowed for this account.",
    amount_precision: "The amount has more decimal places than its currency.",
    amount_too_large: "The amount is too large.",
    amount_too_small: "The amount converts to nothing.",
    transfer_not_allowed: "Money cannot be transferred between these accounts.",
    sign_mismatch: "The sign of the amount contradicts its kind.",
    not_linked: "The account is not linked to a feed source.",
    source_not_found: missing("feed source"),
    currency_mismatch: "The currency differs from that of the account.",
    item_failed: "The service failed to apply the item.",
    too_many_symbols: full("brokerage", "symbols"),
    unknown_position: missing("position"),
    unknown_order: missing("order"),
    unknown_deal: missing("deal"),
    deal_not_reversible: "A later deal depends on this one.",
    position_known: "The position already exists.",
    invalid_price: "The price is not valid.",
    no_conversion_path: "There is no conversion path to the currency of the account.",
    fee_too_high: "The fee must be lower than the amount.",
    instant_too_recent: "The time is not long enough ago.",
    immutable_field: "A field cannot be changed.",
  },
  429: {
    rate_limit_exceeded: "Too many requests.",
  },
  500: {
    internal_error: "The service failed.",
    unreadable_item: "A stored item cannot be read.",
  },
  502: {
    bad_gateway: "The service failed.",
  },
  503: {
    no_quote: "The symbol has no price yet.",
    not_ready: "The figures were not computed yet.",
    service_unavailable: "The service is not available right now.",
  },
  504: {
    gateway_timeout: "The service did not answer in time.",
  },
} as const;

type Titles = typeof titles;

/** Stable, machine-readable reason of a problem. */
export type ProblemCode = { [Status in keyof Titles]: keyof Titles[Status] }[keyof Titles];

/** Status and title of a code. */
export interface ProblemKind {
  readonly status: number;
  readonly title: string;
}

/** Status and title of a code. */
export function problemKind(code: ProblemCode): ProblemKind {
  for (const [status, codes] of Object.entries(titles)) {
    const title = (codes as Readonly<Record<string, string>>)[code];
    if (title !== undefined) return { status: Number(status), title };
  }
  throw new Error(`${code} is no problem code.`);
}

/** Values of `code`. The `type` of each is a page of the documentation named after the code. */
export const problemCodes = Object.values(titles).flatMap((codes) => Object.keys(codes)) as readonly ProblemCode[];

/** Page of the documentation that explains a code; rate limits use the registered IANA problem type. */
export function problemType(code: ProblemCode): string {
  if (code === "rate_limit_exceeded") return "https://iana.org/assignments/http-problem-types#quota-exceeded";
  return `https://docs.brokerage.example/problems/${code.replaceAll("_", "-")}`;
}
