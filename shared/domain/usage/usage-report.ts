import type { UsageBody } from "../../schema/reports/usage.ts";
import { eventDollars } from "./event-cost.ts";
import { type Prices, pricesOf, pricesReadOn, type Region, regions } from "./prices.ts";
import { addUsage, noUsage, type RequestUsage } from "./request-count.ts";
import { addStream, noStream, type StreamUsage } from "./stream-count.ts";
import { eventsByEndpoints, type UsageDay, type UsageHour } from "./usage-day.ts";

/** Scope of a report. */
export interface UsageScope {
  /** First and last day. */
  readonly from: string;
  readonly to: string;
  readonly actor_id?: string | undefined;
  readonly route_group?: string | undefined;
}

interface Row {
  readonly day: string;
  readonly actor_id: string;
  readonly route_group: string;
  readonly usage: RequestUsage;
}

/**
 * Cost of requests at the list prices of a region, in US dollars: the gateway, the function and the database, without
 * the work behind them.
 */
export function dollarsOf(usage: RequestUsage, prices: Prices): number {
  const { requests, read_units, write_units, memory_mb_ms } = usage;
  return (
    millions(requests) * (prices.gateway_per_million_requests + prices.lambda_per_million_requests) +
    (memory_mb_ms / 1024 / 1000) * prices.lambda_per_gigabyte_second +
    millions(read_units) * prices.dynamodb_per_million_read_units +
    millions(write_units) * prices.dynamodb_per_million_write_units
  );
}

/** Charge of the gateway for the stream at the list prices of a region, in US dollars. */
export function streamDollars(usage: StreamUsage, prices: Prices): number {
  const { messages_sent, messages_received, connection_minutes } = usage;
  return (
    millions(messages_sent + messages_received) * prices.stream_per_million_messages +
    millions(connection_minutes) * prices.stream_per_million_minutes
  );
}

function millions(count: number): number {
  return count / 1_000_000;
}

/** The region whose prices are used for one: itself, or the first of the list where the list has none of it. */
export function pricedRegion(region: string | undefined): Region {
  return regions.find((each) => each === region) ?? regions[0];
}

/** Report of these days in a scope, in their order, with dollars at the prices of a region. */
export function usageReport(scope: UsageScope, days: readonly UsageDay[], region: Region): Omit<UsageBody, "forecast"> {
  const { from, to, actor_id, route_group } = scope;
  const prices = pricesOf(region);
  const wanted = days.filter((each) => actor_id === undefined || each.actor_id === actor_id);
  const rows = wanted.flatMap(rowsOf).filter((row) => route_group === undefined || row.route_group === route_group);
  const published = wanted.filter(({ events = 0 }) => events > 0).map((each) => eventsOf(each, prices));
  const streamed = wanted.flatMap(streamOf);
  const all = rows.reduce((sum, { usage }) => addUsage(sum, usage), noUsage);
  const stream = streamed.reduce((sum, { usage }) => addStream(sum, usage), noStream);
  // Cost of each kind of usage; together they are the whole cost.
  const costs = [
    dollarsOf(all, prices),
    sumOf(published, ({ dollars }) => dollars),
    streamDollars(stream, prices),
  ] as const;
  const total = {
    ...{ ...usageBody(all, prices), ...stream },
    events: sumOf(published, ({ events }) => events),
    deliveries: sumOf(published, ({ deliveries }) => deliveries),
    requests_cost_usd: usd(costs[0]),
    events_cost_usd: usd(costs[1]),
    stream_cost_usd: usd(costs[2]),
    cost_usd: usd(sumOf(costs, (dollars) => dollars)),
  };
  const given = Object.entries({ from, to, actor_id, route_group }).filter(([, value]) => value !== undefined);
  const query = given.map(([name, value]) => `${name}=${value}`).join("&");
  return {
    object: "usage",
    ...{ from, to, total },
    events: published.map(({ dollars, ...row }) => ({ ...row, cost_usd: usd(dollars) })),
    stream: streamed.map(({ usage, ...row }) => ({ ...row, ...usage, cost_usd: usd(streamDollars(usage, prices)) })),
    prices: { region, read_on: pricesReadOn },
    data: rows.map(({ usage, ...row }) => ({ ...row, ...usageBody(usage, prices) })),
    _links: { self: { href: `/v2/usage?${query}` } },
  };
}

/** Route groups of a day with the sums of its hours. */
function rowsOf(stored: UsageDay): Row[] {
  const groups = new Map<string, RequestUsage>();
  for (const hour of hoursOf(stored)) {
    for (const [group, usage] of Object.entries(hour.groups)) {
      groups.set(group, addUsage(groups.get(group) ?? noUsage, usage));
    }
  }
  const { day, actor_id } = stored;
  const sorted = [...groups].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return sorted.map(([route_group, usage]) => ({ day, actor_id, route_group, usage }));
}

/** Usage of the stream by an actor on a day; empty for one that had no part in it. */
function streamOf(stored: UsageDay) {
  const { day, actor_id } = stored;
  const hours = hoursOf(stored).flatMap(({ stream }) => stream ?? []);
  return hours.length === 0 ? [] : [{ day, actor_id, usage: hours.reduce(addStream) }];
}

function hoursOf(stored: UsageDay): readonly UsageHour[] {
  const hours = Object.entries(stored).filter(([name]) => /^h\d\d$/.test(name));
  return hours.map(([, value]) => value as UsageHour);
}

/** Events of an actor on a day, with what they cost in US dollars. */
function eventsOf(stored: UsageDay, prices: Prices) {
  const { day, actor_id, events = 0, deliveries = 0 } = stored;
  const known = eventsByEndpoints(stored);
  const priced = sumOf(known, ([endpoints, count]) => count * eventDollars(endpoints, prices));
  // Days from before events were counted by their endpoints: the others have the average number of them.
  const others = events - sumOf(known, ([, count]) => count);
  const sent = deliveries - sumOf(known, ([endpoints, count]) => endpoints * count);
  const dollars = priced + (others > 0 ? others * eventDollars(sent / others, prices) : 0);
  return { day, actor_id, events, deliveries, dollars };
}

function sumOf<T>(all: readonly T[], amount: (each: T) => number): number {
  return all.reduce((sum, each) => sum + amount(each), 0);
}

function usd(dollars: number): string {
  return dollars.toFixed(9);
}

function usageBody(usage: RequestUsage, prices: Prices) {
  const { requests, writes, read_units, write_units, function_ms } = usage;
  return { requests, writes, read_units, write_units, function_ms, cost_usd: usd(dollarsOf(usage, prices)) };
}
