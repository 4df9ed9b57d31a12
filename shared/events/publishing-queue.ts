import type { SQSRecord } from "aws-lambda";
import { limits } from "../limits.ts";
import { env } from "../runtime/env.ts";
import { newId } from "../runtime/ids.ts";
import { sendMessages } from "../runtime/queues.ts";
import type { Key } from "../table/entities.ts";

/** Message of the publisher's FIFO queue: outbox items of one tenant, which is the message group. */
interface PublishMessage {
  readonly tenant_id: string;
  /** Partition and sort key of each. */
  readonly keys: readonly (readonly [string, string])[];
}

/** A message as the publisher received it. */
export interface Wake {
  /** Id of the message. */
  readonly id: string;
  readonly tenant_id: string;
  readonly keys: readonly Key[];
  /** How often the message was received, this time included. */
  readonly receives: number;
}

/** The tenant of an item that is next to a resource: `brk_…#acc_…`. */
export function tenantIn({ pk }: Pick<Key, "pk">): string {
  return pk.slice(0, pk.indexOf("#"));
}

/**
 * Tells the publisher of outbox items, those of one tenant in their order. Each message has a fresh deduplication id,
 * which its retries keep: an id that a later message could bear would lose that message.
 * @throws Error when SQS did not take some of them in the end
 */
export async function sendOutboxKeys(keys: readonly Key[]): Promise<void> {
  const tenants = new Set(keys.map(tenantIn));
  const messages = [...tenants].flatMap((tenant) => {
    const own = keys.filter((key) => tenantIn(key) === tenant).map(({ pk, sk }) => [pk, sk] as const);
    const { keys_per_message: size } = limits.events;
    return Array.from({ length: Math.ceil(own.length / size) }, (_, at): PublishMessage => {
      return { tenant_id: tenant, keys: own.slice(at * size, (at + 1) * size) };
    });
  });
  await sendMessages(
    env.publishQueueUrl,
    messages.map((body) => ({ body, group: body.tenant_id, deduplication_id: newId("msg") })),
  );
}

/** Reads a message of the queue; undefined for an unrecognised one. */
export function wakeOf({ messageId: id, body, attributes }: SQSRecord): Wake | undefined {
  try {
    const { tenant_id, keys } = JSON.parse(body) as Partial<PublishMessage>;
    if (typeof tenant_id !== "string" || !Array.isArray(keys)) return undefined;
    const found = keys.map(([pk, sk]) => ({ pk, sk }));
    // An item of another tenant is not published under this one's number.
    if (found.some((key) => tenantIn(key) !== tenant_id)) return undefined;
    return { id, tenant_id, keys: found, receives: Number(attributes.ApproximateReceiveCount) };
  } catch {
    return undefined;
  }
}
