import { page } from "../schema/fields.ts";
import { CreateJobRequest, Job, JobLinks, ListJobsQuery } from "../schema/jobs/job.ts";
import { route } from "./route.ts";

/** Scopes that read what jobs export. */
const ofRows = ["transactions:read", "trading:read", "clients:read", "accounts:read", "events:read"] as const;

/** `POST /jobs` */
export const createJob = route({
  id: "create_job",
  method: "POST",
  path: "/jobs",
  tag: "Reports",
  summary: "Start an export",
  description:
    "Exports all that a list has, with its filters, as files. The caller's token must also hold the scope that reads " +
    "the rows. Lists have what was made before the request, oldest first, as it is when it is read, from a minute " +
    "later on. Ledger entries, balances and events are exact. Poll the job, or subscribe to `job.completed`.",
  file: "jobs/create",
  scope: "reports:write",
  further_scopes: ofRows,
  standing: "read",
  grants: ["read", "put", "update"],
  body: CreateJobRequest,
  reply: Job,
  status: 202,
  example: { type: "transactions", parameters: { created_from: "2026-11-01T00:00:00Z", include_names: true } },
  refusals: ["insufficient_scope", "too_many_jobs", "instant_too_recent"],
});

/** `GET /jobs` */
export const listJobs = route({
  id: "list_jobs",
  method: "GET",
  path: "/jobs",
  tag: "Reports",
  summary: "List jobs",
  description: "Jobs of the last 90 days, newest first.",
  file: "jobs/list",
  scope: "reports:read",
  grants: ["query"],
  query: ListJobsQuery,
  reply: page(Job),
  refusals: ["invalid_cursor"],
});

/** `GET /jobs/{id}` */
export const getJob = route({
  id: "get_job",
  method: "GET",
  path: "/jobs/{id}",
  tag: "Reports",
  summary: "Get a job",
  description: "Shows its progress and, once it has succeeded, its files with their sizes and hashes.",
  file: "jobs/get",
  scope: "reports:read",
  grants: ["read"],
  reply: Job,
});

/** `POST /jobs/{id}/cancel` */
export const cancelJob = route({
  id: "cancel_job",
  method: "POST",
  path: "/jobs/{id}/cancel",
  tag: "Reports",
  summary: "Cancel a job",
  description: "Ends a job that has not ended; what it has written cannot be had.",
  file: "jobs/cancel",
  scope: "reports:write",
  standing: "read",
  grants: ["read", "put", "update"],
  reply: Job,
  refusals: ["illegal_transition"],
  emits: ["job.completed"],
});

/** `POST /jobs/{id}/links` */
export const createJobLinks = route({
  id: "create_job_links",
  method: "POST",
  path: "/jobs/{id}/links",
  tag: "Reports",
  summary: "Get links to the files of a job",
  description:
    "Each link opens one file for any holder of it, for 5 minutes. The first one is of the manifest, which names " +
    "the files with their hashes. The caller's token must hold the scopes that the export needed. The files can be " +
    "had for 7 days.",
  file: "jobs/create-links",
  scope: "reports:write",
  further_scopes: ofRows,
  standing: "held",
  grants: ["read", "put", "update", "check"],
  objects: ["read:exports"],
  secrets: ["service_key"],
  secret: true,
  reply: JobLinks,
  status: 201,
  refusals: ["insufficient_scope", "job_not_succeeded", "result_expired"],
});

/** Rows of the jobs. */
export const jobRoutes = [createJob, listJobs, getJob, cancelJob, createJobLinks] as const;
