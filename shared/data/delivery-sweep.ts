import { DeleteCommand, QueryCommand, TransactWriteCommand, UpdateCommand } from "@aws-sdk/lib-dynamodb";
import { cancelled, type Delivery, isOpen, isWanted, messageOf, wakeUp } from "../domain/delivery.ts";
import type { WebhookEndpoint } from "../domain/webhook.ts";
import { limits } from "../limits.ts";
import { delayMs, nowIso, nowMs } from "../runtime/clock.ts";
import { env } from "../runtime/env.ts";
import { countMetric, log } from "../runtime/log.ts";
import { putCrash } from "./deliveries.ts";
import { isDue, overdue, type Swept } from "./due.ts";
import { deliveries, webhookHealths, webhooks } from "./entities.ts";
import { inParallel } from "./parallel.ts";
import { type DeliveryQueue, type OutgoingDelivery, sendDeliveries } from "./queues.ts";
import { readKeys } from "./store.ts";
import { table } from "./table.ts";
import { indexes } from "./table-shape.ts";
import { updateItem } from "./write.ts";

const { partition: duePk, sort: dueSk } = indexes.due;
const toRest = `SET wake_at = :wake REMOVE ${duePk}, ${dueSk}`;

/**
 * Wakes the deliveries that are due: those whose time comes within the horizon, and those whose message or worker was
 * lost. Each is put off and then sent, so two sweeps at once send it once. Returns how many messages were sent, and how
 * many deliveries could not be woken.
 */
export async function wakeDeliveries(goOn: () => boolean): Promise<Swept> {
  let [done, failed] = [0, 0];
  for await (const keys of overdue("DLV", goOn)) {
    // In small steps: what is put off and not sent, because the function ends, waits for its next wake.
    for (let start = 0; start < keys.length && goOn(); start += limits.events.due_page) {
      const found = await readKeys(keys.slice(start, start + limits.events.due_page));
      const due = (found as (Delivery | undefined)[]).filter(isDue);
      const messages: { queue: DeliveryQueue; message: OutgoingDelivery }[] = [];
      await inParallel(limits.webhooks.parallel_writes, due, async (delivery) => {
        const message = await putOff(delivery);
        if (message !== undefined) messages.push(message);
      }).catch((error: unknown) => {
        failed += 1;
        log.error("Deliveries could not be woken.", { error: (error as Error).name });
      });
      done += await sendAll(messages);
    }
  }
  return { done, failed };
}

/** Moves the wake of a delivery on, and returns the message to send if this sweep was the one that did so. */
async function putOff(delivery: Delivery): Promise<{ queue: DeliveryQueue; message: OutgoingDelivery } | undefined> {
  const wake = wakeUp(delivery, nowMs(), delayMs);
  const wakeAt = wake.do === "rest" ? null : wake.wake_at;
  const { due_pk, due_sk } = deliveries.indexesOf({ ...delivery, wake_at: wakeAt });
  const rest = wakeAt === null;
  try {
    await table.send(
      new UpdateCommand({
        TableName: env.tableName,
        Key: deliveries.keyOf(delivery),
        UpdateExpression: rest ? toRest : `SET wake_at = :wake, ${duePk} = :pk, ${dueSk} = :sk`,
        ConditionExpression: "wake_at = :before AND attempt = :attempt",
        ExpressionAttributeValues: {
          ":wake": wakeAt,
          ":before": delivery.wake_at,
          ":attempt": delivery.attempt,
          ...(rest ? {} : { ":pk": due_pk, ":sk": due_sk }),
        },
      }),
    );
  } catch (error) {
    if ((error as Error).name === "ConditionalCheckFailedException") return undefined;
    throw error;
  }
  if (wake.do !== "send") return undefined;
  return { queue: wake.queue, message: { ...messageOf(delivery), delay_seconds: wake.delay_seconds } };
}

async function sendAll(messages: readonly { queue: DeliveryQueue; message: OutgoingDelivery }[]): Promise<number> {
  let sent = 0;
  for (const queue of new Set(messages.map((each) => each.queue))) {
    const own = messages.filter((each) => each.queue === queue).map(({ message }) => message);
    try {
      await sendDeliveries(queue, own);
      sent += own.length;
    } catch (error) {
      countMetric("DeliveryMessageFailed");
      log.error("Deliveries wait for their next wake.", { deliveries: own.length, error: (error as Error).name });
    }
  }
  return sent;
}

