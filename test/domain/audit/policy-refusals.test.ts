import { expect, it } from "vitest";
import { policyRefusals } from "../../../shared/schema/audit/policy-refusals.ts";
import { problemCodes } from "../../../shared/schema/problem.ts";

/** Codes that say nothing about who may do what, named here so that a new one is decided about. */
const others = [
  // The request is wrong, too large, too frequent, or about something that is not there.
  ...["malformed_json", "duplicate_key", "invalid_parameter", "unknown_parameter", "invalid_cursor"],
  ...["idempotency_key_invalid", "symbol_not_found", "not_found", "method_not_allowed", "precondition_failed"],
  ...["payload_too_large", "unsupported_media_type", "validation_failed", "idempotency_key_reused", "immutable_field"],
  ...["client_not_found", "webhook_endpoint_not_found", "account_not_found", "source_not_found", "rate_limit_exceeded"],
  // No caller is known, so there is no brokerage that could have an entry.
  "unauthenticated",
  // It does not fit what is stored: a state, a number of resources, a name that is taken.
  ...["illegal_transition", "account_disabled", "account_closed", "account_close_only", "account_not_empty"],
  ...["client_closed", "client_suspended", "client_has_open_accounts", "client_not_verified", "too_many_accounts"],
  ...["email_taken", "external_id_taken", "number_taken", "source_name_taken", "too_many_feed_sources"],
  ...["sequence_gap", "platform_login_taken", "duplicate_provider_reference", "application_revoked"],
  ...["too_many_applications", "operator_exists", "too_many_operators", "too_many_webhook_endpoints"],
  ...["webhook_endpoint_disabled", "secret_rotation_in_progress", "platform_account", "command_outstanding"],
  ...["source_busy", "snapshot_ahead", "snapshot_conflict", "drift_changed", "source_ended", "operation_known"],
  ...["possible_duplicate", "transaction_mismatch", "transfer_quote_invalid", "too_many_credit_lots"],
  ...["too_many_positions", "too_many_symbols", "not_linked", "unknown_position", "unknown_order", "unknown_deal"],
  ...["deal_not_reversible", "position_known", "item_failed", "deal_conflict", "sequence_conflict"],
  ...["too_many_jobs", "job_not_succeeded", "result_expired", "instant_too_recent"],
  // Money, margin and prices do not allow it.
  ...["insufficient_free_margin", "insufficient_margin", "leverage_change_breaches_margin", "insufficient_funds"],
  ...["liquidation_in_progress", "margin_level_unreachable", "market_closed"],
  ...["metrics_stale", "symbol_disabled", "insufficient_credit", "exposure_too_large", "client_underage"],
  ...["leverage_not_allowed", "amount_precision", "amount_too_large", "amount_too_small", "transfer_not_allowed"],
  ...["sign_mismatch", "currency_mismatch", "invalid_price", "no_conversion_path", "fee_too_high", "no_quote"],
  // The service failed.
  ...["internal_error", "bad_gateway", "service_unavailable", "gateway_timeout", "unreadable_item", "not_ready"],
];

it("every problem code refuses by policy or scope, or is named as one that does not", () => {
  expect([...policyRefusals, ...others].toSorted()).toEqual(problemCodes.toSorted());
});
