import { createHash } from "node:crypto";
import { join } from "node:path";
import { AwsError } from "../aws-error.ts";
import { StateFile } from "../state-file.ts";
import { AssemblyError, type Resource } from "../template/assembly.ts";
import { isRecord } from "../template/intrinsics.ts";
import { type FifoMessage, FifoQueue, type FifoState, type QueueClock } from "./fifo-queue.ts";

type Body = Readonly<Record<string, unknown>>;

/** What the FIFO queues need. */
export interface FifoQueuesOptions {
  readonly resources: readonly Resource[];
  readonly region: string;
  /** Folder of what they keep between two runs. */
  readonly dataDir: string;
  readonly clock?: QueueClock;
  /** How much faster delays pass; default 1. */
  readonly timeScale?: number;
  /** Called with the name of a queue that has something new to receive. */
  readonly arrived?: ((queue: string) => void) | undefined;
}

const realClock: QueueClock = {
  now: () => Date.now(),
  after: (ms, callback) => {
    const timer = setTimeout(callback, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
};

interface Known {
  readonly arn: string;
  readonly queue: FifoQueue;
  readonly content_based: boolean;
  readonly wait_seconds: number;
  readonly visibility_seconds: number;
  readonly file: StateFile<FifoState>;
  /** Ends the waiting of the receives that found nothing. */
  readonly waiting: Set<() => void>;
}

/** A message stays hidden for so long at least, however fast delays pass: its reader may still be at work. */
const leastHiddenMs = 6_000;

/** Bounds of SQS (AWS docs: SQS message quotas, ReceiveMessage, ChangeMessageVisibility). */
const quotas = { entries: 10, receive: 10, body_bytes: 2 ** 20, wait_seconds: 20, visibility_seconds: 43_200 };

/** Properties of a FIFO queue that are understood; one with a delay is not made here. */
const understood = [
  "QueueName",
  "FifoQueue",
  "ContentBasedDeduplication",
  "DeduplicationScope",
  "FifoThroughputLimit",
  "VisibilityTimeout",
  "MessageRetentionPeriod",
  "RedrivePolicy",
  "SqsManagedSseEnabled",
  "Tags",
];

/** Whether a queue of this name is a FIFO queue. */
export function isFifo(name: string): boolean {
  return name.endsWith(".fifo");
}

/**
 * The FIFO queues of a template, in this process: the JSON protocol of SQS with the rules of `FifoQueue`. What they
 * hold is kept when the runner stops; a crash loses it, as it may: the table knows what is due.
 */
export class FifoQueues {
  private readonly options: FifoQueuesOptions;
  private readonly clock: QueueClock;
  private readonly byName = new Map<string, Known>();

  constructor(options: FifoQueuesOptions) {
    this.options = options;
    this.clock = options.clock ?? realClock;
    const queues = options.resources.filter(({ type }) => type === "AWS::SQS::Queue");
    for (const resource of queues) {
      const name = resource.attributes["QueueName"] ?? "";
      if (isFifo(name) !== (resource.properties["FifoQueue"] === true)) {
        throw new AssemblyError(resource.path, "the name of a FIFO queue, and of no other, ends with .fifo");
      }
      if (isFifo(name)) this.byName.set(name, this.make(name, resource));
    }
  }

  /** Does a call that is allowed. Throws the AwsError of SQS. */
  async call(operation: string, body: Body): Promise<Body> {
    const name = String(body["QueueUrl"]).split("/").at(-1) ?? "";
    const known = this.byName.get(name);
    if (known === undefined) {
      throw new AwsError(400, "AWS.SimpleQueueService.NonExistentQueue", "The specified queue does not exist.");
    }
    switch (operation) {
      case "SendMessage":
        return this.sendOne(name, known, body);
      case "SendMessageBatch":
        return this.inBatch(body, (entry) => this.sendOne(name, known, entry));
      case "ReceiveMessage":
        return this.receive(name, known, body);
      case "DeleteMessage":
        return this.delete(name, known, body);
      case "DeleteMessageBatch":
        return this.inBatch(body, (entry) => this.delete(name, known, entry));
      case "ChangeMessageVisibility":
        return this.changeVisibility(name, known, body);
      case "ChangeMessageVisibilityBatch":
        return this.inBatch(body, (entry) => this.changeVisibility(name, known, entry));
      case "GetQueueAttributes":
        return { Attributes: this.attributesOf(known, body["AttributeNames"]) };
      case "PurgeQueue":
        known.queue.purge();
        return {};
      default:
        throw new AwsError(501, "NotImplemented", `The local runner does not know ${operation} of a FIFO queue.`);
    }
  }

  /** What the messages of a queue say that are not in flight; they stay where they are. */
  bodies(name: string): string[] {
    return (
      this.byName
        .get(name)
        ?.queue.waiting()
        .map(({ body }) => body) ?? []
    );
  }

  /** Keeps what the queues hold for the next run. */
  stop(): void {
    for (const { file, queue } of this.byName.values()) {
      file.value = queue.state;
      file.save();
    }
  }

  private make(name: string, { path, properties, attributes }: Resource): Known {
    const unknown = Object.keys(properties).find((property) => !understood.includes(property));
    if (unknown !== undefined) throw new AssemblyError(path, `${unknown} is not known for a FIFO queue`);
    const deduplication = properties["DeduplicationScope"] === "messageGroup" ? "messageGroup" : "queue";
    if (properties["FifoThroughputLimit"] === "perMessageGroupId" && deduplication === "queue") {
      throw new AssemblyError(path, "a throughput limit per message group needs deduplication per message group");
    }
    const redrive = isRecord(properties["RedrivePolicy"]) ? properties["RedrivePolicy"] : undefined;
    const dead =
      String(redrive?.["deadLetterTargetArn"] ?? "")
        .split(":")
        .at(-1) ?? "";
    if (redrive !== undefined && !isFifo(dead)) throw new AssemblyError(path, "its dead letters need a FIFO queue");
    const visibility_seconds = Number(properties["VisibilityTimeout"] ?? 30);
    const file = new StateFile<FifoState>(join(this.options.dataDir, "queues", `${name}.json`), {
      sequence: 0,
      messages: [],
      sent: [],
    });
    const settings = {
      visibility_ms: this.hiddenMs(visibility_seconds),
      retention_ms: Number(properties["MessageRetentionPeriod"] ?? 345_600) * 1000,
      deduplication,
      ...(redrive !== undefined && { max_receives: Number(redrive["maxReceiveCount"]) }),
    } as const;
    const arn = attributes["Arn"] ?? "";
    const bury = (message: FifoMessage) => this.bury(dead, { ...message, source_arn: arn });
    return {
      arn,
      queue: new FifoQueue(settings, this.clock, bury, file.value),
      content_based: properties["ContentBasedDeduplication"] === true,
      wait_seconds: Number(properties["ReceiveMessageWaitTimeSeconds"] ?? 0),
      visibility_seconds,
      file,
      waiting: new Set(),
    };
  }

  private bury(name: string, message: FifoMessage): void {
    const dead = this.byName.get(name);
    if (dead === undefined) throw new Error(`The dead letters of ${message.source_arn} have no queue.`);
    dead.queue.add(message);
    this.changed(name, dead);
  }

  /** There may be something to receive: ends the waits, and wakes the readers. */
  private changed(name: string, { waiting }: Known): void {
    for (const end of [...waiting]) end();
    this.options.arrived?.(name);
  }

  private sendOne(name: string, known: Known, message: Body): Body {
    const { MessageBody: body, MessageGroupId: group, MessageAttributes: attributes } = message;
    if (typeof body !== "string" || body === "") throw missing("MessageBody");
    if (Buffer.byteLength(body) > quotas.body_bytes) {
      throw invalid("One or more parameters are invalid. Reason: Message must be shorter than 1048576 bytes.");
    }
    if (message["DelaySeconds"] !== undefined) {
      const reason = "The request include parameter that is not valid for this queue type.";
      throw invalid(`Value ${message["DelaySeconds"]} for parameter DelaySeconds is invalid. Reason: ${reason}`);
    }
    if (typeof group !== "string" || group === "") throw missing("MessageGroupId");
    const given = message["MessageDeduplicationId"];
    const digest = createHash("sha256").update(body).digest("hex");
    const deduplication = given ?? (known.content_based ? digest : undefined);
    for (const [label, value] of [
      ["MessageGroupId", group],
      ["MessageDeduplicationId", deduplication],
    ] as const) {
      if (value !== undefined && !/^[!-~]{1,128}$/.test(String(value))) {
        throw invalid(`Value ${value} for parameter ${label} is invalid.`);
      }
    }
    if (deduplication === undefined) {
      const either = "ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly";
      throw invalid(`The queue should either have ${either}`);
    }
    const draft = { body, group, deduplication: String(deduplication) };
    const { id, sequence, isNew } = known.queue.send({ ...draft, ...(isRecord(attributes) && { attributes }) });
    if (isNew) this.changed(name, known);
    return { MessageId: id, MD5OfMessageBody: md5(body), SequenceNumber: sequence };
  }

  private async receive(name: string, known: Known, body: Body): Promise<Body> {
    if (body["ReceiveRequestAttemptId"] !== undefined) {
      throw new AwsError(501, "NotImplemented", "The local runner does not know ReceiveRequestAttemptId.");
    }
    const most = number(body, "MaxNumberOfMessages", 1, 1, quotas.receive);
    const seconds = number(body, "VisibilityTimeout", known.visibility_seconds, 0, quotas.visibility_seconds);
    const wait = number(body, "WaitTimeSeconds", known.wait_seconds, 0, quotas.wait_seconds);
    const until = this.clock.now() + wait * 1000;
    for (;;) {
      const hiddenMs = this.hiddenMs(seconds);
      const found = known.queue.receive(most, hiddenMs);
      if (found.length > 0) {
        // What is not deleted by then may be received again.
        this.clock.after(hiddenMs, () => this.changed(name, known));
        return { Messages: found.map(shown) };
      }
      const left = Math.min(until, known.queue.nextVisibleMs() ?? until) - this.clock.now();
      if (left <= 0) return {};
      await this.change(known, left);
    }
  }

  /** Resolves when a queue changes, or after so many milliseconds. */
  private change({ waiting }: Known, ms: number): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        cancel();
        waiting.delete(end);
        resolve();
      };
      const cancel = this.clock.after(ms, end);
      waiting.add(end);
    });
  }

  /** A visibility timeout in milliseconds, shortened by the time scale within its bound. */
  private hiddenMs(seconds: number): number {
    const { timeScale = 1 } = this.options;
    return Math.max(Math.min(seconds * 1000, leastHiddenMs), (seconds * 1000) / timeScale);
  }

  private delete(name: string, known: Known, { ReceiptHandle: handle }: Body): Body {
    if (known.queue.delete(String(handle)) === "expired") throw expired(handle);
    this.changed(name, known);
    return {};
  }

  private changeVisibility(name: string, known: Known, body: Body): Body {
    const seconds = number(body, "VisibilityTimeout", Number.NaN, 0, quotas.visibility_seconds);
    if (!known.queue.changeVisibility(String(body["ReceiptHandle"]), seconds * 1000)) {
      throw expired(body["ReceiptHandle"]);
    }
    this.changed(name, known);
    return {};
  }

  /** Does a call for each entry, in their order; one that is refused holds no other. */
  private inBatch({ Entries: given }: Body, act: (entry: Body) => Body): Body {
    const entries: Body[] = Array.isArray(given) ? given.filter(isRecord) : [];
    if (entries.length === 0) throw batchError("EmptyBatchRequest", "There should be at least one entry.");
    if (entries.length > quotas.entries) {
      throw batchError("TooManyEntriesInBatchRequest", `Maximum number of entries per request are ${quotas.entries}.`);
    }
    if (new Set(entries.map(({ Id }) => Id)).size < entries.length) {
      throw batchError("BatchEntryIdsNotDistinct", "Two or more batch entries have the same Id.");
    }
    const bytes = entries.reduce((sum, { MessageBody: body }) => sum + Buffer.byteLength(String(body ?? "")), 0);
    if (bytes > quotas.body_bytes) {
      throw batchError("BatchRequestTooLong", `Batch requests cannot be longer than ${quotas.body_bytes} bytes.`);
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

  private attributesOf({ arn, queue, visibility_seconds }: Known, names: unknown): Body {
    const all: Record<string, string> = {
      QueueArn: arn,
      FifoQueue: "true",
      VisibilityTimeout: String(visibility_seconds),
      ApproximateNumberOfMessages: String(queue.waiting().length),
      ApproximateNumberOfMessagesNotVisible: String(queue.inFlight),
      ApproximateNumberOfMessagesDelayed: "0",
    };
    const wanted: unknown[] = Array.isArray(names) ? names : [];
    if (wanted.includes("All")) return all;
    return Object.fromEntries(Object.entries(all).filter(([name]) => wanted.includes(name)));
  }
}

/** A message as ReceiveMessage shows it with all attributes. */
function shown(message: FifoMessage): Body {
  const { id, body, group, deduplication, sequence, sent_ms, receives, attributes, source_arn, lease } = message;
  return {
    MessageId: id,
    ReceiptHandle: lease?.handle,
    Body: body,
    MD5OfBody: md5(body),
    Attributes: {
      SenderId: "local",
      SentTimestamp: String(sent_ms),
      ApproximateReceiveCount: String(receives),
      ApproximateFirstReceiveTimestamp: String(message.first_received_ms),
      MessageGroupId: group,
      MessageDeduplicationId: deduplication,
      SequenceNumber: sequence,
      ...(source_arn !== undefined && { DeadLetterQueueSourceArn: source_arn }),
    },
    ...(attributes !== undefined && { MessageAttributes: attributes }),
  };
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

function expired(handle: unknown): AwsError {
  return invalid(`Value ${handle} for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired.`);
}

function batchError(code: string, text: string): AwsError {
  return new AwsError(400, `AWS.SimpleQueueService.${code}`, text);
}
