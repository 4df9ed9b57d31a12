import { readFile } from "node:fs/promises";
import { rateMs } from "../../../infra/local/schedules/schedules.ts";
import { type Resource, readAssembly } from "../../../infra/local/template/assembly.ts";
import { type Factory, factoryOf, type Replacements } from "./bundle.ts";
import { Simulation } from "./clock.ts";
import { Database } from "./database.ts";
import { type Definition, Functions, type Outcome, type Point } from "./functions.ts";
import { type Queue, Queues } from "./queues.ts";
import { Stream, type StreamRecord } from "./streams.ts";
import { type Timings, timings } from "./timings.ts";

/** Compiled once and run in any number of stages. */
export interface Program {
  /** Factories by the id of the function, the part of its name behind the stage. */
  readonly functions: ReadonlyMap<string, Factory>;
  /** Acts in the place of the API: exports are called by their names. */
  readonly workload: Factory;
}

/** Program and conditions of a run. */
export interface StageOptions {
  readonly program: Program;
  /** Cloud assembly that mappings, queues, schedules, memory and timeouts are read from. */
  readonly assemblyDir: string;
  readonly seed: number;
  /** Shards of the stream of each table. */
  readonly shards: number;
  readonly timings?: Partial<Timings>;
  /** Milliseconds that a receiver takes to answer. */
  readonly receiverMs?: number;
  readonly crash?: (point: Point, simulation: Simulation) => boolean;
  readonly disturb?: (records: readonly StreamRecord[], simulation: Simulation) => readonly StreamRecord[];
}

const root = new URL("../../../", import.meta.url);

/** A receiver that accepts everything after a while, in the place of the calls to the internet. */
const receiver: Replacements = {
  "shared/webhooks/webhook-sender.ts": `export class WebhookSender {
    wake() {}
    async send() {
      const ms = Number(process.env.MODEL_RECEIVER_MS);
      await new Promise((resolve) => setTimeout(resolve, ms));
      return { duration_ms: ms, http_status: 200, error: null, response_excerpt: "", retry_after: undefined };
    }
  }`,
};

/**
 * Compiles functions, by their ids and files, and a workload.
 * @throws Error of the compiler
 */
export async function compile(files: ReadonlyMap<string, string>, workload: string): Promise<Program> {
  const functions = new Map<string, Factory>();
  for (const [id, file] of files) functions.set(id, await factoryOf(`functions/${file}.ts`, receiver));
  return { functions, workload: await factoryOf(workload) };
}

class SecretsManagerClient {
  readonly send = async () => ({ SecretString: "k".repeat(64) });
}

const others = {
  "@aws-sdk/client-secrets-manager": { SecretsManagerClient, GetSecretValueCommand: class {} },
};

/**
 * A stage in virtual time: the functions that were compiled, on tables, streams and queues of the model, with the event
 * source mappings and schedules that the template has for them. Functions that invoke other functions are left out.
 */
export class Stage {
  readonly simulation: Simulation;
  readonly database: Database;
  readonly queues: Queues;
  readonly functions: Functions;
  /** Streams by the name of their table. */
  readonly streams = new Map<string, Stream>();
  readonly readers: { readonly name: string; readonly reader: ReturnType<Stream["read"]> }[] = [];
  readonly mainTable: string;
  /** Lines of functions that say ERROR. */
  readonly errors: string[] = [];
  private readonly options: StageOptions;
  private readonly resources: readonly Resource[];
  private readonly timings: Timings;

  constructor(options: StageOptions) {
    this.options = options;
    this.resources = readAssembly(options.assemblyDir).resources;
    this.timings = { ...timings, ...options.timings };
    this.simulation = new Simulation(options.seed);
    const tables = this.of("AWS::DynamoDB::GlobalTable");
    this.mainTable = tables.find(({ properties }) => "GlobalSecondaryIndexes" in properties)?.physical_id ?? "";
    this.database = new Database(this.simulation, this.timings, this.mainTable);
    this.queues = new Queues(this.simulation, this.timings);
    this.functions = new Functions({
      simulation: this.simulation,
      timings: this.timings,
      services: {
        database: (command, input, sender) => this.database.send(command, input, sender),
        queues: (command, input) => this.queues.send(command, input),
        others,
      },
      crash: (point) => options.crash?.(point, this.simulation) ?? false,
      log: (line) => {
        if (line.includes('"level":"ERROR"')) this.errors.push(line);
      },
    });
    for (const { physical_id: name } of tables) {
      const stream = new Stream(this.simulation, this.timings, options.shards);
      this.streams.set(name, stream);
      this.database.listeners.push((change) => change.table === name && stream.add(change));
    }
    this.makeQueues();
    this.connect();
  }

  private of(type: string): Resource[] {
    return this.resources.filter((resource) => resource.type === type);
  }

  /** A function of the template, by its name or ARN, if it was compiled. */
  private find(nameOrArn: unknown): Definition | undefined {
    const resource = this.of("AWS::Lambda::Function").find(
      ({ physical_id, attributes }) => nameOrArn === physical_id || nameOrArn === attributes["Arn"],
    );
    if (resource === undefined) return undefined;
    const [id, factory] =
      [...this.options.program.functions].find(([each]) => resource.physical_id.endsWith(`-${each}`)) ?? [];
    if (id === undefined || factory === undefined) return undefined;
    const { MemorySize, Timeout, Environment } = resource.properties as {
      readonly MemorySize: number;
      readonly Timeout: number;
      readonly Environment: { readonly Variables: Readonly<Record<string, string>> };
    };
    const env = { ...Environment.Variables, MODEL_RECEIVER_MS: String(this.options.receiverMs ?? 100) };
    return { name: id, factory, timeoutSeconds: Timeout, memoryMb: MemorySize, env };
  }

