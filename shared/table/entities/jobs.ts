import type { Job, JobCount } from "../../domain/records/job.ts";
import { dueKeys, type Entity, type IndexKeys, type Key, ulidOf } from "./keys.ts";

/**
 * Jobs of a tenant in one partition: their list is one consistent query. The sort key is the ULID, newest last. Those
 * that a worker is to go on with are in `due`.
 */
export const jobs = {
  et: "JOB",
  partition: (tenant: string) => `${tenant}|JOB`,
  key: (tenant: string, id: string): Key => ({ pk: jobs.partition(tenant), sk: ulidOf(id) }),
  keyOf: (item: Job): Key => jobs.key(item.tenant_id, item.id),
  indexesOf: (item: Job): IndexKeys => (item.wake_at === null ? {} : dueKeys("JOB", item.id, item.wake_at)),
} satisfies Entity<Job> & Record<string, unknown>;

/** The number of jobs of a tenant that have not ended. */
export const jobCounts = {
  et: "JOBCOUNT",
  key: (tenant: string): Key => ({ pk: `${tenant}|JOB|count`, sk: "COUNT" }),
  keyOf: (item: JobCount): Key => jobCounts.key(item.tenant_id),
} satisfies Entity<JobCount> & Record<string, unknown>;
