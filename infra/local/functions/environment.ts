import { randomUUID } from "node:crypto";
import type { Guard, OpenedProcess } from "../guard.ts";
import { onLine } from "../lines.mjs";

/** The process of a function ended while it worked on a request. */
export class FunctionCrash extends Error {}

/** A function did not answer within its timeout, and its process was killed. */
export class FunctionTimeout extends Error {}

/** Result of an invocation. `functionError` is set when the handler threw; `payload` is then the error object. */
export interface InvocationOutcome {
  readonly payload: unknown;
  readonly functionError?: "Unhandled";
}

/** A function as the template describes it. */
export interface FunctionDefinition {
  readonly name: string;
  readonly arn: string;
  readonly role_arn: string;
  /** Folder of the code. */
  readonly asset: string;
  /** `index.handler`. */
  readonly handler: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly memory_mb: number;
  readonly timeout_seconds: number;
  /** Name of the log group that it writes to, where the template names one. */
  readonly log_group?: string;
  /** Whether Lambda lets its messages come back to it any number of times. */
  readonly may_recur?: true;
}

/** Input to the start of an environment. */
export interface EnvironmentOptions {
  readonly definition: FunctionDefinition;
  /** Variables of the runner beside those of the template. */
  readonly variables: Readonly<Record<string, string>>;
  /** Executable of Node. */
  readonly node: string;
  /** Starts the process. */
  readonly guard: Guard;
  readonly log: (chunk: string | Uint8Array) => void;
}

interface Reply {
  readonly id?: string;
  readonly ready?: true;
  readonly init_error?: unknown;
  readonly payload?: string;
  readonly error?: unknown;
  readonly memory_mb?: number;
}

interface Work {
  readonly id: string;
  readonly started_ms: number;
  readonly timer: NodeJS.Timeout;
  readonly done: (outcome: InvocationOutcome) => void;
  readonly failed: (error: Error) => void;
}

const script = new URL("environment.mjs", import.meta.url).pathname;
/** How long the code of a function may take to load. */
const initLimitMs = 30_000;
const endLimitMs = 2_000;

/** One process of one function. It works on one request at a time and is used again until it is ended. */
export class Environment {
  /** Sent by the function as its session token, so that its calls are known by the environment. */
  readonly token = randomUUID();
  readonly definition: FunctionDefinition;
  /** Resolves when the code is loaded; rejects with the outcome's error object in `cause` when it does not load. */
  readonly ready: Promise<void>;
  readonly ended: Promise<void>;
  /** Milliseconds since the epoch at which the last request ended. */
  last_used_ms = Date.now();
  /** Calls to the endpoint made by the request in work. */
  calls = 0;
  private readonly options: EnvironmentOptions;
  private readonly stream = `${new Date().toISOString().slice(0, 10)}/[$LATEST]${this.token.replaceAll("-", "")}`;
  private child: OpenedProcess | undefined;
  private work: Work | undefined;
  private ending = false;
  private hasEnded = false;
  private isKilled = false;

  constructor(options: EnvironmentOptions) {
    const { definition, node, guard } = options;
    this.options = options;
    this.definition = definition;
    const heap = `--max-old-space-size=${Math.floor(definition.memory_mb * 0.9)}`;
    const opened = guard
      .open({
        command: node,
        args: [heap, script],
        cwd: definition.asset,
        env: { ...this.variables(), AWS_SESSION_TOKEN: this.token },
      })
      .then((child) => this.opened(child));
    this.ended = opened
      .then(({ ended }) => ended)
      .catch((error: Error) => options.log(`The process did not start: ${error.message}\n`))
      .then(() => {
        this.hasEnded = true;
        this.failWork(new FunctionCrash("Runtime exited with error: signal: killed"));
      });
    this.ready = this.firstReply(opened);
    // The caller that started it awaits `ready` later; until then a failure is not unhandled.
    this.ready.catch(() => undefined);
  }

  /** Id of the process; 0 until it has started. */
  get pid(): number {
    return this.child?.pid ?? 0;
  }

  /** Id of the request in work, undefined when idle. */
  get request_id(): string | undefined {
    return this.work?.id;
  }

  /** Whether it can take no more requests because it is ending or has ended. */
  get gone(): boolean {
    return this.ending || this.hasEnded;
  }

