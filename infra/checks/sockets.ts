import { type Assembly, type Entry, isObject, type Json, listOf, objectOf, ofType, resourceOf } from "./assembly.ts";
import { type Finding, finding, type Rule } from "./rule.ts";

// WebSocket APIs that API Gateway refuses at the deployment, and those that it accepts and then fails connections by.

const v2 = "AWS::ApiGatewayV2";

/** The WebSocket API that a resource belongs to; undefined for one of an HTTP API. */
function socketApiOf(assembly: Assembly, { properties }: Entry): Entry | undefined {
  const api = resourceOf(assembly, `${v2}::Api`, properties["ApiId"]);
  return api?.properties["ProtocolType"] === "WEBSOCKET" ? api : undefined;
}

/** The resources of a type that belong to WebSocket APIs. */
function ofSockets(assembly: Assembly, type: string): Entry[] {
  return ofType(assembly, `${v2}::${type}`).filter((entry) => socketApiOf(assembly, entry) !== undefined);
}

function problems(rule: string, entry: Entry, found: Readonly<Record<string, boolean>>): Finding[] {
  return Object.entries(found).flatMap(([message, wrong]) => (wrong ? [finding(rule, entry, message)] : []));
}

/** The parts of a joined text; a text alone is one part. */
function partsOf(value: Json): readonly Json[] {
  const [, parts] = listOf(objectOf(value)["Fn::Join"]);
  return parts === undefined ? [value] : listOf(parts);
}

/** The function of an address that API Gateway invokes, if the address has the form that it takes. */
function invokedBy(assembly: Assembly, uri: Json): Entry | undefined {
  const parts = partsOf(uri);
  const [before, named, after] = parts.slice(-3);
  const isInvocation = String(before).endsWith(":lambda:path/2015-03-31/functions/") && after === "/invocations";
  return isInvocation ? resourceOf(assembly, "AWS::Lambda::Function", named) : undefined;
}

/** Whether API Gateway may take on a role. */
function isInvoker(assembly: Assembly, arn: Json): boolean {
  const role = resourceOf(assembly, "AWS::IAM::Role", arn);
  return JSON.stringify(role?.properties["AssumeRolePolicyDocument"] ?? "").includes('"apigateway.amazonaws.com"');
}

/** The longest that API Gateway waits for an integration. */
const maxIntegrationSeconds = 29;

const integrations: Rule = (assembly) =>
  ofSockets(assembly, "Integration").flatMap((entry) => {
    const { IntegrationUri: uri, CredentialsArn: role, PayloadFormatVersion: version = "1.0" } = entry.properties;
    const lambda = invokedBy(assembly, uri);
    const timeoutSeconds = Number(lambda?.properties["Timeout"] ?? 3);
    return problems("socket-integration", entry, {
      "It invokes no function of the stage.": lambda === undefined,
      "API Gateway may not take on the role of its credentials.": !isInvoker(assembly, role),
      "A WebSocket API knows the format 1.0 of events only.": version !== "1.0",
      "A function is invoked by POST.": entry.properties["IntegrationMethod"] !== "POST",
      [`The function may run longer than the ${maxIntegrationSeconds} s of an integration.`]:
        timeoutSeconds > maxIntegrationSeconds,
    });
  });

/** Members that API Gateway takes for authorizers of HTTP APIs alone. */
const httpMembers = [
  "AuthorizerPayloadFormatVersion",
  "AuthorizerResultTtlInSeconds",
  "EnableSimpleResponses",
] as const;

const authorizers: Rule = (assembly) =>
  ofSockets(assembly, "Authorizer").flatMap((entry) => {
    const { AuthorizerUri: uri, AuthorizerCredentialsArn: role, AuthorizerType: type } = entry.properties;
    const [ofHttp] = httpMembers.filter((member) => entry.properties[member] !== undefined);
    return problems("socket-authorizer", entry, {
      "It is of the type REQUEST in a WebSocket API.": type !== "REQUEST",
      "It invokes no function of the stage.": invokedBy(assembly, uri) === undefined,
      "API Gateway may not take on the role of its credentials.": !isInvoker(assembly, role),
      [`${ofHttp} is a member of HTTP APIs.`]: ofHttp !== undefined,
      "A handshake has a ticket or a token, and one without a listed identity source never reaches the function.":
        listOf(entry.properties["IdentitySource"]).length > 0,
    });
  });

const routeKeys = ["$connect", "$disconnect", "$default"] as const;

/** A connection is authorized when it is opened, and API Gateway refuses an authorizer on another route. */
const routes: Rule = (assembly) =>
  ofSockets(assembly, "Route").flatMap((entry) => {
    const { RouteKey: key, Target: target, AuthorizationType: type = "NONE", AuthorizerId: id } = entry.properties;
    const [prefix, integration] = partsOf(target);
    const leads = resourceOf(assembly, `${v2}::Integration`, integration, entry.template) !== undefined;
    const isGuarded = type === "CUSTOM" && resourceOf(assembly, `${v2}::Authorizer`, id, entry.template) !== undefined;
    return problems("socket-route", entry, {
      "It leads to no integration.": prefix !== "integrations" || !leads,
      "Connections are opened without an authorizer.": key === "$connect" && !isGuarded,
      "Only $connect takes an authorizer.": key !== "$connect" && (type !== "NONE" || id !== undefined),
    });
  });

