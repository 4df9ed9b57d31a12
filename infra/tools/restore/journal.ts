import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** The steps of a restore, in their order. */
export const phases = ["restore", "numbers", "compare", "audit", "settings", "resume"] as const;
/** One of them. */
export type Phase = (typeof phases)[number];

/** Items of both tables, counted by what became of them. */
export interface Compared {
  /** In both, and equal. */
  readonly same: number;
  /** In both, and different. */
  readonly changed: number;
  /** Only in the restored table: deleted since. */
  readonly deleted: number;
  /** Only in the table of the stage: made since. */
  readonly made: number;
}

/** Numbers of a brokerage's events: the last one of the restored table, and the last that a receiver may have seen. */
export interface Numbers {
  readonly last_valid: number;
  readonly after: number;
}

/** Progress of a restore. Each step can be done again, so one that was interrupted is repeated. */
export interface Journal {
  readonly stage: string;
  /** The moment that is restored, RFC 3339 in UTC. */
  readonly at: string;
  /** The table that the stage uses, and the one that is made. */
  readonly source: string;
  readonly target: string;
  readonly done: readonly Phase[];
  /** Milliseconds that each step took, for its last run. */
  readonly took_ms: Readonly<Partial<Record<Phase, number>>>;
  readonly numbers: Readonly<Record<string, Numbers>>;
  readonly compared?: Compared;
  /** ARN of the stream of the restored table. */
  readonly stream?: string;
}

/** Where the restore of a stage is noted. */
export const journalFile = (stage: string) => `.local/restore-${stage}.json`;

/** The journal in a file; undefined where there is none yet. */
export function readJournal(file: string): Journal | undefined {
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Journal) : undefined;
}

/** Writes the journal, all of it or nothing. */
export function writeJournal(file: string, journal: Journal): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(`${file}.new`, `${JSON.stringify(journal, null, 2)}\n`);
  renameSync(`${file}.new`, file);
}
