import { type ProblemCode, problemCodes, problemKind, problemType } from "../schema/problem.ts";
import type { JsonObject } from "./document.ts";
import { exampleRequestId } from "./examples/identifiers.ts";
import { openEnum } from "./open-enums.ts";
import { referenceTo } from "./schemas.ts";

const integer = { type: "integer" };
const text = { type: "string" };

const fieldError: JsonObject = {
  type: "object",
  properties: {
    pointer: { ...text, description: "JSON Pointer into the body, as a URI fragment: `#/email` (RFC 6901)." },
    parameter: { ...text, description: "Name of the query parameter." },
    header: { ...text, description: "Name of the header." },
    code: { ...text, description: "Machine-readable code of the violated rule." },
    detail: { ...text, description: "Human-readable explanation." },
  },
  required: ["code", "detail"],
};

/** Members that every problem has (RFC 9457), with the code and the request id of this service. */
const standardMembers: JsonObject = {
  type: { type: "string", format: "uri", description: "URL of the documentation of this problem type." },
  title: { ...text, description: "Short summary, the same for every problem of this type." },
  status: { ...integer, description: "HTTP status." },
  detail: { ...text, description: "Explanation of this occurrence." },
  instance: { ...text, description: "Path of the request." },
  code: {
    type: "string",
    [openEnum]: problemCodes,
    description: "Stable error code. New codes may be added within a version; handle an unknown code by its status.",
  },
  request_id: { ...text, description: "Same as the `X-Request-Id` header; include it in support requests." },
};

/** Members that only problems with certain codes have. */
const furtherMembers: JsonObject = {
  errors: { type: "array", items: fieldError, description: "Validation errors, one entry per field." },
  from: {
    type: "string",
    description: "With `illegal_transition`: the current state. With `no_conversion_path`: the source currency.",
  },
  to: {
    type: "string",
    description: "With `illegal_transition`: the requested state. With `no_conversion_path`: the target currency.",
  },
  symbol: { ...text, description: "With `no_conversion_path`: the symbol whose profit cannot be converted." },
  allowed: { type: "array", items: text, description: "With `illegal_transition`: the allowed target states." },
  approvals_missing: { ...integer, description: "With `approval_required`: the approvals that are missing." },
  roles: { type: "array", items: text, description: "With `approval_required`: the roles that may approve." },
  previous_secret_expires_at: {
    type: "string",
    format: "date-time",
    description: "With `secret_rotation_in_progress`: the time from which the secret can be rotated again.",
  },
  expected_seq: {
    ...text,
    description: "With `sequence_gap` and `snapshot_ahead`: the sequence number expected for the next item.",
  },
  causes: {
    type: "array",
    items: text,
    description:
      "With `drift_changed`: sequence numbers of items that were set aside, and commands that have not ended.",
  },
  command_id: { ...text, description: "With `command_outstanding`: the command." },
  command_status: { ...text, description: "With `command_outstanding`: the status of the command." },
  not_before: {
    type: "string",
    format: "date-time",
    description: "With `illegal_transition` of a command: the time from which it can be requeued.",
  },
  left: { type: "array", items: text, description: "With `account_not_empty`: what the account still holds." },
  max: { ...integer, description: "With `leverage_not_allowed`: the maximum leverage." },
  scope: { ...text, description: "With `insufficient_scope`: the missing scope." },
  available_balance: { ...text, description: "With `insufficient_funds`: the available balance." },
  withdrawable: { ...text, description: "With `insufficient_free_margin`: the amount that can be withdrawn now." },
  free_margin: {
    ...text,
    description:
      "With `insufficient_margin`, and with `insufficient_free_margin` of credit: the free margin at that time.",
  },
  credit: { ...text, description: "With `insufficient_credit`: the credit at that time." },
  required_margin: { ...text, description: "With `insufficient_margin`: the margin that the trade requires." },
  margin_level: {
    ...text,
    nullable: true,
    description: "With `leverage_change_breaches_margin`: the resulting margin level, in percent.",
  },
  currency: { ...text, description: "Currency of the amount in the same problem." },
  "violated-policies": {
    type: "array",
    items: { type: "string", [openEnum]: ["minute", "burst", "quotes", "feed", "feed_quotes"] },
    description: "With `rate_limit_exceeded`: the limits that were exceeded.",
  },
};

/** Schema of every refusal outside the OAuth endpoints (RFC 9457). */
export const problemSchema: JsonObject = {
  type: "object",
  description: "A problem document (RFC 9457). Handle errors by `code`; the texts are for people.",
  properties: { ...standardMembers, ...furtherMembers },
  required: Object.keys(standardMembers),
};

/** Content of a response that is a problem with one of these codes. */
export function problemContent(codes: readonly ProblemCode[]): JsonObject {
  const examples = Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }]));
  return { "application/problem+json": { schema: { $ref: referenceTo("Problem") }, examples } };
}

const invalidField = { code: "required", detail: "is required" };

/** Further members of the examples, by code. */
const problemExtras: Readonly<Partial<Record<ProblemCode, JsonObject>>> = {
  validation_failed: { errors: [{ pointer: "#/email", ...invalidField }] },
  immutable_field: { errors: [{ pointer: "#/client_id", code: "immutable_field", detail: "cannot be changed" }] },
  duplicate_key: { errors: [{ pointer: "#/email", code: "duplicate_key", detail: "is given twice" }] },
  unknown_parameter: { errors: [{ parameter: "stauts", code: "unknown_parameter", detail: "is not known" }] },
  invalid_parameter: {
    errors: [{ parameter: "limit", code: "invalid_format", detail: "must be a whole number from 1 to 100" }],
  },
  illegal_transition: { from: "completed", to: "pending", allowed: ["returned"] },
  approval_required: { approvals_missing: 1, roles: ["finance", "owner"] },
  secret_rotation_in_progress: { previous_secret_expires_at: "2026-11-22T06:30:00.123Z" },
  command_outstanding: { command_id: "cmd_01JD000000000000000000000F", command_status: "taken" },
  sequence_gap: { expected_seq: "918" },
  snapshot_ahead: { expected_seq: "918" },
  drift_changed: { causes: ["917"] },
  insufficient_scope: { scope: "clients:write" },
  insufficient_funds: { available_balance: "750.00", currency: "USD" },
  no_conversion_path: { symbol: "EURGBP", from: "GBP", to: "USD" },
  rate_limit_exceeded: { "violated-policies": ["burst"] },
};

/** An example of a problem for every code. */
export function problemExamples(): Record<string, JsonObject> {
  const one = (code: ProblemCode): JsonObject => ({
    summary: problemKind(code).title,
    value: {
      type: problemType(code),
      title: problemKind(code).title,
      status: problemKind(code).status,
      detail: problemKind(code).title,
      instance: "/v2/clients",
      code,
      request_id: exampleRequestId,
      ...problemExtras[code],
    },
  });
  return Object.fromEntries(problemCodes.map((code) => [code, one(code)]));
}
