import { GatewayResponse, type IRestApi, ResponseType } from "aws-cdk-lib/aws-apigateway";
import { Construct } from "constructs";
import { limits } from "../../shared/limits.ts";
import { type ProblemCode, unknownPath } from "../../shared/schema/problem.ts";
import { gatewayHeaders, problemStatus, problemTemplate } from "./problem-document.ts";

interface Row {
  readonly types: readonly string[];
  readonly code: ProblemCode;
  readonly detail: string;
  /** Headers in addition to the common ones; fixed values in quotes. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Headers of the functions for a caller that has none left; `Retry-After` alone says when there are some again. */
const exceeded = { "X-RateLimit-Limit": `'${limits.rate.per_minute}'`, "X-RateLimit-Remaining": "'0'" };

const challenge = { "WWW-Authenticate": "'Bearer realm=\"brokerage\"'" };

/**
 * Every error that API Gateway makes by itself, turned into the document that the functions write.
 *
 * No method of this API asks for a signature of AWS. A signature is only looked for where no method is found: an
 * unknown path that comes with an `Authorization` header is refused for that header, under one of the signature types
 * or none at all. So those types and the rest of 4XX mean the same as MISSING_AUTHENTICATION_TOKEN: not found.
 */
const rows: readonly Row[] = [
  {
    types: ["MISSING_AUTHENTICATION_TOKEN", "RESOURCE_NOT_FOUND", "INVALID_SIGNATURE", "EXPIRED_TOKEN", "DEFAULT_4XX"],
    code: "not_found",
    detail: unknownPath,
  },
  { types: ["BAD_REQUEST_BODY"], code: "malformed_json", detail: "The body cannot be read." },
  { types: ["BAD_REQUEST_PARAMETERS"], code: "invalid_parameter", detail: "A parameter cannot be read." },
  {
    // The authorizer denies no caller that it knows, so a denial is an unknown caller too.
    types: ["UNAUTHORIZED", "ACCESS_DENIED"],
    code: "unauthenticated",
    detail: "The access token is missing, not valid, expired or revoked.",
    headers: challenge,
  },
  { types: ["WAF_FILTERED"], code: "address_not_allowed", detail: "The request was refused." },
  { types: ["REQUEST_TOO_LARGE"], code: "payload_too_large", detail: "The request is larger than the API takes." },
  { types: ["UNSUPPORTED_MEDIA_TYPE"], code: "unsupported_media_type", detail: "Send the body as application/json." },
  {
    types: ["THROTTLED"],
    code: "rate_limit_exceeded",
    detail: "The application sends more requests per second than it may.",
    headers: { ...exceeded, "Retry-After": "'1'" },
  },
  {
    types: ["QUOTA_EXCEEDED"],
    code: "rate_limit_exceeded",
    detail: "The application has used up its requests.",
    headers: { ...exceeded, "Retry-After": "'60'" },
  },
  {
    // Keys never leave the service: a wrong or missing one is a key that is not made yet, or a fault of ours.
    types: ["INVALID_API_KEY", "AUTHORIZER_FAILURE", "AUTHORIZER_CONFIGURATION_ERROR"],
    code: "service_unavailable",
    detail: "The request could not be admitted. Send it again.",
    headers: { "Retry-After": "'2'" },
  },
  { types: ["INTEGRATION_FAILURE"], code: "bad_gateway", detail: "The request may or may not have been carried out." },
  {
    types: ["INTEGRATION_TIMEOUT"],
    code: "gateway_timeout",
    detail: "The request may or may not have been carried out.",
  },
  {
    types: ["API_CONFIGURATION_ERROR", "DEFAULT_5XX"],
    code: "internal_error",
    detail: "The request may or may not have been carried out.",
  },
];

/** The gateway's own errors as problem documents (RFC 9457). */
export class GatewayResponses extends Construct {
  constructor(scope: Construct, id: string, restApi: IRestApi) {
    super(scope, id);
    for (const row of rows) {
      for (const type of row.types) {
        new GatewayResponse(this, type, {
          restApi,
          type: ResponseType.of(type),
          statusCode: problemStatus(row.code),
          responseHeaders: { ...gatewayHeaders, ...row.headers },
          templates: { "application/json": problemTemplate(row.code, row.detail) },
        });
      }
    }
  }
}
