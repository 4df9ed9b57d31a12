import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { onLine } from "./lines.mjs";

/** A command and the variables that it gets, which are all that it has. */
interface ProcessCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** A server to run beside the runner. */
export interface GuardedCommand extends ProcessCommand {
  /** File that receives its output. */
  readonly log: string;
}

/** A server that runs. */
export interface GuardedProcess {
  readonly pid: number;
  /** Resolves when it has ended, asked for or not, with its exit code: null after a signal. */
  readonly ended: Promise<number | null>;
  /** Asks it to end and waits until it has. */
  stop(): Promise<void>;
}

/** A process to talk with. */
export interface OpenedCommand extends ProcessCommand {
  /** Its working directory. */
  readonly cwd: string;
}

/** A process that runs and is talked with. */
export interface OpenedProcess {
  readonly pid: number;
  /** Its standard input. */
  readonly input: Socket;
  /** Its standard output and its standard error. */
  readonly output: Socket;
  /** Its file descriptor 3. */
  readonly answers: Socket;
  /** Resolves when it has ended and all that it wrote has come. */
  readonly ended: Promise<void>;
}

interface Waiter {
  readonly started: (pid: number) => void;
  readonly failed: (error: Error) => void;
  readonly ended: (code: number | null) => void;
}

const script = new URL("guard.mjs", import.meta.url).pathname;

/**
 * Keeps processes from outliving this one: a small process of its own that starts them and kills them when this one is
 * gone. Node starts a process by a fork, and a fork of a large process takes 100 ms of a processor: its page tables are
 * copied, and each page that it writes to afterwards once more.
 */
export class Guard {
  private readonly child: ChildProcessByStdio<Writable, Readable, null>;
  private readonly waiters = new Map<string, Waiter>();
  private readonly connecting = new Map<string, (socket: Socket) => void>();
  private listening: { readonly server: Server; readonly path: Promise<string> } | undefined;
  private count = 0;

  constructor() {
    this.child = spawn(process.execPath, [script], { stdio: ["pipe", "pipe", "inherit"], env: {} });
    // The guard is gone only when this process ends or somebody killed it; both show elsewhere.
    this.child.stdin.on("error", () => undefined);
    this.child.once("exit", () => this.gone());
    onLine(this.child.stdout, (line) => this.heard(JSON.parse(line)));
  }

  /** Process id of the guard itself; undefined when it could not be started. */
  get pid(): number | undefined {
    return this.child.pid;
  }

  /** Starts a server that ends with this process. Rejects when the command cannot be run. */
  async run(command: GuardedCommand): Promise<GuardedProcess> {
    const id = this.newId();
    const { pid, ended } = await this.begin(id, { start: id, ...command });
    const stop = async (): Promise<void> => {
      this.say({ end: id });
      await ended;
    };
    return { pid, ended, stop };
  }

  /** Starts a process that ends with this one and is talked with. Rejects when the command cannot be run. */
  async open(command: OpenedCommand): Promise<OpenedProcess> {
    const id = this.newId();
    const path = await this.listen();
    const sockets = (["0", "1", "3"] as const).map((place) => {
      return new Promise<Socket>((resolve) => this.connecting.set(`${id} ${place}`, resolve));
    });
    const { pid, ended } = await this.begin(id, { open: id, path, ...command });
    const [input, output, answers] = (await Promise.all(sockets)) as [Socket, Socket, Socket];
    // One that is killed while it is written to; its end says so as well.
    for (const socket of [input, output, answers]) socket.on("error", () => undefined);
    const closed = [output, answers].map((socket) => new Promise((resolve) => socket.once("close", resolve)));
    const all = Promise.all([ended, ...closed]).then(() => void input.destroy());
    return { pid, input, output, answers, ended: all };
  }

  /** Kills what is left and ends the guard. */
  async stop(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      const exit = once(this.child, "exit");
      this.child.stdin.end();
      await exit;
    }
    this.listening?.server.close();
    this.listening = undefined;
  }

  private newId(): string {
    this.count += 1;
    return String(this.count);
  }

  /** Has the guard start a process; resolves when it runs. */
  private async begin(id: string, order: object): Promise<{ pid: number; ended: Promise<number | null> }> {
    let over: (code: number | null) => void = () => undefined;
    const ended = new Promise<number | null>((resolve) => {
      over = resolve;
    });
    const pid = await new Promise<number>((resolve, reject) => {
      this.waiters.set(id, { started: resolve, failed: reject, ended: over });
      if (this.child.stdin.writable) this.say(order);
      else this.gone();
    });
    return { pid, ended };
  }

  /** Where the connections of opened processes come in; in a folder that only this user reads. */
  private listen(): Promise<string> {
    if (this.listening === undefined) {
      // The guard removes it when it ends.
      const path = join(mkdtempSync(join(tmpdir(), "guard-")), "socket");
      const server = createServer({ pauseOnConnect: true }, (socket) => this.connected(socket));
      const listening = new Promise<string>((resolve, reject) => {
        server.once("error", reject);
        server.listen(path, () => resolve(path));
      });
      server.unref();
      this.listening = { server, path: listening };
    }
    return this.listening.path;
  }

  /** Hands a connection over after the line that says what it is for. */
  private connected(socket: Socket): void {
    socket.once("error", () => undefined);
    socket.once("data", (chunk: Buffer) => {
      socket.pause();
      const end = chunk.indexOf("\n");
      const name = chunk.toString("utf8", 0, end);
      if (end + 1 < chunk.length) socket.unshift(chunk.subarray(end + 1));
      this.connecting.get(name)?.(socket);
      this.connecting.delete(name);
    });
    socket.resume();
  }

  private say(order: object): void {
    if (this.child.stdin.writable) this.child.stdin.write(`${JSON.stringify(order)}\n`);
  }

  /** Its processes have ended with the guard, and nothing starts without it. */
  private gone(): void {
    for (const { failed, ended } of this.waiters.values()) {
      failed(new Error("The guard has ended."));
      ended(null);
    }
    this.waiters.clear();
  }

  private heard(news: { started?: string; ended?: string; pid?: number; code?: number | null; error?: string }): void {
    const waiter = this.waiters.get(news.started ?? news.ended ?? "");
    if (waiter === undefined) return;
    if (news.started !== undefined) waiter.started(news.pid ?? 0);
    if (news.ended === undefined) return;
    waiter.failed(new Error(news.error ?? "The process ended at once."));
    waiter.ended(news.code ?? null);
    this.waiters.delete(news.ended);
  }
}
