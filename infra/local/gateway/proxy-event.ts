import { commonLogTime, domainName, type StageIdentity } from "./context.ts";
import { allValues, type CallerContext, type Exchange, type HeaderList, lastValue, mediaType } from "./exchange.ts";

/** The facts about the API that an event has in addition to the request. */
export interface EventContext extends StageIdentity {
  readonly stage_variables: Readonly<Record<string, string>>;
  readonly binary_media_types: readonly string[];
}

/** Request headers that never reach a function (AWS docs: important notes for REST APIs). */
const dropped = new Set([
  "connection",
  "content-length",
  "content-md5",
  "expect",
  "max-forwards",
  "proxy-authenticate",
  "server",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "www-authenticate",
]);
/** Headers that the gateway sets, whatever the caller sent. */
const replaced = new Set(["x-amzn-trace-id", "x-forwarded-for", "x-forwarded-port", "x-forwarded-proto"]);

/** The headers of a request as a function gets them. */
export function eventHeaders(exchange: Exchange): HeaderList {
  const passed = exchange.headers.filter(([name]) => {
    const lower = name.toLowerCase();
    // No document of AWS says that the override is taken away where it chose the method, so functions must refuse it.
    return !dropped.has(lower) && !replaced.has(lower);
  });
  const isSigned = (value: string) => value.startsWith("AWS4-HMAC-SHA256");
  const unsigned = passed.filter(([name, value]) => name.toLowerCase() !== "authorization" || !isSigned(value));
  const hops = [...allValues(exchange.headers, "x-forwarded-for"), exchange.source_ip];
  return [
    ...unsigned,
    ["X-Amzn-Trace-Id", `Root=${exchange.trace_root}`],
    ["X-Forwarded-For", hops.join(", ")],
    // The service is reached over TLS only; functions see here what they see there.
    ["X-Forwarded-Port", "443"],
    ["X-Forwarded-Proto", "https"],
  ];
}

/** The last value of each name. */
export function singleValues(list: HeaderList): Record<string, string> {
  return Object.fromEntries(list);
}

/** All values of each name. */
export function multiValues(list: HeaderList): Record<string, string[]> {
  const values = new Map<string, string[]>();
  for (const [name, value] of list) values.set(name, [...(values.get(name) ?? []), value]);
  return Object.fromEntries(values);
}

function orNull<T extends object>(values: T): T | null {
  return Object.keys(values).length === 0 ? null : values;
}

function authorizerOf(caller: CallerContext): Record<string, string | number> {
  return { ...caller.values, principalId: caller.principal_id, integrationLatency: caller.latency_ms };
}

function identityOf(exchange: Exchange): Record<string, string | null> {
  const { api_key } = exchange;
  return {
    accessKey: null,
    accountId: null,
    caller: null,
    cognitoAuthenticationProvider: null,
    cognitoAuthenticationType: null,
    cognitoIdentityId: null,
    cognitoIdentityPoolId: null,
    principalOrgId: null,
    sourceIp: exchange.source_ip,
    user: null,
    userAgent: lastValue(exchange.headers, "user-agent") ?? null,
    userArn: null,
    ...(api_key === undefined ? {} : { apiKey: api_key.value, apiKeyId: api_key.id }),
  };
}

function requestContext(api: EventContext, exchange: Exchange): Record<string, unknown> {
  const domain = domainName(exchange);
  return {
    accountId: api.account_id,
    apiId: api.api_id,
    ...(exchange.caller === undefined ? {} : { authorizer: authorizerOf(exchange.caller) }),
    deploymentId: api.deployment_id,
    domainName: domain,
    domainPrefix: domain.split(".")[0] ?? "",
    extendedRequestId: exchange.extended_request_id,
    httpMethod: exchange.method,
    identity: identityOf(exchange),
    path: exchange.full_path,
    protocol: exchange.protocol,
    requestId: exchange.request_id,
    requestTime: commonLogTime(exchange.received_ms),
    requestTimeEpoch: exchange.received_ms,
    resourceId: exchange.route?.resource_id ?? null,
    resourcePath: exchange.route?.resource_path ?? null,
    stage: api.stage,
  };
}

/** Whether a media type is one of the binary ones of the API; `*` in a pattern stands for any type or subtype. */
export function isBinary(patterns: readonly string[], type: string): boolean {
  return patterns.some((pattern) => {
    const [kind, subtype] = mediaType(pattern).split("/");
    const [typeKind, typeSubtype] = type.split("/");
    return (kind === "*" || kind === typeKind) && (subtype === "*" || subtype === typeSubtype);
  });
}

/**
 * A body that the API does not count as binary is read as UTF-8, broken bytes become U+FFFD, and no function can tell:
 * API Gateway does the same.
 */
function bodyOf(api: EventContext, exchange: Exchange): { body: string | null; isBase64Encoded: boolean } {
  if (exchange.body.length === 0) return { body: null, isBase64Encoded: false };
  const type = mediaType(lastValue(exchange.headers, "content-type") ?? "application/json");
  const binary = isBinary(api.binary_media_types, type);
  return { body: exchange.body.toString(binary ? "base64" : "utf8"), isBase64Encoded: binary };
}

/** The event of an AWS_PROXY integration (payload format 1.0). Empty maps are null, as API Gateway sends them. */
export function proxyEvent(api: EventContext, exchange: Exchange): Record<string, unknown> {
  const headers = eventHeaders(exchange);
  return {
    resource: exchange.route?.resource_path ?? null,
    path: exchange.path,
    httpMethod: exchange.method,
    headers: singleValues(headers),
    multiValueHeaders: multiValues(headers),
    queryStringParameters: orNull(singleValues(exchange.query)),
    multiValueQueryStringParameters: orNull(multiValues(exchange.query)),
    pathParameters: orNull({ ...exchange.route?.path_parameters }),
    stageVariables: orNull({ ...api.stage_variables }),
    requestContext: requestContext(api, exchange),
    ...bodyOf(api, exchange),
  };
}

/** The event of a REQUEST authorizer: the same request without its body, and empty maps are objects. */
export function authorizerEvent(api: EventContext, exchange: Exchange, methodArn: string): Record<string, unknown> {
  const headers = eventHeaders(exchange);
  return {
    type: "REQUEST",
    methodArn,
    resource: exchange.route?.resource_path ?? null,
    path: exchange.path,
    httpMethod: exchange.method,
    headers: singleValues(headers),
    multiValueHeaders: multiValues(headers),
    queryStringParameters: singleValues(exchange.query),
    multiValueQueryStringParameters: multiValues(exchange.query),
    pathParameters: { ...exchange.route?.path_parameters },
    stageVariables: { ...api.stage_variables },
    requestContext: requestContext(api, exchange),
  };
}
