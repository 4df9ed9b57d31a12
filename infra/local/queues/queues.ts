import { createHash } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { AwsError } from "../aws-error.ts";
import { AssemblyError, type Resource } from "../template/assembly.ts";
import { isRecord } from "../template/intrinsics.ts";
import { traceOfMessage } from "./lineage.ts";
import { LocalQueue, type QueueClock, type QueueCounts } from "./queue.ts";
import { type Message, QueueStore } from "./queue-store.ts";

type Body = Readonly<Record<string, unknown>>;

/** Settings of the queues. */
export interface QueuesOptions {
  readonly resources: readonly Resource[];
  /** Folder of what they keep. */
  readonly dataDir: string;
  readonly clock?: QueueClock;
  /** How much faster delays pass; default 1. */
  readonly timeScale?: number;
  /** Told the name of a queue that has something new to receive. */
  readonly arrived?: (queue: string) => void;
}

interface Known {
  readonly queue: LocalQueue;
  readonly store: QueueStore;
  readonly content_based: boolean;
  readonly delay_seconds: number;
  readonly visibility_seconds: number;
}

const realClock: QueueClock = {
  now: () => Date.now(),
  after: (ms, callback) => void setTimeout(callback, ms).unref(),
};

/** A message of a FIFO queue stays hidden for so long at least, however fast delays pass: its reader may be at work. */
const leastHiddenMs = 6_000;

/** Bounds of SQS (AWS docs: SQS message quotas, SendMessage, ReceiveMessage). */
const quotas = { entries: 10, receive: 10, body_bytes: 2 ** 20, delay_seconds: 900, visibility_seconds: 43_200 };

/** Whether a queue of this name is a FIFO queue. */
export function isFifo(name: string): boolean {
  return name.endsWith(".fifo");
}

/**
 * The queues of a template, in this process: the JSON protocol of SQS with the rules of `LocalQueue`. Delays are timers
 * of milliseconds: SQS counts them in whole seconds, which a time scale of a few hundred would round to nothing.
 */
export class Queues {
  private readonly options: QueuesOptions;
  private readonly clock: QueueClock;
  private readonly byName = new Map<string, Known>();

  /** Opens what an earlier run kept. Throws an AssemblyError for a queue that SQS would refuse. */
  constructor(options: QueuesOptions) {
    this.options = options;
    this.clock = options.clock ?? realClock;
    mkdirSync(join(options.dataDir, "queues"), { recursive: true });
    for (const resource of options.resources.filter(({ type }) => type === "AWS::SQS::Queue")) {
      const name = resource.attributes["QueueName"] ?? "";
      this.byName.set(name, this.make(name, resource));
    }
  }

  /** Names of the queues. */
  get names(): string[] {
    return [...this.byName.keys()];
  }

  /** ARN of a queue by its URL. Throws the AwsError of SQS for an unknown one. */
  arnOf(url: unknown): string {
    return this.known(url).queue.settings.arn;
  }

  /** Does a call that is allowed, with the trace header of its caller. Rejects with the AwsError of SQS. */
  async call(operation: string, body: Body, trace?: string): Promise<Body> {
    const known = this.known(body["QueueUrl"]);
    switch (operation) {
      case "SendMessage":
        return this.sendOne(known, body, trace);
      case "SendMessageBatch":
        return inBatch(body, (entry) => this.sendOne(known, entry, trace));
      case "ReceiveMessage":
        return this.receive(known, body);
      case "DeleteMessage":
        return deleteOne(known, body);
      case "DeleteMessageBatch":
        return inBatch(body, (entry) => deleteOne(known, entry));
      default:
        throw notImplemented(operation);
    }
  }

  /** Sends a message of the runner itself to a queue by its ARN. */
  async send(arn: string, message: string): Promise<void> {
    await this.call("SendMessage", { QueueUrl: arn.replaceAll(":", "/"), MessageBody: message });
  }

  /** How many messages a queue holds. */
  counts(queue: string): QueueCounts {
    return this.known(queue).queue.counts();
  }

  /** Bodies of the messages of a queue that are neither delayed nor in flight; they stay where they are. */
  bodies(queue: string): string[] {
    return this.known(queue).queue.bodies();
  }

  /** Forgets every message of a queue. */
  purge(queue: string): void {
    this.known(queue).queue.purge();
  }

  /** Lets go of the files. */
  stop(): void {
    for (const { store } of this.byName.values()) store.close();
  }

  private known(url: unknown): Known {
    const known = this.byName.get(String(url).split("/").at(-1) ?? "");
    if (known !== undefined) return known;
    throw new AwsError(400, "QueueDoesNotExist", "The specified queue does not exist.");
  }

