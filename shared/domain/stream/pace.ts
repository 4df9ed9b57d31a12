import { limits } from "../../limits.ts";

/** A run of the worker over one set of connections: from its message to its end. All times in epoch milliseconds. */
export interface Run {
  readonly began_ms: number;
  /** Runs up to this one that each began right after the one before, see {@link quickRuns}. */
  readonly quick_runs: number;
  /** Until then a publisher may send no message because it has read that there is no connection. */
  readonly settles_ms: number;
  /** Until then publishers send no message for the set, because the run looks by itself; 0 before that was said. */
  readonly hot_until_ms: number;
}

/** Result of one look of a run at its set. */
export interface Look {
  /** When its reads began. */
  readonly began_ms: number;
  /** When something was found the last time in this run; 0 for never. */
  readonly found_ms: number;
  /** Whether something waits: for its slot, for a connection that takes nothing, or for the rest of a replay. */
  readonly pending: boolean;
}

/** Next step of a run: it ends, hands over to the next one, or looks again. */
export type Step =
  | { readonly next: "end" }
  | { readonly next: "hand_over" }
  | {
      readonly next: "look";
      /** To be said before the next look, so that publishers send no message until then. */
      readonly hot_until_ms?: number;
    };

/** How many runs in a row began right after the one before, this one included. */
export function quickRuns(now: number, before: { readonly last_run_at_ms?: number; readonly quick_runs?: number }) {
  const { last_run_at_ms = 0, quick_runs = 0 } = before;
  return now - last_run_at_ms < limits.stream.quick_ms ? quick_runs + 1 : 0;
}

/**
 * The next step of a run. A lone event is one look. Where events follow each other, or something waits, the run says
 * how long it looks by itself, so that publishers send no message until then, and its last look begins after that time:
 * no event is between the two. A long run hands over to the next one, as a function has a timeout.
 */
export function nextStep(run: Run, look: Look, now: number): Step {
  const { hot_ms, loop_ms, quick_runs } = limits.stream;
  const isWanted = look.pending || run.quick_runs >= quick_runs || now < run.settles_ms;
  const isHot = run.hot_until_ms > 0;
  if (!isHot && !isWanted) return { next: "end" };
  const isOver = look.began_ms > run.hot_until_ms;
  if (isHot && isOver && !look.pending && now >= run.settles_ms) return { next: "end" };
  if (now - run.began_ms >= loop_ms) return { next: "hand_over" };
  const isActive = look.pending || now < run.settles_ms || look.found_ms > run.hot_until_ms - hot_ms;
  const isShort = run.hot_until_ms - now < hot_ms / 2;
  return isShort && isActive ? { next: "look", hot_until_ms: now + hot_ms } : { next: "look" };
}

/** Whether a set needs no message now: its worker looks by itself, and will after what was just written. */
export function looksByItself({ hot_until_ms = 0 }: { readonly hot_until_ms?: number }, now: number): boolean {
  return now < hot_until_ms - limits.stream.hot_reserve_ms;
}
