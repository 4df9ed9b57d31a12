import { AwsError } from "../aws-error.ts";
import type { Emulator } from "../emulator/emulator.ts";
import { type RawReply, unverifiedHeaders } from "../forward.ts";
import type { Resource } from "../template/assembly.ts";
import { isRecord } from "../template/intrinsics.ts";
import { FifoQueues, isFifo } from "./fifo-queues.ts";
import { type HeldMessage, HeldMessages } from "./held-messages.ts";

type Body = Readonly<Record<string, unknown>>;

/** What the queues need. */
export interface QueuesOptions {
  readonly resources: readonly Resource[];
  readonly region: string;
  readonly dataDir: string;
  /** Where standard queues are kept. */
  readonly emulator: Emulator;
  /** How much faster delays pass. */
  readonly timeScale: number;
  /** Told the name of a queue that has something new to receive. */
  readonly arrived?: (queue: string) => void;
}

/** Messages of a queue, as CloudWatch counts them. */
export interface QueueCounts {
  /** To be received. */
  readonly visible: number;
  /** Received, not deleted, and not visible again. */
  readonly in_flight: number;
  /** Held back by their delay. */
  readonly delayed: number;
}

/** What the server would forget about a message: it knows groups on FIFO queues only, and no delay but its own. */
interface Facts {
  readonly message_id: string;
  readonly sent_ms: number;
  readonly group_id: string | undefined;
  /** Trace header of X-Ray. */
  readonly trace: string | undefined;
}

/** SQS refuses longer delays (AWS docs: SendMessage); the server would take them. */
const maxDelaySeconds = 900;
/** Entries of one SendMessageBatch. */
const maxBatch = 10;
/** Messages whose facts are remembered; older ones show the server's own. */
const maxFacts = 20_000;

/** Attributes of SQS by property of the template, with their defaults. Delays are the runner's, not the server's. */
const defaults = { MessageRetentionPeriod: 345_600, VisibilityTimeout: 30 } as const;

/** The queues of the template: standard queues on the server of queues and buckets, FIFO queues in this process. */
export class Queues {
  private readonly options: QueuesOptions;
  private readonly byName = new Map<string, Resource>();
  private readonly held: HeldMessages;
  private readonly fifo: FifoQueues;
  private readonly facts = new Map<string, Facts>();

  constructor(options: QueuesOptions) {
    this.options = options;
    this.held = new HeldMessages(options.timeScale, (queue, messages) => this.release(queue, messages));
    this.fifo = new FifoQueues(options);
    for (const resource of options.resources) {
      if (resource.type === "AWS::SQS::Queue") this.byName.set(resource.attributes["QueueName"] ?? "", resource);
    }
  }

  /** Makes the queues on the server, which it starts where the template has any. */
  async start(): Promise<void> {
    if (this.byName.size === 0) return;
    await this.options.emulator.start();
    for (const [name, { properties }] of this.byName) if (!isFifo(name)) await this.create(name, properties);
  }

  /** Names of the queues. */
  get names(): string[] {
    return [...this.byName.keys()];
  }

  /** ARN of a queue by its URL. Throws the AwsError of SQS for an unknown one. */
  arnOf(url: unknown): string {
    const arn = this.byName.get(nameIn(url))?.attributes["Arn"];
    if (arn !== undefined) return arn;
    throw new AwsError(400, "AWS.SimpleQueueService.NonExistentQueue", "The specified queue does not exist.");
  }

  /** Does an allowed call. Throws an AwsError for a delay that SQS would refuse. */
  async call(operation: string, body: Body): Promise<RawReply> {
    const name = nameIn(body["QueueUrl"]);
    if (isFifo(name)) return json(await this.fifo.call(operation, body));
    refuseLongDelays(body);
    switch (operation) {
      case "SendMessage":
        return this.sendOne(name, body);
      case "SendMessageBatch":
        return this.sendBatch(name, body);
      case "ReceiveMessage":
        return changed(await this.forward(operation, body), (answer) => this.withFacts(answer));
      case "PurgeQueue":
        this.held.purge(name);
        return this.forward(operation, body);
      default:
        return this.forward(operation, body);
    }
  }

  /** Sends a message of the runner itself to a queue by its ARN. */
  async send(arn: string, message: string): Promise<void> {
    await this.ask("SendMessage", { QueueUrl: arn.replaceAll(":", "/"), MessageBody: message });
  }

