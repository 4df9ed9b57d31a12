import { type ProblemCode, problemCodes, problemKind, problemType } from "../schema/problem.ts";
import type { JsonObject } from "./document.ts";
import { exampleRequestId } from "./examples.ts";
import { referenceTo } from "./schemas.ts";

const integer = { type: "integer" };
const text = { type: "string" };

const fieldError: JsonObject = {
  type: "object",
  properties: { pointer: text, parameter: text, header: text, code: text, detail: text },
  required: ["code", "detail"],
};

/** Schema of every refusal outside the OAuth endpoints (RFC 9457). */
export const problemSchema: JsonObject = {
  type: "object",
  description: "A problem document (RFC 9457). Act on `code`; the texts are for people.",
  properties: {
    type: { type: "string", format: "uri" },
    title: text,
    status: integer,
    detail: text,
    instance: text,
    code: { type: "string", "x-extensible-enum": problemCodes },
    request_id: text,
    errors: { type: "array", items: fieldError },
    from: {
      type: "string",
      description:
        "With `illegal_transition`: the state as it is. With `no_conversion_path`: the currency to convert from.",
    },
    to: {
      type: "string",
      description:
        "With `illegal_transition`: the state that was asked for. " +
        "With `no_conversion_path`: the currency to convert to.",
    },
    symbol: { type: "string", description: "With `no_conversion_path`: the symbol whose profit cannot be converted." },
    allowed: { type: "array", items: text },
    previous_secret_expires_at: {
      type: "string",
      format: "date-time",
      description: "With `secret_rotation_in_progress`: from when on a new secret can be had.",
    },
    expected_seq: { type: "string", description: "With `sequence_gap`: the number that comes next." },
    left: { type: "array", items: text, description: "With `account_not_empty`: what the account still has." },
    max: { type: "integer", description: "With `leverage_not_allowed`: the highest that is allowed." },
    scope: { type: "string", description: "With `insufficient_scope`: the scope that is missing." },
    available_balance: { type: "string", description: "With `insufficient_funds`: what is available." },
    withdrawable: { type: "string", description: "With `insufficient_free_margin`: what can be withdrawn now." },
    free_margin: { type: "string", description: "With `insufficient_margin`: what was free." },
    required_margin: { type: "string", description: "With `insufficient_margin`: what the trade would take." },
    margin_level: {
      ...text,
      nullable: true,
      description: "With `leverage_change_breaches_margin`: the level, in percent, that the account would have.",
    },
    currency: { type: "string", description: "Currency of the amount beside it." },
    "violated-policies": {
      type: "array",
      items: { type: "string", enum: ["minute", "burst", "quotes", "feed", "feed_quotes"] },
    },
  },
  required: ["type", "title", "status", "detail", "instance", "code", "request_id"],
};

/** Content of an answer that is a problem of one of these codes. */
export function problemContent(codes: readonly ProblemCode[]): JsonObject {
  const examples = Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }]));
  return { "application/problem+json": { schema: { $ref: referenceTo("Problem") }, examples } };
}

const invalidField = { code: "required", detail: "is required" };

/** What a problem of this code says beside the members that every problem has. */
const problemExtras: Readonly<Partial<Record<ProblemCode, JsonObject>>> = {
  validation_failed: { errors: [{ pointer: "#/email", ...invalidField }] },
  immutable_field: { errors: [{ pointer: "#/client_id", code: "immutable_field", detail: "cannot be changed" }] },
  duplicate_key: { errors: [{ pointer: "#/email", code: "duplicate_key", detail: "is given twice" }] },
  unknown_parameter: { errors: [{ parameter: "stauts", code: "unknown_parameter", detail: "is not known" }] },
  invalid_parameter: {
    errors: [{ parameter: "limit", code: "invalid_format", detail: "must be a whole number from 1 to 100" }],
  },
  illegal_transition: { from: "completed", to: "pending", allowed: ["returned"] },
  secret_rotation_in_progress: { previous_secret_expires_at: "2026-11-22T06:30:00.123Z" },
  sequence_gap: { expected_seq: "918" },
  insufficient_scope: { scope: "clients:write" },
  insufficient_funds: { available_balance: "750.00", currency: "USD" },
  no_conversion_path: { symbol: "EURGBP", from: "GBP", to: "USD" },
  rate_limit_exceeded: { "violated-policies": ["burst"] },
};

/** Examples of problems, for every code that an answer of the document refers to. */
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
