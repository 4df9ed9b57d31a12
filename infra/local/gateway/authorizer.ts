import { type ContextValues, contextOf, isContextVariable } from "./context.ts";
import { allValues, type CallerContext, type Exchange, traceHeader } from "./exchange.ts";
import { Fault, FrontFault } from "./fault.ts";
import { functionOf, type GatewayHost, invokeWithin } from "./host.ts";
import { evaluatePolicy, PolicyError } from "./policy.ts";
import { Properties, type Resource } from "./properties.ts";
import { authorizerEvent, type EventContext } from "./proxy-event.ts";

/** Where one part of the caller's identity stands in a request. */
type IdentitySource = (exchange: Exchange, api: EventContext) => string | null;

/** A REQUEST authorizer. */
export interface AuthorizerModel {
  readonly id: string;
  readonly function_arn: string;
  readonly identity_sources: readonly IdentitySource[];
  readonly ttl_seconds: number;
}

/** An authorizer's answer about a caller. */
export interface Grant {
  readonly principal_id: string;
  readonly policy: unknown;
  readonly values: Readonly<Record<string, string>>;
  readonly usage_key?: string;
}

const timeoutMs = 29_000;
/** AWS docs: quotas for REST APIs. */
const methodArnLimit = 1600;
const cacheLimit = 10_000;

function readSource(text: string, properties: Properties): IdentitySource {
  const [, place, name = ""] =
    /^(method\.request\.header|method\.request\.querystring|stageVariables|context)\.(.+)$/.exec(text) ?? [];
  if (place === "method.request.header") return ({ headers }) => allValues(headers, name).join(",");
  if (place === "method.request.querystring") {
    return ({ query }) =>
      query
        .filter(([key]) => key === name)
        .map(([, value]) => value)
        .join(",");
  }
  if (place === "stageVariables") return (_, api) => api.stage_variables[name] ?? null;
  if (place === "context" && isContextVariable(name)) {
    return (exchange, api) => {
      const values: ContextValues = contextOf(api, exchange);
      return values(name);
    };
  }
  throw properties.error("IdentitySource", `(${text}) is not implemented by the local gateway`);
}

/** Reads a resource of type AWS::ApiGateway::Authorizer. */
export function readAuthorizer(resource: Resource): AuthorizerModel {
  const properties = Properties.of(resource).only({
    implemented: ["AuthorizerCredentials", "AuthorizerResultTtlInSeconds", "AuthorizerUri", "IdentitySource", "Type"],
    ignored: ["AuthType", "Name", "RestApiId"],
  });
  properties.choice("Type", ["REQUEST"]);
  // Without a role the function's own policy would have to allow the call, and nothing here reads that.
  properties.text("AuthorizerCredentials");
  const function_arn = functionOf(properties.text("AuthorizerUri"));
  if (function_arn === undefined) throw properties.error("AuthorizerUri", "leads to no function");
  const ttl_seconds = properties.optionalNumber("AuthorizerResultTtlInSeconds") ?? 300;
  if (ttl_seconds < 0 || ttl_seconds > 3600)
    throw properties.error("AuthorizerResultTtlInSeconds", "must be 0 to 3600");
  const sources = (properties.optionalText("IdentitySource") ?? "").split(",").map((text) => text.trim());
  const identity_sources = sources.filter((text) => text !== "").map((text) => readSource(text, properties));
  if (ttl_seconds > 0 && identity_sources.length === 0) {
    throw properties.error("IdentitySource", "is needed where results are cached");
  }
  return { id: resource.physical_id, function_arn, identity_sources, ttl_seconds };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function misconfigured(reason: string): Fault {
  return new Fault("AUTHORIZER_CONFIGURATION_ERROR", { reason });
}

function readValues(context: unknown): Record<string, string> {
  if (context === undefined || context === null) return {};
  if (!isRecord(context)) throw misconfigured("context must be an object");
  const entries = Object.entries(context).filter(([, value]) => value !== null);
  return Object.fromEntries(
    entries.map(([key, value]) => {
      if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") {
        throw misconfigured(`context.${key} must be a text, a number or a truth value`);
      }
      return [key, String(value)];
    }),
  );
}

/** The grant in the answer of an authorizer. Throws a Fault when it refuses, or says nothing that can be used. */
export function grantOf(answer: { readonly payload: unknown; readonly functionError?: string }): Grant {
  if (answer.functionError === undefined) return readGrant(answer.payload);
  const message = isRecord(answer.payload) ? answer.payload["errorMessage"] : undefined;
  // An error of exactly this message is the way for a function to say 401.
  if (message === "Unauthorized") throw new Fault("UNAUTHORIZED", { reason: "the authorizer refused" });
  throw new Fault("AUTHORIZER_FAILURE", { reason: `the authorizer threw: ${String(message)}` });
}

