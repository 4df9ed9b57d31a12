import type { APIGatewayProxyEvent, Context as LambdaContext } from "aws-lambda";
import { limits } from "../limits.ts";
import type { ShippedRoute } from "../routes/route.ts";
import { nowMs } from "../runtime/clock.ts";
import { env } from "../runtime/env.ts";
import { unlogged } from "../runtime/log.ts";
import { prime } from "../table/counters.ts";
import type { Handler } from "./endpoint.ts";

/** An application of a brokerage that is none: whatever it asks for is not there. */
const nobody = { tenant_id: "brk_00000000000000000000000000", application_id: "app_00000000000000000000000000" };

/**
 * A handler, given away when it has answered one request of nobody. Lambda starts an environment with more of a
 * processor than it gives to a request, and what runs for the first time costs twice: it is compiled, connects and is
 * not yet known to be hot. So the first caller waits half as long (ADR 0017). What is asked for, or to be changed, is
 * not there, so nothing is written but a count in the rate counter of nobody; what makes something anew is not
 * rehearsed, only its connection is made. Nothing is logged, and what goes wrong here the first request finds out.
 */
export async function rehearsed(row: ShippedRoute, handler: Handler): Promise<Handler> {
  if (!env.isLambda) return handler;
  if (isHarmless(row)) await unlogged(() => handler(requestOfNobody(row), shortly), limits.functions.rehearsal_ms);
  else await prime();
  return handler;
}

/** Whether a request of nobody for a row can only find that there is nothing. */
export function isHarmless({ method, path }: ShippedRoute): boolean {
  return method === "GET" || path.includes("{");
}

/** A request for a row by {@link nobody}, with an identifier of nothing wherever its path has a parameter. */
export function requestOfNobody({ method, path, scope, body }: ShippedRoute): APIGatewayProxyEvent {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
  const event = {
    httpMethod: method,
    path,
    resource: path,
    headers: { "content-type": "application/json" },
    multiValueHeaders: {},
    pathParameters: Object.fromEntries(names.map((name) => [name, "nil_00000000000000000000000000"])),
    queryStringParameters: null,
    multiValueQueryStringParameters: null,
    body: body === undefined ? null : "{}",
    isBase64Encoded: false,
    stageVariables: null,
    requestContext: {
      requestId: "rehearsal",
      path,
      requestTimeEpoch: nowMs(),
      identity: { sourceIp: "127.0.0.1" },
      authorizer: { ...nobody, scopes: scope ?? "" },
    },
  };
  return event as unknown as APIGatewayProxyEvent;
}

/** What a handler asks of Lambda: how long it may still take. A rehearsal is not answered, so nothing is set aside. */
const ends_ms = nowMs() + limits.functions.rehearsal_ms + limits.request.answer_reserve_ms;
const shortly = { getRemainingTimeInMillis: () => ends_ms - nowMs() } as LambdaContext;
