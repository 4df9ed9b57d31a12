import { limits } from "../../limits.ts";
import type { CreateJob, JobBody } from "../../schema/jobs/job.ts";
import type { Scope } from "../../schema/scope.ts";
import {
  type Context,
  type DomainEvent,
  later,
  refuse,
  refuseField,
  refuseScope,
  unchanged,
} from "../kernel/decision.ts";
import type { Change, Decision } from "../records/change.ts";
import type { Job, JobCount, StoredFile } from "../records/job.ts";

/** Scope that reads the rows of each type. */
const rowScopes: Readonly<Record<Job["type"], Scope>> = {
  transactions: "transactions:read",
  trades: "trading:read",
  clients: "clients:read",
  accounts: "accounts:read",
  ledger: "accounts:read",
  balances: "accounts:read",
  events: "events:read",
};

/** The refusal of a caller who may not read the rows of a job; undefined for one who may. */
function refuseRows({ type, parameters }: Pick<Job, "type" | "parameters">, { scopes }: Context) {
  const named: readonly Scope[] = parameters.include_names === true ? ["clients:read", "accounts:read"] : [];
  const missing = [rowScopes[type], ...named].find((scope) => !scopes.includes(scope));
  return missing && refuseScope(missing);
}

/** Decides `POST /jobs`. The count changes on conditions, so its bounds hold for any number of requests at once. */
export function startJob(request: CreateJob, count: JobCount | undefined, context: Context): Decision<Job> {
  const { type, parameters } = request;
  const refused = refuseRows(request, context) ?? refuseMoment(request, context);
  if (refused !== undefined) return refused;
  const counted = countStart(count, context);
  if (counted === undefined) {
    const { max_open, max_per_day } = limits.jobs;
    const detail = `At most ${max_open} jobs may be unfinished, and ${max_per_day} started on a day (UTC).`;
    return refuse("too_many_jobs", detail);
  }
  const isList = type !== "ledger" && type !== "balances" && type !== "events";
  const job: Job = {
    id: context.newId("job"),
    tenant_id: context.tenant_id,
    type,
    status: "queued",
    parameters,
    error: null,
    as_of: context.now,
    created_by: context.actor.id,
    started_at: null,
    completed_at: null,
    downloads: 0,
    files: [],
    percent: 0,
    unreadable: 0,
    position: null,
    tries: 0,
    // Rows that were made before may be committed later, and lists follow their indexes: a minute later all are seen.
    wake_at: isList ? context.in(limits.jobs.lists_settle_seconds) : context.now,
    expires_at: Math.floor(Date.parse(context.now) / 1000) + limits.jobs.kept_seconds,
    created_at: context.now,
    updated_at: context.now,
    version: 1,
  };
  return { ok: true, result: job, changes: [{ op: "create", entity: "job", item: job }, counted], events: [] };
}

/** Entries of the last minutes may still be committed: what was exact once must be so for ever. */
function refuseMoment(request: CreateJob, { in: after }: Context) {
  const member = request.type === "ledger" ? "to" : request.type === "balances" ? "at" : undefined;
  if (member === undefined) return undefined;
  const moment = request.parameters[member] ?? "";
  if (Date.parse(moment) <= Date.parse(after(-limits.audit.sealed_after_seconds))) return undefined;
  const minutes = limits.audit.sealed_after_seconds / 60;
  return refuseField("instant_too_recent", `parameters/${member}`, `must be at least ${minutes} minutes ago`);
}

/** The change of the count by another job; undefined where there are too many. */
function countStart(count: JobCount | undefined, { tenant_id, now }: Context): Change | undefined {
  const day = now.slice(0, 10);
  const { max_open, max_per_day } = limits.jobs;
  if (count === undefined) {
    return { op: "create", entity: "job_count", item: { tenant_id, open: 1, day, started: 1 } satisfies JobCount };
  }
  const isToday = count.day === day;
  if (count.open >= max_open || (isToday && count.started >= max_per_day)) return undefined;
  const open = { attribute: "open", is: "below", value: max_open } as const;
  const sameDay = { attribute: "day", is: "equal", value: count.day } as const;
  const change = { op: "adjust", entity: "job_count", id: tenant_id } as const;
  return isToday
    ? {
        ...{ ...change, add: { open: 1, started: 1 } },
        require: [open, sameDay, { attribute: "started", is: "below", value: max_per_day }],
      }
    : { ...change, set: { day, started: 1 }, add: { open: 1 }, require: [open, sameDay] };
}

const finals: ReadonlySet<Job["status"]> = new Set(["succeeded", "failed", "cancelled"]);

/** Decides `POST /jobs/{id}/cancel`: a worker that is at it finds another version, and what it wrote is of no job. */
export function cancelJob(job: Job, context: Context): Decision<Job> {
  if (job.status === "cancelled") return unchanged(job);
  if (finals.has(job.status)) {
    return refuse("illegal_transition", "A job that has ended cannot be cancelled.", { extra: { allowed: [] } });
  }
  return ended(job, { status: "cancelled" }, context);
}

