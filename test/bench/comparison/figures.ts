import { median } from "../measure.ts";
import { type Compared, type Contestant, contestants, frameworks } from "./bundles.ts";

/** Times of one process, in milliseconds of a processor. */
export interface Taken {
  readonly init_ms: number;
  readonly first_ms: number;
  readonly warm_ms: number;
}

/** A measured time. */
export type Time = keyof Taken | "cold_ms";

/** A time of a contestant: its median, and its ratios to ours of the same rounds. */
export interface Ratio {
  readonly ms: number;
  readonly lowest: number;
  readonly median: number;
  readonly highest: number;
}

/** Everything that is stated of one contestant for one request. */
export type Figures = Readonly<Record<Time, Ratio>> & { readonly kibibytes: number; readonly gzipped: number };

/** Figures of all contestants by request. */
export type Comparison = Readonly<Record<Compared, Readonly<Record<Contestant, Figures>>>>;

/** Times of each contestant in one round. */
export type Round = Readonly<Record<Contestant, Taken>>;

const read: Readonly<Record<Time, (taken: Taken) => number>> = {
  init_ms: ({ init_ms }) => init_ms,
  first_ms: ({ first_ms }) => first_ms,
  cold_ms: ({ init_ms, first_ms }) => init_ms + first_ms,
  warm_ms: ({ warm_ms }) => warm_ms,
};

/** A time of one contestant over all rounds. */
export function ratioOf(rounds: readonly Round[], contestant: Contestant, time: Time): Ratio {
  const of = read[time];
  const ratios = rounds.map((round) => of(round[contestant]) / of(round.ours));
  return {
    ms: median(rounds.map((round) => of(round[contestant]))),
    lowest: Math.min(...ratios),
    median: median(ratios),
    highest: Math.max(...ratios),
  };
}

/**
 * Every figure that is not as it must be, as a sentence: ours is smaller than each framework, starts and answers first
 * with less of a processor, and takes no more for a warm request than Hono.
 */
export function missesOf(comparison: Comparison): string[] {
  return Object.entries(comparison).flatMap(([name, by]) =>
    frameworks.flatMap((framework) => {
      const peer = by[framework];
      const warm = peer.warm_ms.median;
      const ahead: readonly (readonly [what: string, ratio: number, holds: boolean])[] = [
        above("the bundle", peer.gzipped / by.ours.gzipped),
        above("the start", peer.init_ms.median),
        above("the first request", peer.first_ms.median),
        ["a warm request", warm, framework !== "hono" || warm >= 1],
      ];
      return ahead
        .filter(([, , holds]) => !holds)
        .map(([what, ratio]) => `${name}, ${what}: ${contestants[framework]} takes ${ratio.toFixed(2)} times as much.`);
    }),
  );
}

function above(what: string, ratio: number): readonly [what: string, ratio: number, holds: boolean] {
  return [what, ratio, ratio > 1];
}
