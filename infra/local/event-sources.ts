import type { Database } from "./dynamodb/database.ts";
import type { FunctionDefinition, Functions } from "./functions/functions.ts";
import type { Permissions } from "./iam/permissions.ts";
import { type BatchChange, QueuePoller, queueMapping, readsQueue } from "./queues/pollers.ts";
import type { Queues } from "./queues/queues.ts";
import {
  readRotation,
  readSchedule,
  rotate,
  type ScheduleHost,
  startRotation,
  startSchedule,
  type Ticking,
} from "./schedules/schedules.ts";
import type { Secrets } from "./secrets/secrets.ts";
import { StreamPages } from "./streams/stream-pages.ts";
import { type StreamChange, StreamReader, streamMapping } from "./streams/streams.ts";
import type { Assembly, Resource } from "./template/assembly.ts";

/** Origins of events, and the functions that they invoke. */
export interface EventSourceOptions {
  readonly assembly: Assembly;
  /** Folder of the checkpoints. */
  readonly dataDir: string;
  readonly functions: Functions;
  readonly permissions: Permissions;
  readonly queues: Queues;
  readonly secrets: Secrets;
  /** How much faster schedules pass. */
  readonly timeScale: number;
  /** Whether each schedule has its first turn at once. */
  readonly schedulesAtStart: boolean;
  readonly onStreamBatch: StreamChange | undefined;
  readonly onQueueBatch: BatchChange | undefined;
}

const sweepMs = 300_000;

function mappingsOf(resources: readonly Resource[]): Resource[] {
  return resources.filter(
    ({ type, properties }) => type === "AWS::Lambda::EventSourceMapping" && properties["Enabled"] !== false,
  );
}

/** Names or ARNs of the functions that a stream or a queue invokes. */
export function polledFunctions(resources: readonly Resource[]): string[] {
  return mappingsOf(resources).map(({ properties }) => String(properties["FunctionName"]));
}

/** Invokes functions besides the gateway: streams, queues, schedules and rotations, as the template has them. */
export class EventSources {
  private readonly options: EventSourceOptions;
  private readonly readers: StreamReader[] = [];
  /** Pages that the readers of a stream share, by its table. */
  private readonly pages = new Map<string, StreamPages>();
  private readonly pollers: QueuePoller[] = [];
  private readonly ticking: Ticking[] = [];

  constructor(options: EventSourceOptions) {
    this.options = options;
  }

  /** Starts them all; rejects when a role does not allow what Lambda does in the name of its function. */
  async start(database: Database): Promise<void> {
    await this.startReaders(database);
    await this.startPollers();
    await this.startClocks(database);
  }

  /** Ends what is due at a time. */
  stopClocks(): void {
    for (const one of this.ticking) one.stop();
  }

  /** Ends the readers of streams and queues; resolves when none is at work. */
  async stopReaders(): Promise<void> {
    await Promise.all([...this.readers, ...this.pollers].map((reader) => reader.stop()));
  }

  /** Rotates every secret that has a rotation now, as RotateSecret does. */
  async rotateSecrets(): Promise<void> {
    const { assembly, secrets } = this.options;
    const host = this.scheduleHost();
    for (const resource of this.of("AWS::SecretsManager::RotationSchedule")) {
      await rotate(readRotation(resource, assembly.resources, host), secrets, host);
    }
  }

  /** Lets the readers of these tables look for records now. */
  wakeReaders(tables: readonly string[]): void {
    for (const table of tables) this.pages.get(table)?.wake();
    for (const reader of this.readers) if (tables.includes(reader.table)) reader.wake();
  }

  /** Lets the pollers of a queue look for messages now. */
  wakePollers(queue: string): void {
    for (const poller of this.pollers) if (poller.queue === queue) poller.wake();
  }

  private of(type: string): Resource[] {
    return this.options.assembly.resources.filter((resource) => resource.type === type);
  }

  private async startReaders(database: Database): Promise<void> {
    const { functions, queues } = this.options;
    const host = {
      database,
      region: this.options.assembly.region,
      dataDir: this.options.dataDir,
      change: this.options.onStreamBatch,
      invoke: (name: string, event: unknown) => functions.invoke(name, event),
      report: async (mapping: { function: FunctionDefinition }, queueArn: string, message: string) => {
        await this.demand(mapping.function, { action: "sqs:SendMessage", resource: queueArn });
        await queues.send(queueArn, message);
      },
    };
    for (const resource of mappingsOf(this.options.assembly.resources).filter((mapping) => !readsQueue(mapping))) {
      const mapping = streamMapping(resource, database.tables, (name) => functions.find(name));
      for (const action of ["DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"]) {
        const resourceArn = mapping.table.stream_arn ?? "";
        await this.demand(mapping.function, { action: `dynamodb:${action}`, resource: resourceArn });
      }
      const pages = this.pages.get(mapping.table.name) ?? new StreamPages(database);
      this.pages.set(mapping.table.name, pages);
      const reader = new StreamReader(mapping, host, pages);
      this.readers.push(reader);
      await reader.start();
    }
  }

  private async startPollers(): Promise<void> {
    const { assembly, functions, queues } = this.options;
    const host = {
      queues,
      region: assembly.region,
      change: this.options.onQueueBatch,
      invoke: (name: string, event: unknown, trace: string) => functions.invoke(name, event, trace),
    };
    for (const resource of mappingsOf(this.options.assembly.resources).filter(readsQueue)) {
      const mapping = queueMapping(resource, assembly.resources, (name) => functions.find(name));
      for (const action of ["ReceiveMessage", "DeleteMessage", "GetQueueAttributes"]) {
        await this.demand(mapping.function, { action: `sqs:${action}`, resource: mapping.queue_arn });
      }
      this.pollers.push(new QueuePoller(mapping, host));
    }
    for (const poller of this.pollers) poller.wake();
  }

  private scheduleHost(): ScheduleHost {
    const { functions, permissions, timeScale, schedulesAtStart } = this.options;
    return {
      find: (name) => functions.find(name),
      invoke: (name, event) => functions.invoke(name, event),
      permissions,
      timeScale,
      schedulesAtStart,
    };
  }

  private async startClocks(database: Database): Promise<void> {
    const { assembly, secrets } = this.options;
    const host = this.scheduleHost();
    const rotations = this.of("AWS::SecretsManager::RotationSchedule");
    for (const rotation of rotations.map((resource) => readRotation(resource, assembly.resources, host))) {
      this.ticking.push(startRotation(rotation, secrets, host));
    }
    for (const resource of this.of("AWS::Scheduler::Schedule")) {
      const schedule = await readSchedule(resource, host);
      if (schedule !== undefined) this.ticking.push(startSchedule(schedule, host));
    }
    const sweep = setInterval(() => void database.sweep(Math.floor(Date.now() / 1000)).catch(() => undefined), sweepMs);
    this.ticking.push({ stop: () => clearInterval(sweep) });
  }

  /** Lambda acts in the name of a function, so its role must allow it. */
  private async demand(
    { name, role_arn }: FunctionDefinition,
    access: { action: string; resource: string },
  ): Promise<void> {
    const { permissions } = this.options;
    const decision = await permissions.decide(role_arn, name, access);
    if (decision.allowed) return;
    throw new Error(permissions.refusal(role_arn, name, access, decision));
  }
}
