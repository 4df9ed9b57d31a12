import type { APIGatewayProxyResult } from "aws-lambda";
import type { Refusal } from "../domain/kernel/decision.ts";
import { Slowness } from "../domain/usage/slowness.ts";
import { limits } from "../limits.ts";
import { spentUnits } from "../runtime/budget.ts";
import { nowMs } from "../runtime/clock.ts";
import { env } from "../runtime/env.ts";
import { causeOf, log } from "../runtime/log.ts";
import { isUnavailable } from "../runtime/unavailable.ts";
import { UnreadableItem } from "../runtime/unreadable.ts";
import { type ProblemCode, problemKind } from "../schema/problem.ts";
import { headerOf } from "./body.ts";
import type { Answer, Exchange } from "./exchange.ts";
import { HttpProblem, type ProblemDetails, problemDocument } from "./problem.ts";
import { rateHeaders } from "./rate.ts";

/**
 * The answer to a failed request. An unexpected error is logged by name and answered with a plain 500, or with 503 if
 * it is temporary. Neither says whether the request was carried out, because the answer of the table may be lost.
 */
export function problemAnswer(exchange: Exchange, error: unknown): Answer {
  if (error instanceof HttpProblem) return problem(exchange, error.code, error.message, error.details);
  const { stack } = error as Error;
  log.error("The request failed.", { operation: exchange.row.id, ...causeOf(error), stack });
  if (error instanceof UnreadableItem) return problem(exchange, "unreadable_item", unreadable);
  const again = exchange.row.method === "GET" ? "Send the request again." : unknownOutcome;
  if (!isUnavailable(error)) return problem(exchange, "internal_error", `The service failed. ${again}`);
  const headers = { "Retry-After": String(limits.request.retry_after_seconds) };
  return problem(exchange, "service_unavailable", `The service is temporarily unavailable. ${again}`, { headers });
}

const unreadable = "A stored item cannot be read, and without it the answer would be wrong. It must be repaired first.";

const unknownOutcome = "The request may or may not have been carried out. Retry it with the same Idempotency-Key.";

/** Temporary refusals, with the seconds after which to retry. */
const temporary: Readonly<Partial<Record<Refusal["code"], number>>> = {
  liquidation_in_progress: 1,
  metrics_stale: 5,
  no_quote: 5,
};

/**
 * The answer to a refused decision. A business refusal is stored under the caller's Idempotency-Key. An invalid request
 * and a temporary refusal are not, so that the caller can retry with the same key.
 */
export function refusalAnswer(
  exchange: Exchange,
  refusal: Refusal,
): { readonly reply: Answer; readonly stored: boolean } {
  const status = refusal.status ?? problemKind(refusal.code).status;
  const fault = refusal.code === "validation_failed" || refusal.code === "immutable_field";
  const seconds = refusal.retry_after_seconds ?? temporary[refusal.code];
  const again = seconds === undefined ? {} : { headers: { "Retry-After": String(seconds) } };
  return {
    reply: problem(exchange, refusal.code, refusal.detail, { ...refusal, ...again }),
    stored: seconds === undefined && (status === 409 || (status === 422 && !fault)),
  };
}

function problem(
  exchange: Exchange,
  code: ProblemCode,
  detail: string,
  { errors, extra, headers, status = problemKind(code).status }: ProblemDetails = {},
): Answer {
  const where = { path: exchange.event.requestContext.path, request_id: exchange.request_id };
  const document = problemDocument(code, detail, where, {
    ...(errors === undefined ? {} : { errors }),
    ...(extra === undefined ? {} : { extra }),
    status,
  });
  return {
    status,
    headers: { "Content-Type": "application/problem+json", ...headers },
    body: JSON.stringify(document),
    refused: code,
  };
}

/**
 * Usage of a request by its caller; `GET /usage` adds it up (ADR 0064). A request without a caller is of no brokerage.
 */
function usageOf({ row, caller, lambda }: Exchange): Readonly<Record<string, unknown>> {
  if (caller === undefined) return {};
  return {
    tenant_id: caller.tenant_id,
    actor_id: caller.actor.id,
    method: row.method,
    route_group: row.path.split("/")[1],
    memory_mb: Number(lambda.memoryLimitInMB),
    ...spentUnits(),
  };
}

/** Of the one route of this environment; the stack says what its requests may take. */
const slowness = new Slowness(env.slowAboveMs);

/**
 * The reply of the function: the answer with the common headers. Writes the log line of the request.
 */
export async function finish(exchange: Exchange, answer: Answer): Promise<APIGatewayProxyResult> {
  const duration_ms = nowMs() - exchange.started_ms;
  const correlation = headerOf(exchange.event, "X-Correlation-Id");
  const echoed = correlation !== undefined && /^[A-Za-z0-9._-]{1,64}$/.test(correlation) ? correlation : undefined;
  log.info("request", {
    operation: exchange.row.id,
    status: answer.status,
    duration_ms,
    ...(slowness.counts(duration_ms) ? { slow: true } : {}),
    request_id: exchange.request_id,
    ...usageOf(exchange),
    ...(echoed === undefined ? {} : { correlation_id: echoed }),
    ...(answer.replayed ? { replayed: true } : {}),
  });
  return {
    statusCode: answer.status,
    headers: {
      "Cache-Control": answer.status < 400 ? "private, no-store" : "no-store",
      "Strict-Transport-Security": "max-age=63072000; includeSubDomains",
      "X-Content-Type-Options": "nosniff",
      "X-Request-Id": exchange.request_id,
      ...(echoed === undefined ? {} : { "X-Correlation-Id": echoed }),
      // A caller without access has no limits either; the gateway, which answers most 401, knows none.
      ...(answer.status === 401 ? {} : await rateHeaders(exchange)),
      ...(answer.replayed ? { "Idempotent-Replayed": "true" } : {}),
      ...answer.headers,
    },
    body: answer.body,
  };
}
