import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { functionNode } from "../../infra/local/functions/function-node.mjs";

const run = promisify(execFile);
const sampler = new URL("sample.mjs", import.meta.url).pathname;

/** Something to measure: a bundle, and how to get an event for it. */
export interface Subject {
  readonly name: string;
  /** Address of the bundle's module. */
  readonly module: string;
  readonly event: () => Promise<unknown>;
  readonly environment: Readonly<Record<string, string>>;
}

/** Times of one process, of the processor and without waiting. */
export interface Sample {
  readonly import_ms: number;
  readonly first_ms?: number;
  readonly total_ms: number;
  readonly warm_us?: number;
  readonly rss_mb: number;
  readonly status?: number;
  /** The first answer as the function returned it, where it was asked for. */
  readonly answer?: ShownAnswer;
}

/** An answer of a function. */
export interface ShownAnswer {
  readonly statusCode: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly multiValueHeaders?: Readonly<Record<string, readonly string[]>>;
  readonly body: string;
  readonly isBase64Encoded?: boolean;
}

/** Work of a process after its first request. */
export interface Further {
  /** Requests that are made before those that are measured, and as many of these. */
  readonly warm?: number;
  /** Where a request succeeds only once: the further ones, which take turns with the first. */
  readonly more?: readonly unknown[];
  /** Whether the first answer is returned. */
  readonly shown?: boolean;
}

/**
 * Runs one sample in a new process.
 * @throws Error when the first request is not answered with success
 */
export async function sample(subject: Subject, further: Further = {}): Promise<Sample> {
  const { stdout } = await inFolder(subject, further, (file) => run(functionNode(), [sampler, file], options(subject)));
  const result: Sample = JSON.parse(stdout);
  if (result.status !== undefined && result.status >= 300) {
    throw new Error(`${subject.name} answered ${result.status}; the bench measures what succeeds.`);
  }
  return result;
}

/** Instructions of one process as cachegrind counts them, in millions. */
export async function instructions(subject: Subject): Promise<number> {
  const tool = ["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", functionNode(), sampler];
  const { stderr } = await inFolder(subject, {}, (file) => run("valgrind", [...tool, file], options(subject)));
  const refs = /I\s+refs:\s+([\d,]+)/.exec(stderr)?.[1];
  if (refs === undefined) throw new Error(`valgrind counted nothing: ${stderr.slice(-500)}`);
  return Number(refs.replaceAll(",", "")) / 1_000_000;
}

/** Whether valgrind is there. */
export async function canCount(): Promise<boolean> {
  return run("valgrind", ["--version"]).then(
    () => true,
    () => false,
  );
}

function options({ environment }: Subject) {
  return { env: { ...environment }, maxBuffer: 1 << 20, timeout: 120_000 };
}

async function inFolder<T>(
  subject: Subject,
  { warm = 0, more = [], shown = false }: Further,
  work: (file: string) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "bench-"));
  try {
    const file = join(folder, "work.json");
    const event = await subject.event();
    await writeFile(
      file,
      JSON.stringify({ module: subject.module, events: event === undefined ? [] : [event, ...more], warm, shown }),
    );
    return await work(file);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The value in the middle. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** The distance between the first and the third quarter. */
export function spread(values: readonly number[]): number {
  return quantile(values, 0.75) - quantile(values, 0.25);
}

function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((one, other) => one - other);
  const place = (sorted.length - 1) * share;
  const below = sorted[Math.floor(place)] ?? Number.NaN;
  const above = sorted[Math.ceil(place)] ?? below;
  return below + (above - below) * (place - Math.floor(place));
}

/** The same values in an unpredictable order, so that no row always follows the same other. */
export function shuffled<T>(values: readonly T[]): T[] {
  const left = [...values];
  const taken: T[] = [];
  while (left.length > 0) taken.push(...left.splice(Math.floor(Math.random() * left.length), 1));
  return taken;
}
