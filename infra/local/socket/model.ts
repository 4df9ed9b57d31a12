import { functionOf } from "../gateway/host.ts";
import { ModelError, Properties, type Resource } from "../gateway/properties.ts";
import type { Limit } from "../gateway/throttle.ts";

/** A function behind a route, and how long it may take. */
export interface SocketIntegration {
  readonly function_arn: string;
  readonly timeout_ms: number;
}

/** Where a part of the identity stands in a handshake, which the authorizer is not asked without. */
export interface IdentitySource {
  readonly place: "header" | "querystring";
  readonly name: string;
}

/** The REQUEST authorizer of the handshake. */
export interface SocketAuthorizer {
  readonly function_arn: string;
  readonly identity_sources: readonly IdentitySource[];
}

/** A WebSocket API and its one stage, read from the synthesized template and understood in full. */
export interface SocketModel {
  readonly api_id: string;
  readonly account_id: string;
  readonly region: string;
  readonly partition: string;
  readonly stage: string;
  /** Member of a message that names its route. */
  readonly selected_by: string;
  readonly routes: ReadonlyMap<string, SocketIntegration>;
  /** Asked before a connection is opened; anybody may connect without one. */
  readonly authorizer: SocketAuthorizer | undefined;
  /** Of each route alone. */
  readonly limit: Limit | undefined;
}

const prefix = "AWS::ApiGatewayV2::";
const readKinds = ["Api", "Authorizer", "Integration", "Route", "Stage"] as const;
/** AWS docs: quotas for WebSocket APIs. */
const integrationTimeoutMs = 29_000;

/**
 * Reads the WebSocket API out of the resources of all stacks; undefined where there is none. Throws a ModelError that
 * names the resource for everything that would change an answer and is not implemented.
 */
export function readSocketModel(resources: readonly Resource[]): SocketModel | undefined {
  const own = resources.filter(({ type }) => type.startsWith(prefix));
  const unknown = own.find(({ type }) => !readKinds.some((kind) => type === `${prefix}${kind}`));
  if (unknown !== undefined) throw new ModelError(unknown.path, `${unknown.type} is not implemented by this runner`);
  const of = (kind: (typeof readKinds)[number]) => own.filter(({ type }) => type === `${prefix}${kind}`);
  const [api, secondApi] = of("Api");
  if (api === undefined) return undefined;
  const [stage, secondStage] = of("Stage");
  const second = secondApi ?? secondStage;
  if (second !== undefined) throw new ModelError(second.path, "is a second one, and this runner runs one");
  if (stage === undefined) throw new ModelError(api.path, "has no stage");
  for (const resource of own.filter((each) => each !== api)) {
    const properties = Properties.of(resource);
    if (properties.text("ApiId") !== api.physical_id) throw properties.error("ApiId", "names another API");
  }
  const integrations = new Map(of("Integration").map((each) => [each.physical_id, readIntegration(each)]));
  const authorizers = new Map(of("Authorizer").map((each) => [each.physical_id, readAuthorizer(each)]));
  const routes = of("Route").map((each) => readRoute(each, integrations, authorizers));
  const opening = routes.find(({ key }) => key === "$connect");
  if (opening === undefined) throw new ModelError(api.path, "has no route $connect, so anybody could connect");
  const [, partition = "", , region = "", account_id = ""] = opening.integration.function_arn.split(":");
  return {
    ...{ api_id: api.physical_id, account_id, region, partition },
    selected_by: readApi(api),
    ...readStage(stage),
    routes: new Map(routes.map(({ key, integration }) => [key, integration])),
    authorizer: opening.authorizer,
  };
}

/** The member of a message by which its route is chosen. */
function readApi(resource: Resource): string {
  const properties = Properties.of(resource).only({
    implemented: ["ProtocolType", "RouteSelectionExpression"],
    ignored: ["Description", "Name", "Tags"],
    harmless: { DisableExecuteApiEndpoint: false },
  });
  properties.choice("ProtocolType", ["WEBSOCKET"]);
  const expression = properties.text("RouteSelectionExpression");
  const [, member] = /^\$request\.body\.(\w+)$/.exec(expression) ?? [];
  if (member !== undefined) return member;
  throw properties.error("RouteSelectionExpression", `(${expression}) is not implemented by this runner`);
}