  /** Does a call of the runner itself and reads the answer. Throws when SQS refuses it. */
  async ask(operation: string, body: Body): Promise<Body> {
    const reply = await this.call(operation, body);
    if (reply.status !== 200) throw new Error(`${operation} failed: ${reply.body.toString()}`);
    const answer: unknown = JSON.parse(reply.body.toString() || "{}");
    return isRecord(answer) ? answer : {};
  }

  /** How many messages a queue holds. */
  async counts(queue: string): Promise<QueueCounts> {
    const names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"];
    const { Attributes: found } = await this.ask("GetQueueAttributes", { QueueUrl: queue, AttributeNames: names });
    const [visible = 0, in_flight = 0] = names.map((name) => Number(isRecord(found) ? found[name] : 0));
    return { visible, in_flight, delayed: this.held.count(queue) };
  }

  /** What the messages say that may be received now; they stay where they are. */
  async bodies(queue: string): Promise<string[]> {
    if (isFifo(queue)) return this.fifo.bodies(queue);
    const found = new Map<string, { readonly body: string; readonly ReceiptHandle: unknown }>();
    for (;;) {
      const wanted = { QueueUrl: queue, MaxNumberOfMessages: maxBatch };
      const { Messages: messages } = await this.ask("ReceiveMessage", wanted);
      if (!Array.isArray(messages) || messages.length === 0) break;
      for (const { MessageId, Body, ReceiptHandle } of messages as Body[]) {
        found.set(String(MessageId), { body: String(Body), ReceiptHandle });
      }
    }
    for (const { ReceiptHandle } of found.values()) {
      await this.ask("ChangeMessageVisibility", { QueueUrl: queue, ReceiptHandle, VisibilityTimeout: 0 });
    }
    return [...found.values()].map(({ body }) => body);
  }

  /** Hands what is still held to the server, which keeps it for the next run. */
  async stop(): Promise<void> {
    const left = await this.held.takeAll();
    const now = Date.now();
    this.fifo.stop();
    for (const queue of this.names.filter((name) => !isFifo(name))) {
      const entries = left
        .filter((held) => held.queue === queue)
        .map(({ message: { MessageBody }, due_ms }, at) => {
          const seconds = Math.ceil((due_ms - now) / 1000);
          return { Id: String(at), MessageBody, DelaySeconds: Math.min(maxDelaySeconds, Math.max(0, seconds)) };
        });
      for (let at = 0; at < entries.length; at += maxBatch) {
        const Entries = entries.slice(at, at + maxBatch);
        await this.forward("SendMessageBatch", { QueueUrl: queue, Entries }).catch(() => undefined);
      }
    }
  }

  private async forward(operation: string, body: Body): Promise<RawReply> {
    const { emulator, region } = this.options;
    const { origin, forwarder } = await emulator.server();
    const url = `${origin}/000000000000/${nameIn(body["QueueUrl"])}`;
    const sent = JSON.stringify(body["QueueUrl"] === undefined ? body : { ...body, QueueUrl: url });
    return forwarder.post("/", unverifiedHeaders(`AmazonSQS.${operation}`, "sqs", region), sent);
  }

  /** Delay of a message in seconds: its own or the queue's. A message that SQS would not take has none. */
  private delayOf(queue: string, message: Body): number {
    const text = message["MessageBody"];
    if (typeof text !== "string" || text === "") return 0;
    return Number(message["DelaySeconds"] ?? this.byName.get(queue)?.properties["DelaySeconds"] ?? 0);
  }

  private async sendOne(queue: string, body: Body): Promise<RawReply> {
    const { DelaySeconds: _, ...message } = body;
    const delay = this.delayOf(queue, body);
    if (delay > 0) return json(this.held.hold(queue, message, delay));
    const reply = await this.forward("SendMessage", message);
    if (reply.status === 200) this.took(queue, JSON.parse(reply.body.toString())["MessageId"], message);
    return reply;
  }

  private async sendBatch(queue: string, body: Body): Promise<RawReply> {
    const entries: Body[] = (Array.isArray(body["Entries"]) ? body["Entries"] : []).filter(isRecord);
    const later = entries.filter((entry) => this.delayOf(queue, entry) > 0);
    const now = entries.filter((entry) => !later.includes(entry));
    const held = () =>
      later.map(({ Id, DelaySeconds: _, ...message }, at) => {
        const delay = this.delayOf(queue, later[at] ?? {});
        return { Id, ...this.held.hold(queue, { ...message, QueueUrl: queue }, delay) };
      });
    if (now.length === 0 && later.length > 0) return json({ Successful: held() });
    const plain = now.map(({ DelaySeconds: _, ...entry }) => entry);
    const reply = await this.forward("SendMessageBatch", { ...body, Entries: plain });
    if (reply.status !== 200) return reply;
    return changed(reply, (answer) => {
      const successful = listOf(answer["Successful"]);
      for (const { Id, MessageId } of successful) {
        this.took(queue, MessageId, now.find((entry) => entry["Id"] === Id) ?? {});
      }
      return { ...answer, Successful: [...successful, ...held()] };
    });
  }

