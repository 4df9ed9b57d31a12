import { Aws, CfnOutput, Fn, Names, NestedStack, Stack } from "aws-cdk-lib";
import {
  CfnApi,
  CfnApiMapping,
  CfnAuthorizer,
  CfnDomainName,
  CfnIntegration,
  CfnRoute,
  CfnStage,
} from "aws-cdk-lib/aws-apigatewayv2";
import type { PolicyStatement, Role } from "aws-cdk-lib/aws-iam";
import type { IFunction } from "aws-cdk-lib/aws-lambda";
import { LogGroup } from "aws-cdk-lib/aws-logs";
import { Construct } from "constructs";
import type { SocketTrigger } from "../background/row.ts";
import { apiVersion, type StageConfig, serviceName } from "../stages.ts";
import { acknowledge } from "./acknowledge.ts";
import { invocationUri } from "./api.ts";
import { allow } from "./grants.ts";
import type { ServiceFunction } from "./service-function.ts";

/**
 * One line per handshake, message and end of a connection. API Gateway knows no variable of the query, which holds a
 * ticket, and no header is in it.
 */
const accessLogFields = {
  requestId: "$context.requestId",
  time: "$context.requestTimeEpoch",
  route: "$context.routeKey",
  event: "$context.eventType",
  connectionId: "$context.connectionId",
  status: "$context.status",
  integrationLatencyMs: "$context.integrationLatency",
  integrationStatus: "$context.integration.status",
  authorizerLatencyMs: "$context.authorizer.latency",
  authorizerStatus: "$context.authorizer.status",
  error: "$context.error.message",
  sourceIp: "$context.identity.sourceIp",
  tenant: "$context.authorizer.tenant_id",
  actor: "$context.authorizer.actor_id",
} as const;

const routeKeys = { connect: "$connect", disconnect: "$disconnect", message: "$default" } as const;

/** Calls of the worker on connections: it sends to them and closes them. */
const postMethods = ["POST", "DELETE"] as const;

/** Input to the WebSocket API of a stage. */
export interface StreamApiProps {
  readonly config: StageConfig;
}

/** Functions of the API. */
export interface StreamConnectProps {
  readonly sockets: readonly { readonly trigger: SocketTrigger; readonly handler: IFunction }[];
  /** By which API Gateway invokes them. */
  readonly invoker: Role;
}

interface StreamRoute {
  readonly trigger: keyof typeof routeKeys;
  readonly handler: IFunction;
  readonly invoker: Role;
  readonly authorizer: CfnAuthorizer;
}

/**
 * The WebSocket API of the stream: first itself, so that functions can name its address; then, with `connect`, what it
 * leads to.
 */
export class StreamApi extends Construct {
  /** Where clients connect: `wss://…`, without a query. */
  readonly url: string;
  /** Where connections are sent to and closed: `https://…/<stage>`, without a slash at the end. */
  private readonly endpoint: string;
  /** The nested stack of what functions know: the API, and the queue of its sets. It knows no function itself. */
  readonly base: NestedStack;
  private readonly config: StageConfig;
  private readonly api: CfnApi;

  constructor(scope: Construct, id: string, { config }: StreamApiProps) {
    super(scope, id);
    this.config = config;
    this.base = new NestedStack(this, "Base", { description: "WebSocket API of the stream, and its queue" });
    this.api = new CfnApi(this.base, "Api", {
      name: `${serviceName}-${config.stage}-stream`,
      description: `Stream of the brokerage API, ${config.stage}`,
      protocolType: "WEBSOCKET",
      // Every message of a client is for one function: what it asks for stands in it and chooses no route.
      routeSelectionExpression: "$request.body.type",
    });
    this.endpoint = Fn.join("", ["https://", this.host, `/${apiVersion}`]);
    this.url = config.stream === undefined ? `${this.origin}/${apiVersion}` : this.origin;
  }

  /** By which the metrics of the API are found. */
  get apiId(): string {
    return this.api.ref;
  }

  /** Where clients connect, without the path: what a page of the dashboard is allowed to connect to. */
  get origin(): string {
    const { stream } = this.config;
    return stream === undefined ? Fn.join("", ["wss://", this.host]) : `wss://${stream.domain}`;
  }

  /** Address of the stream for a function that hands it out. */
  get urlEnvironment(): Record<string, string> {
    return { STREAM_URL: this.url };
  }

  /** Address of connections for a function that sends to them. */
  get postEnvironment(): Record<string, string> {
    return { STREAM_ENDPOINT: this.endpoint };
  }

  /** May send to the connections of this API and close them. */
  postStatement(): PolicyStatement {
    const resources = postMethods.map((method) => {
      const api = `arn:${Aws.PARTITION}:execute-api:${Aws.REGION}:${Aws.ACCOUNT_ID}:${this.api.ref}`;
      return `${api}/${apiVersion}/${method}/@connections/*`;
    });
    return allow("Post", ["execute-api:ManageConnections"], resources);
  }

