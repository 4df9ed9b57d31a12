import { CfnOutput, Names, Stack } from "aws-cdk-lib";
import type { UsagePlan } from "aws-cdk-lib/aws-apigateway";
import type { IFunction } from "aws-cdk-lib/aws-lambda";
import type { LogGroup } from "aws-cdk-lib/aws-logs";
import type { IBucket } from "aws-cdk-lib/aws-s3";
import type { Construct } from "constructs";
import { limits } from "../../shared/limits.ts";
import type { Route } from "../../shared/routes/route.ts";
import type { BackgroundRow, EventQueue } from "../background/row.ts";
import { acknowledge } from "../constructs/acknowledge.ts";
import { Alarms } from "../constructs/alarms/alarms.ts";
import { Api } from "../constructs/api.ts";
import { acknowledgeObjects, auditBucket } from "../constructs/audit-bucket.ts";
import { Budget, tagCosts } from "../constructs/cost.ts";
import { exportsBucket } from "../constructs/exports-bucket.ts";
import { isKeyGrant, objectStatements, routeStatements } from "../constructs/grants.ts";
import { MarginQueue } from "../constructs/margin-queue.ts";
import { OperatorPool, poolOrigins } from "../constructs/operator-pool.ts";
import { functionLogs, type ServiceFunction } from "../constructs/service-function.ts";
import { originSecret, ServiceSecrets } from "../constructs/service-secrets.ts";
import { StreamApi } from "../constructs/stream-api.ts";
import { Tables } from "../constructs/table.ts";
import { WebhookLadder } from "../constructs/webhook-ladder.ts";
import { WorkQueue } from "../constructs/work-queue.ts";
import { longestDurationMs } from "../latency.ts";
import { functionName, type StageConfig, serviceName } from "../stages.ts";
import { BackgroundFunctions, workTimeout } from "./background-functions.ts";
import { DashboardStack } from "./dashboard.ts";
import { DashboardFiles } from "./dashboard-files.ts";
import { describeRoute, FunctionStacks } from "./functions.ts";

/** Input to a stage. */
export interface ServiceStackProps {
  readonly config: StageConfig;
  /** Rows of this stage. */
  readonly routes: readonly Route[];
  /** Functions without a route of this stage. */
  readonly background: readonly BackgroundRow[];
  /** Folder of each file's bundle. */
  readonly bundles: ReadonlyMap<string, string>;
  /** Folder of the built dashboard. */
  readonly dashboard: string;
}

/** One stage of the service: API, methods, tables, queues and alarms here, functions in nested stacks. */
export class ServiceStack extends Stack {
  private readonly config: StageConfig;
  private readonly tables: Tables;
  private readonly secrets: ServiceSecrets;
  private readonly pool: OperatorPool;
  private readonly ladder: WebhookLadder;
  private readonly marginQueue: MarginQueue;
  private readonly eventQueues: Readonly<Record<EventQueue, WorkQueue>>;
  private readonly stream: StreamApi;
  private readonly functions: FunctionStacks;
  /** Log of the functions behind routes: usage is counted from it, and one group is one reading. */
  private readonly requestLogs: LogGroup;
  /** Files of exports. */
  private readonly exports: IBucket;

  constructor(scope: Construct, id: string, props: ServiceStackProps) {
    const { config, routes, background: rows } = props;
    super(scope, id, {
      description: `Brokerage service, ${config.stage}`,
      terminationProtection: config.terminationProtection,
    });
    this.config = config;
    tagCosts(this, config);
    this.tables = new Tables(this, "Tables", config);
    this.secrets = new ServiceSecrets(this, config);
    const origin = originSecret(this, config);
    const openRoutes = routes.filter(({ auth }) => auth !== "token");
    const api = new Api(this, "Api", { config, originSecret: origin, openRoutes });
    this.stream = new StreamApi(this, "Stream", { config });
    const dashboard = this.addDashboard(api, origin);
    this.pool = new OperatorPool(this, "Operators", { config, dashboardUrl: dashboard.url });
    this.ladder = new WebhookLadder(this, "Ladder", { config, timeoutSeconds: workTimeout(rows, "deliveries") });
    this.marginQueue = new MarginQueue(this, "Margin", { config, timeoutSeconds: workTimeout(rows, "evaluations") });
    this.eventQueues = { ...eventQueues(this, config, rows), stream: streamQueue(this.stream.base, config, rows) };
    this.functions = new FunctionStacks(this, {
      config,
      bundles: props.bundles,
      environment: this.environmentOf(api.baseUrl),
    });
    this.requestLogs = functionLogs(this, "RequestLogs", config);
    this.exports = exportsBucket(this, "Exports");
    const handlers = new Map(routes.map((route) => [route.id, this.addRouteFunction(route)]));
    const bucket = auditBucket(this, "Audit", config);
    const background = new BackgroundFunctions(this, {
      ...{ config, rows, auditBucket: bucket, exportsBucket: this.exports, requestLogs: this.requestLogs },
      tables: this.tables,
      secrets: this.secrets,
      pool: this.pool,
      queues: { deliveries: this.ladder, evaluations: this.marginQueue, ...this.eventQueues },
      stream: this.stream,
      functions: this.functions,
    });
    const authorizer = background.addAuthorizer();
    const plan = api.connect({ routes, handler: (route) => handlerOf(handlers, route), authorizer: authorizer.lambda });
    background.addOthers(plan.usagePlanId);
    this.stream.connect({ sockets: background.sockets, invoker: api.invoker });
    acknowledgeKeys(background.get("provision"), plan);
    if (rows.some(({ id }) => id === "keep-warm")) acknowledgeWarming(background.get("keep-warm"), config);
    acknowledgeObjects(background.get("seal-audit").role, bucket);
    acknowledgeObjects(background.get("run-jobs").role, this.exports);
    for (const { id } of routes.filter(({ objects }) => objects !== undefined)) {
      const handler = handlers.get(id);
      if (handler !== undefined) acknowledgeObjects(handler.role, this.exports);
    }
    const settings = { ...this.pool.signInSettings(config), api_url: api.baseUrl };
    new DashboardFiles(this, "DashboardFiles", {
      ...{ config, settings, bucket: dashboard.bucket, directory: props.dashboard },
    });
    this.addWatch(rows, background);
    this.addOutputs(api.baseUrl, plan.usagePlanId, background.get("provision"));
    new CfnOutput(this, "AuditBucketName", { value: bucket.bucketName, description: "Sealed days of the audit" });
    new CfnOutput(this, "ExportBucketName", { value: this.exports.bucketName, description: "Files of exports" });
    new CfnOutput(this, "DashboardUrl", { value: dashboard.url, description: "Address of the dashboard" });
  }