  private make(name: string, resource: Resource): Known {
    const { properties, attributes } = resource;
    const dead = deadLettersOf(name, resource, this.options.resources);
    const arn = attributes["Arn"] ?? "";
    const settings = {
      ...{ arn, fifo: isFifo(name), retention_ms: Number(properties["MessageRetentionPeriod"] ?? 345_600) * 1000 },
      deduplication: properties["DeduplicationScope"] === "messageGroup" ? "messageGroup" : "queue",
      max_receives: dead?.max_receives ?? Number.POSITIVE_INFINITY,
    } as const;
    if (properties["FifoThroughputLimit"] === "perMessageGroupId" && settings.deduplication === "queue") {
      throw new AssemblyError(resource.path, "a limit per message group needs deduplication per message group");
    }
    const store = new QueueStore(join(this.options.dataDir, "queues", `${name}.ndjson`));
    const queue = new LocalQueue(settings, store, {
      clock: this.clock,
      bury: (message) => this.known(dead?.name).queue.take(message, arn),
      changed: () => this.options.arrived?.(name),
    });
    return {
      ...{ queue, store },
      content_based: properties["ContentBasedDeduplication"] === true,
      delay_seconds: Number(properties["DelaySeconds"] ?? 0),
      visibility_seconds: Number(properties["VisibilityTimeout"] ?? 30),
    };
  }

  private sendOne({ queue, content_based, delay_seconds }: Known, message: Body, traceOfCall?: string): Body {
    const { MessageBody: body, MessageAttributes: attributes } = message;
    const { fifo } = queue.settings;
    if (typeof body !== "string" || body === "") throw missing("MessageBody");
    if (Buffer.byteLength(body) > quotas.body_bytes) {
      throw invalid("One or more parameters are invalid. Reason: Message must be shorter than 1048576 bytes.");
    }
    const foreign = fifo ? "DelaySeconds" : "MessageDeduplicationId";
    if (message[foreign] !== undefined) {
      const reason = "The request include parameter that is not valid for this queue type.";
      throw invalid(`Value ${message[foreign]} for parameter ${foreign} is invalid. Reason: ${reason}`);
    }
    const seconds = Number(message["DelaySeconds"] ?? delay_seconds);
    if (!(seconds >= 0 && seconds <= quotas.delay_seconds)) {
      const reason = `DelaySeconds must be >= 0 and <= ${quotas.delay_seconds}.`;
      throw invalid(`Value ${seconds} for parameter DelaySeconds is invalid. Reason: ${reason}`);
    }
    const group = word(message, "MessageGroupId");
    const digest = fifo && content_based ? createHash("sha256").update(body).digest("hex") : undefined;
    const deduplication = word(message, "MessageDeduplicationId") ?? digest;
    if (fifo && group === undefined) throw missing("MessageGroupId");
    if (fifo && deduplication === undefined) {
      const either = "ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly";
      throw invalid(`The queue should either have ${either}`);
    }
    const trace = traceOfMessage(traceIn(message), traceOfCall);
    const draft = {
      body,
      ...(group !== undefined && { group }),
      ...(deduplication !== undefined && { deduplication }),
      ...(isRecord(attributes) && { attributes }),
      ...(trace !== undefined && { trace }),
    };
    const { id, sequence } = queue.send(draft, (seconds * 1000) / (this.options.timeScale ?? 1));
    return { MessageId: id, MD5OfMessageBody: md5(body), ...(fifo && { SequenceNumber: sequence }) };
  }

  private receive({ queue, visibility_seconds }: Known, body: Body): Body {
    for (const unknown of ["ReceiveRequestAttemptId", "WaitTimeSeconds"]) {
      if (body[unknown] !== undefined) throw notImplemented(unknown);
    }
    const most = number(body, "MaxNumberOfMessages", 1, 1, quotas.receive);
    const ms = number(body, "VisibilityTimeout", visibility_seconds, 0, quotas.visibility_seconds) * 1000;
    // A message of a FIFO queue holds back its group, so it alone comes again the earlier, the faster delays pass.
    const { timeScale = 1 } = this.options;
    const hiddenMs = queue.settings.fifo ? Math.max(Math.min(ms, leastHiddenMs), ms / timeScale) : ms;
    const found = queue.receive(most, hiddenMs);
    return found.length === 0 ? {} : { Messages: found.map(receivedMessage) };
  }
}

