import type { APIGatewayProxyEvent, Context as LambdaContext } from "aws-lambda";
import { limits } from "../limits.ts";
import type { ShippedRoute } from "../routes/route.ts";
import { nowMs } from "../runtime/clock.ts";
import { env } from "../runtime/env.ts";
import { unlogged } from "../runtime/log.ts";
import { prime } from "../table/counters.ts";
import type { Handler } from "./endpoint.ts";

/** An application of a brokerage that does not exist: whatever it requests is not found. */
const noTenant = {
  tenant_id: "brk_00000000000000000000000000",
  actor_type: "application",
  actor_id: "app_00000000000000000000000000",
};

/**
 * Returns a handler after it has answered one warm-up request. Lambda gives an environment more of a processor during
 * its start than during a request, and code that runs for the first time costs twice: it is compiled, opens connections
 * and is not optimised yet. So the first caller waits half as long (ADR 0017). The resource of the request does not
 * exist, so nothing is written except a count in the rate counter of {@link noTenant}. A row that creates a resource
 * only opens its connection. Nothing is logged, and a failure is left to the first request to report.
 */
export async function warmedUp(row: ShippedRoute, handler: Handler): Promise<Handler> {
  if (!env.isLambda) return handler;
  if (isHarmless(row)) await unlogged(() => handler(warmUpRequest(row), lambdaContext), limits.functions.warm_up_ms);
  else await prime();
  return handler;
}

/** Whether a warm-up request for a row changes nothing, because it reads or names a resource that does not exist. */
export function isHarmless({ method, path }: ShippedRoute): boolean {
  return method === "GET" || path.includes("{");
}

/** A request for a row by {@link noTenant}; every path parameter is an identifier that no resource has. */
export function warmUpRequest({ method, path, scope, body }: ShippedRoute): APIGatewayProxyEvent {
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
      requestId: "warm-up",
      path,
      requestTimeEpoch: nowMs(),
      identity: { sourceIp: "127.0.0.1" },
      authorizer: { ...noTenant, scopes: scope ?? "" },
    },
  };
  return event as unknown as APIGatewayProxyEvent;
}

/** End of the warm-up, epoch milliseconds. No answer is sent, so the time reserved for one is added. */
const ends_ms = nowMs() + limits.functions.warm_up_ms + limits.request.answer_reserve_ms;
/** The part of Lambda's context that handlers read. */
const lambdaContext = { getRemainingTimeInMillis: () => ends_ms - nowMs() } as LambdaContext;
