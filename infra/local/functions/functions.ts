import { join } from "node:path";
import type { Guard } from "../guard.ts";
import type { Resource } from "../template/assembly.ts";
import { AssemblyError } from "../template/assembly.ts";
import { isRecord } from "../template/intrinsics.ts";
import { Environment, FunctionCrash, type FunctionDefinition, type InvocationOutcome } from "./environment.ts";
import { functionNode } from "./function-node.mjs";
import { LogFile } from "./log-file.ts";

export { FunctionCrash, type FunctionDefinition, FunctionTimeout, type InvocationOutcome } from "./environment.ts";

/** How functions are run. */
export interface FunctionsOptions {
  readonly definitions: readonly FunctionDefinition[];
  /** Variables of the runner for a function, beside those of the template. */
  readonly variables: (definition: FunctionDefinition) => Readonly<Record<string, string>>;
  readonly guard: Guard;
  /** Folder of the log files. */
  readonly logs: string;
  /** Processes alive at the same time. */
  readonly maxEnvironments: number;
  /** Processes that load their code at the same time. */
  readonly maxStarting: number;
  /**
   * How long a request waits for a process that its function has before another is started; without it as long as a
   * start took of late, from 100 ms to a second.
   */
  readonly patienceMs?: number;
  /**
   * Names or ARNs of the functions that queues and streams invoke. A backlog wants as many as it can get, so these
   * leave a third of the processes, and one place to start in, to the functions that a caller waits for.
   */
  readonly polled?: readonly string[];
}

interface Waiting {
  readonly definition: FunctionDefinition;
  readonly event: unknown;
  readonly trace: string | undefined;
  readonly since_ms: number;
  readonly done: (outcome: InvocationOutcome) => void;
  readonly failed: (error: Error) => void;
}

const maxLogBytes = 5_000_000;
/**
 * A start takes a tenth of a second of processor time, in which a process that is there answers many requests, and on a
 * busy machine several times as long: started after a tenth of a second there, processes would keep it busy.
 */
const patience = { least_ms: 100, most_ms: 1_000 } as const;
/** Part of the processes that functions of queues and streams may take together. */
const polledShare = 2 / 3;

/** Reads a function out of the resolved template; throws an AssemblyError for what cannot run here. */
export function functionDefinition(resource: Resource): FunctionDefinition {
  const { properties, path } = resource;
  const { Runtime: runtime, Handler: handler, Role: role, MemorySize: memory, Timeout: timeout } = properties;
  if (typeof runtime !== "string" || !runtime.startsWith("nodejs")) {
    throw new AssemblyError(path, `the runtime ${String(runtime)} is not run here`);
  }
  if (properties["Layers"] !== undefined) throw new AssemblyError(path, "a function with layers is not run here");
  if (typeof handler !== "string" || typeof role !== "string" || resource.asset === undefined) {
    throw new AssemblyError(path, "the function has no handler, no role or no code");
  }
  const variables = isRecord(properties["Environment"]) ? properties["Environment"]["Variables"] : undefined;
  const environment = Object.entries(isRecord(variables) ? variables : {});
  const group = isRecord(properties["LoggingConfig"]) ? properties["LoggingConfig"]["LogGroup"] : undefined;
  return {
    name: resource.physical_id,
    arn: resource.attributes["Arn"] ?? "",
    role_arn: role,
    asset: resource.asset,
    handler,
    environment: Object.fromEntries(environment.map(([name, value]) => [name, String(value)])),
    // The defaults of Lambda.
    memory_mb: Number(memory ?? 128),
    timeout_seconds: Number(timeout ?? 3),
    ...(typeof group === "string" && { log_group: group }),
    ...(properties["RecursiveLoop"] === "Allow" && { may_recur: true }),
  };
}

/**
 * Runs functions in processes of their own, each of which works on one request at a time. A process is started when a
 * function has none or a request has waited for those that it has, and the one that was idle for longest ended when
 * there are too many. Code loads in a few processes at a time, and a request that waits for a start goes to whichever
 * process is free first.
 */
