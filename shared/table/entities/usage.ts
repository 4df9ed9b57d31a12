import type { UsageDay } from "../../domain/usage/usage-day.ts";
import type { Entity, Key } from "./keys.ts";

/** Usage of the callers of a tenant, by day and caller: one partition, which each caller writes once an hour. */
export const usageDays = {
  et: "USAGE",
  partition: (tenant: string) => `${tenant}|USE`,
  sortOf: (day: string, actor: string) => `${day}|${actor}`,
  /** Sort keys of the actors of these days, both included. */
  bounds: (from: string, to: string) => ({ from: usageDays.sortOf(from, ""), to: usageDays.sortOf(to, "~") }),
  keyOf: ({ tenant_id, day, actor_id }: Pick<UsageDay, "tenant_id" | "day" | "actor_id">): Key => ({
    pk: usageDays.partition(tenant_id),
    sk: usageDays.sortOf(day, actor_id),
  }),
} satisfies Entity<UsageDay> & Record<string, unknown>;

/** How far the events of a tenant are counted. */
export interface UsageCursor {
  readonly tenant_id: string;
  /** Number of the last event that is counted. */
  readonly counted: number;
}

/** Each tenant's, moved in the transaction that adds what it passes. */
export const usageCursors = {
  et: "USAGECURSOR",
  key: (tenant: string): Key => ({ pk: `${tenant}|USC`, sk: "CURSOR" }),
  keyOf: (item: UsageCursor): Key => usageCursors.key(item.tenant_id),
} satisfies Entity<UsageCursor> & Record<string, unknown>;

/** How far the log of requests is counted, of all tenants together. */
export interface UsageProgress {
  /** The hours before this moment are not read again, RFC 3339 UTC. */
  readonly settled_until: string;
}

/** The one item of it. */
export const usageProgress = {
  et: "USAGEPROGRESS",
  keyOf: (): Key => ({ pk: "GLOBAL|USAGE", sk: "PROGRESS" }),
} satisfies Entity<UsageProgress> & Record<string, unknown>;