function readStage(resource: Resource): Pick<SocketModel, "stage" | "limit"> {
  const properties = Properties.of(resource).only({
    implemented: ["AutoDeploy", "DefaultRouteSettings", "StageName"],
    ignored: ["AccessLogSettings", "ApiId", "Description", "Tags"],
  });
  if (!properties.flag("AutoDeploy")) throw properties.error("AutoDeploy", "must be true: no deployment is read here");
  const settings = properties.optionalNested("DefaultRouteSettings")?.only({
    implemented: ["ThrottlingBurstLimit", "ThrottlingRateLimit"],
    ignored: ["DataTraceEnabled", "DetailedMetricsEnabled", "LoggingLevel"],
  });
  const rate = settings?.optionalNumber("ThrottlingRateLimit");
  const burst = settings?.optionalNumber("ThrottlingBurstLimit");
  const limit = rate === undefined || burst === undefined ? undefined : { rate, burst };
  return { stage: properties.text("StageName"), limit };
}

function readIntegration(resource: Resource): SocketIntegration {
  const properties = Properties.of(resource).only({
    implemented: ["CredentialsArn", "IntegrationType", "IntegrationUri", "TimeoutInMillis"],
    ignored: ["ApiId", "Description", "IntegrationMethod"],
  });
  properties.choice("IntegrationType", ["AWS_PROXY"]);
  // Without a role the function's own policy would have to allow the call, and nothing here reads that.
  properties.text("CredentialsArn");
  const function_arn = functionOf(properties.text("IntegrationUri"));
  if (function_arn === undefined) throw properties.error("IntegrationUri", "leads to no function");
  return { function_arn, timeout_ms: properties.optionalNumber("TimeoutInMillis") ?? integrationTimeoutMs };
}

function readAuthorizer(resource: Resource): SocketAuthorizer {
  const properties = Properties.of(resource).only({
    implemented: ["AuthorizerCredentialsArn", "AuthorizerType", "AuthorizerUri", "IdentitySource"],
    ignored: ["ApiId", "Name"],
  });
  properties.choice("AuthorizerType", ["REQUEST"]);
  properties.text("AuthorizerCredentialsArn");
  const function_arn = functionOf(properties.text("AuthorizerUri"));
  if (function_arn === undefined) throw properties.error("AuthorizerUri", "leads to no function");
  const identity_sources = properties.texts("IdentitySource").map((text): IdentitySource => {
    const [, place, name = ""] = /^route\.request\.(header|querystring)\.(.+)$/.exec(text) ?? [];
    if (place === "header" || place === "querystring") return { place, name };
    throw properties.error("IdentitySource", `(${text}) is not implemented by this runner`);
  });
  return { function_arn, identity_sources };
}

interface RouteModel {
  readonly key: string;
  readonly integration: SocketIntegration;
  readonly authorizer: SocketAuthorizer | undefined;
}

function readRoute(
  resource: Resource,
  integrations: ReadonlyMap<string, SocketIntegration>,
  authorizers: ReadonlyMap<string, SocketAuthorizer>,
): RouteModel {
  const properties = Properties.of(resource).only({
    implemented: ["AuthorizationType", "AuthorizerId", "RouteKey", "Target"],
    ignored: ["ApiId", "OperationName"],
    harmless: { ApiKeyRequired: false },
  });
  const key = properties.text("RouteKey");
  const target = properties.text("Target");
  const integration = integrations.get(target.replace(/^integrations\//, ""));
  if (integration === undefined) throw properties.error("Target", `(${target}) leads to no integration`);
  const type = properties.choice("AuthorizationType", ["NONE", "CUSTOM"], "NONE");
  const authorizer = type === "CUSTOM" ? authorizers.get(properties.text("AuthorizerId")) : undefined;
  if ((type === "CUSTOM") !== (authorizer !== undefined)) throw properties.error("AuthorizerId", "names no authorizer");
  if (authorizer !== undefined && key !== "$connect") {
    throw properties.error("AuthorizationType", "is taken by the route $connect alone");
  }
  return { key, integration, authorizer };
}