/** Where the dead letters of a queue go; undefined when it has none. Throws an AssemblyError for a wrong one. */
function deadLettersOf(name: string, { path, properties }: Resource, resources: readonly Resource[]) {
  if (isFifo(name) !== (properties["FifoQueue"] === true)) {
    throw new AssemblyError(path, "the name of a FIFO queue, and of no other, ends with .fifo");
  }
  if (isFifo(name) && properties["DelaySeconds"] !== undefined) {
    throw new AssemblyError(path, "DelaySeconds is not known for a FIFO queue");
  }
  const redrive = properties["RedrivePolicy"];
  if (!isRecord(redrive)) return undefined;
  const arn = String(redrive["deadLetterTargetArn"]);
  const dead = resources.find(({ attributes }) => attributes["Arn"] === arn)?.attributes["QueueName"];
  if (dead === undefined || isFifo(dead) !== isFifo(name)) {
    throw new AssemblyError(path, `its dead letters need a queue of the template and of its own type, not ${arn}`);
  }
  return { name: dead, max_receives: Number(redrive["maxReceiveCount"]) };
}

function deleteOne({ queue }: Known, { ReceiptHandle: handle }: Body): Body {
  if (queue.delete(String(handle))) return {};
  throw invalid(`Value ${handle} for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired.`);
}

/** Does a call for each entry, in their order; one that is refused holds no other. */
function inBatch({ Entries: given }: Body, act: (entry: Body) => Body): Body {
  const entries: Body[] = Array.isArray(given) ? given.filter(isRecord) : [];
  if (entries.length === 0) throw new AwsError(400, "EmptyBatchRequest", "There should be at least one entry.");
  if (entries.length > quotas.entries) {
    throw new AwsError(
      400,
      "TooManyEntriesInBatchRequest",
      `Maximum number of entries per request are ${quotas.entries}.`,
    );
  }
  if (new Set(entries.map(({ Id }) => Id)).size < entries.length) {
    throw new AwsError(400, "BatchEntryIdsNotDistinct", "Two or more batch entries have the same Id.");
  }
  const bytes = entries.reduce((sum, { MessageBody: body }) => sum + Buffer.byteLength(String(body ?? "")), 0);
  if (bytes > quotas.body_bytes) {
    throw new AwsError(400, "BatchRequestTooLong", `Batch requests cannot be longer than ${quotas.body_bytes} bytes.`);
  }
  const [successful, failed]: [Body[], Body[]] = [[], []];
  for (const entry of entries) {
    const { Id } = entry;
    try {
      successful.push({ Id, ...act(entry) });
    } catch (error) {
      if (!(error instanceof AwsError)) throw error;
      failed.push({ Id, SenderFault: true, Code: error.type, Message: error.message });
    }
  }
  return { Successful: successful, Failed: failed };
}

/** A message as ReceiveMessage shows it with all attributes. */
function receivedMessage(message: Message): Body {
  const { id, body, group, deduplication, sequence, trace, attributes, source_arn } = message;
  return {
    MessageId: id,
    ReceiptHandle: message.handle,
    Body: body,
    MD5OfBody: md5(body),
    Attributes: {
      SenderId: "local",
      SentTimestamp: String(message.sent_ms),
      ApproximateReceiveCount: String(message.receives),
      ApproximateFirstReceiveTimestamp: String(message.first_received_ms),
      ...(group !== undefined && { MessageGroupId: group }),
      ...(deduplication !== undefined && { MessageDeduplicationId: deduplication }),
      ...(sequence !== undefined && { SequenceNumber: sequence }),
      ...(trace !== undefined && { AWSTraceHeader: trace }),
      ...(source_arn !== undefined && { DeadLetterQueueSourceArn: source_arn }),
    },
    ...(attributes !== undefined && { MessageAttributes: attributes }),
  };
}

/** A group or an identifier; undefined when there is none. */
function word(message: Body, name: string): string | undefined {
  const value = message[name];
  if (value === undefined || value === "") return undefined;
  if (typeof value === "string" && /^[!-~]{1,128}$/.test(value)) return value;
  throw invalid(`Value ${value} for parameter ${name} is invalid.`);
}

/** The trace header that a sender gave a message, the one system attribute that SQS takes. */
function traceIn({ MessageSystemAttributes: attributes }: Body): string | undefined {
  const header = isRecord(attributes) ? attributes["AWSTraceHeader"] : undefined;
  return isRecord(header) ? String(header["StringValue"]) : undefined;
}

function number(body: Body, name: string, usual: number, least: number, most: number): number {
  const value = Number(body[name] ?? usual);
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  const reason = `Must be between ${least} and ${most}, if provided.`;
  throw invalid(`Value ${body[name]} for parameter ${name} is invalid. Reason: ${reason}`);
}

function md5(text: string): string {
  return createHash("md5").update(text).digest("hex");
}

function missing(name: string): AwsError {
  return new AwsError(400, "MissingParameter", `The request must contain the parameter ${name}.`);
}

function invalid(text: string): AwsError {
  return new AwsError(400, "InvalidParameterValue", text);
}

function notImplemented(what: string): AwsError {
  return new AwsError(501, "NotImplemented", `The local runner does not know ${what} of SQS.`);
}
