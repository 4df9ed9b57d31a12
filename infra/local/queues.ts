import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Resource } from "./assembly.ts";
import { AwsError } from "./aws-error.ts";
import { Forwarder, type RawReply, unverifiedHeaders } from "./forward.ts";
import { freePort, reachable } from "./free-port.ts";
import { functionNode } from "./functions.ts";
import type { Guard, GuardedProcess } from "./guard.ts";
import { isRecord } from "./intrinsics.ts";

type Body = Readonly<Record<string, unknown>>;

/** What the queue server needs. */
export interface QueuesOptions {
  readonly resources: readonly Resource[];
  readonly region: string;
  readonly dataDir: string;
  readonly log: string;
  readonly guard: Guard;
}

/** SQS refuses longer delays (AWS docs: SendMessage); the server would take them. */
const maxDelaySeconds = 900;
const script = new URL("queue-server.mjs", import.meta.url).pathname;

/** Attributes of SQS by property of the template. */
const attributes = ["DelaySeconds", "MessageRetentionPeriod", "VisibilityTimeout"] as const;

/** The queues of the template, on a server of their own. */
export class Queues {
  private readonly options: QueuesOptions;
  private readonly byName = new Map<string, Resource>();
  private server:
    | { readonly process: GuardedProcess; readonly forwarder: Forwarder; readonly origin: string }
    | undefined;

  constructor(options: QueuesOptions) {
    this.options = options;
    for (const resource of options.resources) {
      if (resource.type === "AWS::SQS::Queue") this.byName.set(resource.attributes["QueueName"] ?? "", resource);
    }
  }

  /** Starts the server and makes the queues; does nothing when the template has none. */
  async start(): Promise<void> {
    if (this.byName.size === 0) return;
    const { guard, dataDir, log, region } = this.options;
    const node = functionNode();
    if (node === process.execPath && !hasSqlite()) {
      throw new Error(`The queue server needs Node 22.13 or newer; this is ${process.versions.node}.`);
    }
    const port = await freePort();
    const folder = join(dataDir, "queues");
    mkdirSync(folder, { recursive: true });
    const env = { FAUXQS_DATA_DIR: folder, FAUXQS_PORT: String(port), FAUXQS_DEFAULT_REGION: region };
    const server = await guard.run({ command: node, args: [script], env, log });
    const origin = `http://127.0.0.1:${port}`;
    this.server = { process: server, forwarder: new Forwarder(origin), origin };
    await reachable(port, server.ended, log);
    for (const [name, { properties }] of this.byName) await this.create(name, properties);
  }

  /** Process id of the server, when it runs. */
  get pid(): number | undefined {
    return this.server?.process.pid;
  }

  /** ARN of a queue by its URL. Throws the AwsError of SQS for an unknown one. */
  arnOf(url: unknown): string {
    const arn = this.byName.get(nameIn(url))?.attributes["Arn"];
    if (arn !== undefined) return arn;
    throw new AwsError(400, "AWS.SimpleQueueService.NonExistentQueue", "The specified queue does not exist.");
  }

  /** Does an allowed call. Throws an AwsError for a delay that SQS would refuse. */
  async call(operation: string, body: Body): Promise<RawReply> {
    refuseLongDelays(body);
    const { server } = this;
    if (server === undefined) throw new Error("The queue server does not run.");
    const { region } = this.options;
    const url = `${server.origin}/000000000000/${nameIn(body["QueueUrl"])}`;
    const sent = JSON.stringify(body["QueueUrl"] === undefined ? body : { ...body, QueueUrl: url });
    return server.forwarder.post("/", unverifiedHeaders(`AmazonSQS.${operation}`, "sqs", region), sent);
  }

  /** Sends a message of the runner itself to a queue by its ARN. */
  async send(arn: string, message: string): Promise<void> {
    const reply = await this.call("SendMessage", { QueueUrl: arn.replaceAll(":", "/"), MessageBody: message });
    if (reply.status !== 200) throw new Error(`The queue ${arn} took no message: ${reply.body.toString()}`);
  }

  /** Stops the server. */
  async stop(): Promise<void> {
    this.server?.forwarder.close();
    await this.server?.process.stop();
  }

  private async create(name: string, properties: Body): Promise<void> {
    const set = attributes.flatMap((attribute) => {
      const value = properties[attribute];
      return value === undefined ? [] : [[attribute, String(value)] as const];
    });
    const redrive = properties["RedrivePolicy"];
    const all = { ...Object.fromEntries(set), ...(isRecord(redrive) && { RedrivePolicy: JSON.stringify(redrive) }) };
    if (name.endsWith(".fifo"))
      throw new Error(`The queue ${name} is a FIFO queue, which the local runner does not make.`);
    const reply = await this.call("CreateQueue", { QueueName: name, Attributes: all });
    if (reply.status !== 200) throw new Error(`The queue ${name} cannot be made: ${reply.body.toString()}`);
  }
}

/** Whether this Node has SQLite without a flag. */
function hasSqlite(): boolean {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  return major > 22 || (major === 22 && minor >= 13);
}

function nameIn(url: unknown): string {
  return String(url).split("/").at(-1) ?? "";
}

function refuseLongDelays(body: Body): void {
  const entries = Array.isArray(body["Entries"]) ? body["Entries"] : [];
  for (const entry of [body, ...entries]) {
    const delay = isRecord(entry) ? Number(entry["DelaySeconds"] ?? 0) : 0;
    if (delay >= 0 && delay <= maxDelaySeconds) continue;
    const text = `Value ${delay} for parameter DelaySeconds is invalid. Reason: DelaySeconds must be >= 0 and <= 900.`;
    throw new AwsError(400, "InvalidParameterValue", text);
  }
}