/** The verdict of a grant's policy on a method. Throws a Fault when it is no policy. */
export function judge(grant: Grant, methodArn: string): ReturnType<typeof evaluatePolicy> {
  try {
    return evaluatePolicy(grant.policy, methodArn);
  } catch (cause) {
    if (cause instanceof PolicyError) throw misconfigured(cause.message);
    throw cause;
  }
}

function readGrant(payload: unknown): Grant {
  if (!isRecord(payload)) throw misconfigured("the authorizer returned no object");
  const { principalId, policyDocument, context, usageIdentifierKey } = payload;
  if (typeof principalId !== "string") throw misconfigured("principalId must be a text");
  if (usageIdentifierKey !== undefined && usageIdentifierKey !== null && typeof usageIdentifierKey !== "string") {
    throw misconfigured("usageIdentifierKey must be a text");
  }
  return {
    principal_id: principalId,
    policy: policyDocument,
    values: readValues(context),
    ...(typeof usageIdentifierKey === "string" ? { usage_key: usageIdentifierKey } : {}),
  };
}

/** Runs authorizers and keeps what they said. One per gateway. */
export class Authorizers {
  private readonly host: GatewayHost;
  private readonly api: EventContext;
  private readonly cache = new Map<string, { readonly grant: Grant; readonly expires_ms: number }>();

  constructor(host: GatewayHost, api: EventContext) {
    this.host = host;
    this.api = api;
  }

  /**
   * Lets the authorizer judge a request. The policy is kept under the identity sources and then judges requests for
   * other methods as well, denials included. Throws a Fault when the caller must not pass.
   */
  async authorize(model: AuthorizerModel, exchange: Exchange): Promise<{ caller: CallerContext; usage_key?: string }> {
    const methodArn = this.methodArn(model, exchange);
    const identity = model.identity_sources.map((source) => source(exchange, this.api));
    const caching = model.ttl_seconds > 0;
    if (caching && identity.some((value) => value === null || value === "")) {
      throw new Fault("UNAUTHORIZED", { reason: "an identity source is missing" });
    }
    const key = JSON.stringify([model.id, ...identity]);
    const startedMs = this.host.now();
    const kept = caching ? this.cache.get(key) : undefined;
    const fresh = kept === undefined || kept.expires_ms <= startedMs;
    const grant = fresh ? await this.ask(model, exchange, methodArn) : kept.grant;
    const verdict = judge(grant, methodArn);
    if (fresh && caching) this.keep(key, grant, this.host.now() + model.ttl_seconds * 1000);
    if (verdict === "explicit_deny") {
      throw new Fault("ACCESS_DENIED", {
        message: "User is not authorized to access this resource with an explicit deny",
      });
    }
    if (verdict === "implicit_deny") throw new Fault("ACCESS_DENIED");
    const latency_ms = fresh ? this.host.now() - startedMs : 0;
    const caller = { principal_id: grant.principal_id, values: grant.values, latency_ms };
    return grant.usage_key === undefined ? { caller } : { caller, usage_key: grant.usage_key };
  }

  private methodArn(model: AuthorizerModel, exchange: Exchange): string {
    const [, partition, , region, account] = model.function_arn.split(":");
    const path = exchange.path.replace(/^\/+/, "").replace(/\/+$/, "");
    const resource = `${this.api.api_id}/${this.api.stage}/${exchange.method}/${path}`;
    const arn = `arn:${partition}:execute-api:${region}:${account}:${resource}`;
    if (Buffer.byteLength(arn) > methodArnLimit)
      throw new FrontFault(414, "RequestUriTooLongException", "Request URI too long");
    return arn;
  }

  private async ask(model: AuthorizerModel, exchange: Exchange, methodArn: string): Promise<Grant> {
    const asked = { given: authorizerEvent(this.api, exchange, methodArn), trace: traceHeader(exchange) };
    const answer = await invokeWithin(this.host, model.function_arn, asked, timeoutMs).catch((cause: unknown) => {
      throw new Fault("AUTHORIZER_FAILURE", { reason: `the authorizer gave no answer: ${String(cause)}` });
    });
    return grantOf(answer);
  }

  private keep(key: string, grant: Grant, expires_ms: number): void {
    if (this.cache.size >= cacheLimit) {
      const nowMs = this.host.now();
      for (const [known, entry] of this.cache) if (entry.expires_ms <= nowMs) this.cache.delete(known);
      const oldest = this.cache.keys().next().value;
      if (this.cache.size >= cacheLimit && oldest !== undefined) this.cache.delete(oldest);
    }
    this.cache.set(key, { grant, expires_ms });
  }
}