export class Functions {
  private readonly options: FunctionsOptions;
  private readonly byName = new Map<string, FunctionDefinition>();
  private readonly environments = new Set<Environment>();
  private readonly starting = new Set<Environment>();
  private readonly idle = new Set<Environment>();
  private readonly logs = new Map<string, LogFile>();
  private readonly node = functionNode();
  private readonly polled: ReadonlySet<FunctionDefinition>;
  private waiting: Waiting[] = [];
  private nextLook: NodeJS.Timeout | undefined;
  /** How long a start took of late, in milliseconds. */
  private startMs: number = patience.least_ms;
  private stopped = false;

  constructor(options: FunctionsOptions) {
    this.options = options;
    for (const definition of options.definitions) {
      this.byName.set(definition.name, definition);
      this.byName.set(definition.arn, definition);
    }
    const polled = (options.polled ?? []).flatMap((name) => this.find(name) ?? []);
    this.polled = new Set(polled);
  }

  /** The function of that name or ARN, undefined when there is none. */
  find(nameOrArn: string): FunctionDefinition | undefined {
    return this.byName.get(nameOrArn) ?? this.byName.get(nameOrArn.replace(/:\$LATEST$/, ""));
  }

  /** Every function of the template. */
  get definitions(): readonly FunctionDefinition[] {
    return this.options.definitions;
  }

  /** The processes that have started and are alive. */
  get processes(): { readonly function: string; readonly pid: number; readonly busy: boolean }[] {
    const started = [...this.environments].filter(({ pid }) => pid !== 0);
    return started.map((environment) => ({
      function: environment.definition.name,
      pid: environment.pid,
      busy: !this.idle.has(environment),
    }));
  }

  /** The environment whose session token that is; undefined for an unknown or ended one. */
  environmentOf(token: string): Environment | undefined {
    for (const environment of this.environments) if (environment.token === token) return environment;
    return undefined;
  }

  /**
   * Invokes a function by name or ARN and waits. Rejects with FunctionTimeout or FunctionCrash, and with an Error for
   * an unknown function or after `stop`.
   * @param trace the trace header of who invokes it; without it the invocation begins a trace
   */
  invoke(nameOrArn: string, event: unknown, trace?: string): Promise<InvocationOutcome> {
    const definition = this.find(nameOrArn);
    if (definition === undefined) return Promise.reject(new Error(`There is no function ${nameOrArn}.`));
    if (this.stopped) return Promise.reject(new FunctionCrash("The runner is stopping."));
    return new Promise((done, failed) => {
      this.waiting.push({ definition, event, trace, since_ms: performance.now(), done, failed });
      this.dispatch();
    });
  }

