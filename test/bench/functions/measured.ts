import { median, type Sample, sample, shuffled, spread } from "../measure.ts";
import { Progress } from "./progress.ts";
import type { Row } from "./rows.ts";

/**
 * Bounds; the command fails when a row misses. `first` is the processor time of the first request over that of the
 * no-op handler's whole process in the same round: 8 ms where that takes 26.7, as on the machine that the bounds were
 * set on. A row of one round trip, the counter beside it, keeps to it; `first_of_several` is for those that wait for
 * one answer before they can ask for the next, and for lists with their 25 items (ADR 0017).
 */
const most = { kibibytes: 206, ratio: 2.9, first: 8 / 26.7, first_of_several: 22 / 26.7 };

/** Requests of a row that are measured warm, after as many others. */
export const warmRequests = 300;

/** Figures of a row; times are of the processor. */
export interface Measured extends Row {
  readonly ratio: number;
  readonly ratio_spread: number;
  readonly import_ms: number;
  readonly first_ms: number | undefined;
  /** The same over the no-op handler's whole process. */
  readonly first_ratio: number | undefined;
  readonly warm_us: number | undefined;
  readonly rss_mb: number;
}

/** Weight of a process with warm requests in the progress, where one without them is 1. */
const warmWeight = 4;

/** Result of the rounds. */
export interface MeasuredAll {
  readonly measured: readonly Measured[];
  /** Rounds that were made. */
  readonly rounds: number;
  /** Rows that did not answer with success, as sentences: they are left out. */
  readonly failed: readonly string[];
}

/**
 * All rows in a new order in each round, the first of them the no-op handler; a round in which the machine was busy is
 * thrown away and made again. Rounds end early when the time for them is over; one is always made.
 */
export async function measureAll(
  rows: readonly Row[],
  { rounds, within_ms, warm }: { readonly rounds: number; readonly within_ms: number; readonly warm: boolean },
): Promise<MeasuredAll> {
  const samples = new Map<Row, { readonly sample: Sample; readonly empty: number }[]>(rows.map((row) => [row, []]));
  const reading = warm ? rows.filter(isRead) : [];
  const progress = new Progress("functions", rounds * rows.length + reading.length * warmWeight);
  const failures = new Map<Row, string>();
  const begun_ms = performance.now();
  const spent_ms = () => performance.now() - begun_ms;
  let calmest = Number.POSITIVE_INFINITY;
  let kept = 0;
  // A round takes as long as the one before it.
  for (let made = 0; kept < rounds && made < rounds * 2; made += 1) {
    if (made > 0 && (spent_ms() / made) * (made + 1) > within_ms) break;
    const round = new Map<Row, Sample>();
    for (const row of shuffled(rows)) {
      progress.step();
      if (failures.has(row)) continue;
      const one = await sample(row.subject).catch(({ message }: Error) => {
        failures.set(row, `${row.name} could not be measured: ${message.slice(-300)}`);
      });
      if (one !== undefined) round.set(row, one);
    }
    const empty = round.get(rows[0] as Row)?.total_ms ?? 0;
    calmest = Math.min(calmest, empty);
    if (empty > calmest * 1.5) {
      progress.extend(rows.length);
      continue;
    }
    kept += 1;
    for (const [row, one] of round) samples.get(row)?.push({ sample: one, empty });
  }
  const measured: Measured[] = [];
  for (const row of rows.filter((each) => !failures.has(each))) {
    const isWarm = reading.includes(row);
    const warm_us = isWarm ? (await sample(row.subject, { warm: warmRequests })).warm_us : undefined;
    if (isWarm) progress.step(warmWeight);
    measured.push(figuresOf(row, samples.get(row) ?? [], warm_us));
  }
  return { measured, rounds: kept, failed: [...failures.values()] };
}

/** Only reads can be asked the same again and again. */
function isRead({ cost, api }: Row): boolean {
  return !api || (cost !== undefined && cost.write_units <= 1);
}

function figuresOf(
  row: Row,
  taken: readonly { readonly sample: Sample; readonly empty: number }[],
  warm_us: number | undefined,
): Measured {
  const of = (member: "import_ms" | "first_ms" | "rss_mb") => median(taken.map((each) => each.sample[member] ?? 0));
  const ratios = taken.map(({ sample: one, empty }) => one.total_ms / empty);
  const served = taken.some((each) => each.sample.first_ms !== undefined);
  return {
    ...row,
    ratio: median(ratios),
    ratio_spread: spread(ratios),
    import_ms: of("import_ms"),
    first_ms: served ? of("first_ms") : undefined,
    first_ratio: served ? median(taken.map(({ sample: one, empty }) => (one.first_ms ?? 0) / empty)) : undefined,
    warm_us: served ? warm_us : undefined,
    rss_mb: of("rss_mb"),
  };
}

/** Every row that is not as it must be, as a sentence. */
export function missesOf(rows: readonly Measured[]): string[] {
  return rows
    .filter(({ api }) => api)
    .flatMap(({ name, kibibytes, ratio, first_ratio = 0, cost }) => {
      const first = (cost?.calls ?? 0) > 2 ? most.first_of_several : most.first;
      return [
        ...(kibibytes > most.kibibytes ? [`${name}: ${kibibytes.toFixed(0)} KiB, more than ${most.kibibytes}.`] : []),
        ...(ratio > most.ratio
          ? [`${name}: ${ratio.toFixed(2)} times the no-op handler, more than ${most.ratio}.`]
          : []),
        ...(first_ratio > first
          ? [`${name}: the first request takes ${first_ratio.toFixed(2)} of it, more than ${first.toFixed(2)}.`]
          : []),
      ];
    });
}