  /**
   * Hands over one request and waits. Rejects with FunctionTimeout when the function's timeout passes and with
   * FunctionCrash when its process ends; in both cases the environment is gone.
   * @param trace the trace header of who invokes it; without a root in it the invocation begins a trace
   */
  async invoke(event: unknown, trace?: string): Promise<InvocationOutcome> {
    if (this.work !== undefined) throw new Error("The environment is at work.");
    const id = randomUUID();
    const { timeout_seconds, arn } = this.definition;
    const now = Date.now();
    this.calls = 0;
    this.options.log(`START RequestId: ${id} Version: $LATEST\n`);
    const outcome = new Promise<InvocationOutcome>((done, failed) => {
      const timer = setTimeout(() => this.timeOut(id), timeout_seconds * 1000);
      this.work = { id, started_ms: now, timer, done, failed };
    });
    const root = `Root=1-${Math.floor(now / 1000).toString(16)}-${id.replaceAll("-", "").slice(0, 24)};Sampled=0`;
    // A trace header without a root begins a trace as well, and says what it has to say of it.
    const trace_id = trace?.includes("Root=") ? trace : [root, trace].filter((part) => part !== undefined).join(";");
    const request = { id, event, function_arn: arn, deadline_ms: now + timeout_seconds * 1000, trace_id };
    this.child?.input.write(`${JSON.stringify(request)}\n`);
    return outcome;
  }

  /** Ends it at once, as a crash would. */
  kill(): void {
    this.isKilled = true;
    if (this.child === undefined || this.hasEnded) return;
    try {
      process.kill(this.child.pid, "SIGKILL");
    } catch {
      // It has ended, and the news of it is on its way.
    }
  }

  /** Lets it end by itself and waits; kills it when it does not. */
  async end(): Promise<void> {
    this.ending = true;
    this.child?.input.end();
    const timer = setTimeout(() => this.kill(), endLimitMs);
    await this.ended;
    clearTimeout(timer);
  }

  private variables(): Record<string, string> {
    const { definition, variables } = this.options;
    const { name, memory_mb, handler, asset } = definition;
    return {
      ...definition.environment,
      PATH: "/usr/local/bin:/usr/bin:/bin",
      LANG: "en_US.UTF-8",
      TZ: ":UTC",
      AWS_EXECUTION_ENV: "AWS_Lambda_nodejs24.x",
      AWS_LAMBDA_FUNCTION_NAME: name,
      AWS_LAMBDA_FUNCTION_VERSION: "$LATEST",
      AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(memory_mb),
      AWS_LAMBDA_LOG_GROUP_NAME: `/aws/lambda/${name}`,
      AWS_LAMBDA_LOG_STREAM_NAME: this.stream,
      AWS_LAMBDA_INITIALIZATION_TYPE: "on-demand",
      LAMBDA_TASK_ROOT: asset,
      _HANDLER: handler,
      ...variables,
    };
  }

  /** Takes over the process, which may have been asked to end while it started. */
  private opened(child: OpenedProcess): OpenedProcess {
    this.child = child;
    child.output.on("data", this.options.log).resume();
    if (this.ending) child.input.end();
    if (this.isKilled) this.kill();
    return child;
  }

  private async firstReply(opened: Promise<OpenedProcess>): Promise<void> {
    let settled: (reply: Reply) => void = () => undefined;
    const first = new Promise<Reply>((resolve) => {
      settled = resolve;
    });
    const child = await opened.catch(() => undefined);
    if (child === undefined) throw new FunctionCrash("Runtime exited before the code was loaded");
    onLine(child.answers, (line) => {
      const reply: Reply = JSON.parse(line);
      if (reply.ready === true || reply.init_error !== undefined) settled(reply);
      else this.replied(reply);
    });
    child.answers.resume();
    const timer = setTimeout(() => this.kill(), initLimitMs);
    const reply = await Promise.race([first, this.ended]);
    clearTimeout(timer);
    if (reply === undefined) throw new FunctionCrash("Runtime exited before the code was loaded");
    if (reply.init_error !== undefined) throw new Error("The code does not load.", { cause: reply.init_error });
  }

  private replied(reply: Reply): void {
    const { work } = this;
    if (work === undefined || reply.id !== work.id) return;
    this.finish(work, reply.memory_mb ?? 0);
    if (reply.error !== undefined) work.done({ payload: reply.error, functionError: "Unhandled" });
    else work.done({ payload: JSON.parse(reply.payload ?? "null") });
  }

  private timeOut(id: string): void {
    const { timeout_seconds } = this.definition;
    const text = `${new Date().toISOString()} ${id} Task timed out after ${timeout_seconds.toFixed(2)} seconds`;
    this.ending = true;
    this.options.log(`${text}\n`);
    this.failWork(new FunctionTimeout(text));
    this.kill();
  }

  private failWork(error: Error): void {
    const { work } = this;
    if (work === undefined) return;
    this.finish(work, 0);
    if (error instanceof FunctionCrash) this.options.log(`RequestId: ${work.id} Error: ${error.message}\n`);
    work.failed(error);
  }

  private finish({ id, timer, started_ms }: Work, memory_mb: number): void {
    clearTimeout(timer);
    this.work = undefined;
    this.last_used_ms = Date.now();
    const duration = this.last_used_ms - started_ms;
    const memory = `Memory Size: ${this.definition.memory_mb} MB\tMax Memory Used: ${memory_mb} MB`;
    this.options.log(`END RequestId: ${id}\nREPORT RequestId: ${id}\tDuration: ${duration} ms\t${memory}\n`);
  }
}