/** Decides `POST /jobs/{id}/links`: it counts that links are given out. */
export function giveLinks(job: Job, context: Context): Decision<Job> {
  const refused = refuseRows(job, context);
  if (refused !== undefined) return refused;
  if (job.status !== "succeeded") return refuse("job_not_succeeded", "Only a job that succeeded has files.");
  if (resultEnd(job) <= context.now) {
    return refuse("result_expired", `The files could be had for ${limits.jobs.result_days} days.`);
  }
  const after = { ...changed(job, context), downloads: job.downloads + 1 };
  return { ok: true, result: after, changes: [{ op: "update", entity: "job", before: job, after }], events: [] };
}

/** When the files of a job that ended can no longer be had. */
function resultEnd({ completed_at }: Job): string {
  return new Date(Date.parse(completed_at ?? "") + limits.jobs.result_days * 86_400_000).toISOString();
}

/** The job while a worker is at a step of it: another one looks for it when the step must have ended. */
export function claimed(job: Job, context: Context): Job {
  return {
    ...changed(job, context),
    status: "running",
    started_at: job.started_at ?? context.now,
    tries: job.tries + 1,
    wake_at: context.in(limits.jobs.claim_seconds),
  };
}

/** Why the work on a job ends before its next step; undefined where it goes on. */
export function faultOf(job: Job, { in: after }: Context): Job["error"] {
  if (job.tries >= limits.jobs.max_tries) {
    return { code: "not_completed", detail: `A part of it failed ${limits.jobs.max_tries} times.` };
  }
  if (job.created_at <= after(-limits.jobs.max_seconds)) {
    return { code: "not_completed", detail: "It was not completed within a day." };
  }
  if (job.files.length < limits.jobs.max_files) return null;
  return { code: "too_large", detail: `It has more than ${limits.jobs.max_files} files: ask for less.` };
}

/** Result of a step: where the next one reads on, null at the end, and the file that it wrote, if it had any row. */
export interface JobStep {
  readonly position: string | null;
  readonly percent: number;
  readonly unreadable: number;
  readonly file: StoredFile | undefined;
}

/** The job with what a step wrote. */
export function afterStep(job: Job, { position, percent, unreadable, file }: JobStep, context: Context): Job {
  return {
    ...changed(job, context),
    files: file === undefined ? job.files : [...job.files, file],
    position,
    percent: Math.max(job.percent, Math.min(99, percent)),
    unreadable: job.unreadable + unreadable,
    tries: 0,
    wake_at: context.now,
  };
}

/** The end of a job that has written all of it; `before` is the job as it is stored. */
export function succeeded(before: Job, job: Job, manifest: NonNullable<Job["manifest"]>, context: Context) {
  return ended(before, { ...job, status: "succeeded", percent: 100, manifest }, context);
}

/** The end of a job that cannot go on. */
export function failed(job: Job, error: NonNullable<Job["error"]>, context: Context) {
  return ended(job, { status: "failed", error }, context);
}

function ended(before: Job, members: Partial<Job>, context: Context): Extract<Decision<Job>, { ok: true }> {
  const { version, updated_at } = changed(before, context);
  const after: Job = { ...before, ...members, version, updated_at, completed_at: context.now, wake_at: null };
  return {
    ok: true,
    result: after,
    changes: [
      { op: "update", entity: "job", before, after },
      { op: "adjust", entity: "job_count", id: before.tenant_id, add: { open: -1 }, require: [] },
    ],
    events: [completion(after)],
  };
}

function changed(job: Job, { now }: Context): Job {
  return { ...job, updated_at: later(job.updated_at, now), version: job.version + 1 };
}

function completion(job: Job): DomainEvent {
  return {
    type: "job.completed",
    resource: { type: "job", id: job.id, version: job.version },
    client_id: null,
    account_id: null,
    object: jobBody(job),
  };
}

const sumOf = (files: readonly StoredFile[], member: "rows" | "bytes") =>
  files.reduce((sum, file) => sum + file[member], 0);

/** The job as the API shows it. */
export function jobBody(job: Job): JobBody {
  const { tenant_id: _tenant, position: _p, tries: _t, wake_at: _w, expires_at: _e, ...shown } = job;
  const { files, manifest, percent, unreadable, ...fields } = shown;
  const rows = sumOf(files, "rows");
  return {
    ...fields,
    object: "job",
    progress: { percent, rows, files: files.length },
    result:
      manifest === undefined
        ? null
        : {
            ...{ rows, bytes: sumOf(files, "bytes"), unreadable },
            files: files.map(({ key: _key, ...file }) => file),
            sha256: manifest.sha256,
            expires_at: resultEnd(job),
          },
    _links: { self: { href: `/v2/jobs/${job.id}` } },
  };
}
