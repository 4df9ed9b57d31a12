import { Aws, CfnOutput, Duration, Fn, NestedStack, RemovalPolicy, Size, Stack } from "aws-cdk-lib";
import {
  AccessLogFormat,
  ApiKeySourceType,
  AuthorizationType,
  CfnAuthorizer,
  CfnBasePathMapping,
  CfnDomainName,
  EndpointType,
  type IAuthorizer,
  Integration,
  IntegrationType,
  type IRestApi,
  LogGroupLogDestination,
  type Method,
  MethodLoggingLevel,
  PassthroughBehavior,
  Resource,
  RestApi,
  type UsagePlan,
} from "aws-cdk-lib/aws-apigateway";
import { PolicyDocument, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import type { IFunction } from "aws-cdk-lib/aws-lambda";
import { LogGroup } from "aws-cdk-lib/aws-logs";
import { CfnSamplingRule } from "aws-cdk-lib/aws-xray";
import { Construct } from "constructs";
import { limits } from "../../shared/limits.ts";
import type { Route } from "../../shared/routes/route.ts";
import { getAsyncApi, getOpenApi } from "../../shared/routes/service.ts";
import { originVariable } from "../../shared/runtime/origin.ts";
import { apiVersion, functionName, type StageConfig, serviceName, type Throttle } from "../stages.ts";
import { acknowledge } from "./acknowledge.ts";
import { limitParallelCreation } from "./creation-order.ts";
import { GatewayResponses } from "./gateway-responses.ts";
import { allow } from "./grants.ts";
import { gatewayHeaders, problemStatus, problemTemplate } from "./problem-document.ts";

/**
 * Types that a mock method answers for; a body of any other type is refused with 415 before the method is looked at.
 */
const mockMediaTypes = [
  "application/json",
  "application/merge-patch+json",
  "application/x-www-form-urlencoded",
  "text/plain",
  "multipart/form-data",
] as const;

/** One line per request: who, what, how long. No header, no query string and no body, so no secret either. */
const accessLogFields = {
  requestId: "$context.requestId",
  time: "$context.requestTimeEpoch",
  method: "$context.httpMethod",
  resource: "$context.resourcePath",
  path: "$context.path",
  status: "$context.status",
  latencyMs: "$context.responseLatency",
  integrationLatencyMs: "$context.integration.latency",
  integrationStatus: "$context.integration.status",
  authorizerLatencyMs: "$context.authorizer.latency",
  authorizerStatus: "$context.authorizer.status",
  errorType: "$context.error.responseType",
  bytes: "$context.responseLength",
  sourceIp: "$context.identity.sourceIp",
  tenant: "$context.authorizer.tenant_id",
  actor: "$context.authorizer.actor_id",
  traceId: "$context.xrayTraceId",
} as const;

/** Input to the API of a stage. */
export interface ApiProps {
  readonly config: StageConfig;
  /** Secret by which functions recognise the dashboard's distribution; they get it with each request. */
  readonly originSecret: string;
  /** Rows whose method needs no token. */
  readonly openRoutes: readonly Route[];
}

/** Rows, and their functions. */
export interface ConnectProps {
  readonly routes: readonly Route[];
  /** The function of a row. */
  readonly handler: (route: Route) => IFunction;
  readonly authorizer: IFunction;
}

/** Where API Gateway invokes a function. */
export function invocationUri(handler: IFunction): string {
  const target = `lambda:path/2015-03-31/functions/${handler.functionArn}/invocations`;
  return `arn:${Aws.PARTITION}:apigateway:${Aws.REGION}:${target}`;
}

/** `webhook_endpoints` becomes `WebhookEndpointsPaths`, since logical ids hold letters and digits only. */
function pathsOf(segment: string): string {
  const words = segment.split(/[^a-z0-9]+/i).filter((word) => word !== "");
  return `${words.map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`).join("")}Paths`;
}

function throttling(throttle: Throttle) {
  return { rateLimit: throttle.ratePerSecond, burstLimit: throttle.burst };
}

function stageThrottling({ ratePerSecond, burst }: Throttle) {
  return { throttlingRateLimit: ratePerSecond, throttlingBurstLimit: burst };
}

/** The REST API: first itself, so that functions can name its address; then, with `connect`, what it leads to. */
export class Api extends Construct {
  readonly restApi: RestApi;
  /** Address of the API without a slash at the end. */
  readonly baseUrl: string;
  private readonly config: StageConfig;
  /** By which API Gateway invokes the functions of the stage. */
  readonly invoker: Role;

  constructor(scope: Construct, id: string, { config, originSecret, openRoutes }: ApiProps) {
    super(scope, id);
    this.config = config;
    const accessLogs = new LogGroup(this, "AccessLogs", {
      retention: config.logRetention,
      removalPolicy: config.logAndSecretRemovalPolicy,
    });
    this.restApi = this.makeRestApi(accessLogs, originSecret, openRoutes);
    this.keepExecutionLogs();
    this.baseUrl = this.makeBaseUrl();
    this.invoker = this.makeInvoker();
    new GatewayResponses(this, "Responses", this.restApi as IRestApi);
    this.acknowledgeFindings();
  }

  /** Adds a method per row, the 405 of every path, the authorizer and the usage plan; returns the plan. */
  connect(props: ConnectProps): UsagePlan {
    const authorizer = this.makeAuthorizer(props.authorizer);
    const methods = new Map<string, Method>();
    const resources = new Map<string, { resource: Resource; allowed: string[] }>();
    for (const route of props.routes) {
      const resource = this.resourceOf(route.path);
      const known = resources.get(route.path) ?? { resource, allowed: [] };
      resources.set(route.path, { resource, allowed: [...known.allowed, route.method] });
      methods.set(`${route.method} ${route.path}`, this.addMethod(resource, route, props.handler(route), authorizer));
    }
    this.addDomain();
    for (const { resource, allowed } of resources.values()) addMethodNotAllowed(resource, allowed);
    this.orderCreation();
    return this.addPlan(methods.get("GET /quotes/{symbol}"));
  }

  /** The resource of a path, in the nested stack of its first segment: one stack holds 500 resources (ADR 0001). */
  private resourceOf(path: string): Resource {
    const { root } = this.restApi;
    const segment = path.split("/")[1] ?? "";
    if (root.getResource(segment) === undefined) {
      const stack = new NestedStack(this, pathsOf(segment), { description: `Paths of /${segment}` });
      new Resource(stack, "Resource", { parent: root, pathPart: segment });
      acknowledge(stack, "CloudFormation-Validate::W2509", "The parameters are ARNs of functions, not secrets.");
    }
    return root.resourceForPath(path);
  }

  /** As many stacks of paths at once as the gateway takes, and in each of them one of a kind after the other. */
  private orderCreation(): void {
    const atOnce = limits.deployment.gateway_parallel_creations;
    for (const type of ["AWS::CloudFormation::Stack", "AWS::ApiGateway::GatewayResponse"]) {
      limitParallelCreation(this, type, atOnce);
    }
    for (const stack of this.node.children.filter((child) => NestedStack.isNestedStack(child))) {
      for (const type of ["Resource", "Method"]) limitParallelCreation(stack, `AWS::ApiGateway::${type}`, 1);
    }
  }

  private makeRestApi(accessLogs: LogGroup, originSecret: string, openRoutes: readonly Route[]): RestApi {
    const { stage, methodThrottle, openThrottle, documentThrottle } = this.config;
    const documents: readonly string[] = [getOpenApi.path, getAsyncApi.path];
    const throttleOf = (path: string) => stageThrottling(documents.includes(path) ? documentThrottle : openThrottle);
    const everywhere = { loggingLevel: MethodLoggingLevel.ERROR, dataTraceEnabled: false };
    const restApi = new RestApi(this, "RestApi", {
      restApiName: `${serviceName}-${stage}`,
      description: `Brokerage API, ${stage}`,
      endpointTypes: [EndpointType.REGIONAL],
      apiKeySourceType: ApiKeySourceType.AUTHORIZER,
      minCompressionSize: Size.bytes(limits.compression.from_bytes),
      // The role is one per account and region, so it is a stack of its own.
      cloudWatchRole: false,
      deployOptions: {
        stageName: apiVersion,
        variables: { [originVariable]: originSecret },
        accessLogDestination: new LogGroupLogDestination(accessLogs),
        accessLogFormat: AccessLogFormat.custom(JSON.stringify(accessLogFields)),
        ...everywhere,
        // The trace of a request begins here, so that the access log and the functions say the same one.
        tracingEnabled: true,
        ...stageThrottling(methodThrottle),
        // Settings of a method replace all settings of the stage.
        methodOptions: Object.fromEntries(
          openRoutes.map(({ path, method }) => [`${path}/${method}`, { ...everywhere, ...throttleOf(path) }]),
        ),
      },
    });
    this.sampleTraces();
    // The stack has an output of its own for the address.
    restApi.node.tryRemoveChild("Endpoint");
    return restApi;
  }

  /**
   * A twentieth of the requests, of which the gateway decides. X-Ray's own rule would first trace one request a second:
   * of a quiet stage nearly all.
   */
  private sampleTraces(): void {
    const ruleName = `${serviceName}-${this.config.stage}`;
    new CfnSamplingRule(this, "Sampling", {
      samplingRule: {
        ...{ ruleName, version: 1, priority: 1000, reservoirSize: 0, fixedRate: limits.traces.share },
        ...{ serviceName: `${ruleName}/${apiVersion}`, serviceType: "AWS::ApiGateway::Stage", resourceArn: "*" },
        ...{ host: "*", httpMethod: "*", urlPath: "*" },
      },
    });
  }

  /** API Gateway would make this log group by itself, and keep it forever. */
  private keepExecutionLogs(): void {
    const logs = new LogGroup(this, "ExecutionLogs", {
      logGroupName: `API-Gateway-Execution-Logs_${this.restApi.restApiId}/${apiVersion}`,
      retention: this.config.logRetention,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    this.restApi.deploymentStage.node.addDependency(logs);
  }

  /** The API at a name of its own, below the same path as without one; the name has to be pointed at its target. */
  private addDomain(): void {
    const { api } = this.config;
    if (api === undefined) return;
    const name = new CfnDomainName(this, "Domain", {
      domainName: api.domain,
      regionalCertificateArn: api.certificateArn,
      endpointConfiguration: { types: ["REGIONAL"] },
      securityPolicy: "TLS_1_2",
    });
    new CfnBasePathMapping(this, "DomainPath", {
      domainName: name.ref,
      basePath: apiVersion,
      restApiId: this.restApi.restApiId,
      stage: this.restApi.deploymentStage.stageName,
    });
    const target = { value: name.attrRegionalDomainName, description: "Where the name of the API has to point to" };
    new CfnOutput(Stack.of(this), "ApiDomainTarget", target);
  }

  /** From the API's id alone: the stage depends on every method and so on every function that asks for the address. */
  private makeBaseUrl(): string {
    const { api } = this.config;
    if (api !== undefined) return `https://${api.domain}/${apiVersion}`;
    return Fn.join("", ["https://", this.host, `/${apiVersion}`]);
  }

  /** The API's own host, which it answers at with and without a domain. */
  get host(): string {
    return Fn.join("", [`${this.restApi.restApiId}.execute-api.${Aws.REGION}.`, Aws.URL_SUFFIX]);
  }

  /** One role for all methods: a permission per method would double the template. */
  private makeInvoker(): Role {
    const functions = `arn:${Aws.PARTITION}:lambda:${Aws.REGION}:${Aws.ACCOUNT_ID}:function:`;
    const pattern = `${functions}${functionName(this.config.stage, "*")}`;
    const role = new Role(this, "Invoker", {
      assumedBy: new ServicePrincipal("apigateway.amazonaws.com"),
      inlinePolicies: {
        invoke: new PolicyDocument({ statements: [allow("Invoke", ["lambda:InvokeFunction"], [pattern])] }),
      },
    });
    const named = functionName(this.config.stage, "*");
    acknowledge(
      role,
      `AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:lambda:<AWS::Region>:<AWS::AccountId>:function:${named}]`,
      "Only API Gateway takes this role, for the functions of this stage; naming each would outgrow a policy.",
    );
    return role;
  }

  private makeAuthorizer(handler: IFunction): IAuthorizer {
    const props = {
      restApiId: this.restApi.restApiId,
      name: "tokens",
      type: "REQUEST",
      authorizerUri: invocationUri(handler),
      authorizerCredentials: this.invoker.roleArn,
      identitySource: "method.request.header.Authorization",
      authorizerResultTtlInSeconds: limits.authorizer.cache_seconds,
    };
    const authorizer = new CfnAuthorizer(this, "Authorizer", props);
    const deployment = this.restApi.latestDeployment;
    deployment?.node.addDependency(authorizer);
    // A stage shows what its deployment has seen: one made before the compression would not compress.
    deployment?.addToLogicalId({ authorizer: props, compression: limits.compression });
    return { authorizerId: authorizer.ref, authorizationType: AuthorizationType.CUSTOM };
  }

  private addMethod(resource: Resource, route: Route, handler: IFunction, authorizer: IAuthorizer): Method {
    const integration = new Integration({
      type: IntegrationType.AWS_PROXY,
      integrationHttpMethod: "POST",
      uri: invocationUri(handler),
      options: { credentialsRole: this.invoker, timeout: Duration.seconds(29) },
    });
    if (route.auth === "token") {
      return resource.addMethod(route.method, integration, {
        operationName: route.id,
        authorizer,
        apiKeyRequired: true,
      });
    }
    const method = resource.addMethod(route.method, integration, {
      operationName: route.id,
      authorizationType: AuthorizationType.NONE,
    });
    const reason = "The row is open on purpose: it gives out tokens or public documents.";
    acknowledge(method, "AwsSolutions-APIG4", reason);
    return method;
  }

  private addPlan(quotes: Method | undefined): UsagePlan {
    const plan = this.restApi.addUsagePlan("Plan", {
      name: `${serviceName}-${this.config.stage}`,
      description: "Outer limit of one application; the functions count exactly.",
      throttle: throttling(this.config.planThrottle),
    });
    plan.addApiStage({
      api: this.restApi as IRestApi,
      stage: this.restApi.deploymentStage,
      ...(quotes !== undefined && { throttle: [{ method: quotes, throttle: throttling(this.config.quoteThrottle) }] }),
    });
    return plan;
  }

  private acknowledgeFindings(): void {
    const { restApi } = this;
    acknowledge(this, "AwsSolutions-COG4", "Tokens are ours (RFC 9068), verified by a Lambda authorizer.");
    acknowledge(
      restApi,
      "AwsSolutions-APIG2",
      "The functions validate: API Gateway knows a part of JSON Schema only and cannot list every wrong field.",
    );
    acknowledge(
      restApi.deploymentStage,
      "AwsSolutions-APIG3",
      "Callers are servers with tokens, throttled per application; a web ACL would cost more than the API at rest.",
    );
  }
}