  private addDashboard({ host }: Api, secret: string): DashboardStack {
    const { config } = this;
    const connectsTo = [...poolOrigins(config), this.stream.origin];
    return new DashboardStack(this, "Dashboard", { config, apiHost: host, originSecret: secret, connectsTo });
  }

  private environmentOf(baseUrl: string): Record<string, string> {
    const { stage, tokenIssuer, tokenAudience, logLevel } = this.config;
    return {
      STAGE: stage,
      TABLE_NAME: this.tables.main.tableName,
      VOLATILE_TABLE_NAME: this.tables.volatile.tableName,
      PUBLIC_BASE_URL: baseUrl,
      TOKEN_ISSUER: tokenIssuer,
      TOKEN_AUDIENCE: tokenAudience,
      LOG_LEVEL: logLevel,
      POWERTOOLS_SERVICE_NAME: serviceName,
    };
  }

  private addRouteFunction(route: Route): ServiceFunction {
    const arns = {
      table: this.tables.main.tableArn,
      volatile: this.tables.volatile.tableArn,
      keys: this.tables.keys.tableArn,
      secrets: this.secrets.arns,
    };
    const { queues = [], secrets = [], pool } = route;
    // A caller or a client of the OAuth endpoints may be refused by policy or scope, which is reported.
    const refusals = route.auth === "token" || route.rate === "token" ? [this.eventQueues.refusals] : [];
    return this.functions.add({
      file: route.file,
      id: route.id,
      description: describeRoute(route),
      logGroup: this.requestLogs,
      traced: true,
      statements: [
        ...routeStatements(route, arns),
        ...objectStatements(route.objects ?? [], this.exports.arnForObjects("*")),
        ...this.ladder.sendStatements(queues),
        ...refusals.map((queue) => queue.sendStatement()),
      ],
      environment: {
        SLOW_ABOVE_MS: String(longestDurationMs(route.id)),
        ...this.secrets.environment(secrets),
        ...this.ladder.environment(queues),
        ...refusals[0]?.environment,
        ...(route.objects && { EXPORT_BUCKET_NAME: this.exports.bucketName }),
        ...(pool && this.pool.tokenEnvironment),
        ...(route.stream && this.stream.urlEnvironment),
        ...(route.grants.some(isKeyGrant) && this.tables.keyEnvironment),
      },
    });
  }

  private addWatch(rows: readonly BackgroundRow[], background: BackgroundFunctions): void {
    const { config } = this;
    // Authorizers throw for each token that has expired, as API Gateway asks of them, and Lambda counts it as an error.
    // When one really fails, the gateway answers 5xx, which has alarms of its own.
    const counted = rows.filter(({ trigger }) => trigger.authorizer !== true && trigger.socket !== "authorizer");
    const alarms = new Alarms(this, "Alarms", {
      config,
      mainTable: this.tables.main,
      failureQueues: [
        ...background.failureQueues,
        ...[this.ladder, this.marginQueue, ...Object.values(this.eventQueues)].map(({ deadLetters }) => deadLetters),
      ],
      workQueues: [this.ladder, this.marginQueue, ...Object.values(this.eventQueues)].flatMap((one) => one.workQueues),
      backgroundIds: counted.filter(({ stage }) => stage === undefined).map(({ id }) => id),
      stageIds: counted.filter(({ stage }) => stage !== undefined).map(({ id }) => id),
      lateStreams: background.lateStreams,
      streamApiId: this.stream.apiId,
      requestLogs: this.requestLogs,
    });
    new Budget(this, "Cost", { config, topic: alarms.topic });
  }