/**
 * Cancels what was on its way to endpoints that were switched off or deleted, page by page within the function's time,
 * and ends an endpoint's wake when nothing is left. A worker that meets such a delivery cancels it too. Returns how
 * many deliveries were cancelled, and how many endpoints could not be dealt with.
 */
export async function cancelUnwanted(goOn: () => boolean): Promise<Swept> {
  let [done, failed] = [0, 0];
  for await (const keys of overdue("WEBHOOK", goOn)) {
    for (const endpoint of (await readKeys(keys)) as (WebhookEndpoint | undefined)[]) {
      if (!isDue(endpoint) || !goOn()) continue;
      try {
        done += await cancelOf(endpoint, goOn);
      } catch (error) {
        failed += 1;
        log.error("Deliveries could not be cancelled.", { endpoint_id: endpoint.id, error: (error as Error).name });
      }
    }
  }
  return { done, failed };
}

async function cancelOf(endpoint: WebhookEndpoint, goOn: () => boolean): Promise<number> {
  let count = 0;
  let left = false;
  const partitions = deliveries.ofEndpoint(endpoint.tenant_id, endpoint.id, ["pending", "retrying"]);
  for (const partition of partitions) {
    let start: Record<string, unknown> | undefined;
    do {
      const page = await openDeliveries(partition, start);
      const found = (await readKeys(page.keys)) as (Delivery | undefined)[];
      const unwanted = found.filter((item) => item !== undefined && isOpen(item) && !isWanted(item, endpoint));
      await inParallel(limits.webhooks.parallel_writes, unwanted as Delivery[], async (delivery) => {
        if (await cancel(delivery)) count += 1;
        else left = true;
      });
      start = page.next;
    } while (start !== undefined && goOn());
    left ||= start !== undefined;
  }
  await settle(endpoint, left);
  return count;
}

async function openDeliveries(partition: string, start: Record<string, unknown> | undefined) {
  const { name, partition: pk } = indexes.state;
  const answer = await table.send(
    new QueryCommand({
      TableName: env.tableName,
      IndexName: name,
      KeyConditionExpression: `${pk} = :partition`,
      ExpressionAttributeValues: { ":partition": partition },
      ExclusiveStartKey: start,
      Limit: limits.events.due_page,
    }),
  );
  const keys = (answer.Items ?? []).map((item) => ({ pk: String(item["pk"]), sk: String(item["sk"]) }));
  return { keys, next: answer.LastEvaluatedKey };
}

/** Cancels a delivery unless a worker has it; that one records its attempt first. */
async function cancel(delivery: Delivery): Promise<boolean> {
  const now = nowIso();
  if (delivery.lease_until !== null) {
    if (delivery.lease_until > now) return false;
    // Its worker died and may have posted: a call that was made is on record, however the delivery ends.
    await putCrash(delivery);
  }
  try {
    const change = updateItem(deliveries, delivery, cancelled(delivery, now));
    await table.send(new TransactWriteCommand({ TransactItems: [change] }));
    return true;
  } catch (error) {
    if ((error as Error).name !== "TransactionCanceledException") throw error;
    return false;
  }
}

/** Ends the endpoint's wake, or looks again in a while; one that was changed meanwhile stays due as it is. */
async function settle(endpoint: WebhookEndpoint, left: boolean): Promise<void> {
  const condition = {
    TableName: env.tableName,
    Key: webhooks.keyOf(endpoint),
    ConditionExpression: "version = :version AND wake_at = :before",
  };
  const values = { ":version": endpoint.version, ":before": endpoint.wake_at };
  const later = new Date(nowMs() + delayMs(limits.webhooks.lost_after_seconds)).toISOString();
  const { due_sk } = webhooks.indexesOf({ ...endpoint, wake_at: later });
  try {
    if (!left && endpoint.status === "deleted") {
      const { tenant_id, id } = endpoint;
      await table.send(new DeleteCommand({ TableName: env.tableName, Key: webhookHealths.key(tenant_id, id) }));
      await table.send(new DeleteCommand({ ...condition, ExpressionAttributeValues: values }));
      return;
    }
    await table.send(
      new UpdateCommand({
        ...condition,
        UpdateExpression: left
          ? `SET wake_at = :wake, ${dueSk} = :sk`
          : `SET wake_at = :wake REMOVE ${duePk}, ${dueSk}`,
        ExpressionAttributeValues: { ...values, ":wake": left ? later : null, ...(left ? { ":sk": due_sk } : {}) },
      }),
    );
  } catch (error) {
    if ((error as Error).name !== "ConditionalCheckFailedException") throw error;
  }
}
