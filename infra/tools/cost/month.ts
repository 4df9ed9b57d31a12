import type { PriceName, Prices } from "../../../shared/domain/usage/prices.ts";
import { routes } from "../../../shared/routes/index.ts";
import { type Amounts, dollarsOf, only, sumOf, times } from "./amounts.ts";
import type { MonthlyTraffic } from "./mix.ts";
import type { CostedStage } from "./template.ts";
import { traffic } from "./traffic.ts";
import type { MeasuredUnits } from "./units.ts";
import {
  eventAmounts,
  hotSetAmounts,
  pollingAmounts,
  requestAmounts,
  sweepAmounts,
  tickAmounts,
  warmthAmounts,
} from "./work.ts";

/** One line of a bill. */
export interface Line {
  readonly name: string;
  /** Whether it is there without any request. */
  readonly fixed: boolean;
  /** Advice to lower it. */
  readonly lower: string;
  readonly amounts: Amounts;
  readonly dollars: number;
}

type Draft = Omit<Line, "dollars">;

const million = 1_000_000;
const gigabytes = (bytes: number) => bytes / 1e9;

/** Cost of a stage in a month in which it answers no request and sees no price, by its dearest line first. */
export function idleMonth(stage: CostedStage, units: MeasuredUnits, prices: Prices): readonly Line[] {
  return priced(fixedLines(stage, units), prices);
}

/**
 * Cost of a month with this traffic, by its dearest line first.
 * @throws Error for a route that units.json does not have
 */
export function monthOf(
  stage: CostedStage,
  units: MeasuredUnits,
  prices: Prices,
  month: MonthlyTraffic,
): readonly Line[] {
  const used = [...requestLines(stage, units, month), ...otherLines(stage, units, month)];
  return priced([...used, ...fixedLines(stage, units)], prices);
}

/** Dollars of lines together. */
export function totalOf(lines: readonly Pick<Line, "dollars">[]): number {
  return lines.reduce((sum, { dollars }) => sum + dollars, 0);
}

function priced(drafts: readonly Draft[], prices: Prices): readonly Line[] {
  return drafts
    .map((draft) => ({ ...draft, dollars: dollarsOf(draft.amounts, prices) }))
    .sort((one, other) => other.dollars - one.dollars);
}

function fixedLines(stage: CostedStage, units: MeasuredUnits): Draft[] {
  const { alarms, alarm_metrics, secrets, keys } = stage;
  return [
    {
      name: `Alarms (${alarms}, on ${alarm_metrics} metrics) and dashboard`,
      fixed: true,
      lower: "Watch the duration of fewer routes one by one: each metric of an alarm costs 0.10 a month.",
      amounts: { alarm_per_metric_month: alarm_metrics, dashboard_month: stage.dashboards },
    },
    {
      name: `Secrets (${secrets})`,
      fixed: true,
      lower: "Keep two values in one secret; each secret costs 0.40 a month.",
      amounts: { secret_month: secrets, key_month: keys },
    },
    {
      name: `Queues asked while empty (${stage.polled.standard + stage.polled.fifo})`,
      fixed: true,
      lower: "Fewer queues: Lambda asks each of them 15 times a minute, whether it holds anything or not.",
      amounts: pollingAmounts(stage),
    },
    {
      name: `Sweeps every minute (${stage.schedules.length})`,
      fixed: true,
      lower: "Sweep less often: work that was interrupted is then taken up later.",
      amounts: sweepAmounts(stage, units),
    },
    {
      name: `Functions kept warm (${stage.warmed.size})`,
      fixed: true,
      lower: "keep_warm in .stages.json: without it single requests of a quiet stage wait for a start.",
      amounts: warmthAmounts(stage),
    },
  ];
}

const isLambda = (name: PriceName) => name.startsWith("lambda_");
const isLog = (name: PriceName) => name.startsWith("logs_") || name.startsWith("traces_");

/** The lines that requests are divided into, with the prices of each. */
const partsOfRequests = [
  {
    name: "API requests: gateway",
    lower: "Ask less often: webhooks instead of polling, one list instead of many single reads.",
    has: (name: PriceName) => name === "gateway_per_million_requests",
  },
  {
    name: "API requests: database writes",
    lower: "Fewer writes for each command: indexes of lists that few people use, and the counter of each request.",
    has: (name: PriceName) => name === "dynamodb_per_million_write_units",
  },
  {
    name: "API requests: database reads",
    lower: "Shorter pages of lists, and single resources instead of lists.",
    has: (name: PriceName) => name === "dynamodb_per_million_read_units",
  },
  {
    name: "API requests: functions",
    lower: "Less memory for functions that wait more than they compute (infra/function-memory.ts).",
    has: isLambda,
  },
  {
    name: "API requests: logs and traces",
    lower: "Shorter log lines, a lower share of traced requests, or a shorter retention.",
    has: isLog,
  },
  {
    name: "API requests: data transfer and queues",
    lower: "Smaller answers: shorter pages, and If-None-Match where a client has the answer already.",
    has: (name: PriceName) => /^(?:transfer|sqs|secret)_/.test(name),
  },
] as const;

function requestLines(stage: CostedStage, units: MeasuredUnits, { requests, mix }: MonthlyTraffic): Draft[] {
  const whole = sharesOf(mix);
  const all = sumOf(
    Object.entries(whole).map(([id, share]) =>
      times(
        requestAmounts(stage, rowOf(id), units, { own: share * requests, all: requests }),
        (share * requests) / million,
      ),
    ),
  );
  return partsOfRequests.map(({ name, lower, has }) => ({ name, lower, fixed: false, amounts: only(all, has) }));
}

