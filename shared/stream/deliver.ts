import { nowMs } from "../runtime/clock.ts";
import { causeOf, log } from "../runtime/log.ts";
import { type StreamCause, type StreamWake, sendStreamWakes, streamWakeOf } from "../runtime/stream-queue.ts";
import type { StateOrders } from "./set-reader.ts";
import { SetRun } from "./set-run.ts";

/** A message of the queue, as it was received. */
interface Received {
  readonly messageId: string;
  readonly body: string;
  /** `SentTimestamp`: epoch milliseconds. */
  readonly attributes?: { readonly SentTimestamp: string };
}

/** A set, and what woke it. */
interface Woken {
  readonly wake: StreamWake;
  readonly causes: Set<StreamCause>;
  readonly ids: string[];
  /** When the newest message was sent, in epoch milliseconds. */
  sent_ms: number;
}

/**
 * Serves the sets of connections that messages name, concurrently and each once. Returns the ids of the messages that
 * have to come again: of a set that could not be served. An unrecognised message is dropped and reported.
 */
export async function deliverStream(
  records: readonly Received[],
  orders: StateOrders,
  remainingMs: number,
): Promise<ReadonlySet<string>> {
  const until_ms = nowMs() + remainingMs;
  const failed = new Set<string>();
  const sets = new Map<string, Woken>();
  for (const { messageId, body, attributes } of records) {
    const wake = streamWakeOf(body);
    if (wake === undefined) {
      log.error("The stream received a message of an unknown form.", { message_id: messageId });
      continue;
    }
    const name = `${wake.tenant_id}#${wake.set}`;
    const known = sets.get(name) ?? { wake, causes: new Set(), ids: [], sent_ms: 0 };
    known.causes.add(wake.cause);
    known.ids.push(messageId);
    known.sent_ms = Math.max(known.sent_ms, Number(attributes?.SentTimestamp ?? Number.POSITIVE_INFINITY));
    sets.set(name, known);
  }
  const runs = [...sets.values()].map(async ({ wake: { tenant_id, set }, causes, ids, sent_ms }) => {
    try {
      const ended = await new SetRun({ tenant_id, set, causes, sent_ms, orders, until_ms }).serve();
      if (ended === "hand_over") await sendStreamWakes([{ tenant_id, set, cause: "handover" }]);
    } catch (error) {
      log.error("A set of connections could not be served; its message is received again.", {
        tenant_id,
        set,
        ...causeOf(error),
      });
      for (const id of ids) failed.add(id);
    }
  });
  await Promise.all(runs);
  return failed;
}
