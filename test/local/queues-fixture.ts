import { afterAll, afterEach } from "vitest";
import type { FunctionDefinition, InvocationOutcome } from "../../infra/local/functions/functions.ts";
import { Guard } from "../../infra/local/guard.ts";
import { type BatchChange, QueuePoller, type QueueRecord, queueMapping } from "../../infra/local/queues/pollers.ts";
import { Queues } from "../../infra/local/queues/queues.ts";
import type { Resource } from "../../infra/local/template/assembly.ts";
import { eventually } from "../support/wait.ts";
import { temporaryFolder } from "./fixture.ts";

export const region = "eu-west-1";

/** Business delays are so much shorter in this file. */
export const timeScale = 600;

function queueNamed(name: string, properties: Record<string, unknown>): Resource {
  const attributes = { Arn: arnOf(name), QueueName: name };
  return { path: `test/${name}`, type: "AWS::SQS::Queue", physical_id: name, properties, attributes };
}

export function arnOf(name: string): string {
  return `arn:aws:sqs:${region}:000000000000:${name}`;
}

const redrive = { deadLetterTargetArn: arnOf("dead"), maxReceiveCount: 2 };

export const resources = [
  queueNamed("dead", {}),
  queueNamed("order.fifo", { FifoQueue: true, VisibilityTimeout: 3 }),
  queueNamed("windowed", { VisibilityTimeout: 30 }),
  queueNamed("waiting", { VisibilityTimeout: 1, DelaySeconds: 60 }),
  ...Array.from({ length: 32 }, (_, at) => queueNamed(`q${at}`, { VisibilityTimeout: 1, RedrivePolicy: redrive })),
];

export const target: FunctionDefinition = {
  name: "worker",
  arn: "arn:aws:lambda:eu-west-1:000000000000:function:worker",
  role_arn: "",
  asset: "",
  handler: "",
  environment: {},
  memory_mb: 128,
  timeout_seconds: 1,
};

type Handler = (
  bodies: string[],
  records: readonly QueueRecord[],
  trace: string,
) => InvocationOutcome | Promise<InvocationOutcome>;

export const nothing: InvocationOutcome = { payload: undefined };

export const failAll: InvocationOutcome = { payload: { errorType: "Error" }, functionError: "Unhandled" };

export const reporting = { FunctionResponseTypes: ["ReportBatchItemFailures"] };

/** The properties of a mapping of a queue, whose reader is not started. */
export function mappingOf(queue: string, properties: Record<string, unknown> = {}, definition = target) {
  const given = { FunctionName: "worker", EventSourceArn: arnOf(queue), ...properties };
  const resource = { path: "test/Mapping", type: "", physical_id: "m", properties: given, attributes: {} };
  return queueMapping(resource, resources, () => definition);
}

/**
 * The queues of one test file, which calls this when it is loaded: files of one worker share this module, and each
 * ends its own queues.
 */
export function localQueues() {
  const folder = temporaryFolder();
  const guard = new Guard();
  const pollers = new Set<QueuePoller>();
  const queues = new Queues({
    ...{ resources, dataDir: folder.path, timeScale },
    arrived: (queue) => {
      for (const poller of pollers) if (poller.queue === queue) poller.wake();
    },
  });
  let count = 0;

  afterAll(async () => {
    queues.stop();
    await guard.stop();
    folder.remove();
  });
  afterEach(async () => {
    await Promise.all([...pollers].map((poller) => poller.stop()));
    pollers.clear();
  });

  /** A queue of its own that no other test uses. */
  function newQueue(): string {
    const name = `q${count}`;
    count += 1;
    if (!queues.names.includes(name)) throw new Error("There are too few queues.");
    return name;
  }

  /** Reads a queue by a function that is given, and remembers what it was handed. */
  function read(
    queue: string,
    properties: Record<string, unknown>,
    handler: Handler,
    { change, definition }: { readonly change?: BatchChange; readonly definition?: FunctionDefinition } = {},
  ) {
    const batches: string[][] = [];
    const records: QueueRecord[] = [];
    const poller = new QueuePoller(mappingOf(queue, properties, definition), {
      queues,
      region,
      change,
      invoke: async (_, event, trace) => {
        const { Records } = event as { Records: QueueRecord[] };
        const bodies = Records.map(({ body }) => body);
        batches.push(bodies);
        records.push(...Records);
        return handler(bodies, Records, trace);
      },
    });
    pollers.add(poller);
    poller.wake();
    return { batches, records, poller };
  }

  async function send(queue: string, ...bodies: string[]): Promise<void> {
    const Entries = bodies.map((MessageBody, at) => ({ Id: String(at), MessageBody }));
    await queues.call("SendMessageBatch", { QueueUrl: queue, Entries });
  }

  /** Waits until a queue holds nothing more. */
  function emptied(queue: string): Promise<true> {
    return eventually(() => {
      const { visible, in_flight, delayed } = queues.counts(queue);
      return visible + in_flight + delayed === 0 ? true : undefined;
    });
  }

  return { queues, guard, newQueue, read, send, emptied };
}

/** Ids of the messages that a report names as failed. */
export const report = (records: readonly QueueRecord[], bodies: readonly string[]): InvocationOutcome => ({
  payload: {
    batchItemFailures: records
      .filter(({ body }) => bodies.includes(body))
      .map(({ messageId }) => ({ itemIdentifier: messageId })),
  },
});
