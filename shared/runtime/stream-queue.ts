import { env } from "./env.ts";
import { newId } from "./ids.ts";
import { sendMessages } from "./queues.ts";

const causes = ["published", "subscribed", "connected", "prices", "sweep", "handover"] as const;

/** Why the worker of the stream is to look at a set of connections. */
export type StreamCause = (typeof causes)[number];

/** Message of the FIFO queue of the stream. It only wakes: what is due to whom is in the tables. */
export interface StreamWake {
  readonly tenant_id: string;
  /** Number of the set, which with the tenant is the message group: one worker at a time has a set. */
  readonly set: number;
  readonly cause: StreamCause;
}

/**
 * Wakes the worker of the stream. Each message has a fresh deduplication id, which its retries keep: a set that is
 * woken twice within five minutes is looked at twice.
 * @throws Error when SQS did not take some of them in the end
 */
export function sendStreamWakes(wakes: readonly StreamWake[]): Promise<void> {
  const messages = wakes.map(({ tenant_id, set, cause }) => ({
    body: { tenant_id, set, cause },
    group: `${tenant_id}#${set}`,
    deduplication_id: newId("msg"),
  }));
  return sendMessages(env.streamQueueUrl, messages);
}

/** Reads a message of the queue; undefined for an unrecognised one. */
export function streamWakeOf(body: string): StreamWake | undefined {
  try {
    const { tenant_id, set, cause } = JSON.parse(body) as Partial<StreamWake>;
    if (typeof tenant_id !== "string" || !Number.isSafeInteger(set) || set === undefined || set < 0) return undefined;
    const known = causes.find((each) => each === cause);
    return known === undefined ? undefined : { tenant_id, set, cause: known };
  } catch {
    return undefined;
  }
}
