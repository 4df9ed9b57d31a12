import { plusNets } from "../../domain/books/controls.ts";
import type { BookCounts, BookStep } from "../../domain/books/run.ts";

/** What a step adds to a run, its place apart. */
export type Compared = Required<Omit<BookStep, "position">>;

/** Nothing compared. */
export const nothingCompared: Compared = { checked: {}, unsettled: 0, differences: [], nets: {}, currencies: [] };

/** What two looks found. */
export function together(one: Compared, other: Compared): Compared {
  const names = Object.keys({ ...one.checked, ...other.checked }) as (keyof BookCounts)[];
  const sums = names.map((name) => [name, (one.checked[name] ?? 0) + (other.checked[name] ?? 0)]);
  return {
    checked: Object.fromEntries(sums),
    unsettled: one.unsettled + other.unsettled,
    differences: [...one.differences, ...other.differences],
    nets: plusNets(one.nets, other.nets),
    currencies: [...new Set([...one.currencies, ...other.currencies])],
  };
}