  /** Refuses what waits and ends every process. */
  async stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.nextLook);
    for (const { failed } of this.waiting.splice(0)) failed(new FunctionCrash("The runner is stopping."));
    await Promise.all([...this.environments].map((environment) => environment.end()));
  }

  /**
   * Gives waiting requests to idle processes and starts processes for the others, in order of arrival, those first that
   * a caller waits for.
   */
  private dispatch(): void {
    const left: Waiting[] = [];
    for (const request of this.waiting.splice(0)) {
      const environment = this.idleFor(request.definition);
      if (environment !== undefined) this.serve(environment, request);
      else left.push(request);
    }
    this.waiting = left;
    const order = [...this.wanted()].sort(([a], [b]) => Number(this.polled.has(a)) - Number(this.polled.has(b)));
    for (const [definition, count] of order) {
      const coming = [...this.starting].filter((environment) => environment.definition === definition).length;
      for (let missing = count - coming; missing > 0 && this.mayStart(definition); missing -= 1) this.start(definition);
    }
  }

  /** For each function the requests that want a process of their own; looks again when the others have waited. */
  private wanted(): Map<FunctionDefinition, number> {
    const lately = Math.min(patience.most_ms, Math.max(patience.least_ms, this.startMs));
    const { patienceMs = lately } = this.options;
    const running = new Set([...this.environments].filter(({ gone }) => !gone).map(({ definition }) => definition));
    const wanted = new Map<FunctionDefinition, number>();
    const now = performance.now();
    let soonest = Number.POSITIVE_INFINITY;
    for (const { definition, since_ms } of this.waiting) {
      const rest = since_ms + patienceMs - now;
      const isFirst = !running.has(definition) && !wanted.has(definition);
      if (rest <= 0 || isFirst) wanted.set(definition, (wanted.get(definition) ?? 0) + 1);
      else soonest = Math.min(soonest, rest);
    }
    clearTimeout(this.nextLook);
    if (soonest < Number.POSITIVE_INFINITY) this.nextLook = setTimeout(() => this.dispatch(), Math.ceil(soonest));
    return wanted;
  }

  private idleFor(definition: FunctionDefinition): Environment | undefined {
    for (const environment of this.idle) {
      if (environment.definition === definition && !environment.gone) return environment;
    }
    return undefined;
  }

  /** Whether there is room for one process more, which is made by ending one that is idle when it has to be. */
  private mayStart(definition: FunctionDefinition): boolean {
    const { maxEnvironments, maxStarting } = this.options;
    if (this.stopped || this.starting.size >= maxStarting) return false;
    const isPolled = ({ definition: one }: Environment): boolean => this.polled.has(one);
    if (this.polled.has(definition)) {
      const places = Math.max(1, maxStarting - 1);
      if ([...this.starting].filter(isPolled).length >= places) return false;
      const share = Math.max(this.polled.size, Math.floor(maxEnvironments * polledShare));
      const all = [...this.environments].filter(isPolled);
      // Each of the others finds a place as well, however long the first one's requests take.
      if (all.filter((one) => one.definition === definition).length > share - this.polled.size) return false;
      if (all.length >= share) return this.endOldest([...this.idle].filter(isPolled));
    }
    return this.environments.size < maxEnvironments || this.endOldest([...this.idle]);
  }

  /** Ends the process that has been idle for longest; false when there is none. */
  private endOldest(idle: readonly Environment[]): boolean {
    const [oldest] = [...idle].sort((a, b) => a.last_used_ms - b.last_used_ms);
    if (oldest === undefined) return false;
    this.remove(oldest);
    oldest.end().catch(() => undefined);
    return true;
  }

  private start(definition: FunctionDefinition): void {
    const { variables, guard } = this.options;
    const log = this.logOf(definition);
    const beganMs = performance.now();
    const environment = new Environment({
      definition,
      variables: variables(definition),
      node: this.node,
      guard,
      log: (chunk) => log.append(chunk),
    });
    this.environments.add(environment);
    this.starting.add(environment);
    environment.ended
      .then(() => {
        this.remove(environment);
        this.dispatch();
      })
      .catch(() => undefined);
    environment.ready
      .then(() => {
        this.startMs = (this.startMs + performance.now() - beganMs) / 2;
        this.idle.add(environment);
      })
      .catch((error: unknown) => this.failOne(definition, error))
      .finally(() => {
        this.starting.delete(environment);
        this.dispatch();
      })
      .catch(() => undefined);
  }

  /** Code that does not load answers the request that waited for it longest, as the init error of Lambda does. */
  private failOne(definition: FunctionDefinition, error: unknown): void {
    const at = this.waiting.findIndex((request) => request.definition === definition);
    const [request] = at < 0 ? [] : this.waiting.splice(at, 1);
    if (error instanceof FunctionCrash) request?.failed(error);
    else request?.done({ payload: error instanceof Error ? error.cause : error, functionError: "Unhandled" });
  }

  private serve(environment: Environment, { event, trace, done, failed }: Waiting): void {
    this.idle.delete(environment);
    environment
      .invoke(event, trace)
      .finally(() => {
        if (!environment.gone) this.idle.add(environment);
        this.dispatch();
      })
      .then(done, failed);
  }

  private remove(environment: Environment): void {
    this.environments.delete(environment);
    this.starting.delete(environment);
    this.idle.delete(environment);
  }

  private logOf({ name }: FunctionDefinition): LogFile {
    const known = this.logs.get(name) ?? new LogFile(join(this.options.logs, `${name}.log`), maxLogBytes);
    this.logs.set(name, known);
    return known;
  }
}
