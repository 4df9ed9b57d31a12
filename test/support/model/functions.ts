import { AsyncLocalStorage } from "node:async_hooks";
import * as crypto from "node:crypto";
import * as zlib from "node:zlib";
import { unmarshall } from "@aws-sdk/util-dynamodb";
import type { Exports, Factory, Surroundings } from "./bundle.ts";
import type { Simulation } from "./clock.ts";
import type { Timings } from "./timings.ts";

/** A function as its row describes it. */
export interface Definition {
  readonly name: string;
  readonly factory: Factory;
  /** Name of the called export; `handler` for a function of Lambda. */
  readonly entry?: string;
  readonly timeoutSeconds: number;
  readonly memoryMb: number;
  readonly env: Readonly<Record<string, string>>;
}

/** A call that an instance makes, before it goes on its way or after its answer came. */
export interface Point {
  readonly function: string;
  readonly call: string;
  readonly when: "before" | "after";
  /** Input of the call. */
  readonly input: Readonly<Record<string, unknown>>;
}

/** Result of an invocation: the value that the function returned, or why it ended without. */
export type Outcome =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly why: "crash" | "timeout" | "error"; readonly error?: unknown };

/** Does what a command asks for; `sender` is the name of the function. */
type Service = (command: string, input: Readonly<Record<string, unknown>>, sender: string) => Promise<unknown>;

/** Services that the clients of a function call. */
export interface Services {
  readonly database: Service;
  readonly queues: Service;
  /** Secrets Manager, and whatever else a function of the run asks. */
  readonly others: Readonly<Record<string, unknown>>;
}

/** Surroundings of functions, and their faults. */
export interface FunctionsOptions {
  readonly simulation: Simulation;
  readonly timings: Timings;
  readonly services: Services;
  /** Whether the instance dies there. Asked at every call of every instance. */
  readonly crash?: (point: Point) => boolean;
  /** Gets every line that a function writes. */
  readonly log?: (line: string) => void;
}

const commandNames = {
  "@aws-sdk/lib-dynamodb": ["BatchGet", "BatchWrite", "Delete", "Get", "Put", "Query", "TransactWrite", "Update"],
  "@aws-sdk/client-sqs": ["SendMessage", "SendMessageBatch"],
} as const;

function commandsOf(names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    names.map((name) => [
      `${name}Command`,
      class {
        readonly command = `${name}Command`;
        readonly input: object;
        constructor(input: object) {
          this.input = input;
        }
      },
    ]),
  );
}

const never = () => new Promise<never>(() => undefined);
const sdkTries = 3;

/** Every invocation has a trace, as in Lambda: the size of what is stored counts. */
const traced = { _X_AMZN_TRACE_ID: "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=0" };

/** One environment of Lambda: modules, memory and a processor of its own; works on one invocation at a time. */
class Instance {
  readonly exports: Promise<Exports>;
  alive = true;
  private readonly options: FunctionsOptions;
  private readonly definition: Definition;
  private busyUntilMs = 0;

  constructor(definition: Definition, options: FunctionsOptions) {
    this.definition = definition;
    this.options = options;
    this.exports = definition.factory(this.surroundings());
  }

  private surroundings(): Surroundings {
    const { simulation, log } = this.options;
    const { env } = this.definition;
    const setTimeout = (run: () => void, ms = 0) => simulation.after(ms, () => this.alive && run());
    class VirtualDate extends Date {
      constructor(...given: unknown[]) {
        super(...((given.length === 0 ? [simulation.nowMs] : given) as [number]));
      }
      static override now(): number {
        return Math.floor(simulation.nowMs);
      }
    }
    return {
      inject: (name) => this.module(name),
      Date: VirtualDate as DateConstructor,
      Math: Object.create(Math, { random: { value: simulation.random } }) as Math,
      setTimeout,
      clearTimeout: (timer) => (timer as { cancel?: () => void } | undefined)?.cancel?.(),
      process: { env: { ...traced, ...env }, stdout: { write: (line: string) => log?.(line) ?? true } },
    };
  }

  private module(name: string): unknown {
    const { services, simulation } = this.options;
    const send = (service: "database" | "queues") => (command: { command: string; input: Record<string, unknown> }) =>
      this.call(service, command.command, command.input);
    switch (name) {
      case "@aws-sdk/client-dynamodb":
        return { DynamoDBClient: class {} };
      case "@aws-sdk/lib-dynamodb": {
        const from = () => ({ send: send("database"), config: {} });
        return { ...commandsOf(commandNames[name]), DynamoDBDocumentClient: { from } };
      }
      case "@aws-sdk/client-sqs":
        return {
          ...commandsOf(commandNames[name]),
          SQSClient: class {
            readonly send = send("queues");
          },
        };
      case "@aws-sdk/util-dynamodb":
        return { unmarshall };
      case "node:async_hooks":
        return { AsyncLocalStorage };
      case "node:crypto":
        return { ...crypto, ...randomness(simulation) };
      case "node:timers/promises":
        return { setTimeout: (ms: number) => simulation.sleep(ms) };
      case "node:zlib":
        return { ...zlib, ...atOnce };
      default: {
        const found = services.others[name] ?? process.getBuiltinModule(name);
        if (found === undefined) throw new Error(`The model has no module ${name}.`);
        return found;
      }
    }
  }