  private async release(queue: string, messages: readonly HeldMessage[]): Promise<void> {
    const Entries = messages.map(({ message: { QueueUrl: _, ...entry } }, at) => ({ ...entry, Id: String(at) }));
    const reply = await this.forward("SendMessageBatch", { QueueUrl: queue, Entries });
    if (reply.status !== 200) {
      // Each was small enough for itself when it came; together they may be too large.
      if (messages.length > 1) for (const message of messages) await this.release(queue, [message]);
      else process.stderr.write(`A delayed message was refused: ${reply.body.toString()}\n`);
      return;
    }
    const { Successful: successful, Failed: failed } = JSON.parse(reply.body.toString());
    for (const { Id, MessageId } of listOf(successful)) {
      const held = messages[Number(Id)];
      if (held !== undefined) this.took(queue, MessageId, held.message, held);
    }
    for (const { Message } of listOf(failed)) process.stderr.write(`A delayed message was refused: ${Message}\n`);
  }

  /** The server took a message: what it will not tell again is remembered, and who waits for messages is woken. */
  private took(queue: string, id: unknown, message: Body, was?: Pick<Facts, "message_id" | "sent_ms">): void {
    const group = message["MessageGroupId"];
    const group_id = typeof group === "string" ? group : undefined;
    const trace = traceIn(message);
    if (was !== undefined || group_id !== undefined || trace !== undefined) {
      const { message_id = String(id), sent_ms = Date.now() } = was ?? {};
      this.facts.set(String(id), { message_id, sent_ms, group_id, trace });
    }
    const [oldest] = this.facts.keys();
    if (this.facts.size > maxFacts && oldest !== undefined) this.facts.delete(oldest);
    this.options.arrived?.(queue);
  }

  private withFacts(answer: Body): Body {
    const messages = listOf(answer["Messages"]).map((message) => {
      const facts = this.facts.get(String(message["MessageId"]));
      if (facts === undefined) return message;
      const given = message["Attributes"];
      const more = {
        SentTimestamp: String(facts.sent_ms),
        ...(facts.group_id !== undefined && { MessageGroupId: facts.group_id }),
        ...(facts.trace !== undefined && { AWSTraceHeader: facts.trace }),
      };
      return {
        ...message,
        MessageId: facts.message_id,
        ...(isRecord(given) && { Attributes: { ...given, ...more } }),
      };
    });
    return messages.length === 0 ? answer : { ...answer, Messages: messages };
  }

  private async create(name: string, properties: Body): Promise<void> {
    const given = Object.entries(defaults).map(([attribute, value]) => [
      attribute,
      String(properties[attribute] ?? value),
    ]);
    const redrive = properties["RedrivePolicy"];
    const RedrivePolicy = isRecord(redrive) ? JSON.stringify(redrive) : "";
    // A queue of an earlier run takes the settings of this template, as it would at a deployment.
    const Attributes = { ...Object.fromEntries(given), RedrivePolicy };
    for (const [operation, body] of [
      ["CreateQueue", { QueueName: name }],
      ["SetQueueAttributes", { QueueUrl: name, Attributes }],
    ] as const) {
      const reply = await this.forward(operation, body);
      if (reply.status !== 200) throw new Error(`The queue ${name} cannot be made: ${reply.body.toString()}`);
    }
  }
}

/** The trace header that a sender gave a message, the one system attribute that SQS takes. */
function traceIn({ MessageSystemAttributes: attributes }: Body): string | undefined {
  const header = isRecord(attributes) ? attributes["AWSTraceHeader"] : undefined;
  return isRecord(header) ? String(header["StringValue"]) : undefined;
}

function nameIn(url: unknown): string {
  return String(url).split("/").at(-1) ?? "";
}

function listOf(value: unknown): Body[] {
  return (Array.isArray(value) ? value : []).filter(isRecord);
}

function json(value: object): RawReply {
  return { status: 200, headers: {}, body: Buffer.from(JSON.stringify(value)) };
}

/** A good answer of the server, changed. */
function changed(reply: RawReply, change: (answer: Body) => Body): RawReply {
  if (reply.status !== 200) return reply;
  return { ...reply, body: Buffer.from(JSON.stringify(change(JSON.parse(reply.body.toString() || "{}")))) };
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
