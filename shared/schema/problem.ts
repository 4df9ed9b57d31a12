/**
 * The closed list of problem codes: what an integrator may see in `code`, its HTTP status and its constant title
 * (RFC 9457 3.1.3). The `type` of each is a page of the documentation named after the code.
 */
export const problems = {
  malformed_json: { status: 400, title: "The body is not valid JSON." },
  duplicate_key: { status: 400, title: "The body repeats a member name." },
  invalid_parameter: { status: 400, title: "A parameter is not valid." },
  unknown_parameter: { status: 400, title: "A query parameter is not known." },
  invalid_cursor: { status: 400, title: "The cursor does not belong to this list." },
  idempotency_key_invalid: { status: 400, title: "The Idempotency-Key is not valid." },
  unauthenticated: { status: 401, title: "A valid access token is required." },
  insufficient_scope: { status: 403, title: "The token lacks a scope." },
  address_not_allowed: { status: 403, title: "The application may not call from this address." },
  four_eyes_required: { status: 403, title: "Another application must approve this." },
  symbol_not_found: { status: 404, title: "The symbol does not exist." },
  not_found: { status: 404, title: "There is nothing here." },
  method_not_allowed: { status: 405, title: "The path does not know this method." },
  illegal_transition: { status: 409, title: "The state does not allow this change." },
  account_disabled: { status: 409, title: "The account is disabled." },
  account_closed: { status: 409, title: "The account is closed." },
  account_close_only: { status: 409, title: "The account only allows closing." },
  account_not_empty: { status: 409, title: "The account is not empty." },
  client_closed: { status: 409, title: "The client is closed." },
  client_suspended: { status: 409, title: "The client is suspended." },
  client_has_open_accounts: { status: 409, title: "The client still has open accounts." },
  client_not_verified: { status: 409, title: "The client is not verified." },
  too_many_accounts: { status: 409, title: "The client has as many accounts as a client may have." },
  email_taken: { status: 409, title: "Another client has this email address." },
  external_id_taken: { status: 409, title: "The external id is in use." },
  number_taken: { status: 409, title: "Another account has this number." },
  platform_login_taken: { status: 409, title: "Another account has this platform login." },
  duplicate_provider_reference: { status: 409, title: "A transaction with this provider reference exists." },
  insufficient_free_margin: { status: 409, title: "The free margin does not cover the amount." },
  application_revoked: { status: 409, title: "The application is revoked." },
  too_many_applications: { status: 409, title: "The brokerage has as many applications as it may have." },
  too_many_webhook_endpoints: { status: 409, title: "The brokerage has as many webhook endpoints as it may have." },
  webhook_endpoint_disabled: { status: 409, title: "The webhook endpoint is not enabled." },
  secret_rotation_in_progress: { status: 409, title: "The secret before still works." },
  insufficient_margin: { status: 409, title: "The free margin does not cover the trade." },
  liquidation_in_progress: { status: 409, title: "The account is being liquidated." },
  market_closed: { status: 409, title: "The market of the symbol is closed." },
  metrics_stale: { status: 409, title: "A price that is needed is too old." },
  symbol_disabled: { status: 409, title: "The symbol is not open to new trades." },
  too_many_positions: { status: 409, title: "The account has as many open positions as an account may have." },
  precondition_failed: { status: 412, title: "The resource has changed." },
  payload_too_large: { status: 413, title: "The body is too large." },
  unsupported_media_type: { status: 415, title: "The content type is not supported." },
  validation_failed: { status: 422, title: "Your request is not valid." },
  idempotency_key_reused: { status: 422, title: "The Idempotency-Key was used for another request." },
  insufficient_funds: { status: 422, title: "The available balance does not cover the amount." },
  client_not_found: { status: 422, title: "The client does not exist." },
  account_not_found: { status: 422, title: "The account does not exist." },
  client_underage: { status: 422, title: "The client is too young." },
  leverage_not_allowed: { status: 422, title: "The leverage is not allowed for this account." },
  amount_precision: { status: 422, title: "The amount has more digits than its currency." },
  amount_too_large: { status: 422, title: "The amount is too large." },
  currency_mismatch: { status: 422, title: "The currency is not that of the account." },
  invalid_price: { status: 422, title: "The price is not possible." },
  no_conversion_path: { status: 422, title: "There is no way to convert to the currency of the account." },
  fee_too_high: { status: 422, title: "The fee is not lower than the amount." },
  immutable_field: { status: 422, title: "A field cannot be changed." },
  rate_limit_exceeded: { status: 429, title: "Too many requests." },
  internal_error: { status: 500, title: "The service failed." },
  bad_gateway: { status: 502, title: "The service failed." },
  no_quote: { status: 503, title: "The symbol has no price yet." },
  service_unavailable: { status: 503, title: "The service is not available right now." },
  gateway_timeout: { status: 504, title: "The service did not answer in time." },
} as const;

/** Stable, machine-readable reason of a problem. */
export type ProblemCode = keyof typeof problems;

/** Page of the documentation that explains a code; rate limits use the registered IANA problem type. */
export function problemType(code: ProblemCode): string {
  if (code === "rate_limit_exceeded") return "https://iana.org/assignments/http-problem-types#quota-exceeded";
  return `https://docs.brokerage.example/problems/${code.replaceAll("_", "-")}`;
}
