import type { SummaryDays } from "../domain/sums/summary.ts";
import { HttpProblem } from "./problem.ts";

/**
 * The first moment of some calendar days in UTC and the one after them, epoch milliseconds.
 * @throws HttpProblem `invalid_parameter` for days in the wrong order and for more than `maxDays`
 */
export function daysWithin({ from, to }: SummaryDays, maxDays: number): readonly [first: number, end: number] {
  const [first, end] = [Date.parse(from), Date.parse(to) + 24 * 3_600_000];
  if (first >= end) throw refusedRange("to", "must not be before from");
  if (end - first > maxDays * 24 * 3_600_000) throw refusedRange("to", `must be within ${maxDays} days of from`);
  return [first, end];
}

/** A refusal of days as a query names them. */
export function refusedRange(parameter: string, detail: string): HttpProblem {
  return new HttpProblem("invalid_parameter", "A query parameter is not valid.", {
    errors: [{ parameter, code: "out_of_range", detail }],
  });
}
