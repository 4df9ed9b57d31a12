import type { BookRun } from "../../domain/books/run.ts";
import type { Entity, Key } from "./keys.ts";

/** Comparisons of the books of a tenant, by their number. */
export const bookRuns = {
  et: "BOOKRUN",
  partition: (tenant: string) => `${tenant}|RCN`,
  keyOf: (item: Pick<BookRun, "tenant_id" | "number">): Key => ({
    pk: bookRuns.partition(item.tenant_id),
    sk: String(item.number).padStart(9, "0"),
  }),
  // Members of a map are not made bigints when they are read.
  toStored: ({ nets, ...run }: BookRun) => (nets === undefined ? run : { ...run, nets: mapped(nets, String) }),
  fromStored: ({ nets }: Readonly<Record<string, unknown>>) =>
    nets === undefined ? {} : { nets: mapped(nets as Readonly<Record<string, string>>, BigInt) },
} satisfies Entity<BookRun> & Record<string, unknown>;

function mapped<T, U>(values: Readonly<Record<string, T>>, to: (value: T) => U): Readonly<Record<string, U>> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, to(value)]));
}
