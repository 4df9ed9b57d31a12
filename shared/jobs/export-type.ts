import type { Job } from "../domain/records/job.ts";
import type { RowFormat } from "./rows.ts";

/** Some rows of an export, oldest first. */
export interface ExportPage {
  readonly rows: readonly object[];
  /** Where the next read goes on; null at the end. */
  readonly next: string | null;
  /** How far the export is behind this page: 0 to 1. */
  readonly share: number;
  /** Rows left out because they cannot be read. */
  readonly unreadable: number;
}

/** How the rows of one type of jobs are read and written. */
export interface ExportType {
  readonly format: (job: Job) => RowFormat;
  /** Reads on from a position; null is the beginning. */
  readonly read: (job: Job, position: string | null) => Promise<ExportPage>;
}

/** The text of a parameter of a job. */
export function parameterOf({ parameters }: Job, name: keyof Job["parameters"]): string | undefined {
  const value = parameters[name];
  return value === undefined ? undefined : String(value);
}
