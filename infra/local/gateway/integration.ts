import { type Exchange, type Reply, traceHeader } from "./exchange.ts";
import { Fault } from "./fault.ts";
import { functionOf, type GatewayHost, InvocationTimeout, invokeWithin } from "./host.ts";
import { type MockIntegration, readMock } from "./mock.ts";
import type { Properties } from "./properties.ts";
import { type EventContext, proxyEvent } from "./proxy-event.ts";
import { readReply } from "./reply.ts";

/** An integration with a function that gets the whole request. */
export interface ProxyIntegration {
  readonly kind: "proxy";
  readonly function_arn: string;
  readonly timeout_ms: number;
}

/** Backend of a method. */
export type Integration = ProxyIntegration | MockIntegration;

/** Largest event of a synchronous invocation, in bytes (AWS docs: Lambda quotas). */
const eventLimit = 6_291_556;
const longestTimeoutMs = 29_000;

function readProxy(integration: Properties): ProxyIntegration {
  integration.only({
    implemented: ["Credentials", "IntegrationHttpMethod", "TimeoutInMillis", "Type", "Uri"],
    ignored: ["CacheNamespace", "PassthroughBehavior"],
    harmless: { ConnectionType: "INTERNET", ResponseTransferMode: "BUFFERED" },
  });
  // Functions are always invoked by POST; with anything else every request fails on AWS.
  integration.choice("IntegrationHttpMethod", ["POST"]);
  // Without a role the function's own policy would have to allow the call, and nothing here reads that.
  integration.text("Credentials");
  const function_arn = functionOf(integration.text("Uri"));
  if (function_arn === undefined) throw integration.error("Uri", "leads to no function");
  const timeout_ms = integration.optionalNumber("TimeoutInMillis") ?? longestTimeoutMs;
  if (timeout_ms < 50 || timeout_ms > longestTimeoutMs) {
    throw integration.error("TimeoutInMillis", `(${timeout_ms}) must be 50 to ${longestTimeoutMs}`);
  }
  return { kind: "proxy", function_arn, timeout_ms };
}

/** Reads the `Integration` of a method; `responses` are its `MethodResponses`. */
export function readIntegration(integration: Properties, responses: readonly Properties[]): Integration {
  const type = integration.choice("Type", ["AWS_PROXY", "MOCK"]);
  return type === "MOCK" ? readMock(integration, responses) : readProxy(integration);
}

/** Lets the function answer. Throws a Fault when it is too slow, fails, or answers something else than a reply. */
export async function answerProxy(
  host: GatewayHost,
  api: EventContext,
  integration: ProxyIntegration,
  exchange: Exchange,
): Promise<Reply> {
  const event = proxyEvent(api, exchange);
  if (Buffer.byteLength(JSON.stringify(event)) > eventLimit) {
    throw new Fault("REQUEST_TOO_LARGE", { reason: "the event is larger than a function takes" });
  }
  const { function_arn, timeout_ms } = integration;
  const trace = traceHeader(exchange);
  const answer = await invokeWithin(host, function_arn, { given: event, trace }, timeout_ms).catch((cause: unknown) => {
    if (cause instanceof InvocationTimeout) throw new Fault("INTEGRATION_TIMEOUT", { reason: cause.message });
    throw new Fault("INTEGRATION_FAILURE", { status: 502, reason: `the function gave no answer: ${String(cause)}` });
  });
  if (answer.functionError !== undefined) {
    const reason = `the function failed: ${JSON.stringify(answer.payload)?.slice(0, 500)}`;
    throw new Fault("INTEGRATION_FAILURE", { status: 502, reason });
  }
  const reply = readReply(answer.payload, exchange, api.binary_media_types);
  return { ...reply, headers: [...reply.headers, ["X-Amzn-Trace-Id", trace]] };
}
