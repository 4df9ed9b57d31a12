import counted from "./event-units.json" with { type: "json" };
import type { Prices } from "./prices.ts";

/** Work behind a request, by functions that no caller waits for. */
export interface BackgroundWork {
  readonly write_units: number;
  readonly read_units: number;
  /** Messages of standard queues, and of FIFO queues. */
  readonly messages: number;
  readonly fifo_messages: number;
  readonly invocations: number;
  readonly gigabyte_seconds: number;
}

/** Work after the commit of an event, by the number of endpoints that it goes to. */
export type EventUnits = Readonly<Record<string, BackgroundWork>>;

/** The committed count: `npm run bench:units` writes it. */
export const eventUnits: EventUnits = counted;

/** Facts about events that are stated and not counted. */
export const eventTraffic = {
  /** A message is sent, received and deleted: alone at worst, ten in a call at best. */
  calls_per_message: 3,
  /** A webhook with its headers. */
  delivery_bytes: 1500,
} as const;

/**
 * Work of an event to so many endpoints. Between two counts it lies on the line through them, and beyond the last on
 * that through the last two.
 */
export function workOfEvent(units: EventUnits, endpoints: number): BackgroundWork {
  const counts = Object.keys(units).map(Number);
  const below = Math.max(...counts.slice(0, -1).filter((count) => count <= endpoints));
  const above = Math.min(...counts.filter((count) => count > below));
  const share = (endpoints - below) / (above - below);
  const [low, high] = [units[below] as BackgroundWork, units[above] as BackgroundWork];
  const between = (name: keyof BackgroundWork) => low[name] + (high[name] - low[name]) * share;
  return {
    write_units: between("write_units"),
    read_units: between("read_units"),
    messages: between("messages"),
    fifo_messages: between("fifo_messages"),
    invocations: between("invocations"),
    gigabyte_seconds: between("gigabyte_seconds"),
  };
}

/**
 * Cost of one event to so many endpoints at list prices, in US dollars: the database, the functions, the queues and the
 * transfer of its deliveries, without logs and traces.
 */
export function eventDollars(endpoints: number, prices: Prices): number {
  const work = workOfEvent(eventUnits, endpoints);
  const { calls_per_message: calls, delivery_bytes } = eventTraffic;
  const perMillion =
    work.write_units * prices.dynamodb_per_million_write_units +
    work.read_units * prices.dynamodb_per_million_read_units +
    work.invocations * prices.lambda_per_million_requests +
    work.messages * calls * prices.sqs_fair_per_million_requests +
    work.fifo_messages * calls * prices.sqs_fifo_per_million_requests;
  const transferred = ((endpoints * delivery_bytes) / 1e9) * prices.transfer_per_gigabyte;
  return perMillion / 1_000_000 + work.gigabyte_seconds * prices.lambda_per_gigabyte_second + transferred;
}
