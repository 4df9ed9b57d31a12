import type { DynamoDBRecord } from "aws-lambda";
import { limits } from "../limits.ts";
import { pause } from "../runtime/clock.ts";
import { env } from "../runtime/env.ts";
import { causeOf, log } from "../runtime/log.ts";
import { type Key, outboxes } from "../table/entities.ts";
import { sendOutboxKeys } from "./publishing-queue.ts";

/**
 * Tells the publisher of the outbox items that commits have inserted, and then waits for a moment, so that the next
 * batch of the shard fills: a few messages with many keys cost the publisher less than many with one. After a full
 * batch it does not wait, since more is there already. Returns the sequence numbers of the records that have to come
 * again.
 */
export async function routeOutbox(records: readonly DynamoDBRecord[]): Promise<ReadonlySet<string>> {
  const inserted = records.filter(
    ({ eventName, dynamodb }) => eventName === "INSERT" && dynamodb?.NewImage?.["et"]?.S === outboxes.et,
  );
  if (inserted.length === 0) return new Set();
  try {
    await sendOutboxKeys(inserted.map(({ dynamodb }) => keyOf(dynamodb?.NewImage)));
  } catch (error) {
    log.error("Outbox items could not be sent to the publisher.", { items: inserted.length, ...causeOf(error) });
    return new Set(inserted.map(({ dynamodb }) => dynamodb?.SequenceNumber ?? ""));
  }
  if (records.length < limits.events.routed_records) await pause(env.routerPauseMs);
  return new Set();
}

function keyOf(image: Readonly<Record<string, { readonly S?: string }>> | undefined): Key {
  return { pk: image?.["pk"]?.S ?? "", sk: image?.["sk"]?.S ?? "" };
}