  /** A call of a client: waits for the processor, for the service, and again where the service throttles it. */
  private async call(service: "database" | "queues", name: string, input: Record<string, unknown>): Promise<unknown> {
    const { simulation, services, timings } = this.options;
    for (let attempt = 1; ; attempt += 1) {
      if (this.dies(name, "before", input)) return never();
      await this.compute(timings.call_processor_ms);
      try {
        const answer = await services[service](name, input, this.definition.name);
        return this.dies(name, "after", input) ? never() : answer;
      } catch (error) {
        if (this.dies(name, "after", input)) return never();
        const throttled = /^(?:Throttling|Provisioned)/.test((error as Error).name);
        if (!throttled || attempt === sdkTries) throw error;
        await simulation.sleep(simulation.random() * timings.sdk_retry_ms * 2 ** (attempt - 1));
      }
    }
  }

  private dies(call: string, when: Point["when"], input: Point["input"]): boolean {
    if (this.alive && this.options.crash?.({ function: this.definition.name, call, when, input })) this.die("crash");
    return !this.alive;
  }

  /** Takes time of the one processor of the instance, whose share follows from its memory. */
  private async compute(ms: number): Promise<void> {
    const { simulation, timings } = this.options;
    const share = Math.min(1, this.definition.memoryMb / timings.whole_processor_mb);
    this.busyUntilMs = Math.max(this.busyUntilMs, simulation.nowMs) + ms / share;
    await simulation.sleep(this.busyUntilMs - simulation.nowMs);
  }

  die: (why: "crash" | "timeout") => void = () => {
    this.alive = false;
  };

  async invoke(event: unknown): Promise<Outcome> {
    const { simulation } = this.options;
    const { timeoutSeconds, entry = "handler" } = this.definition;
    const endMs = simulation.nowMs + timeoutSeconds * 1000;
    const context = { getRemainingTimeInMillis: () => endMs - simulation.nowMs };
    const ended = new Promise<Outcome>((resolve) => {
      this.die = (why) => {
        this.alive = false;
        resolve({ ok: false, why });
      };
    });
    const timer = simulation.after(timeoutSeconds * 1000, () => this.die("timeout"));
    const work = async (): Promise<Outcome> => {
      try {
        const handler = (await this.exports)[entry] as (event: unknown, context: unknown) => Promise<unknown>;
        return { ok: true, result: await handler(event, context) };
      } catch (error) {
        return { ok: false, why: "error", error };
      }
    };
    const outcome = await Promise.race([ended, work()]);
    timer.cancel();
    return outcome;
  }
}

type Packing = (data: Buffer, options: object) => Buffer;

/** Compression without threads of its own, whose end virtual time would not wait for. */
const atOnce = Object.fromEntries(
  Object.entries(zlib).flatMap(([name, pack]) => {
    const plain = name.replace(/Sync$/, "");
    if (plain === name) return [];
    const packLater = (data: Buffer, ...rest: [object, unknown?]) => {
      const done = rest.at(-1) as (error: null, packed: Buffer) => void;
      done(null, (pack as Packing)(data, rest.length > 1 ? rest[0] : {}));
    };
    return [[plain, packLater]];
  }),
);

function randomness({ random }: Simulation) {
  return {
    randomBytes: (size: number) => Buffer.from(Array.from({ length: size }, () => Math.floor(random() * 256))),
    randomInt: (least: number, most: number) => least + Math.floor(random() * (most - least)),
  };
}

/** How often a function was invoked and how often it failed, and how long its instances were busy. */
export interface FunctionCounts {
  invocations: number;
  crash: number;
  timeout: number;
  error: number;
  busy_ms: number;
}

/** The functions of a run, each with as many instances as it needs. */
export class Functions {
  /** Invocations and failures, by the name of the function. */
  readonly counts: Record<string, FunctionCounts> = {};
  /** Failures of functions that are not crashes of the run. */
  readonly errors: unknown[] = [];
  private readonly options: FunctionsOptions;
  private readonly idle = new Map<string, Instance[]>();

  constructor(options: FunctionsOptions) {
    this.options = options;
  }

  /** Invokes a function in an instance that is free, or in a new one. */
  async invoke(definition: Definition, event: unknown): Promise<Outcome> {
    const { simulation, timings } = this.options;
    const { name } = definition;
    const idle = this.idle.get(name) ?? [];
    this.idle.set(name, idle);
    const counts = this.counts[name] ?? { invocations: 0, crash: 0, timeout: 0, error: 0, busy_ms: 0 };
    this.counts[name] = counts;
    counts.invocations += 1;
    const free = idle.pop();
    const instance = free ?? new Instance(definition, this.options);
    await simulation.sleep(timings.invoke_ms + (free === undefined ? timings.cold_start_ms : 0));
    const beganMs = simulation.nowMs;
    const outcome = await instance.invoke(event);
    counts.busy_ms += simulation.nowMs - beganMs;
    if (instance.alive) idle.push(instance);
    if (!outcome.ok) counts[outcome.why] += 1;
    if (!outcome.ok && outcome.why === "error") this.errors.push(outcome.error);
    return outcome;
  }
}
