import { mkdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join, resolve } from "node:path";
import { localDashboard, localOrigin } from "../local-origin.ts";
import { AwsEndpoint } from "./aws-endpoint.ts";
import { Buckets } from "./buckets/buckets.ts";
import type { CloudOptions } from "./cloud-options.ts";
import type { Cloud } from "./cloud-view.ts";
import { copierFunctions } from "./distribution/files.ts";
import { LocalDistribution } from "./distribution/index.ts";
import { Database } from "./dynamodb/database.ts";
import { DynamoEndpoint } from "./dynamodb/endpoint.ts";
import { LateIndexes } from "./dynamodb/late-indexes.ts";
import { restoredTables } from "./dynamodb/restored-table.ts";
import { Throttling } from "./dynamodb/throttling.ts";
import { EventSources, polledFunctions } from "./event-sources.ts";
import {
  type FunctionDefinition,
  Functions,
  functionDefinition,
  type InvocationOutcome,
} from "./functions/functions.ts";
import { ApiKeys } from "./gateway/api-keys.ts";
import { startGateway } from "./gateway/index.ts";
import { checkInvokers } from "./gateway/invokers.ts";
import { Guard } from "./guard.ts";
import { type Grant, grantName, type UnusedGrant, unusedAmong } from "./iam/grants.ts";
import { Permissions } from "./iam/permissions.ts";
import { RequestLogs } from "./logs/request-logs.ts";
import { UserPool } from "./pool/index.ts";
import { Queues } from "./queues/queues.ts";
import { Secrets } from "./secrets/secrets.ts";
import { readSocketModel } from "./socket/model.ts";
import { LocalSockets } from "./socket/server.ts";
import { type Assembly, AssemblyError, type Resource, readAssembly } from "./template/assembly.ts";

export type { AwsCall, DeniedCall } from "./aws-endpoint.ts";
export type { CloudOptions } from "./cloud-options.ts";
export type { Cloud } from "./cloud-view.ts";

const defaultMaxEnvironments = 24;
/** Ports after that of the gateway, which the reference of the API follows. */
const portsBeside = { pool: 2, dashboard: 3, stream: 4 } as const;

/** Runs a cloud assembly on this machine until `stop`. Rejects with an AssemblyError for what is not understood. */
export async function startCloud(options: CloudOptions): Promise<Cloud> {
  const assembly = readAssembly(options.assemblyDir);
  const dataDir = resolve(options.dataDir);
  const logs = resolve(options.logsDir ?? join(dataDir, "logs"));
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  mkdirSync(logs, { recursive: true });
  const running = new RunningCloud(options, assembly, dataDir, logs);
  try {
    await running.start();
  } catch (error) {
    await running.stop();
    throw error;
  }
  return running;
}

class RunningCloud implements Cloud {
  baseUrl = "";
  endpoint = "";
  dynamodbEndpoint = "";
  readonly assembly: Assembly;
  readonly failed: Promise<never>;
  readonly pool: UserPool | undefined;
  private readonly options: CloudOptions;
  private readonly dataDir: string;
  private readonly logs: string;
  private readonly guard = new Guard();
  private readonly permissions: Permissions;
  private readonly definitions: readonly FunctionDefinition[];
  private readonly runner: Functions;
  private readonly apiKeys: ApiKeys;
  private readonly secrets: Secrets;
  readonly queues: Queues;
  readonly buckets: Buckets;
  private readonly distribution: LocalDistribution | undefined;
  private readonly sockets: LocalSockets | undefined;
  private database: Database | undefined;
  private lateIndexes: readonly LateIndexes[] = [];
  private awsEndpoint: AwsEndpoint | undefined;
  private gateway: { origin: string; stop(): Promise<void> } | undefined;
  private readonly sources: EventSources;
  private stopping = false;
  private fail: (error: Error) => void = () => undefined;

  constructor(options: CloudOptions, assembly: Assembly, dataDir: string, logs: string) {
    this.secrets = new Secrets(assembly.resources, dataDir);
    const resources = this.secrets.resolved([...assembly.resources, ...restoredTables(assembly.resources)]);
    this.options = options;
    this.assembly = { ...assembly, resources };
    this.dataDir = dataDir;
    this.logs = logs;
    this.permissions = new Permissions(resources, assembly);
    const copiers = copierFunctions(resources);
    const run = this.of("AWS::Lambda::Function").filter(({ attributes }) => !copiers.has(attributes["Arn"]));
    this.definitions = run.map(functionDefinition);
    this.apiKeys = new ApiKeys(resources, dataDir);
    this.pool = this.poolOf(assembly);
    const { guard } = this;
    this.buckets = new Buckets(resources, dataDir);
    const localized = (text: string) => this.localized(text);
    this.distribution = LocalDistribution.of({ resources, buckets: this.buckets, localized });
    this.sockets = this.socketsOf(resources);
    this.queues = new Queues({
      resources,
      dataDir,
      timeScale: options.timeScale ?? 1,
      arrived: (queue) => this.sources.wakePollers(queue),
    });
    this.runner = new Functions({
      definitions: this.definitions,
      variables: (definition) => this.variablesOf(definition),
      guard,
      logs,
      maxEnvironments: options.maxEnvironments ?? defaultMaxEnvironments,
      maxStarting: Math.max(2, availableParallelism()),
      polled: polledFunctions(resources),
    });
    this.sources = new EventSources({
      assembly,
      dataDir,
      functions: this.runner,
      permissions: this.permissions,
      queues: this.queues,
      secrets: this.secrets,
      timeScale: options.timeScale ?? 1,
      schedulesAtStart: options.schedulesAtStart ?? true,
      onStreamBatch: options.onStreamBatch,
      onQueueBatch: options.onQueueBatch,
    });
    this.failed = new Promise((_, reject) => {
      this.fail = reject;
    });
    this.failed.catch(() => undefined);
  }

