import type { RequestUsage } from "./request-count.ts";
import type { StreamUsage } from "./stream-count.ts";

/** Usage of one caller in one hour. */
export interface UsageHour {
  /** When its log was read, RFC 3339 UTC with milliseconds: an earlier reading does not replace a later one. */
  readonly read_at: string;
  /** Requests by route group. */
  readonly groups: Readonly<Record<string, RequestUsage>>;
  readonly stream?: StreamUsage;
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
} & { readonly [hour in HourName]?: UsageHour } & { readonly [count in EventsTo]?: number };

/** Name of the attribute of an hour of the day: `h07`. */
export type HourName = `h${string}`;

/** Name of the attribute that counts the events that went to so many endpoints. */
export type EventsTo = `events_to_${number}`;

/** Such a name. */
export function eventsTo(endpoints: number): EventsTo {
  return `events_to_${endpoints}`;
}

/** Events by the number of endpoints that they went to. */
export function eventsByEndpoints(day: UsageDay): readonly (readonly [endpoints: number, events: number])[] {
  return Object.entries(day).flatMap(([name, value]) => {
    const endpoints = /^events_to_(\d+)$/.exec(name)?.[1];
    return endpoints === undefined ? [] : [[Number(endpoints), Number(value)] as const];
  });
}

/** The day of a moment and the name of its hour; the moment in epoch milliseconds. */
export function hourOf(moment_ms: number): { readonly day: string; readonly hour: HourName } {
  const text = new Date(moment_ms).toISOString();
  return { day: text.slice(0, 10), hour: `h${text.slice(11, 13)}` };
}