function otherLines(stage: CostedStage, units: MeasuredUnits, month: MonthlyTraffic): Draft[] {
  const { endpoints_per_event: endpoints, prices_per_second, stored_gigabytes } = month;
  const ticks = prices_per_second * 3600 * traffic.hours_per_month;
  const [together] = units.ticks.slice(-1);
  if (together === undefined) throw new Error("units.json has no prices; npm run bench:units counts them.");
  const seen = month.dashboard_requests / million;
  const events = eventsOf(month);
  const grown = gigabytes(events * units.stored_bytes);
  const stored = stored_gigabytes + grown / 2;
  const sets = month.hot_stream_sets;
  return [
    {
      name: `Events, each to ${endpoints} webhook endpoints`,
      fixed: false,
      lower: "Subscribe endpoints to the types they use: an event that no endpoint wants costs half of one with one.",
      amounts: times(eventAmounts(stage, units, endpoints), events / million),
    },
    {
      name: `Prices, ${prices_per_second} a second, ${together.prices_per_request} in a request`,
      fixed: false,
      lower: "Send each symbol at most once a second, and many symbols in one request.",
      amounts: times(tickAmounts(stage, together, ticks), ticks / million),
    },
    {
      name: `Stream, ${month.stream_connections} connections`,
      fixed: false,
      lower: "Fewer messages: subscribe to what is shown, and quotes at one a second; a connection alone costs 0.011.",
      amounts: streamAmounts(month),
    },
    {
      name: `Hot sets of the stream, ${sets}`,
      fixed: false,
      lower: "Subscribe to what is shown only: a set is served all the time while a price that it follows moves.",
      amounts: times(hotSetAmounts(stage, units), sets),
    },
    {
      name: `Storage, ${stored_gigabytes} GB and ${grown.toFixed(1)} more${stage.recovery ? ", with recovery" : ""}`,
      fixed: false,
      lower: "Shorter retention of events and deliveries.",
      amounts: {
        dynamodb_per_gigabyte_month: stored,
        dynamodb_recovery_per_gigabyte_month: stage.recovery ? stored : 0,
      },
    },
    {
      name: `Audit's bucket after ${month.audit_months} months`,
      fixed: false,
      lower: "Nothing: it keeps what the law asks for.",
      amounts: { s3_per_gigabyte_month: month.audit_months * gigabytes(events * traffic.audit_entry_bytes) },
    },
    ...copyLines(stage, units, month, stored),
    {
      name: `Dashboard of ${month.operators} operators`,
      fixed: false,
      lower: "Nothing worth the work.",
      amounts: {
        operator_month: month.operators,
        cdn_per_million_requests: seen,
        cdn_function_per_million: seen,
        cdn_per_gigabyte: month.dashboard_gigabytes,
      },
    },
  ];
}

/** Where another region has a copy: each write of the business table once more, and what is stored. */
function copyLines(stage: CostedStage, units: MeasuredUnits, month: MonthlyTraffic, stored: number): Draft[] {
  if (stage.copies === 0) return [];
  const shares = Object.entries(sharesOf(month.mix));
  // A request writes its counter into the volatile table, of which there is no copy.
  const ofRoute = (id: string) => Math.max(0, (units.routes[id]?.write_units ?? 0) - 1);
  const ofRequests = shares.reduce((sum, [id, share]) => sum + share * month.requests * ofRoute(id), 0);
  const { dynamodb_per_million_write_units: ofEvents = 0 } = eventAmounts(stage, units, month.endpoints_per_event);
  const written = ofRequests / million + (ofEvents * eventsOf(month)) / million;
  return [
    {
      name: "Copy in another region",
      fixed: false,
      lower: "Without copy_region in .stages.json it is not there; a restore then begins from this region's recovery.",
      amounts: {
        dynamodb_per_million_write_units: stage.copies * written,
        dynamodb_per_gigabyte_month: stage.copies * stored,
        dynamodb_recovery_per_gigabyte_month: stage.recovery ? stage.copies * stored : 0,
        // A unit is 1 KB at the most; transfer between regions costs less than that to the internet.
        transfer_per_gigabyte: stage.copies * written,
      },
    },
  ];
}

/** Charge of API Gateway for a month of the stream; the work of its worker is part of the events. */
function streamAmounts({ stream_connections, stream_messages_per_minute }: MonthlyTraffic): Amounts {
  const minutes = (stream_connections * 60 * traffic.hours_per_month) / million;
  return {
    stream_per_million_minutes: minutes,
    stream_per_million_messages: minutes * stream_messages_per_minute,
  };
}

/** Events of a month: one for each request of a route that can cause one, unless the traffic states a number. */
export function eventsOf({ requests, mix, events_per_request }: MonthlyTraffic): number {
  if (events_per_request !== undefined) return requests * events_per_request;
  const causing = Object.entries(sharesOf(mix)).filter(([id]) => rowOf(id).emits.length > 0);
  return requests * causing.reduce((sum, [, share]) => sum + share, 0);
}

/** Parts of a mix as shares of 1. */
function sharesOf(mix: MonthlyTraffic["mix"]): Readonly<Record<string, number>> {
  const whole = Object.values(mix).reduce((sum, part) => sum + part, 0);
  return Object.fromEntries(Object.entries(mix).map(([id, part]) => [id, part / whole]));
}

function rowOf(id: string) {
  const row = routes.find((each) => each.id === id);
  if (row === undefined) throw new Error(`There is no route ${id}.`);
  return row;
}