  get region(): string {
    return this.assembly.region;
  }

  get tables(): Readonly<Record<string, string>> {
    return Object.fromEntries(
      this.of("AWS::DynamoDB::GlobalTable").map(({ path, physical_id }) => [path, physical_id]),
    );
  }

  get dashboardUrl(): string | undefined {
    return this.distribution && `${this.distribution.origin}/`;
  }

  get streamUrl(): string | undefined {
    return this.sockets?.url;
  }

  get functions(): Cloud["functions"] {
    return this.runner.processes;
  }

  get servers(): Readonly<Record<string, number>> {
    const servers = { guard: this.guard.pid, dynamodb: this.database?.pid };
    return Object.fromEntries(
      Object.entries(servers).filter((entry): entry is [string, number] => entry[1] !== undefined),
    );
  }

  async start(): Promise<void> {
    const { port } = this.options;
    const dashboardPort = port === 0 ? 0 : port + portsBeside.dashboard;
    const others = [this.pool?.start(), this.distribution?.start(dashboardPort)];
    const [database] = await Promise.all([this.startDatabase(), ...others]);
    const lateIndexes = await this.startLateIndexes(database);
    this.awsEndpoint = new AwsEndpoint({
      ...this.assembly,
      permissions: this.permissions,
      dynamodb: new DynamoEndpoint({
        tables: database.tables,
        server: database.forwarder,
        region: this.region,
        transactionHoldMs: this.options.transactionHoldMs ?? 0,
        throttling: new Throttling(this.options.throttledShare ?? 0, Math.random),
        lateIndexes,
        wrote: (tables) => this.sources.wakeReaders(tables),
      }),
      secrets: this.secrets,
      apiKeys: this.apiKeys,
      pool: this.pool?.admin,
      sockets: this.sockets,
      queues: this.queues,
      buckets: this.buckets,
      logs: new RequestLogs(this.assembly.resources, this.definitions, this.logs),
      functions: () => this.runner,
      onCall: this.options.onCall,
      onDenied: this.options.onDenied,
    });
    this.endpoint = await this.awsEndpoint.start();
    await checkInvokers(this.assembly.resources, this.permissions);
    await this.sockets?.start(port === 0 ? 0 : port + portsBeside.stream);
    await this.startApi();
    await this.sources.start(database);
  }

  invoke(functionName: string, payload: unknown): Promise<InvocationOutcome> {
    return this.runner.invoke(functionName, payload);
  }

  grants(): Grant[] {
    return this.permissions.grants(this.definitions);
  }

  grantsUsed(): Grant[] {
    return this.permissions.grantsUsed();
  }

  unusedGrants(): UnusedGrant[] {
    return unusedAmong(this.grants(), new Set(this.grantsUsed().map(grantName)));
  }

  rotateSecrets(): Promise<void> {
    return this.sources.rotateSecrets();
  }

  async sweepExpired(): Promise<number> {
    return (await this.database?.sweep(Math.floor(Date.now() / 1000))) ?? 0;
  }

  async stop(): Promise<void> {
    this.stopping = true;
    this.sources.stopClocks();
    await this.distribution?.stop();
    await Promise.all([this.gateway?.stop(), this.sockets?.stop()]);
    const readers = this.sources.stopReaders();
    await this.runner.stop();
    await readers;
    await this.awsEndpoint?.stop();
    await Promise.all(this.lateIndexes.map((each) => each.stop()));
    await Promise.all([this.database?.stop(), this.pool?.stop()]);
    this.queues.stop();
    await this.guard.stop();
  }

  private of(type: string): Resource[] {
    return this.assembly.resources.filter((resource) => resource.type === type);
  }

  private async startDatabase(): Promise<Database> {
    const database = await Database.start({
      tables: this.of("AWS::DynamoDB::GlobalTable"),
      region: this.region,
      dataDir: this.dataDir,
      log: join(this.logs, "dynamodb.log"),
      guard: this.guard,
      endpoint: process.env["DYNAMODB_ENDPOINT"],
    });
    this.database = database;
    this.dynamodbEndpoint = database.endpoint;
    database.ended
      .then(() => {
        if (!this.stopping) this.fail(new Error("The DynamoDB server ended."));
      })
      .catch(() => undefined);
    return database;
  }