  /** The ids of connections are made by API Gateway, so a policy can only name the collection that they are in. */
  acknowledgePosts({ role }: ServiceFunction): void {
    // In the nested stack of a function the API's id is a parameter, which the library names after the output of this.
    const { nestedStackResource = this.api } = this.base;
    const output = `${Names.nodeUniqueId(nestedStackResource.node)}Outputs${Names.nodeUniqueId(this.api.node)}Ref`;
    const apiId = `<referenceto${output}>`;
    const api = `arn:<AWS::Partition>:execute-api:<AWS::Region>:<AWS::AccountId>:${apiId}`;
    for (const method of postMethods) {
      acknowledge(
        role,
        `AwsSolutions-IAM5[Resource::${api}/${apiVersion}/${method}/@connections/*]`,
        "The ids of connections are not known before they are opened; this API has no others.",
      );
    }
  }

  /** Adds the routes, the authorizer and the stage, in a nested stack that knows the functions. */
  connect({ sockets, invoker }: StreamConnectProps): void {
    const handlerOf = (trigger: SocketTrigger): IFunction => {
      const [found, ...others] = sockets.filter((socket) => socket.trigger === trigger);
      if (found !== undefined && others.length === 0) return found.handler;
      throw new Error(`One background row is the stream's ${trigger}, not ${others.length + (found ? 1 : 0)}.`);
    };
    const stack = new NestedStack(this, "Routes", { description: "Routes of the stream" });
    acknowledge(stack, "CloudFormation-Validate::W2509", "The parameters are ARNs of functions, not secrets.");
    const authorizer = new CfnAuthorizer(stack, "Authorizer", {
      apiId: this.api.ref,
      name: "stream",
      authorizerType: "REQUEST",
      authorizerUri: invocationUri(handlerOf("authorizer")),
      authorizerCredentialsArn: invoker.roleArn,
      // All of those that are listed would have to be there, and a client shows either a ticket or a token.
      identitySource: [],
    });
    const routes = (["connect", "disconnect", "message"] as const).map((trigger) =>
      this.addRoute(stack, { trigger, handler: handlerOf(trigger), invoker, authorizer }),
    );
    const stage = this.addStage(stack);
    for (const route of routes) stage.addResourceDependency(route);
    this.addDomain(stack, stage);
  }

  /** The API's own host, which it answers at with and without a domain. */
  private get host(): string {
    return Fn.join("", [`${this.api.ref}.execute-api.${Aws.REGION}.`, Aws.URL_SUFFIX]);
  }

  private addRoute(stack: Construct, { trigger, handler, invoker, authorizer }: StreamRoute): CfnRoute {
    const integration = new CfnIntegration(stack, `${trigger}-integration`, {
      apiId: this.api.ref,
      integrationType: "AWS_PROXY",
      integrationMethod: "POST",
      integrationUri: invocationUri(handler),
      credentialsArn: invoker.roleArn,
    });
    const isOpening = trigger === "connect";
    const route = new CfnRoute(stack, `${trigger}-route`, {
      apiId: this.api.ref,
      routeKey: routeKeys[trigger],
      target: Fn.join("/", ["integrations", integration.ref]),
      authorizationType: isOpening ? "CUSTOM" : "NONE",
      ...(isOpening && { authorizerId: authorizer.ref }),
    });
    if (!isOpening) {
      const reason = "API Gateway authorizes a connection when it is opened, and takes an authorizer nowhere else.";
      acknowledge(route, "AwsSolutions-APIG4", reason);
    }
    return route;
  }

  private addStage(stack: Construct): CfnStage {
    const { methodThrottle, logRetention, logAndSecretRemovalPolicy } = this.config;
    const logs = new LogGroup(stack, "AccessLogs", {
      retention: logRetention,
      removalPolicy: logAndSecretRemovalPolicy,
    });
    return new CfnStage(stack, "Stage", {
      apiId: this.api.ref,
      stageName: apiVersion,
      autoDeploy: true,
      accessLogSettings: { destinationArn: logs.logGroupArn, format: JSON.stringify(accessLogFields) },
      defaultRouteSettings: {
        throttlingRateLimit: methodThrottle.ratePerSecond,
        throttlingBurstLimit: methodThrottle.burst,
        // Messages hold the data of clients; what went wrong is in the access log and in the logs of the functions.
        dataTraceEnabled: false,
        detailedMetricsEnabled: false,
      },
    });
  }

  /** The stream at a name of its own, at its root; the name has to be pointed at its target. */
  private addDomain(stack: Construct, stage: CfnStage): void {
    const { stream } = this.config;
    if (stream === undefined) return;
    const name = new CfnDomainName(stack, "Domain", {
      domainName: stream.domain,
      domainNameConfigurations: [
        { certificateArn: stream.certificateArn, endpointType: "REGIONAL", securityPolicy: "TLS_1_2" },
      ],
    });
    new CfnApiMapping(stack, "DomainPath", { apiId: this.api.ref, domainName: name.ref, stage: stage.ref });
    const target = { value: name.attrRegionalDomainName, description: "Where the name of the stream has to point to" };
    new CfnOutput(Stack.of(this), "StreamDomainTarget", target);
  }
}