  private addOutputs(baseUrl: string, usagePlanId: string, provision: ServiceFunction): void {
    new CfnOutput(this, "ApiUrl", { value: baseUrl, description: "Address of the API" });
    new CfnOutput(this, "StreamUrl", { value: this.stream.url, description: "Address of the stream" });
    new CfnOutput(this, "UsagePlanId", { value: usagePlanId, description: "Usage plan of all applications" });
    new CfnOutput(this, "ProvisionFunctionName", {
      value: provision.lambda.functionName,
      description: "Function that makes applications",
    });
    this.pool.addOutputs(this);
  }
}

/**
 * The queue of outbox items to publish, in the order of each brokerage, that of events with many deliveries, and that
 * of refusals to record.
 */
function eventQueues(
  scope: Construct,
  config: StageConfig,
  rows: readonly BackgroundRow[],
): Readonly<Record<Exclude<EventQueue, "stream">, WorkQueue>> {
  const { concurrency, fanOutConcurrency, refusalConcurrency } = config.publishing;
  const publishing = new WorkQueue(scope, "Publishing", {
    ...{ config, name: "publish", noun: "Keys", fifo: true, variable: "PUBLISH_QUEUE_URL", concurrency },
    timeoutSeconds: workTimeout(rows, "publishing"),
    visibilitySeconds: limits.queues.publishing_visibility_seconds,
    maxReceives: limits.queues.publishing_max_receives,
    lateAfterSeconds: limits.queues.late_publishing_seconds,
  });
  const fan_out = new WorkQueue(scope, "FanOut", {
    ...{ config, name: "fan-out", noun: "Events", fifo: false, variable: "FAN_OUT_QUEUE_URL" },
    concurrency: fanOutConcurrency,
    timeoutSeconds: workTimeout(rows, "fan_out"),
    lateAfterSeconds: limits.queues.late_delivery_seconds,
  });
  const refusals = new WorkQueue(scope, "Refusals", {
    ...{ config, name: "refusals", noun: "Refusals", fifo: false, variable: "REFUSAL_QUEUE_URL" },
    concurrency: refusalConcurrency,
    timeoutSeconds: workTimeout(rows, "refusals"),
    lateAfterSeconds: limits.queues.late_refusal_seconds,
    keptDays: limits.queues.refusal_days,
    batch: { messages: limits.audit.refusals_per_batch, windowSeconds: limits.audit.refusals_window_seconds },
  });
  return { publishing, fan_out, refusals };
}

/** The queue of sets of connections, one worker at a time for each. */
function streamQueue(scope: Construct, config: StageConfig, rows: readonly BackgroundRow[]): WorkQueue {
  return new WorkQueue(scope, "Sets", {
    ...{ config, name: "stream", noun: "Sets", fifo: true, variable: "STREAM_QUEUE_URL" },
    concurrency: config.streaming.concurrency,
    timeoutSeconds: workTimeout(rows, "stream"),
    visibilitySeconds: limits.queues.stream_visibility_seconds,
    lateAfterSeconds: limits.queues.late_stream_seconds,
  });
}

/** The ids of keys are made by API Gateway, so a policy can only name the collections that they are in. */
function acknowledgeKeys(provision: ServiceFunction, plan: UsagePlan): void {
  const collection = "arn:<AWS::Partition>:apigateway:<AWS::Region>::";
  // In the nested stack the plan's id is a parameter, which the library names after the plan.
  const planId = `<referenceto${Names.nodeUniqueId((plan.node.defaultChild ?? plan).node)}Ref>`;
  // An asterisk that stands for itself, as the library writes it: the tags of keys that are being made, of no others.
  const tags = "/tags/arn%3A<AWS::Partition>%3Aapigateway%3A<AWS::Region>%3A%3A%2Fapikeys%2F<*>";
  for (const path of ["/apikeys/*", tags, `/usageplans/${planId}/keys/*`]) {
    acknowledge(
      provision.role,
      `AwsSolutions-IAM5[Resource::${collection}${path}]`,
      "The ids of API keys are not known before they are made; this function alone makes and deletes them.",
    );
  }
}

/** The functions of a stage are named after it, and to name each would outgrow the policy of a role. */
function acknowledgeWarming({ role }: ServiceFunction, { stage }: StageConfig): void {
  const all = `arn:<AWS::Partition>:lambda:<AWS::Region>:<AWS::AccountId>:function:${functionName(stage, "*")}`;
  const reason = "It invokes every function with a route; those that act on an event of their own are denied.";
  acknowledge(role, `AwsSolutions-IAM5[Resource::${all}]`, reason);
}

function handlerOf(handlers: ReadonlyMap<string, ServiceFunction>, route: Route): IFunction {
  const handler = handlers.get(route.id);
  if (handler === undefined) throw new Error(`The row ${route.id} has no function.`);
  return handler.lambda;
}
