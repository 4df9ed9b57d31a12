import { plusNets } from "../domain/books/controls.ts";
import type { BookCounts, BookStep } from "../domain/books/run.ts";

/** Additions of a step to a run, without its place. */
export type Compared = Required<Omit<BookStep, "position">>;

/** Nothing compared. */
export const nothingCompared: Compared = {
  checked: {},
  unsettled: 0,
  differences: [],
  nets: {},
  figures: {},
  currencies: [],
};

/** The results of two comparisons as one. */
export function sumOfComparisons(one: Compared, other: Compared): Compared {
  const names = Object.keys({ ...one.checked, ...other.checked }) as (keyof BookCounts)[];
  const sums = names.map((name) => [name, (one.checked[name] ?? 0) + (other.checked[name] ?? 0)]);
  return {
    checked: Object.fromEntries(sums),
    unsettled: one.unsettled + other.unsettled,
    differences: [...one.differences, ...other.differences],
    nets: plusNets(one.nets, other.nets),
    figures: plusNets(one.figures, other.figures),
    currencies: [...new Set([...one.currencies, ...other.currencies])],
  };
}