  /** Lets the indexes lag, where that was asked for; returns the tables that stand for them. */
  private async startLateIndexes(database: Database): Promise<ReadonlyMap<string, string>> {
    const { indexLagMs = 0 } = this.options;
    const withIndexes = this.of("AWS::DynamoDB::GlobalTable").filter(
      ({ properties }) => properties["GlobalSecondaryIndexes"] !== undefined,
    );
    if (indexLagMs === 0) return new Map();
    const late = withIndexes.map((table) => [table.physical_id, new LateIndexes(database, table, indexLagMs)] as const);
    this.lateIndexes = late.map(([, each]) => each);
    for (const each of this.lateIndexes) await each.start();
    return new Map(late.map(([table, each]) => [table, each.name]));
  }

  private async startApi(): Promise<void> {
    const [stage, ...others] = this.of("AWS::ApiGateway::Stage");
    if (stage === undefined) return;
    if (others.length > 0) throw new AssemblyError(stage.path, "a template with two stages of APIs is not run here");
    const host = {
      invoke: (functionArn: string, event: unknown, trace: string) => this.runner.invoke(functionArn, event, trace),
      findApiKey: (value: string) => this.apiKeys.findApiKey(value),
      now: () => Date.now(),
    };
    const log = (line: string): void => this.options.onNews?.(line);
    this.gateway = await startGateway(this.assembly.resources, host, {
      port: this.options.port,
      log,
      ...(this.options.onAnswer !== undefined && { onAnswer: this.options.onAnswer }),
    });
    this.baseUrl = `${this.gateway.origin}/${stage.physical_id}`;
  }

  accessKeyOf(holder: string): string {
    if (this.awsEndpoint === undefined) throw new Error("The AWS endpoint does not run.");
    return this.awsEndpoint.accessKeyOf(holder);
  }

  /** Variables of the runner for a function; addresses of AWS in the template's values become local ones. */
  private variablesOf(definition: FunctionDefinition): Record<string, string> {
    const { timeScale = 1, strictEgress = false } = this.options;
    const { BUDGET_FACTOR: budgetFactor } = process.env;
    const replaced = Object.entries(definition.environment).map(([name, value]) => [name, this.localized(value)]);
    return {
      ...Object.fromEntries(replaced),
      AWS_REGION: this.region,
      AWS_DEFAULT_REGION: this.region,
      AWS_ENDPOINT_URL: this.endpoint,
      AWS_ACCESS_KEY_ID: this.accessKeyOf(definition.arn),
      AWS_SECRET_ACCESS_KEY: this.awsEndpoint?.secretKey ?? "",
      ...(timeScale !== 1 && { TIME_SCALE: String(timeScale) }),
      ...(budgetFactor !== undefined && { BUDGET_FACTOR: budgetFactor }),
      ...(!strictEgress && { BROKERAGE_LOCAL: "1" }),
    };
  }

  private socketsOf(resources: readonly Resource[]): LocalSockets | undefined {
    const model = readSocketModel(resources);
    if (model === undefined) return undefined;
    const { timeScale = 1, onNews } = this.options;
    const host = {
      invoke: (functionArn: string, event: unknown) => this.runner.invoke(functionArn, event),
      now: () => Date.now(),
    };
    return new LocalSockets({ model, host, timeScale, log: (line) => onNews?.(line) });
  }

  private poolOf({ resources, region }: Assembly): UserPool | undefined {
    const { port, onNews } = this.options;
    return UserPool.of(resources, region, {
      dataDir: this.dataDir,
      port: port === 0 ? 0 : port + portsBeside.pool,
      localized: (url) => this.browserAddresses(url),
      onNews,
    });
  }

  /** An address that a sign-in returns to, and those on this machine that stand for it. */
  private browserAddresses(url: string): string[] {
    const [gateway, dashboard] = [this.gateway?.origin ?? localOrigin, this.distribution?.origin ?? localDashboard];
    const local = this.distribution?.localized(url) ?? url;
    return [...new Set([url, local, url.replace(localOrigin, gateway), url.replace(localDashboard, dashboard)])];
  }

  private localized(given: string): string {
    const { region } = this;
    const ofPool = this.pool?.localized(given) ?? given;
    const value = this.sockets?.localized(ofPool, this.endpoint) ?? ofPool;
    const apis = new RegExp(`https://[a-z0-9]+\\.execute-api\\.${region}\\.amazonaws\\.com`, "g");
    const withApi = value.replace(apis, this.gateway?.origin ?? "$&");
    return withApi.replaceAll(`https://sqs.${region}.amazonaws.com`, this.endpoint);
  }
}

/** Credentials of the operator for the AWS endpoint, as the AWS SDK reads them from the environment. */
export function operatorEnvironment(cloud: Pick<Cloud, "endpoint" | "region" | "accessKeyOf">): Record<string, string> {
  return {
    AWS_ENDPOINT_URL: cloud.endpoint,
    AWS_REGION: cloud.region,
    AWS_ACCESS_KEY_ID: cloud.accessKeyOf("operator"),
    AWS_SECRET_ACCESS_KEY: "local",
  };
}
