import type { JobBody } from "../../schema/jobs/job.ts";

/** A file of a result as it is stored: each write of a part has a key of its own. */
export interface StoredFile {
  readonly key: string;
  readonly name: string;
  readonly rows: number;
  readonly bytes: number;
  readonly sha256: string;
}

/** A job as it is stored: what is shown of it, and where its work goes on. */
export interface Job extends Omit<JobBody, "object" | "progress" | "result" | "_links"> {
  readonly tenant_id: string;
  readonly files: readonly StoredFile[];
  /** Of a job that succeeded. */
  readonly manifest?: Pick<StoredFile, "key" | "sha256">;
  readonly percent: number;
  readonly unreadable: number;
  /** Where the next step reads on, in the words of its type; null at the beginning. */
  readonly position: string | null;
  /** Times that the next step was begun. */
  readonly tries: number;
  /** When a worker looks for it, RFC 3339; null once it has ended. */
  readonly wake_at: string | null;
  /** When DynamoDB may delete it, in seconds since the epoch. */
  readonly expires_at: number;
}

/** How many jobs of a brokerage have not ended, and how many it started on a day (UTC). */
export interface JobCount {
  readonly tenant_id: string;
  readonly open: number;
  readonly day: string;
  readonly started: number;
}
