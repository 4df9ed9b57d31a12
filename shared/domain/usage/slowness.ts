import { limits } from "../../limits.ts";

/**
 * Whether the requests of an environment are slow: their average is above a bound. Each counts for a twentieth, and as
 * three bounds at most, so that neither a single one nor the first of a new environment are what is called slow.
 */
export class Slowness {
  private average_ms = 0;
  private readonly bound_ms: number;

  /** @param bound_ms what a request may take on average; Infinity where nothing is too slow */
  constructor(bound_ms: number) {
    this.bound_ms = bound_ms;
  }

  /** Counts a request, and says whether they are slow. */
  counts(duration_ms: number): boolean {
    const { slow_share, slow_most } = limits.functions;
    const counted_ms = Math.min(duration_ms, slow_most * this.bound_ms);
    this.average_ms += slow_share * (counted_ms - this.average_ms);
    return this.average_ms > this.bound_ms;
  }
}
