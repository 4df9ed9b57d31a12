import type { UsageBody } from "../../schema/reports/usage.ts";
import { type Prices, pricesOf, pricesReadOn, type Region, regions } from "./prices.ts";
import { addUsage, noUsage, type RequestUsage } from "./request-count.ts";
import type { UsageDay, UsageHour } from "./usage-day.ts";

/** What a report is of. */
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
 * What requests cost at the list prices of a region, in US dollars: the gateway, the function and the database, without
 * what is done behind them.
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

function millions(count: number): number {
  return count / 1_000_000;
}

/** The region whose prices are used for one: itself, or the first of the list where the list has none of it. */
export function pricedRegion(region: string | undefined): Region {
  return regions.find((each) => each === region) ?? regions[0];
}

/** What these days show of a scope, in their order, with dollars at the prices of a region. */
export function usageReport(scope: UsageScope, days: readonly UsageDay[], region: Region): UsageBody {
  const { from, to, actor_id, route_group } = scope;
  const prices = pricesOf(region);
  const wanted = days.filter((each) => actor_id === undefined || each.actor_id === actor_id);
  const rows = wanted.flatMap(rowsOf).filter((row) => route_group === undefined || row.route_group === route_group);
  const events = wanted
    .filter((each) => (each.events ?? 0) > 0)
    .map((each) => ({ day: each.day, actor_id: each.actor_id, ...eventsOf(each) }));
  const all = rows.reduce((sum, { usage }) => addUsage(sum, usage), noUsage);
  const total = {
    ...shown(all, prices),
    events: events.reduce((sum, each) => sum + each.events, 0),
    deliveries: events.reduce((sum, each) => sum + each.deliveries, 0),
  };
  const given = Object.entries({ from, to, actor_id, route_group }).filter(([, value]) => value !== undefined);
  const query = given.map(([name, value]) => `${name}=${value}`).join("&");
  return {
    object: "usage",
    ...{ from, to, total, events },
    prices: { region, read_on: pricesReadOn },
    data: rows.map(({ usage, ...row }) => ({ ...row, ...shown(usage, prices) })),
    _links: { self: { href: `/v2/usage?${query}` } },
  };
}

/** Route groups of a day with the sums of its hours. */
function rowsOf(stored: UsageDay): Row[] {
  const groups = new Map<string, RequestUsage>();
  for (const [name, value] of Object.entries(stored)) {
    if (!/^h\d\d$/.test(name)) continue;
    for (const [group, usage] of Object.entries((value as UsageHour).groups)) {
      groups.set(group, addUsage(groups.get(group) ?? noUsage, usage));
    }
  }
  const { day, actor_id } = stored;
  const sorted = [...groups].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return sorted.map(([route_group, usage]) => ({ day, actor_id, route_group, usage }));
}

function eventsOf({ events = 0, deliveries = 0 }: UsageDay) {
  return { events, deliveries };
}

function shown(usage: RequestUsage, prices: Prices) {
  const { requests, writes, read_units, write_units, function_ms } = usage;
  const cost_usd = dollarsOf(usage, prices).toFixed(9);
  return { requests, writes, read_units, write_units, function_ms, cost_usd };
}
