import type { DynamoDBBatchResponse, DynamoDBStreamEvent } from "aws-lambda";
import type { Application } from "../domain/application.ts";
import { limits } from "../limits.ts";
import { failuresOf } from "../runtime/batch.ts";
import { nowMs } from "../runtime/clock.ts";
import { log } from "../runtime/log.ts";
import { overdueKeys } from "../table/due.ts";
import { applications, type Key } from "../table/entities.ts";
import { readKeys } from "../table/store.ts";
import { readRawItem } from "../table/table.ts";
import { gatewayKeyOf } from "./application-draws.ts";
import { writeSettled } from "./application-items.ts";
import { ensureGatewayKey, removeGatewayKeys } from "./gateway-key.ts";

/** Settles every application that waits for it by now. One that fails is logged and waits for the next run. */
export async function reconcileApplications(): Promise<{ readonly settled: number; readonly failed: number }> {
  const keys = await overdueKeys("APP");
  const failed = await settleApplications(keys);
  return { settled: keys.length - failed.length, failed: failed.length };
}

/** Settles the applications that these records of the stream show; names the records of those that fail. */
export async function settleRecords({ Records: records }: DynamoDBStreamEvent): Promise<DynamoDBBatchResponse> {
  const waiting = records.flatMap(({ dynamodb }) =>
    dynamodb?.NewImage === undefined
      ? []
      : [
          {
            number: dynamodb.SequenceNumber ?? "",
            key: applications.keyOf(readRawItem<Application>(dynamodb.NewImage)),
          },
        ],
  );
  const failed = await settleApplications(waiting.map(({ key }) => key));
  return failuresOf(waiting.filter(({ key }) => failed.includes(key)).map(({ number }) => number));
}

/** Settles these one after the other, since the gateway makes five keys a second; returns those that fail. */
async function settleApplications(keys: readonly Key[]): Promise<readonly Key[]> {
  const failed: Key[] = [];
  for (const key of keys) {
    try {
      await settleApplication(key);
    } catch (error) {
      failed.push(key);
      log.error("API key provisioning is pending.", { key: key.pk, error: (error as Error).name });
    }
  }
  return failed;
}

/**
 * Makes the API key of an active application, or removes that of a revoked one, and notes that it is done. What changed
 * the application meanwhile makes it start over, so that a key which was made for an application that was just revoked
 * is removed again.
 * @throws Error when the gateway refuses, or the application changes all the time
 */
export async function settleApplication(key: Key): Promise<void> {
  let made = false;
  for (let attempt = 0; attempt < limits.commit.conflict_tries; attempt += 1) {
    const [found] = await readKeys([key]);
    const application = found as Application | undefined;
    if (application === undefined) return;
    const { status, wake_at } = application;
    const dueMs = nowMs() + limits.applications.clock_skew_seconds * 1000;
    const waits = wake_at !== null && Date.parse(wake_at) <= dueMs;
    if (!waits && !(made && status === "revoked")) return;
    if (status === "revoked") await removeGatewayKeys(application.id);
    const id = status === "revoked" ? null : await ensureGatewayKey(application.id, gatewayKeyOf(application));
    made = id !== null;
    const settled = { ...application, api_key_id: id, wake_at: status === "revoked" ? lookAgainAt(application) : null };
    if (!waits || (await writeSettled(application, settled))) return;
  }
  throw new Error("The application changes all the time.");
}

/** A run that was making the key while the application was revoked may end, or die, after this one: look once more. */
function lookAgainAt({ revoked_at }: Application): string | null {
  const againMs = Date.parse(revoked_at ?? "") + limits.applications.key_settled_seconds * 1000;
  return againMs > nowMs() ? new Date(againMs).toISOString() : null;
}
