import { SendMessageBatchCommand, type SendMessageBatchRequestEntry, SQSClient } from "@aws-sdk/client-sqs";
import { limits } from "../limits.ts";
import { bounded, callHandler } from "./budget.ts";
import { pause } from "./clock.ts";
import { env } from "./env.ts";
import { chance } from "./ids.ts";
import { judged } from "./verdict.ts";

/** A queue that wakes the deliverer: first attempts, and retries after a minute, five minutes or longer. */
export type DeliveryQueue = keyof typeof env.queues;

/** Message of a queue: the attempt of a delivery that is due. Everything else is read when it is (ADR 0045). */
export interface DeliveryMessage {
  readonly tenant_id: string;
  readonly delivery_id: string;
  /** Number of the attempt, from 1. A message of an attempt that is over does nothing. */
  readonly attempt: number;
  /** How often the message went back because its endpoint was busy. */
  readonly returns: number;
  /** Event and endpoint of a delivery that may not be stored yet, by which its worker makes it (ADR 0045). */
  readonly event_id?: string;
  readonly endpoint_id?: string;
}

/** A message and how it is sent. */
export interface OutgoingDelivery {
  readonly body: DeliveryMessage;
  /** Message group: SQS keeps a group with many messages from delaying the others (AWS docs: fair queues). */
  readonly endpoint_id: string;
  /** Trace of the event, in the form of X-Ray. */
  readonly trace_id?: string | undefined;
  /** Whole seconds from 0 to 900 before anybody sees it, not yet shortened by a time scale; default 0. */
  readonly delay_seconds?: number;
}

/**
 * The queue that a message came from, by the ARN of its event source.
 * @throws Error for a queue that is none of ours
 */
export function queueOf(arn: string): DeliveryQueue {
  const name = arn.split(":").at(-1);
  const queue = deliveryQueues.find((each) => env.queues[each].split("/").at(-1) === name);
  if (queue === undefined) throw new Error(`The queue ${name} is none of the ladder.`);
  return queue;
}

const deliveryQueues = Object.keys(env.queues) as DeliveryQueue[];

const sqs = judged(bounded(new SQSClient({ maxAttempts: limits.calls.attempts, requestHandler: callHandler() })), []);

/** A message of any queue, and how it is sent. */
export interface OutgoingMessage {
  readonly body: object;
  /** Message group: SQS keeps a group with many messages from delaying the others (AWS docs: fair queues). */
  readonly group: string;
  /** Trace that the message belongs to, in the form of X-Ray; without it that of the sender counts. */
  readonly trace_id?: string | undefined;
  /** Whole seconds from 0 to 900 before anybody sees it, not yet shortened by a time scale; default 0. */
  readonly delay_seconds?: number;
  /**
   * For a FIFO queue alone, which takes no delay: the same for all tries of one send and of no other, since SQS drops
   * what has an identifier of the last five minutes.
   */
  readonly deduplication_id?: string;
}

/**
 * Sends messages, ten in a call. A message that SQS does not take is sent again; the same message may arrive twice.
 * Throws when some were not taken in the end: their deliveries are found by the time in their items.
 */
export async function sendDeliveries(queue: DeliveryQueue, messages: readonly OutgoingDelivery[]): Promise<void> {
  return sendMessages(env.queues[queue], messages.map(messageOf));
}

function messageOf({
  body: named,
  endpoint_id: group,
  trace_id,
  delay_seconds = 0,
}: OutgoingDelivery): OutgoingMessage {
  const { tenant_id, delivery_id, attempt, returns, event_id, endpoint_id } = named;
  return { body: { tenant_id, delivery_id, attempt, returns, event_id, endpoint_id }, group, trace_id, delay_seconds };
}

/**
 * Sends messages to the queue at an address, ten in a call and again what SQS does not take.
 * @throws Error when some were not taken in the end, after all the others were sent
 */
export async function sendMessages(url: string, messages: readonly OutgoingMessage[]): Promise<void> {
  const { batch_messages, parallel_batches } = limits.queues;
  const batches = chunks(messages.map(entryOf), batch_messages);
  for (const some of chunks(batches, parallel_batches)) {
    const results = await Promise.allSettled(some.map((batch) => sendBatch(url, batch)));
    const failed = results.find((result) => result.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }
}

function entryOf(message: OutgoingMessage, at: number): SendMessageBatchRequestEntry {
  const { body, group, trace_id, delay_seconds = 0, deduplication_id } = message;
  if (!Number.isInteger(delay_seconds) || delay_seconds < 0 || delay_seconds > limits.queues.max_delay_seconds) {
    throw new RangeError(`A message cannot be delayed by ${delay_seconds} s.`);
  }
  const entry = {
    Id: String(at),
    MessageBody: JSON.stringify(body),
    MessageGroupId: group,
    ...(trace_id !== undefined && { MessageSystemAttributes: traceHeader(trace_id) }),
  };
  if (deduplication_id !== undefined) return { ...entry, MessageDeduplicationId: deduplication_id };
  return { ...entry, DelaySeconds: delay_seconds };
}

/** SQS has this attribute alone; X-Ray joins the receiver's trace to it (AWS docs: message system attributes). */
function traceHeader(trace: string): SendMessageBatchRequestEntry["MessageSystemAttributes"] {
  return { AWSTraceHeader: { DataType: "String", StringValue: `Root=${trace}` } };
}

async function sendBatch(url: string, entries: readonly SendMessageBatchRequestEntry[]): Promise<void> {
  const { tries, retry_delay_min_ms, retry_delay_max_ms } = limits.queues;
  let left = entries;
  for (let tried = 1; ; tried += 1) {
    const { Failed: failed = [] } = await sqs.send(new SendMessageBatchCommand({ QueueUrl: url, Entries: [...left] }));
    if (failed.length === 0) return;
    const codes = [...new Set(failed.map(({ Code }) => Code))].join(", ");
    // A fault of the message itself is permanent.
    if (tried === tries || failed.some(({ SenderFault }) => SenderFault === true)) {
      throw new Error(`SQS did not take ${failed.length} of ${left.length} messages: ${codes}.`);
    }
    const ids = new Set(failed.map(({ Id }) => Id));
    left = left.filter(({ Id }) => ids.has(Id));
    await pause(chance() * Math.min(retry_delay_max_ms, retry_delay_min_ms * 2 ** tried));
  }
}

function chunks<T>(values: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(values.length / size) }, (_, at) => values.slice(at * size, (at + 1) * size));
}
