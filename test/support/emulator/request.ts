import type { APIGatewayProxyEvent, Context } from "aws-lambda";
import { limits } from "../../../shared/limits.ts";
import { type Role, scopesOf } from "../../../shared/roles.ts";
import { routes } from "../../../shared/routes/index.ts";
import type { Route } from "../../../shared/routes/route.ts";
import { newId } from "../../../shared/runtime/ids.ts";
import { originHeader, originVariable } from "../../../shared/runtime/origin.ts";
import { type Scope, scopes } from "../../../shared/schema/scope.ts";

/** An application of a tenant, as the authorizer tells the functions of it. */
export interface TestCaller {
  readonly tenant_id: string;
  readonly application_id: string;
  readonly client_id: string;
  readonly scopes: readonly string[];
  readonly allowed_ips: readonly string[];
  /** The feed sources that it is bound to. */
  readonly source_ids?: readonly string[];
  /** The family of its token. */
  readonly family_id?: string;
  /** Number of the client secret behind its token; the first one by default. */
  readonly secret_number?: number;
  /** The operators behind the application. */
  readonly operator_ids?: readonly string[];
  /** The operator who calls, in the place of the application. */
  readonly operator?: {
    readonly id: string;
    readonly name: string;
    readonly role: Role;
    /** Seals what the audit keeps of them, where they have a key. */
    readonly audit_key?: string;
    /** The sign-in behind their token. */
    readonly session?: string;
  };
}

/** A caller with every scope in a tenant of its own, by default. */
export function newCaller(given: Partial<TestCaller> = {}): TestCaller {
  return {
    tenant_id: newId("brk"),
    application_id: newId("app"),
    client_id: newId("cid"),
    scopes,
    allowed_ips: [],
    ...given,
  };
}

/** The same application with these scopes only. */
export function withScopes(caller: TestCaller, ...granted: Scope[]): TestCaller {
  return { ...caller, scopes: granted };
}

/** An operator of the same brokerage, with the scopes of the role. */
export function asOperator(caller: TestCaller, name: string, role: Role): TestCaller {
  return { ...caller, scopes: scopesOf(role, "sandbox"), operator: { id: newId("opr"), name, role } };
}

/** Parts of a request in addition to method and path. */
export interface RequestParts {
  /** An object is sent as JSON; a string is sent as it is. */
  readonly body?: unknown;
  /** A list is a header that is sent once for each value. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** When API Gateway took the request in, epoch milliseconds. */
  readonly atMs?: number;
  readonly sourceIp?: string;
  /** Passes through the dashboard's distribution, which this address connects to; `sourceIp` is that of its server. */
  readonly browserIp?: string;
  /** Time that the function has for this request. */
  readonly timeoutMs?: number;
  /** Sent in base64, as API Gateway does with binary types; the text is turned into bytes by this encoding. */
  readonly base64?: "utf8" | "latin1";
}

/** Secret of the dashboard's distribution, which every test event has as the stage does. */
const originSecret = "A".repeat(64);

let minute = 0;

/**
 * A moment that no other request of this process has: seconds apart, so that only a test that says when it calls meets
 * the rate limits.
 */
function ownMoment(): number {
  minute += 1;
  return 1_800_000_000_000 + minute * 1000;
}

/** The row of a method and a path without the version, with its path parameters. */
function findRoute(method: string, path: string): { row: Route; parameters: Record<string, string> } {
  const given = path.split("/");
  for (const row of routes) {
    const wanted = row.path.split("/");
    if (row.method !== method || wanted.length !== given.length) continue;
    const parameters: Record<string, string> = {};
    const fits = wanted.every((part, place) => {
      const name = /^\{(\w+)\}$/.exec(part)?.[1];
      if (name === undefined) return part === given[place];
      parameters[name] = given[place] ?? "";
      return true;
    });
    if (fits) return { row, parameters };
  }
  throw new Error(`No row has ${method} ${path}.`);
}

/** Queries that a row does not answer without. */
const neededQueries: Readonly<Record<string, string>> = {
  list_quotes: "?symbols=EURUSD",
  get_account_metrics: "?account_ids=acc_01JD0000000000000000000002",
  summarize_transactions: "?from=2026-11-21&to=2026-11-21",
  report_money: "?from=2026-11-21&to=2026-11-21&currency=USD",
  get_statement: "?from=2026-11-21&to=2026-11-21",
  report_closing_balances: "?from=2026-11-21&to=2026-11-21",
  report_income: "?from=2026-11-21&to=2026-11-21",
  report_usage: "?from=2026-11-21&to=2026-11-21",
  get_symbol_margin: "?leverage=100&currency=USD",
};

/** An address that a row takes as it is: what its path names need not be there. */
export function addressOf(row: Route, id = newId("cli")): string {
  const path = row.path
    .replace("{id}", id)
    .replace("{symbol}", "EURUSD")
    .replace("{seq}", "1")
    .replace("{command_id}", "cmd_01JD0000000000000000000009");
  return path + (neededQueries[row.id] ?? "");
}