/** A route that is missing is silence to clients: a connection without an end, or messages without an answer. */
const missingRoutes: Rule = (assembly) =>
  ofType(assembly, `${v2}::Api`)
    .filter(({ properties }) => properties["ProtocolType"] === "WEBSOCKET")
    .flatMap((api) => {
      const keys = ofSockets(assembly, "Route")
        .filter((route) => socketApiOf(assembly, route) === api)
        .map(({ properties }) => properties["RouteKey"]);
      return routeKeys
        .filter((key) => keys.filter((each) => each === key).length !== 1)
        .map((key) => finding("socket-route", api, `The API needs one route ${key}.`));
    });

/** A stage deploys what is there: without the routes a first deployment fails, and it has no limits by itself. */
const stages: Rule = (assembly) =>
  ofSockets(assembly, "Stage").flatMap((entry) => {
    const { AccessLogSettings: logs, AutoDeploy: auto, DefaultRouteSettings: settings } = entry.properties;
    const { ThrottlingRateLimit: rate, ThrottlingBurstLimit: burst, DataTraceEnabled: trace } = objectOf(settings);
    const waits = listOf(entry.resource.DependsOn);
    const early = ofSockets(assembly, "Route").filter(
      ({ template, logicalId }) => template !== entry.template || !waits.includes(logicalId),
    );
    return problems("socket-stage", entry, {
      "Nothing deploys the routes to it.": auto !== true && entry.properties["DeploymentId"] === undefined,
      "It does not wait for every route.": early.length > 0,
      "It has no limit of its own.": !(Number(rate) > 0 && Number(burst) > 0),
      "Its logs would hold what clients send and receive.": trace === true,
      "API Gateway takes no access log without $context.requestId.": !String(objectOf(logs)["Format"]).includes(
        "$context.requestId",
      ),
    });
  });

/** A WebSocket API has a regional name with TLS 1.2 (AWS docs: custom domain names), which no other kind of API has. */
const domains: Rule = (assembly) =>
  ofSockets(assembly, "ApiMapping").flatMap((mapping) => {
    const name = resourceOf(assembly, `${v2}::DomainName`, mapping.properties["DomainName"], mapping.template);
    const stage = resourceOf(assembly, `${v2}::Stage`, mapping.properties["Stage"], mapping.template);
    const [configuration] = listOf(name?.properties["DomainNameConfigurations"]).map(objectOf);
    const others = ofType(assembly, "AWS::ApiGateway::DomainName").map(({ properties }) => properties["DomainName"]);
    return [
      ...problems("socket-domain", mapping, {
        "It waits for no stage of the API.": stage === undefined,
        "It waits for no name.": name === undefined,
      }),
      ...problems("socket-domain", name ?? mapping, {
        "The name is not regional with TLS 1.2.":
          configuration?.["EndpointType"] !== "REGIONAL" || configuration["SecurityPolicy"] !== "TLS_1_2",
        "The name has no certificate.": configuration?.["CertificateArn"] === undefined,
        "The name is that of a REST API.": others.includes(name?.properties["DomainName"]),
      }),
    ];
  });

/** The resources of statements that allow to send to connections. */
function postResources(role: Entry | undefined): readonly Json[] {
  const statements = listOf(role?.properties["Policies"])
    .flatMap((policy) => listOf(objectOf(objectOf(policy)["PolicyDocument"])["Statement"]))
    .map(objectOf);
  return statements
    .filter(({ Effect: effect, Action: action }) => {
      return effect === "Allow" && listOf(action).includes("execute-api:ManageConnections");
    })
    .flatMap(({ Resource: resource }) => listOf(resource));
}

/** The stage that an address of connections names, of a WebSocket API; undefined when there is no such stage. */
function stageOfAddress(assembly: Assembly, address: Json): Entry | undefined {
  const parts = partsOf(address);
  const api = parts.map((part) => resourceOf(assembly, `${v2}::Api`, part)).find((found) => found !== undefined);
  const path = parts.filter((part) => !isObject(part)).join("");
  return ofSockets(assembly, "Stage").find(
    (stage) => socketApiOf(assembly, stage) === api && path.endsWith(`/${String(stage.properties["StageName"])}`),
  );
}

/**
 * A function that knows the address of connections has both rights on exactly these: API Gateway compares the name of
 * the stage and the method, and answers 403 to a worker whose right is on another.
 */
const posts: Rule = (assembly) =>
  ofType(assembly, "AWS::Lambda::Function").flatMap((lambda) => {
    const address = objectOf(objectOf(lambda.properties["Environment"])["Variables"])["STREAM_ENDPOINT"];
    if (address === undefined) return [];
    const stage = stageOfAddress(assembly, address);
    const role = resourceOf(assembly, "AWS::IAM::Role", lambda.properties["Role"], lambda.template);
    const endings = postResources(role).map((resource) => ({
      api: partsOf(resource).some((part) => {
        return stage !== undefined && resourceOf(assembly, `${v2}::Api`, part) === socketApiOf(assembly, stage);
      }),
      path: String(partsOf(resource).at(-1)),
    }));
    const name = String(stage?.properties["StageName"]);
    const lacks = (method: string) =>
      !endings.some(({ api, path }) => api && path === `/${name}/${method}/@connections/*`);
    return problems("socket-posts", lambda, {
      "Its address of connections is that of no stage.": stage === undefined,
      "Its role may not send to the connections of the stage.": lacks("POST"),
      "Its role may not close the connections of the stage.": lacks("DELETE"),
    });
  });

/** Rules of the WebSocket API. */
export const socketRules: readonly Rule[] = [
  ...[integrations, authorizers, routes, missingRoutes],
  ...[stages, domains, posts],
];