/** Every method that a path does not list answers 405 and names those that it does (RFC 9110 15.5.6). */
function addMethodNotAllowed(resource: Resource, methods: readonly string[]): void {
  const allowed = [...methods].sort().join(", ");
  const statusCode = problemStatus("method_not_allowed");
  const headers = { ...gatewayHeaders, Allow: `'${allowed}'` };
  const values = Object.entries(headers).map(([name, value]) => [`method.response.header.${name}`, value] as const);
  const request = JSON.stringify({ statusCode: Number(statusCode) });
  const integration = new Integration({
    type: IntegrationType.MOCK,
    options: {
      passthroughBehavior: PassthroughBehavior.NEVER,
      requestTemplates: Object.fromEntries(mockMediaTypes.map((type) => [type, request])),
      integrationResponses: [
        {
          statusCode,
          responseParameters: Object.fromEntries(values),
          responseTemplates: {
            "application/json": problemTemplate("method_not_allowed", `The path knows ${allowed}.`),
          },
        },
      ],
    },
  });
  const method = resource.addMethod("ANY", integration, {
    authorizationType: AuthorizationType.NONE,
    methodResponses: [
      { statusCode, responseParameters: Object.fromEntries(values.map(([name]) => [name, true] as const)) },
    ],
  });
  acknowledge(method, "AwsSolutions-APIG4", "The method only tells which methods the path has.");
}