/** The event of a Lambda proxy integration (REST API, payload version 1.0) for this request. */
export function proxyEvent(
  caller: TestCaller | undefined,
  method: string,
  address: string,
  parts: RequestParts = {},
): { readonly row: Route; readonly event: APIGatewayProxyEvent } {
  const [path = "", search = ""] = address.split("?");
  const { row, parameters } = findRoute(method, path);
  const text = parts.body === undefined || typeof parts.body === "string" ? parts.body : JSON.stringify(parts.body);
  const sourceIp = parts.sourceIp ?? "198.51.100.7";
  const claimed = [parts.headers?.["X-Forwarded-For"] ?? []].flat();
  const headers: Record<string, string | readonly string[]> = {
    Accept: "*/*",
    Host: "api.test.example",
    "User-Agent": "tests",
    ...(parts.body === undefined ? {} : { "Content-Type": contentType(row) }),
    ...(row.keyed === true ? { "Idempotency-Key": newId("key") } : {}),
    ...parts.headers,
    // API Gateway makes one header of all, with the address that connects to it at the end.
    "X-Forwarded-For": [...claimed, ...(parts.browserIp === undefined ? [] : [parts.browserIp]), sourceIp].join(", "),
    ...(parts.browserIp !== undefined && { [originHeader]: originSecret }),
  };
  const headerLists = Object.entries(headers).map(([name, value]) => [name, [value].flat()] as const);
  const query = new URLSearchParams(search);
  const names = [...new Set(query.keys())];
  const atMs = parts.atMs ?? ownMoment();
  const event = {
    resource: row.path,
    path,
    httpMethod: method,
    headers: Object.fromEntries(headerLists.map(([name, values]) => [name, values.at(-1)])),
    multiValueHeaders: Object.fromEntries(headerLists),
    queryStringParameters:
      names.length === 0 ? null : Object.fromEntries(names.map((name) => [name, query.getAll(name).at(-1) ?? ""])),
    multiValueQueryStringParameters:
      names.length === 0 ? null : Object.fromEntries(names.map((name) => [name, query.getAll(name)])),
    pathParameters: Object.keys(parameters).length === 0 ? null : parameters,
    stageVariables: { [originVariable]: originSecret },
    requestContext: {
      accountId: "000000000000",
      apiId: "test",
      authorizer: caller === undefined ? null : authorizerContext(caller),
      httpMethod: method,
      identity: identityOf(sourceIp),
      path: `/v2${path}`,
      protocol: "HTTP/1.1",
      requestId: newId("req").slice(4),
      requestTime: new Date(atMs).toISOString(),
      requestTimeEpoch: atMs,
      resourceId: "test",
      resourcePath: row.path,
      stage: "v2",
    },
    body: text === undefined ? null : parts.base64 ? Buffer.from(text, parts.base64).toString("base64") : text,
    isBase64Encoded: parts.base64 !== undefined,
  };
  return { row, event: event as unknown as APIGatewayProxyEvent };
}

function contentType(row: Route): string {
  return row.media === "merge_patch" ? "application/merge-patch+json" : "application/json";
}

/** API Gateway passes an authorizer's context on as strings only. */
function authorizerContext(caller: TestCaller) {
  return {
    principalId: caller.client_id,
    integrationLatency: 1,
    tenant_id: caller.tenant_id,
    actor_type: caller.operator === undefined ? "application" : "operator",
    actor_id: caller.operator?.id ?? caller.application_id,
    actor_name: caller.operator?.name ?? "Test",
    ...(caller.operator === undefined ? {} : { role: caller.operator.role }),
    ...(caller.operator_ids === undefined ? {} : { operator_ids: caller.operator_ids.join(" ") }),
    ...(caller.operator?.audit_key === undefined ? {} : { audit_key: caller.operator.audit_key }),
    client_id: caller.client_id,
    ...(caller.operator?.session === undefined ? {} : { session: caller.operator.session }),
    ...(caller.family_id === undefined ? {} : { family_id: caller.family_id }),
    ...(caller.operator === undefined && { secret_number: String(caller.secret_number ?? 1) }),
    scopes: caller.scopes.join(" "),
    allowed_ips: caller.allowed_ips.join(" "),
    ...(caller.source_ids === undefined ? {} : { source_ids: caller.source_ids.join(" ") }),
  };
}

function identityOf(sourceIp: string) {
  return { sourceIp, userAgent: "tests", accessKey: null, accountId: null, apiKey: null, caller: null, user: null };
}

/** The context of one invocation: its own object each time, with the time that a function has left. */
export function lambdaContext(timeoutMs = limits.functions.timeout_seconds * 1000): Context {
  const endMs = performance.now() + timeoutMs;
  return {
    functionName: "brokerage-sandbox-test",
    memoryLimitInMB: String(limits.functions.memory_mb),
    awsRequestId: newId("req"),
    getRemainingTimeInMillis: () => Math.max(0, endMs - performance.now()),
  } as unknown as Context;
}