  private makeQueues(): void {
    for (const { properties, attributes } of this.of("AWS::SQS::Queue")) {
      const { maxReceiveCount = Number.POSITIVE_INFINITY } = (properties["RedrivePolicy"] ?? {}) as {
        maxReceiveCount?: number;
      };
      this.queues.make({
        name: attributes["QueueName"] ?? "",
        fifo: properties["FifoQueue"] === true,
        visibilitySeconds: Number(properties["VisibilityTimeout"] ?? 30),
        maxReceives: Number(maxReceiveCount),
      });
    }
  }

  private connect(): void {
    for (const { properties } of this.of("AWS::Lambda::EventSourceMapping")) {
      const target = this.find(properties["FunctionName"]);
      if (target === undefined) continue;
      const invoke = (event: object) => this.functions.invoke(target, event);
      const source = String(properties["EventSourceArn"]);
      if (source.includes(":sqs:")) this.readQueue(source, properties, invoke);
      else this.readStream(source, target.name, properties, invoke);
    }
    for (const { properties, path } of this.of("AWS::Scheduler::Schedule")) {
      const { Arn, Input } = properties["Target"] as { readonly Arn: string; readonly Input: string };
      const target = this.find(Arn);
      if (target === undefined) continue;
      const periodMs = rateMs(properties["ScheduleExpression"], path);
      this.simulation.start(async () => {
        for (;;) {
          await this.simulation.sleep(periodMs);
          this.simulation.start(async () => void (await this.functions.invoke(target, JSON.parse(Input))));
        }
      });
    }
  }

  private readQueue(
    arn: string,
    properties: Resource["properties"],
    invoke: (event: object) => Promise<Outcome>,
  ): void {
    const { MaximumConcurrency: concurrency = 1000 } = (properties["ScalingConfig"] ?? {}) as {
      MaximumConcurrency?: number;
    };
    const batchSize = Number(properties["BatchSize"] ?? 10);
    const windowSeconds = Number(properties["MaximumBatchingWindowInSeconds"] ?? 0);
    this.queue(arn.split(":").at(-1) ?? "").read({
      batchSize,
      windowSeconds,
      concurrency: Number(concurrency),
      invoke,
    });
  }

  private readStream(
    arn: string,
    name: string,
    properties: Resource["properties"],
    invoke: (event: object) => Promise<Outcome>,
  ): void {
    const table = this.of("AWS::DynamoDB::GlobalTable").find(({ attributes }) => attributes["StreamArn"] === arn);
    const stream = this.streams.get(table?.physical_id ?? "");
    if (stream === undefined) throw new Error(`No table of the template has the stream ${arn}.`);
    if (Number(properties["ParallelizationFactor"] ?? 1) !== 1)
      throw new Error("The model reads a shard batch by batch.");
    const { Filters } = properties["FilterCriteria"] as { readonly Filters: readonly { readonly Pattern: string }[] };
    const { disturb } = this.options;
    const reader = stream.read({
      patterns: Filters.map(({ Pattern }) => Pattern),
      batchSize: Number(properties["BatchSize"]),
      windowSeconds: Number(properties["MaximumBatchingWindowInSeconds"] ?? 0),
      maximumRetryAttempts: Number(properties["MaximumRetryAttempts"]),
      invoke,
      ...(disturb && { disturb: (records) => disturb(records, this.simulation) }),
    });
    this.readers.push({ name, reader });
  }

  /** A queue by its name. */
  queue(name: string): Queue {
    const found = [...this.queues.entries].find(([each]) => each === name)?.[1];
    if (found === undefined) throw new Error(`The template has no queue ${name}.`);
    return found;
  }

  /** Variables of all functions without a route, for a workload that does a part of each. */
  private variables(): Readonly<Record<string, string>> {
    const all = this.of("AWS::Lambda::Function").flatMap(({ properties: { Environment } }) =>
      Environment === undefined ? [] : [(Environment as { Variables: Record<string, string> }).Variables],
    );
    return Object.assign({}, ...all) as Record<string, string>;
  }

  /** Calls an export of the workload, as an instance of the API would run it. */
  async call(entry: string, event: object): Promise<Outcome> {
    const { workload } = this.options.program;
    const memoryMb = this.timings.whole_processor_mb;
    return this.functions.invoke(
      { name: `workload ${entry}`, entry, factory: workload, timeoutSeconds: 30, memoryMb, env: this.variables() },
      event,
    );
  }
}

/**
 * Ids and files of the functions without a route in a folder of `functions/`, by the text of their rows: the rows bring
 * the library of the CDK.
 */
export async function backgroundFiles(folder: string): Promise<ReadonlyMap<string, string>> {
  const text = await readFile(new URL("infra/background/rows.ts", root), "utf8");
  const rows = [...text.matchAll(/^ {4}id: "(.+)",\n {4}file: "(.+)",$/gm)];
  const wanted = rows.filter(([, , file = ""]) => file.startsWith(folder));
  return new Map(wanted.map(([, id = "", file = ""]) => [id, file]));
}
