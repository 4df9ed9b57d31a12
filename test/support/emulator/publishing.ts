import { randomUUID } from "node:crypto";
import type { DynamoDBBatchResponse, DynamoDBStreamEvent, SQSEvent } from "aws-lambda";
import type { Emulator } from "./emulator.ts";
import type { QueueEndpoint, SentMessage } from "./queue-endpoint.ts";
import { itemsOf, type StreamRecord } from "./raw-table.ts";
import { lambdaContext } from "./request.ts";

const { handler: route } = await import("../../../functions/events/route.ts");
const { handler: publish } = await import("../../../functions/events/publish.ts");
const { handler: fanOut } = await import("../../../functions/events/fan-out.ts");

/** Most messages of a batch of a FIFO queue. */
const batchMessages = 10;

/** How often a message was received; the same for all, or for each. */
type Receives = number | ((message: SentMessage) => number);

/** Messages as a function receives them. */
function received(messages: readonly SentMessage[], receives: Receives = 1): SQSEvent {
  const count = (message: SentMessage) => String(typeof receives === "number" ? receives : receives(message));
  const records = messages.map((message) => ({
    messageId: randomUUID(),
    body: JSON.stringify(message.body),
    attributes: { ApproximateReceiveCount: count(message), MessageGroupId: message.group },
  }));
  return { Records: records } as unknown as SQSEvent;
}

/** Publishes what records of outbox items name, without queues; returns how many messages come again. */
export async function publishDirectly(records: readonly StreamRecord[]): Promise<number> {
  const keys = records.map(({ dynamodb: { NewImage: image } }) => [image?.["pk"]?.S ?? "", image?.["sk"]?.S ?? ""]);
  const tenants = new Set(keys.map(([pk = ""]) => pk.split("#")[0] ?? ""));
  let again = 0;
  for (const tenant_id of tenants) {
    const own = keys.filter(([pk]) => pk?.startsWith(`${tenant_id}#`));
    const body = { tenant_id, keys: own };
    const unset = { delaySeconds: undefined, deduplication: undefined, trace: undefined };
    const sent = { queue: "publish.fifo", group: tenant_id, ...unset };
    const { batchItemFailures: failed } = await publish(received([{ ...sent, body }]), lambdaContext(5000));
    again += failed.length;
  }
  return again;
}

/** Publishes all commits of a brokerage that wait, without queues. */
export async function publishWaiting(emulator: Emulator, tenant: string): Promise<void> {
  const waiting = await itemsOf(emulator, { type: "OUTBOX", tenant });
  const records = waiting.map(({ pk, sk }) => ({
    dynamodb: { NewImage: { pk: { S: String(pk) }, sk: { S: String(sk) } } },
  }));
  await publishDirectly(records as unknown as readonly StreamRecord[]);
}

/** The functions between the stream and the queues of deliveries, connected as their queues connect them. */
export function publishing({ queues }: { readonly queues: QueueEndpoint }) {
  /** Hands the publisher messages and returns those that come again. */
  const receive = async (
    messages: readonly SentMessage[],
    receives: Receives = 1,
    timeoutMs = 5000,
  ): Promise<SentMessage[]> => {
    const again: SentMessage[] = [];
    for (let at = 0; at < messages.length; at += batchMessages) {
      const some = messages.slice(at, at + batchMessages);
      const event = received(some, receives);
      const { batchItemFailures: failed } = await publish(event, lambdaContext(timeoutMs));
      const ids = new Set(failed.map(({ itemIdentifier }) => itemIdentifier));
      again.push(...some.filter((_, place) => ids.has(event.Records[place]?.messageId ?? "")));
    }
    return again;
  };
  /** Creates what waits in the queue of events with many deliveries; throws when a message of it comes again. */
  const fanOutQueued = async (): Promise<void> => {
    const messages = queues.takeFrom("fan-out");
    if (messages.length === 0) return;
    const { batchItemFailures: failed } = await fanOut(received(messages));
    if (failed.length > 0) throw new Error(`${failed.length} messages of the fan-out come again.`);
  };
  /** The messages that the router sends for records; throws when a record comes again. */
  const routed = async (records: readonly unknown[]): Promise<SentMessage[]> => {
    const { batchItemFailures: failed } = await route({ Records: records } as unknown as DynamoDBStreamEvent);
    if (failed.length > 0) throw new Error(`${failed.length} records come again.`);
    return queues.takeFrom("publish.fifo");
  };
  return {
    routed,
    receive,
    fanOutQueued,
    /** Takes messages of the router or a sweep all the way; returns those that come again. */
    publishSent: async (receives = 1): Promise<SentMessage[]> => {
      const again = await receive(queues.takeFrom("publish.fifo"), receives);
      await fanOutQueued();
      return again;
    },
    /** Records of the stream, all the way. Names the records that come again: all, where a message does. */
    publish: async (records: readonly unknown[], receives = 1): Promise<DynamoDBBatchResponse> => {
      const again = await receive(await routed(records), receives);
      await fanOutQueued();
      return { batchItemFailures: again.map((_, at) => ({ itemIdentifier: String(at) })) };
    },
  };
}
