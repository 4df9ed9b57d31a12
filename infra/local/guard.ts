import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { onLine } from "./lines.mjs";

/** A server to run beside the runner. */
export interface GuardedCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** File that receives its output. */
  readonly log: string;
}

/** A server that runs. */
export interface GuardedProcess {
  readonly pid: number;
  /** Resolves when it has ended, asked for or not. */
  readonly ended: Promise<void>;
  /** Asks it to end and waits until it has. */
  stop(): Promise<void>;
}

interface Waiter {
  readonly started: (pid: number) => void;
  readonly failed: (error: Error) => void;
  readonly ended: () => void;
}

const script = new URL("guard.mjs", import.meta.url).pathname;

/** Keeps processes from outliving this one: a small process of its own that kills them when this one is gone. */
export class Guard {
  private readonly child: ChildProcessByStdio<Writable, Readable, null>;
  private readonly waiters = new Map<string, Waiter>();
  private count = 0;

  constructor() {
    this.child = spawn(process.execPath, [script], { stdio: ["pipe", "pipe", "inherit"], env: {} });
    // The guard is gone only when this process ends or somebody killed it; both show elsewhere.
    this.child.stdin.on("error", () => undefined);
    onLine(this.child.stdout, (line) => this.heard(JSON.parse(line)));
  }

  /** Process id of the guard itself; undefined when it could not be started. */
  get pid(): number | undefined {
    return this.child.pid;
  }

  /** Starts a server that ends with this process. Rejects when the command cannot be run. */
  async run(command: GuardedCommand): Promise<GuardedProcess> {
    this.count += 1;
    const id = String(this.count);
    let ended: () => void = () => undefined;
    const end = new Promise<void>((resolve) => {
      ended = resolve;
    });
    const pid = await new Promise<number>((resolve, reject) => {
      this.waiters.set(id, { started: resolve, failed: reject, ended });
      this.say({ start: id, ...command });
    });
    const stop = async (): Promise<void> => {
      this.say({ end: id });
      await end;
    };
    return { pid, ended: end, stop };
  }

  /** Makes a process that was started elsewhere end with this one. */
  watch(pid: number): void {
    this.say({ watch: pid });
  }

  /** Takes a process off the list because it has ended; its number may be given to another one. */
  forget(pid: number): void {
    this.say({ forget: pid });
  }

  /** Kills what is left and ends the guard. */
  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exit = once(this.child, "exit");
    this.child.stdin.end();
    await exit;
  }

  private say(order: object): void {
    if (this.child.stdin.writable) this.child.stdin.write(`${JSON.stringify(order)}\n`);
  }

  private heard(news: { started?: string; ended?: string; pid?: number; error?: string }): void {
    const waiter = this.waiters.get(news.started ?? news.ended ?? "");
    if (waiter === undefined) return;
    if (news.started !== undefined) waiter.started(news.pid ?? 0);
    if (news.ended === undefined) return;
    waiter.failed(new Error(news.error ?? "The process ended at once."));
    waiter.ended();
    this.waiters.delete(news.ended);
  }
}
