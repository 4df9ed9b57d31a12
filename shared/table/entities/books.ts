import type { Closing } from "../../domain/books/closing.ts";
import type { BookDay } from "../../domain/books/days.ts";
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
  toStored: ({ nets, figures, ...run }: BookRun) => ({ ...run, ...texts({ nets, figures }) }),
  fromStored: ({ nets, figures }: Readonly<Record<string, unknown>>) => amounts({ nets, figures }),
} satisfies Entity<BookRun> & Record<string, unknown>;

/** The days of a tenant that are closed, or that a change of their rule found begun, by their labels. */
export const bookDays = {
  et: "BOOKDAY",
  partition: (tenant: string) => `${tenant}|DAY`,
  keyOf: (item: BookDay): Key => ({ pk: bookDays.partition(item.tenant_id), sk: item.day }),
} satisfies Entity<BookDay> & Record<string, unknown>;

/** The closings of the days of a tenant, by their labels. */
export const closings = {
  et: "CLOSING",
  partition: (tenant: string) => `${tenant}|CLS`,
  key: (tenant: string, day: string): Key => ({ pk: closings.partition(tenant), sk: day }),
  keyOf: (item: Closing): Key => closings.key(item.tenant_id, item.day),
  toStored: ({ figures, ...closing }: Closing) => ({ ...closing, ...texts({ figures }) }),
  fromStored: ({ figures }: Readonly<Record<string, unknown>>) => amounts({ figures }),
} satisfies Entity<Closing> & Record<string, unknown>;

type Amounts = Readonly<Record<string, bigint>>;

/** Maps of amounts as they are stored; those that are absent stay so. */
function texts(maps: Readonly<Record<string, Amounts | undefined>>) {
  return mapped(maps as Readonly<Record<string, Amounts>>, String);
}

/** Maps of amounts from their texts. */
function amounts(maps: Readonly<Record<string, unknown>>) {
  return mapped(maps as Readonly<Record<string, Readonly<Record<string, string>>>>, BigInt);
}

function mapped<T, U>(maps: Readonly<Record<string, Readonly<Record<string, T>>>>, to: (value: T) => U) {
  const present = Object.entries(maps).filter(([, values]) => values !== undefined);
  return Object.fromEntries(
    present.map(([name, values]) => [
      name,
      Object.fromEntries(Object.entries(values).map(([key, value]) => [key, to(value)])),
    ]),
  );
}
