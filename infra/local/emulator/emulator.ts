import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Forwarder } from "../forward.ts";
import { freePort, reachable } from "../free-port.ts";
import { functionNode } from "../functions/function-node.mjs";
import type { Guard, GuardedProcess } from "../guard.ts";

/** What the server needs. */
export interface EmulatorOptions {
  readonly region: string;
  readonly dataDir: string;
  readonly log: string;
  readonly guard: Guard;
}

/** A server that runs. */
interface Running {
  readonly process: GuardedProcess;
  readonly forwarder: Forwarder;
  readonly origin: string;
}

const script = new URL("server.mjs", import.meta.url).pathname;

/** The process that keeps standard queues and buckets, in a database file of the data folder. */
export class Emulator {
  private readonly options: EmulatorOptions;
  private running: Promise<Running> | undefined;
  private process: GuardedProcess | undefined;

  constructor(options: EmulatorOptions) {
    this.options = options;
  }

  /** Starts the server, once for everything that is kept on it. */
  async start(): Promise<Running> {
    this.running ??= this.launch();
    return this.running;
  }

  /** The server. Throws before its start. */
  async server(): Promise<Running> {
    if (this.running === undefined) throw new Error("The server of queues and buckets does not run.");
    return this.running;
  }

  /** Process id of the server, when it runs. */
  get pid(): number | undefined {
    return this.process?.pid;
  }

  /** Stops the server, which keeps what it has for the next run. */
  async stop(): Promise<void> {
    const running = await this.running?.catch(() => undefined);
    running?.forwarder.close();
    await this.process?.stop();
  }

  private async launch(): Promise<Running> {
    const { guard, dataDir, log, region } = this.options;
    const node = functionNode();
    if (node === process.execPath && !hasSqlite()) {
      throw new Error(`The server of queues and buckets needs Node 22.13 or newer; this is ${process.versions.node}.`);
    }
    const port = await freePort();
    // The name of the folder is older than the buckets, and what is in it is kept.
    const folder = join(dataDir, "queues");
    mkdirSync(folder, { recursive: true });
    const env = { FAUXQS_DATA_DIR: folder, FAUXQS_PORT: String(port), FAUXQS_DEFAULT_REGION: region };
    this.process = await guard.run({ command: node, args: [script], env, log });
    const origin = `http://127.0.0.1:${port}`;
    await reachable(port, this.process.ended, log);
    return { process: this.process, forwarder: new Forwarder(origin), origin };
  }
}

/** Whether this Node has SQLite without a flag. */
function hasSqlite(): boolean {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  return major > 22 || (major === 22 && minor >= 13);
}
