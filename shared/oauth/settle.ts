import type { DynamoDBBatchResponse, DynamoDBStreamEvent } from "aws-lambda";
import type { Application } from "../domain/records/application.ts";
import type { OperatorKey } from "../domain/records/operator.ts";
import { limits } from "../limits.ts";
import { failuresOf } from "../runtime/batch.ts";
import { nowMs } from "../runtime/clock.ts";
import { causeOf, log } from "../runtime/log.ts";
import { overdueKeys } from "../table/due.ts";
import type { Key } from "../table/entities.ts";
import { readKeys } from "../table/store.ts";
import { applicationType, operatorKeyType, operatorType } from "../table/table-shape.ts";
import { gatewayKeyOf } from "./application-draws.ts";
import { writeSettled, writeSettledKey } from "./application-items.ts";
import { ensureGatewayKey, removeGatewayKeys } from "./gateway-key.ts";
import { settleOperator } from "./operator-items.ts";

/** Closes what the stream has open of an application or operator whose access has ended; it does not fail. */
export type EndStreams = (holder: { readonly tenant_id: string; readonly id: string }) => Promise<void>;

/** Settles everything that waits for it by now. Failures are logged and wait for the next run. */
export async function reconcile(
  endStreams: EndStreams,
): Promise<{ readonly settled: number; readonly failed: number }> {
  const keys = await overdueKeys("APP");
  const failed = await settleAll(keys, endStreams);
  return { settled: keys.length - failed.length, failed: failed.length };
}

/** Settles what these records of the stream show; names the records of those that fail. */
export async function settleRecords(
  { Records: records }: DynamoDBStreamEvent,
  endStreams: EndStreams,
): Promise<DynamoDBBatchResponse> {
  const waiting = records.flatMap(({ dynamodb }) =>
    dynamodb?.NewImage === undefined
      ? []
      : [
          {
            number: dynamodb.SequenceNumber ?? "",
            key: { pk: dynamodb.Keys?.["pk"]?.S ?? "", sk: dynamodb.Keys?.["sk"]?.S ?? "" },
          },
        ],
  );
  const failed = await settleAll(
    waiting.map(({ key }) => key),
    endStreams,
  );
  return failuresOf(waiting.filter(({ key }) => failed.includes(key)).map(({ number }) => number));
}

/** How what waits is settled, by the sort key of its kind. */
const settlers: Readonly<Record<string, (key: Key, endStreams: EndStreams) => Promise<void>>> = {
  [applicationType]: settleApplication,
  [operatorKeyType]: settleOperatorKey,
  [operatorType]: settleOperator,
};

/** Settles these one after the other, since the gateway makes five keys a second; returns those that fail. */
async function settleAll(keys: readonly Key[], endStreams: EndStreams): Promise<readonly Key[]> {
  const failed: Key[] = [];
  for (const key of keys) {
    try {
      await settlers[key.sk]?.(key, endStreams);
    } catch (error) {
      failed.push(key);
      log.error("An API key could not be provisioned; the sweep retries it.", { key: key.pk, ...causeOf(error) });
    }
  }
  return failed;
}

/**
 * Makes the API key of an active application, or removes that of a revoked one, and notes that it is done. A change of
 * the application meanwhile makes it start over, so that a key which was made for an application that was just revoked
 * is removed again.
 * @throws Error when the gateway refuses, or the application changes all the time
 */
export async function settleApplication(key: Key, endStreams?: EndStreams): Promise<void> {
  let made = false;
  for (let attempt = 0; attempt < limits.commit.conflict_tries; attempt += 1) {
    const [found] = await readKeys([key]);
    const application = found as Application | undefined;
    if (application === undefined) return;
    const { status, wake_at } = application;
    const dueMs = nowMs() + limits.applications.clock_skew_seconds * 1000;
    const waits = wake_at !== null && Date.parse(wake_at) <= dueMs;
    if (!waits && !(made && status === "revoked")) return;
    if (status === "revoked") {
      await endStreams?.(application);
      await removeGatewayKeys(application.id);
    }
    const id = status === "revoked" ? null : await ensureGatewayKey(application.id, gatewayKeyOf(application));
    made = id !== null;
    const settled = { ...application, api_key_id: id, wake_at: status === "revoked" ? lookAgainAt(application) : null };
    if (!waits || (await writeSettled(application, settled))) return;
  }
  throw new Error("The application changes all the time.");
}

/**
 * Makes the API key of the operators of a brokerage, and notes that it is done.
 * @throws Error when the gateway refuses
 */
async function settleOperatorKey(key: Key): Promise<void> {
  const [found] = await readKeys([key]);
  const waiting = found as OperatorKey | undefined;
  if (waiting === undefined || waiting.wake_at === null) return;
  const api_key_id = await ensureGatewayKey(waiting.id, gatewayKeyOf(waiting));
  // Only another run of this function changes the item: it made the same key.
  await writeSettledKey(waiting, { ...waiting, api_key_id, wake_at: null });
}

/** A run that was making the key while the application was revoked may end, or die, after this one: look once more. */
function lookAgainAt({ revoked_at }: Application): string | null {
  const againMs = Date.parse(revoked_at ?? "") + limits.applications.key_settled_seconds * 1000;
  return againMs > nowMs() ? new Date(againMs).toISOString() : null;
}
