/** The closed list of problem codes by HTTP status, each with its constant title (RFC 9457 3.1.3). */
const titles = {
  400: {
    malformed_json: "The body is not valid JSON.",
    duplicate_key: "The body repeats a member name.",
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
    four_eyes_required: "Another application must approve this.",
  },
  404: {
    symbol_not_found: "The symbol does not exist.",
    not_found: "The resource does not exist.",
  },
  405: {
    method_not_allowed: "The path does not know this method.",
  },
  409: {
    illegal_transition: "The state does not allow this change.",
    account_disabled: "The account is disabled.",
    account_closed: "The account is closed.",
    account_close_only: "The account only allows closing.",
    account_not_empty: "The account is not empty.",
    client_closed: "The client is closed.",
    client_suspended: "The client is suspended.",
    client_has_open_accounts: "The client still has open accounts.",
    client_not_verified: "The client is not verified.",
    too_many_accounts: "The client has as many accounts as a client may have.",
    email_taken: "Another client has this email address.",
    external_id_taken: "The external id is in use.",
    number_taken: "Another account has this number.",
    source_name_taken: "Another source has this name.",
    too_many_feed_sources: "The brokerage has as many sources as it may have.",
    sequence_gap: "Items are missing before this batch.",
    platform_login_taken: "Another account has this platform login.",
    duplicate_provider_reference: "A transaction with this provider reference exists.",
    insufficient_free_margin: "The free margin does not cover the amount.",
    application_revoked: "The application is revoked.",
    too_many_applications: "The brokerage has as many applications as it may have.",
    too_many_webhook_endpoints: "The brokerage has as many webhook endpoints as it may have.",
    webhook_endpoint_disabled: "The webhook endpoint is not enabled.",
    secret_rotation_in_progress: "The secret before still works.",
    insufficient_margin: "The free margin does not cover the trade.",
    leverage_change_breaches_margin: "The open positions do not allow this leverage.",
    leverage_change_in_progress: "Positions still take over another leverage.",
    liquidation_in_progress: "The account is being liquidated.",
    platform_account: "A trading platform keeps this account.",
    margin_level_unreachable: "No price gives the account this margin level.",
    market_closed: "The market of the symbol is closed.",
    metrics_stale: "A price that is needed is too old.",
    symbol_disabled: "The symbol is not open to new trades.",
    possible_duplicate: "The money may be that of a known transaction.",
    transaction_mismatch: "The money is not that of this transaction.",
    too_many_positions: "The account has as many open positions as an account may have.",
    exposure_too_large: "The positions or the balance of the account would be larger than the service can hold.",
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
    client_not_found: "The client does not exist.",
    webhook_endpoint_not_found: "The webhook endpoint does not exist.",
    account_not_found: "The account does not exist.",
    client_underage: "The client is too young.",
    leverage_not_allowed: "The leverage is not allowed for this account.",
    amount_precision: "The amount has more digits than its currency.",
    amount_too_large: "The amount is too large.",
    sign_mismatch: "The sign of the amount contradicts its kind.",
    currency_mismatch: "The currency is not that of the account.",
    item_failed: "The item could not be applied.",
    too_many_symbols: "The brokerage has as many symbols as it may have.",
    unknown_position: "The position is not known.",
    unknown_order: "The order is not known.",
    position_known: "The position is known already.",
    invalid_price: "The price is not possible.",
    no_conversion_path: "There is no way to convert to the currency of the account.",
    fee_too_high: "The fee is not lower than the amount.",
    immutable_field: "A field cannot be changed.",
  },
  429: {
    rate_limit_exceeded: "Too many requests.",
  },
  500: {
    internal_error: "The service failed.",
  },
  502: {
    bad_gateway: "The service failed.",
  },
  503: {
    no_quote: "The symbol has no price yet.",
    service_unavailable: "The service is not available right now.",
  },
  504: {
    gateway_timeout: "The service did not answer in time.",
  },
} as const;

type Titles = typeof titles;

/** Stable, machine-readable reason of a problem. */
export type ProblemCode = { [Status in keyof Titles]: keyof Titles[Status] }[keyof Titles];

/** What a code always comes with. */
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

/** What an integrator may see in `code`. The `type` of each is a page of the documentation named after the code. */
export const problemCodes = Object.values(titles).flatMap((codes) => Object.keys(codes)) as readonly ProblemCode[];

/** Page of the documentation that explains a code; rate limits use the registered IANA problem type. */
export function problemType(code: ProblemCode): string {
  if (code === "rate_limit_exceeded") return "https://iana.org/assignments/http-problem-types#quota-exceeded";
  return `https://docs.brokerage.example/problems/${code.replaceAll("_", "-")}`;
}
