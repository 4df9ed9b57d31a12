import { createHash, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

/** A message as its sender gave it, with the queue it went to: the last part of the queue's address. */
export interface SentMessage {
  readonly queue: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly group: string | undefined;
  readonly delaySeconds: number | undefined;
  /** Identifier by which SQS drops repetitions; of FIFO queues. */
  readonly deduplication: string | undefined;
  /** The trace header of X-Ray that it was given. */
  readonly trace: string | undefined;
  /** When it was sent, in epoch milliseconds; absent for one that a test makes up. */
  readonly sent_ms?: number;
}

/** A SendMessageBatch on its way. */
export interface SendCall {
  readonly queue: string;
  readonly messages: readonly SentMessage[];
}

/** Act of a test on a call: messages refused by their place in it, or no call at all. */
export type SendFault =
  | undefined
  | { readonly refused: readonly number[]; readonly senderFault?: boolean }
  | "unavailable";

/** An address that takes messages as SQS does and remembers them, for handlers that run inside the test process. */
export interface QueueEndpoint {
  readonly endpoint: string;
  /** Environment of a function that sends to the queues of the ladder, or to that of margins, here. */
  readonly environment: Readonly<Record<string, string>>;
  /** Messages taken since the last time, in order of arrival. */
  readonly takeMessages: () => SentMessage[];
  /** The same of one queue; those of the others stay. */
  readonly takeFrom: (queue: string) => SentMessage[];
  /** Asked about every call. */
  interfere: (call: SendCall) => SendFault;
  readonly stop: () => Promise<void>;
}

interface Entry {
  readonly Id: string;
  readonly MessageBody: string;
  readonly MessageGroupId?: string;
  readonly DelaySeconds?: number;
  readonly MessageDeduplicationId?: string;
  readonly MessageSystemAttributes?: { readonly AWSTraceHeader?: { readonly StringValue: string } };
}

/** Starts it on a free port of the loopback. */
export async function startQueueEndpoint(): Promise<QueueEndpoint> {
  let taken: SentMessage[] = [];
  const watched = {
    interfere: (_call: SendCall): SendFault => undefined,
    takeMessages: () => taken.splice(0),
    takeFrom: (queue: string) => {
      const own = taken.filter((message) => message.queue === queue);
      taken = taken.filter((message) => message.queue !== queue);
      return own;
    },
  };
  const server = createServer((incoming, outgoing) => {
    textOf(incoming)
      .then((text) => {
        const { QueueUrl, Entries: entries } = JSON.parse(text) as { QueueUrl: string; Entries: Entry[] };
        const queue = QueueUrl.split("/").at(-1) ?? "";
        const messages = entries.map((entry) => messageOf(queue, entry));
        const fault = watched.interfere({ queue, messages });
        if (fault === "unavailable") {
          outgoing.writeHead(503, { "x-amzn-errortype": "ServiceUnavailable" }).end("{}");
          return;
        }
        const refused = new Set(fault?.refused);
        taken = [...taken, ...messages.filter((_, at) => !refused.has(at))];
        const answer = {
          Successful: entries.filter((_, at) => !refused.has(at)).map(successOf),
          Failed: entries
            .filter((_, at) => refused.has(at))
            .map(({ Id }) => ({ Id, Code: "InternalError", SenderFault: fault?.senderFault ?? false })),
        };
        outgoing.writeHead(200, { "content-type": "application/x-amz-json-1.0" }).end(JSON.stringify(answer));
      })
      .catch(() => outgoing.destroy());
  });
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const stop = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return Object.assign(watched, { endpoint, environment: environmentOf(endpoint), stop });
}

function environmentOf(endpoint: string): Record<string, string> {
  return {
    AWS_REGION: "eu-west-1",
    AWS_ACCESS_KEY_ID: "test",
    AWS_SECRET_ACCESS_KEY: "test",
    AWS_ENDPOINT_URL_SQS: endpoint,
    DELIVER_QUEUE_URL: `${endpoint}/000000000000/deliver`,
    DELIVER_UNPROVEN_QUEUE_URL: `${endpoint}/000000000000/deliver-unproven`,
    RETRY_1M_QUEUE_URL: `${endpoint}/000000000000/retry-1m`,
    RETRY_5M_QUEUE_URL: `${endpoint}/000000000000/retry-5m`,
    RETRY_LONG_QUEUE_URL: `${endpoint}/000000000000/retry-long`,
    MARGIN_QUEUE_URL: `${endpoint}/000000000000/margin`,
    PUBLISH_QUEUE_URL: `${endpoint}/000000000000/publish.fifo`,
    FAN_OUT_QUEUE_URL: `${endpoint}/000000000000/fan-out`,
    REFUSAL_QUEUE_URL: `${endpoint}/000000000000/refusals`,
    STREAM_QUEUE_URL: `${endpoint}/000000000000/stream.fifo`,
    ROUTER_PAUSE_MS: "0",
    TENANT_SLOTS: "15",
    POSTS_PER_SECOND: "3000",
  };
}

function messageOf(queue: string, entry: Entry): SentMessage {
  const { MessageBody, MessageGroupId: group, DelaySeconds: delaySeconds, MessageDeduplicationId } = entry;
  const trace = entry.MessageSystemAttributes?.AWSTraceHeader?.StringValue;
  return {
    queue,
    body: JSON.parse(MessageBody),
    group,
    delaySeconds,
    deduplication: MessageDeduplicationId,
    trace,
    sent_ms: Date.now(),
  };
}

function successOf({ Id, MessageBody }: Entry) {
  return { Id, MessageId: randomUUID(), MD5OfMessageBody: createHash("md5").update(MessageBody).digest("hex") };
}

async function textOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
