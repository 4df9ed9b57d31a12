import { gzipSync } from "node:zlib";
import { canonicalJson } from "../domain/audit/canonical-json.ts";
import { afterStep, claimed, failed, faultOf, type JobStep, succeeded } from "../domain/jobs/job.ts";
import type { Context } from "../domain/kernel/decision.ts";
import type { Decision } from "../domain/records/change.ts";
import type { Job, StoredFile } from "../domain/records/job.ts";
import { limits } from "../limits.ts";
import { nowMs } from "../runtime/clock.ts";
import { sha256 } from "../runtime/digest.ts";
import { env } from "../runtime/env.ts";
import { newId } from "../runtime/ids.ts";
import { causeOf, countMetric, log } from "../runtime/log.ts";
import { putObject } from "../runtime/objects.ts";
import { outboxOf } from "../table/audit/announcement.ts";
import { systemContext } from "../table/context.ts";
import { dueItems, isDue, overdueKeys, type SweepResult } from "../table/due.ts";
import { jobs, ulidOf } from "../table/entities.ts";
import { changeVersion } from "../table/items.ts";
import { wasReset } from "../table/resets.ts";
import { reasonsOf, transact } from "../table/transact.ts";
import { writeOf } from "../table/write.ts";
import type { ExportType } from "./export-type.ts";
import { accountExport } from "./types/accounts.ts";
import { balanceExport } from "./types/balances.ts";
import { clientExport } from "./types/clients.ts";
import { eventExport } from "./types/events.ts";
import { ledgerExport } from "./types/ledger.ts";
import { tradeExport } from "./types/trades.ts";
import { transactionExport } from "./types/transactions.ts";

const types: Readonly<Record<Job["type"], ExportType>> = {
  transactions: transactionExport,
  trades: tradeExport,
  clients: clientExport,
  accounts: accountExport,
  ledger: ledgerExport,
  balances: balanceExport,
  events: eventExport,
};

/**
 * Works on the jobs that are due, one step of each in turn and some at the same time, so that no brokerage waits for
 * the large export of another. Returns how many steps were done, and how many failed; those are due again.
 */
export async function runJobs(hasTime: () => boolean): Promise<SweepResult> {
  const { items, unreadable } = await dueItems(jobs, await overdueKeys("JOB"));
  const waiting = items.filter(isDue);
  if (waiting.some(isLate)) countMetric("JobFailed");
  const result = { done: 0, failed: unreadable };
  const workInTurn = async () => {
    for (let job = waiting.shift(); job !== undefined && hasTime(); job = waiting.shift()) {
      try {
        const after = await runStep(job);
        if (after !== undefined) result.done += 1;
        if (isDue(after)) waiting.push(after);
      } catch (error) {
        result.failed += 1;
        log.error("A step of a job failed.", { job_id: job.id, ...causeOf(error) });
      }
    }
  };
  await Promise.all(Array.from({ length: limits.jobs.parallel }, workInTurn));
  return result;
}

function isLate({ wake_at }: Job): boolean {
  return wake_at !== null && Date.parse(wake_at) < nowMs() - limits.jobs.late_after_seconds * 1000;
}

/**
 * One step of a job: it is claimed, read on from its position, written under a key of its own, and finished, claim and
 * finish on the version of the job. One that dies is done again, and one that comes late changes nothing. Undefined
 * where another worker is at the job, or where it was cancelled.
 */
async function runStep(job: Job): Promise<Job | undefined> {
  const context = systemContext(job.tenant_id, "jobs");
  const fault = (await resetFault(job)) ?? faultOf(job, context);
  if (fault !== null) return fail(job, fault, context);
  const own = claimed(job, context);
  if (!(await changeVersion(jobs, job, own, "refused"))) return undefined;
  const step = await readStep(own);
  const finish = systemContext(job.tenant_id, "jobs");
  const removed = await resetFault(own);
  if (removed !== null) return fail(own, removed, finish);
  const after = afterStep(own, step, finish);
  if (step.position !== null) return (await changeVersion(jobs, own, after, "refused")) ? after : undefined;
  return commit(succeeded(own, after, await putManifest(after, finish.now), finish), finish);
}

