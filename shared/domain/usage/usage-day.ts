import type { RequestUsage } from "./request-count.ts";

/** What the requests of one hour took, by route group. */
export interface UsageHour {
  /** When its log was read, RFC 3339 UTC with milliseconds: an earlier reading does not replace a later one. */
  readonly read_at: string;
  readonly groups: Readonly<Record<string, RequestUsage>>;
}

/** The usage of one actor on one day, UTC. Its hours are attributes of their own: each is written by itself. */
export type UsageDay = {
  readonly tenant_id: string;
  readonly day: string;
  readonly actor_id: string;
  readonly events?: number;
  readonly deliveries?: number;
  /** Epoch seconds. */
  readonly expires_at: number;
} & { readonly [hour in HourName]?: UsageHour };

/** Name of the attribute of an hour of the day: `h07`. */
export type HourName = `h${string}`;

/** The day of a moment and the name of its hour; the moment in epoch milliseconds. */
export function hourOf(moment_ms: number): { readonly day: string; readonly hour: HourName } {
  const text = new Date(moment_ms).toISOString();
  return { day: text.slice(0, 10), hour: `h${text.slice(11, 13)}` };
}
