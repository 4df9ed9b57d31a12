import type { DaySums, Sum, SumList } from "../../domain/sums/event-sums.ts";
import type { Entity, Key } from "./keys.ts";

/** How far the events of a tenant are in its sums. */
export interface SumCursor {
  readonly tenant_id: string;
  /** Number of the last event that is in them. */
  readonly summed: number;
  /** Time of an identifier: what belongs to clients from before is not summed. Absent until the sandbox was reset. */
  readonly since?: string;
  /** Sort keys of what the last run wrote: a reader that sees this number must see it in these too. */
  readonly wrote?: readonly string[];
}

/** Each tenant's, moved in the transaction that adds what it passes. */
export const sumCursors = {
  et: "SUMCURSOR",
  key: (tenant: string): Key => ({ pk: `${tenant}|SMC`, sk: "CURSOR" }),
  keyOf: (item: SumCursor): Key => sumCursors.key(item.tenant_id),
} satisfies Entity<SumCursor> & Record<string, unknown>;

/** Sums of a day in one currency: for each cell three attributes, such as `live_deposits_amount_minor`. */
export interface StoredSums extends Omit<DaySums, "cells"> {
  readonly tenant_id: string;
  readonly since: string;
  /** The cursor after the run that wrote it last. */
  readonly summed: number;
}

const letters = { created: "c", settled: "s" } as const satisfies Readonly<Record<SumList, string>>;
const measures = ["count", "amount_minor", "fee_minor"] as const;

/** Before the first reset. */
const ever = "0".repeat(10);

/**
 * Sums of days in one partition of a tenant. The key begins with the `since` of the cursor: what a reset begins again
 * never meets what it removes.
 */
export const sums = {
  et: "SUM",
  partition: (tenant: string) => `${tenant}|SUM`,
  sortOf: (list: SumList, since: string | undefined, day: string, currency: string) =>
    `${since ?? ever}|${letters[list]}|${day}|${currency}`,
  key: (tenant: string, since: string | undefined, { list, day, currency }: Omit<DaySums, "cells">): Key => ({
    pk: sums.partition(tenant),
    sk: sums.sortOf(list, since, day, currency),
  }),
  /** Sort keys of the days of one list, both included. */
  bounds: (list: SumList, since: string | undefined, from: string, to: string) => ({
    from: sums.sortOf(list, since, from, ""),
    to: sums.sortOf(list, since, to, "~"),
  }),
  /** The last sort key of what an earlier reset left behind. */
  before: (since: string) => `${since}|`,
  keyOf: (item: StoredSums): Key => sums.key(item.tenant_id, item.since, item),
} satisfies Entity<StoredSums> & Record<string, unknown>;

/** Additions of a run to the attributes of an item; none where a measure does not change. */
export function sumAttributes(cells: DaySums["cells"]): Readonly<Record<string, number | bigint>> {
  const changes = [...cells].flatMap(([cell, sum]) => measures.map((name) => [`${cell}_${name}`, sum[name]] as const));
  return Object.fromEntries(changes.filter(([, change]) => BigInt(change) !== 0n));
}

/** The sums of an item as it is stored. */
export function daySumsOf(stored: StoredSums): DaySums {
  const { list, day, currency } = stored;
  const cells = new Map<string, Sum>();
  for (const [attribute, value] of Object.entries(stored)) {
    const [, cell, measure] = /^((?:live|demo)_\w+?)_(count|amount_minor|fee_minor)$/.exec(attribute) ?? [];
    if (cell === undefined || measure === undefined) continue;
    const known = cells.get(cell) ?? { count: 0, amount_minor: 0n, fee_minor: 0n };
    cells.set(cell, { ...known, [measure]: value });
  }
  return { list, day, currency, cells };
}
