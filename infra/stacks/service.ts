import { CfnOutput, Duration, Names, Stack } from "aws-cdk-lib";
import type { UsagePlan } from "aws-cdk-lib/aws-apigateway";
import type { Table } from "aws-cdk-lib/aws-dynamodb";
import { type PolicyStatement, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { CfnEventSourceMapping, CfnPermission, type IFunction } from "aws-cdk-lib/aws-lambda";
import { CfnRotationSchedule, Secret } from "aws-cdk-lib/aws-secretsmanager";
import type { Queue } from "aws-cdk-lib/aws-sqs";
import type { Construct } from "constructs";
import { limits } from "../../shared/limits.ts";
import type { Route, SecretName } from "../../shared/routes/route.ts";
import { applicationType, outboxType, pulseType, quoteType, riskType } from "../../shared/table/table-shape.ts";
import { acknowledge } from "../constructs/acknowledge.ts";
import { Alarms } from "../constructs/alarms.ts";
import { Api } from "../constructs/api.ts";
import { Budget, tagCosts } from "../constructs/cost.ts";
import { failureQueue } from "../constructs/failure-queue.ts";
import { readSecretStatements, routeStatements } from "../constructs/grants.ts";
import { MarginQueue } from "../constructs/margin-queue.ts";
import { type ScheduleRow, Schedules } from "../constructs/schedules.ts";
import type { ServiceFunction } from "../constructs/service-function.ts";
import { Tables } from "../constructs/table.ts";
import { WebhookLadder } from "../constructs/webhook-ladder.ts";
import { type StageConfig, serviceName } from "../stages.ts";
import { type BackgroundFunction, background, sandboxBackground } from "./background.ts";
import { describeRoute, FunctionStacks } from "./functions.ts";

/** What a stage is made from. */
export interface ServiceStackProps {
  readonly config: StageConfig;
  /** Rows of this stage. */
  readonly routes: readonly Route[];
  /** Folder of each file's bundle. */
  readonly bundles: ReadonlyMap<string, string>;
}

/** How a function reads the stream of a table. */
interface StreamReaderProps {
  readonly stream: string;
  /** Filters on the new image of an item; one that matches is enough. */
  readonly images: readonly object[];
  readonly batchSize: number;
  /** How long it waits for more records, in seconds; not at all without it. */
  readonly windowSeconds?: number;
  readonly maximumRetryAttempts: number;
  /** Learns of records that were given up. */
  readonly onFailure?: Queue;
}

/** One stage of the service: API, methods, tables, queues and alarms here, functions in nested stacks. */
export class ServiceStack extends Stack {
  private readonly config: StageConfig;
  private readonly tables: Tables;
  private readonly signingKey: Secret;
  private readonly serviceKey: Secret;
  private readonly publishFailures: Queue;
  private readonly watchFailures: Queue;
  private readonly scheduleFailures: Queue;
  private readonly ladder: WebhookLadder;
  private readonly marginQueue: MarginQueue;
  private readonly functions: FunctionStacks;

  constructor(scope: Construct, id: string, props: ServiceStackProps) {
    const { config, routes } = props;
    super(scope, id, {
      description: `Brokerage service, ${config.stage}`,
      terminationProtection: config.terminationProtection,
    });
    this.config = config;
    tagCosts(this, config);
    this.tables = new Tables(this, "Tables", config);
    this.signingKey = this.makeSigningKey();
    this.serviceKey = this.makeServiceKey();
    this.publishFailures = failureQueue(this, "publish-failures", config, "publish-failures");
    this.watchFailures = failureQueue(this, "watch-failures", config, "watch-failures");
    this.scheduleFailures = failureQueue(this, "schedule-failures", config, "schedule-failures");
    const { deliver, evaluate } = background;
    this.ladder = new WebhookLadder(this, "Ladder", { config, timeoutSeconds: deliver.timeoutSeconds });
    this.marginQueue = new MarginQueue(this, "Margin", { config, timeoutSeconds: evaluate.timeoutSeconds });
    const api = new Api(this, "Api", config);
    this.functions = new FunctionStacks(this, {
      config,
      bundles: props.bundles,
      environment: this.environmentOf(api.baseUrl),
    });
    const handlers = new Map(routes.map((route) => [route.id, this.addRouteFunction(route)]));
    const authorizer = this.addBackground(background.authorize);
    const plan = api.connect({ routes, handler: (route) => handlerOf(handlers, route), authorizer: authorizer.lambda });
    const provision = this.addBackground(background.provision, plan.usagePlanId);
    acknowledgeKeys(provision, plan);
    this.addRotation(this.addBackground(background.rotateSigningKey));
    this.addStreamReaders(this.addBackground(background.publish), provision);
    this.ladder.connect(this.addBackground(background.deliver));
    this.addMargin(this.addBackground(background.watch), this.addBackground(background.evaluate));
    this.addSandboxMatching();
    this.addSchedules(provision, this.addBackground(background.promote), this.addBackground(background.sweep));
    this.addWatch();
    this.addOutputs(api.baseUrl, plan.usagePlanId, provision);
  }

  /** The key pair is made by its rotation function; what is generated here only fills the place until then. */
  private makeSigningKey(): Secret {
    return new Secret(this, "SigningKey", {
      secretName: `${serviceName}/${this.config.stage}/signing-key`,
      description: "Key pair that signs access tokens, made by its rotation",
      generateSecretString: { secretStringTemplate: "{}", generateStringKey: "placeholder" },
      removalPolicy: this.config.logAndSecretRemovalPolicy,
    });
  }

  /** Keys of other purposes are derived from it; what they seal stays readable as long as it stays the same. */
  private makeServiceKey(): Secret {
    const secret = new Secret(this, "ServiceKey", {
      secretName: `${serviceName}/${this.config.stage}/service-key`,
      description: "Key that keys for sealing and deriving are made from",
      generateSecretString: { passwordLength: 64, excludePunctuation: true },
      removalPolicy: this.config.logAndSecretRemovalPolicy,
    });
    acknowledge(
      secret,
      "AwsSolutions-SMG4",
      "A new value would close what the old one sealed and end every refresh token; who does that does it by hand.",
    );
    return secret;
  }

  private get secretArns(): Readonly<Record<SecretName, string>> {
    return { signing_key: this.signingKey.secretArn, service_key: this.serviceKey.secretArn };
  }

  /** The ids of secrets, in the environment of those functions alone that read them. */
  private secretVariables(names: readonly SecretName[]): Record<string, string> {
    return Object.fromEntries(names.map((name) => [`${name.toUpperCase()}_SECRET_ID`, this.secretArns[name]]));
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
      secrets: this.secretArns,
    };
    const { queues = [], secrets = [] } = route;
    return this.functions.add({
      file: route.file,
      id: route.id,
      description: describeRoute(route),
      statements: [...routeStatements(route, arns), ...this.ladder.sendStatements(queues)],
      environment: { ...this.secretVariables(secrets), ...this.ladder.environment(queues) },
      ...(route.computes === true && { memoryMb: limits.functions.computing_memory_mb }),
    });
  }

  private addBackground(row: BackgroundFunction, usagePlanId = ""): ServiceFunction {
    const { file, id, description, timeoutSeconds, nestedStack, memoryMb, secrets = [], queues = [] } = row;
    const sends = row.sendsAccounts === true;
    const environment = {
      ...this.secretVariables(secrets),
      ...(row === background.provision && { USAGE_PLAN_ID: usagePlanId }),
      ...this.ladder.environment(queues),
      ...(sends && this.marginQueue.environment),
    };
    const statements = row.statements({
      stage: this.config.stage,
      table: this.tables.main.tableArn,
      stream: streamOf(this.tables.main),
      volatile: this.tables.volatile.tableArn,
      volatileStream: streamOf(this.tables.volatile),
      signingKey: this.signingKey.secretArn,
      publishFailures: this.publishFailures.queueArn,
      watchFailures: this.watchFailures.queueArn,
      usagePlanId,
    });
    const work = this.workOf(row);
    return this.functions.add({
      file,
      id,
      description,
      timeoutSeconds,
      statements: [
        ...statements,
        ...readSecretStatements(secrets, this.secretArns),
        ...this.ladder.sendStatements(queues),
        ...(sends ? [this.marginQueue.sendStatement()] : []),
        ...(work === undefined ? [] : [work.receive]),
      ],
      environment,
      ...(work !== undefined && { reservedConcurrency: work.concurrency }),
      ...(memoryMb !== undefined && { memoryMb }),
      ...(nestedStack !== undefined && { nestedStack }),
    });
  }

  /** What a function that reads queues may receive, and how many invocations they start at the same time. */
  private workOf(row: BackgroundFunction): { receive: PolicyStatement; concurrency: number } | undefined {
    const { config, ladder, marginQueue } = this;
    if (row === background.deliver) {
      return { receive: ladder.receiveStatement(), concurrency: WebhookLadder.concurrency(config) };
    }
    if (row !== background.evaluate) return undefined;
    return { receive: marginQueue.receiveStatement(), concurrency: config.evaluations.concurrency };
  }

  private addRotation(rotate: ServiceFunction): void {
    const permission = new CfnPermission(rotate, "Rotation", {
      action: "lambda:InvokeFunction",
      functionName: rotate.lambda.functionName,
      principal: new ServicePrincipal("secretsmanager.amazonaws.com").service,
      sourceArn: this.signingKey.secretArn,
      sourceAccount: this.account,
    });
    const schedule = new CfnRotationSchedule(this, "SigningKeyRotation", {
      secretId: this.signingKey.secretArn,
      rotationLambdaArn: rotate.lambda.functionArn,
      rotationRules: { automaticallyAfterDays: limits.token.key_rotation_days },
      rotateImmediatelyOnUpdate: true,
    });
    schedule.node.addDependency(permission);
  }

  /**
   * The two readers of the main stream, as many as AWS allows. The publisher wakes for new outbox items, and for the
   * risk of accounts that a commit left to be watched, most of which come in one batch with the events of that commit.
   * It changes neither, so it cannot wake itself, and what an evaluation writes does not wake it.
   * Provisioning wakes for applications that wait for the gateway, and what it writes takes the
   * waiting away, or puts it off to a time that the schedule finds; a record that it fails on needs no other place,
   * since the schedule finds the application too.
   */
  private addStreamReaders(publish: ServiceFunction, provision: ServiceFunction): void {
    const stream = streamOf(this.tables.main);
    this.addStreamReader(publish, {
      stream,
      images: [{ et: { S: [outboxType] } }, { et: { S: [riskType] }, left_by: { S: ["commit"] } }],
      batchSize: 25,
      maximumRetryAttempts: 5,
      onFailure: this.publishFailures,
    });
    this.addStreamReader(provision, {
      stream,
      images: [{ et: { S: [applicationType] }, wake_at: { S: [{ exists: true }] } }],
      batchSize: 10,
      maximumRetryAttempts: 2,
    });
  }

  /**
   * From a price to the accounts that it is judged for. The watch wakes for quotes and signs of life, many at a time,
   * since of a symbol only the newest counts; what it gave up is told, and the next price makes it up.
   */
  private addMargin(watch: ServiceFunction, evaluate: ServiceFunction): void {
    this.addStreamReader(watch, {
      stream: streamOf(this.tables.volatile),
      images: [{ et: { S: [quoteType, pulseType] } }],
      batchSize: 500,
      maximumRetryAttempts: 5,
      onFailure: this.watchFailures,
    });
    this.marginQueue.connect(evaluate);
  }

  /**
   * The second reader of prices, in the sandbox alone. It waits a second for more of them: by then the indexes show
   * what was placed just before. What it could not do in its tries the next price makes up.
   */
  private addSandboxMatching(): void {
    if (this.config.stage !== "sandbox") return;
    this.addStreamReader(this.addBackground(sandboxBackground.match), {
      stream: streamOf(this.tables.volatile),
      images: [{ et: { S: [quoteType] } }],
      batchSize: 500,
      windowSeconds: 1,
      maximumRetryAttempts: 5,
    });
  }

  private addStreamReader(reader: ServiceFunction, props: StreamReaderProps): void {
    const { stream, images, batchSize, windowSeconds = 0, maximumRetryAttempts, onFailure } = props;
    new CfnEventSourceMapping(reader, "Stream", {
      functionName: reader.lambda.functionName,
      eventSourceArn: stream,
      // From the oldest record: what was committed before the mapping existed is seen as well.
      startingPosition: "TRIM_HORIZON",
      batchSize,
      maximumBatchingWindowInSeconds: windowSeconds,
      parallelizationFactor: 1,
      bisectBatchOnFunctionError: true,
      functionResponseTypes: ["ReportBatchItemFailures"],
      maximumRecordAgeInSeconds: Duration.hours(23).toSeconds(),
      maximumRetryAttempts,
      filterCriteria: {
        filters: images.map((image) => ({ pattern: JSON.stringify({ dynamodb: { NewImage: image } }) })),
      },
      ...(onFailure && { destinationConfig: { onFailure: { destination: onFailure.queueArn } } }),
    });
  }

  private addSchedules(provision: ServiceFunction, promote: ServiceFunction, sweep: ServiceFunction): void {
    new Schedules(this, "Schedules", {
      config: this.config,
      deadLetters: this.scheduleFailures,
      rows: [
        {
          name: "reconcile",
          description: "Makes the API keys that are missing and deletes those of revoked applications",
          expression: "rate(1 minute)",
          target: provision.lambda,
          input: { action: "reconcile" },
        },
        {
          name: "sweep",
          description: "Does what is due and was not done",
          expression: "rate(1 minute)",
          target: promote.lambda,
          input: { action: "sweep" },
        },
        {
          name: "margin-sweep",
          description: "Judges accounts that no message wakes any more, and ends orders whose time has come",
          expression: "rate(1 minute)",
          target: sweep.lambda,
          input: { action: "sweep" },
        },
        ...this.sandboxSchedules(),
      ],
    });
  }

  /** What the sandbox does by itself. No other stage has these functions, nor anything that they may do. */
  private sandboxSchedules(): ScheduleRow[] {
    if (this.config.stage !== "sandbox") return [];
    const rows: BackgroundFunction[] = Object.values(sandboxBackground);
    const scheduled = rows.filter(({ readsQuotes }) => readsQuotes !== true);
    return scheduled.map((row) => ({
      name: row.id,
      description: row.description,
      expression: "rate(1 minute)",
      target: this.addBackground(row).lambda,
      input: { action: "sweep" },
    }));
  }

  private addWatch(): void {
    const { config, tables } = this;
    const alarms = new Alarms(this, "Alarms", {
      config,
      tables: [tables.main, tables.volatile],
      failureQueues: [
        this.publishFailures,
        this.watchFailures,
        this.scheduleFailures,
        this.ladder.deadLetters,
        this.marginQueue.deadLetters,
      ],
      workQueues: [...this.ladder.workQueues, ...this.marginQueue.workQueues],
      // The authorizer throws for each token that has expired, as API Gateway asks of it, and Lambda counts that as an
      // error. When it really fails, the gateway answers 503, which the alarms on 5xx count.
      backgroundIds: Object.values(background)
        .filter((row) => row !== background.authorize)
        .map(({ id }) => id),
      sandboxIds: config.stage === "sandbox" ? Object.values(sandboxBackground).map(({ id }) => id) : [],
      publisherId: background.publish.id,
      watchId: background.watch.id,
    });
    new Budget(this, "Cost", { config, topic: alarms.topic });
  }

  private addOutputs(baseUrl: string, usagePlanId: string, provision: ServiceFunction): void {
    new CfnOutput(this, "ApiUrl", { value: baseUrl, description: "Address of the API" });
    new CfnOutput(this, "UsagePlanId", { value: usagePlanId, description: "Usage plan of all applications" });
    new CfnOutput(this, "ProvisionFunctionName", {
      value: provision.lambda.functionName,
      description: "Function that makes applications",
    });
  }
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

function handlerOf(handlers: ReadonlyMap<string, ServiceFunction>, route: Route): IFunction {
  const handler = handlers.get(route.id);
  if (handler === undefined) throw new Error(`The row ${route.id} has no function.`);
  return handler.lambda;
}

function streamOf({ tableStreamArn, node }: Table): string {
  if (tableStreamArn === undefined) throw new Error(`The table ${node.path} has no stream.`);
  return tableStreamArn;
}