/** Asked last too: a reset that begins later has removed nothing of what was read. */
async function resetFault({ tenant_id, created_at }: Job): Promise<Job["error"]> {
  if (!(await wasReset(tenant_id, created_at))) return null;
  return { code: "sandbox_reset", detail: "The sandbox was reset." };
}

function fail(job: Job, error: NonNullable<Job["error"]>, context: Context): Promise<Job | undefined> {
  if (error.code !== "sandbox_reset") countMetric("JobFailed");
  return commit(failed(job, error, context), context);
}

/** Commits the end of a job with its event; undefined where the job has another version by now. */
async function commit(
  { result, changes, events }: Extract<Decision<Job>, { ok: true }>,
  context: Context,
): Promise<Job | undefined> {
  const members = changes.map((change) => writeOf(change, context.tenant_id));
  try {
    // Jobs of one brokerage that end at once meet at the number of its jobs.
    await transact([...members, ...outboxOf(events, context)]);
    return result;
  } catch (error) {
    if (reasonsOf(error).some(({ Code }) => Code === "ConditionalCheckFailed")) return undefined;
    throw error;
  }
}

/** Reads rows until a file is full or the time of a step is over, and puts them. */
async function readStep(job: Job): Promise<JobStep> {
  const { format, read } = types[job.type];
  const { head, line, extension, content_type } = format(job);
  const ends = nowMs() + limits.jobs.step_ms;
  const texts: string[] = [head];
  let [bytes, rows, unreadable, share] = [Buffer.byteLength(head), 0, 0, 0];
  let position = job.position;
  do {
    const page = await read(job, position);
    const text = page.rows.map(line).join("");
    const size = Buffer.byteLength(text);
    if (rows > 0 && bytes + size > limits.jobs.max_file_bytes) break;
    texts.push(text);
    bytes += size;
    rows += page.rows.length;
    unreadable += page.unreadable;
    ({ next: position, share } = page);
  } while (position !== null && nowMs() < ends);
  const percent = Math.floor(100 * share);
  const isEmpty = rows === 0 && (position !== null || job.files.length > 0);
  if (isEmpty) return { position, percent, unreadable, file: undefined };
  const isWhole = position === null && job.files.length === 0 && bytes < limits.jobs.uncompressed_bytes;
  const text = Buffer.from(texts.join(""));
  const content = isWhole ? text : gzipSync(text);
  const number = String(job.files.length + 1).padStart(3, "0");
  const name = `${job.type}-${job.as_of.slice(0, 10).replaceAll("-", "")}-${number}.${extension}`;
  const type = isWhole ? content_type : "application/gzip";
  const file = await putFile(job, { name: isWhole ? name : `${name}.gz`, number, rows }, content, type);
  return { position, percent, unreadable, file };
}

/** Each write has a key of its own: a worker that comes late replaces no file whose hash is committed. */
async function putFile(
  { tenant_id, id }: Job,
  { number, ...file }: Pick<StoredFile, "name" | "rows"> & { readonly number: string },
  content: Uint8Array,
  content_type: string,
): Promise<StoredFile> {
  const key = `${tenant_id}/${id}/${number}-${ulidOf(newId("fil"))}`;
  await putObject({ bucket: env.exportBucketName, key }, content, content_type);
  return { ...file, key, bytes: content.byteLength, sha256: sha256(content) };
}

/** The manifest names each file with its hash: by its own hash the whole result is known. */
async function putManifest(job: Job, read_to: string): Promise<NonNullable<Job["manifest"]>> {
  const { id, type, parameters, as_of, started_at: read_from, unreadable } = job;
  const files = job.files.map(({ key: _key, ...file }) => file);
  const rows = files.reduce((sum, file) => sum + file.rows, 0);
  const content = canonicalJson({ job_id: id, type, parameters, as_of, read_from, read_to, rows, unreadable, files });
  const place = { name: "manifest.json", number: "manifest", rows: 0 };
  const { key, sha256: hash } = await putFile(job, place, Buffer.from(content), "application/json");
  return { key, sha256: hash };
}
