import { type BackgroundWork, workOfEvent } from "../../../shared/domain/usage/event-cost.ts";
import { limits } from "../../../shared/limits.ts";
import type { Route } from "../../../shared/routes/route.ts";
import { type Amounts, sumOf, times } from "./amounts.ts";
import { askedShare, perMs, startingShare } from "./starts.ts";
import type { CostedStage } from "./template.ts";
import { traffic } from "./traffic.ts";
import type { MeasuredUnits, RequestUnits, SweepUnits, TickUnits, TradingUnits } from "./units.ts";

const million = 1_000_000;
/** Gigabytes of a million times so many bytes; gigabytes are decimal, as the bills of AWS have them. */
const gigabytes = (bytes: number) => bytes / 1000;
/** Days of a month of 730 hours, and what compression leaves of a log that is kept (CloudWatch: archived logs). */
const daysPerMonth = traffic.hours_per_month / 24;
const keptShare = 0.15;

/** How a function is invoked: what it waits for and computes, and how often a new environment has to start. */
interface Invoked {
  readonly waiting_ms: number;
  readonly processor_ms: number;
  /** Share of the invocations that start one, or the number of invocations in a month of which it follows. */
  readonly starting: number | { readonly invocations: number };
}

/** A million runs of a function. */
function runs(stage: CostedStage, id: string, { waiting_ms, processor_ms, starting }: Invoked): Amounts {
  const memory_mb = stage.memory_mb.get(id.replaceAll("_", "-"));
  if (memory_mb === undefined) throw new Error(`The stage has no function ${id}.`);
  const computing_ms = processor_ms / Math.min(1, memory_mb / traffic.whole_processor_mb);
  const takes_ms = waiting_ms + computing_ms;
  const share =
    typeof starting === "number" ? starting : startingShare(perMs(starting.invocations), takes_ms, keptOf(stage, id));
  const seconds = (million * (takes_ms + share * traffic.cold_start_ms)) / 1000;
  return {
    lambda_per_million_requests: 1,
    lambda_per_gigabyte_second: seconds * (memory_mb / 1024),
    ...logged(stage, 1, traffic.log_bytes),
  };
}

/** How environments of a function are kept. */
function keptOf(stage: CostedStage, id: string) {
  return { idle_minutes: traffic.idle_minutes, warm: stage.warmed.has(id.replaceAll("_", "-")) };
}

/** So many million times so many bytes in a log. */
function logged(stage: CostedStage, millions: number, bytes: number): Amounts {
  const logs_per_gigabyte = millions * gigabytes(bytes);
  const kept = keptShare * (stage.log_days / daysPerMonth);
  return { logs_per_gigabyte, logs_per_gigabyte_month: logs_per_gigabyte * kept };
}

function unitsOf({ read_units, write_units }: Pick<SweepUnits, "read_units" | "write_units">): Amounts {
  return { dynamodb_per_million_write_units: write_units, dynamodb_per_million_read_units: read_units };
}

/** Requests of a month: those of the route, and those of all routes, by which the authorizer is asked. */
export interface Requests {
  readonly own: number;
  readonly all: number;
}

/** A million requests of a route, with its share of the authorizer, in a month with so many. */
export function requestAmounts(
  stage: CostedStage,
  row: Route,
  { routes, authorizer }: MeasuredUnits,
  requests: Requests = { own: million, all: million },
): Amounts {
  const units = routes[row.id];
  if (units === undefined) throw new Error(`units.json has no ${row.id}; npm run bench:units counts it.`);
  const share = askedShare(perMs(requests.all));
  const asked = row.auth === "token" ? [times(authorizerAmounts(stage, authorizer, share * requests.all), share)] : [];
  // An environment reads its secrets when it starts.
  const starts = startingShare(perMs(requests.own), units.waiting_ms, keptOf(stage, row.id));
  const read = (row.secrets?.length ?? 0) * starts;
  const usage = row.auth === "token" ? logged(stage, 1, traffic.usage_bytes) : {};
  return sumOf([answered(stage, row.id, units, requests.own), usage, { secret_per_million_calls: read }, ...asked]);
}

function answered(stage: CostedStage, id: string, units: RequestUnits, requests: number): Amounts {
  const { waiting_ms, processor_ms } = units;
  return {
    gateway_per_million_requests: 1,
    traces_per_million: traffic.traced_share,
    ...runs(stage, id, {
      waiting_ms,
      processor_ms: processor_ms ?? traffic.unmeasured_processor_ms,
      starting: { invocations: requests },
    }),
    ...unitsOf(units),
    sqs_fair_per_million_requests: units.messages * traffic.calls_per_message,
    transfer_per_gigabyte: gigabytes(traffic.answer_bytes),
  };
}

function authorizerAmounts(stage: CostedStage, units: SweepUnits, invocations: number): Amounts {
  const { waiting_ms } = units;
  const processor_ms = traffic.unmeasured_processor_ms;
  return { ...runs(stage, "authorize", { waiting_ms, processor_ms, starting: { invocations } }), ...unitsOf(units) };
}

/** A million times what is done behind a request. */
function backgroundAmounts(stage: CostedStage, work: BackgroundWork): Amounts {
  return {
    ...unitsOf(work),
    lambda_per_million_requests: work.invocations,
    lambda_per_gigabyte_second: work.gigabyte_seconds * million,
    sqs_fair_per_million_requests: work.messages * traffic.calls_per_message,
    sqs_fifo_per_million_requests: work.fifo_messages * traffic.calls_per_message,
    ...logged(stage, work.invocations, traffic.log_bytes),
  };
}

/** A million events that go to so many endpoints, after the commits that caused them. */
export function eventAmounts(stage: CostedStage, { events }: MeasuredUnits, endpoints: number): Amounts {
  const sent = { transfer_per_gigabyte: endpoints * gigabytes(traffic.delivery_bytes) };
  return sumOf([backgroundAmounts(stage, workOfEvent(events, endpoints)), sent]);
}

/** A million deliveries more, where an event already goes to one endpoint. */
export function deliveryAmounts(stage: CostedStage, units: MeasuredUnits): Amounts {
  return sumOf([eventAmounts(stage, units, 2), times(eventAmounts(stage, units, 1), -1)]);
}

/**
 * A million prices from a bridge, each of which reaches an account with a position, in a month with so many. Work
 * behind the prices of one request is counted once for the request.
 */
export function tickAmounts(stage: CostedStage, tick: TickUnits, prices = million): Amounts {
  const { prices_per_request: each } = tick;
  const request = answered(stage, "send_feed_quotes", tick.request, prices / each);
  return times(sumOf([request, backgroundAmounts(stage, tick.behind)]), 1 / each);
}

/** A million commits of trading, on the database alone. */
export function tradingAmounts(units: TradingUnits): Amounts {
  return unitsOf(units);
}

/** A million items that a run reads in batches: their reads are waited for together. */
export function batchedAmounts(
  stage: CostedStage,
  id: string,
  { read_units, processor_ms }: { readonly read_units: number; readonly processor_ms: number },
): Amounts {
  const { lambda_per_gigabyte_second = 0 } = runs(stage, id, { waiting_ms: 0, processor_ms, starting: 0 });
  return { dynamodb_per_million_read_units: read_units, lambda_per_gigabyte_second };
}

/** A month of one set of the stream that is hot: its worker never ends, and hands over again and again. */
export function hotSetAmounts(stage: CostedStage, { hot_second }: MeasuredUnits): Amounts {
  const runs_per_second = 1000 / limits.stream.loop_ms;
  const run = runs(stage, "stream-deliver", { waiting_ms: limits.stream.loop_ms, processor_ms: 0, starting: 0 });
  const second = sumOf([
    unitsOf(hot_second),
    times({ ...run, sqs_fifo_per_million_requests: traffic.calls_per_message }, runs_per_second),
  ]);
  return times(second, (3600 * traffic.hours_per_month) / million);
}

/** A month of keeping an environment of each function warm, where the stage does. */
export function warmthAmounts(stage: CostedStage): Amounts {
  const invocations = (60 * traffic.hours_per_month) / limits.functions.keep_warm_minutes / million;
  const one = [...stage.warmed].map((id): Amounts => {
    const memory_mb = stage.memory_mb.get(id) ?? 0;
    const lambda_per_gigabyte_second = ((million * traffic.warm_up_ms) / 1000) * (memory_mb / 1024);
    return { lambda_per_million_requests: 1, lambda_per_gigabyte_second };
  });
  return times(sumOf(one), invocations);
}

/** A month of what runs each minute, whether there is work or not. */
export function sweepAmounts(stage: CostedStage, { sweeps }: MeasuredUnits): Amounts {
  const perMonth = (runs_per_minute: number) => (runs_per_minute * 60 * traffic.hours_per_month) / million;
  return sumOf(
    stage.schedules.map(({ id, runs_per_minute }) => {
      const units = sweeps[id];
      if (units === undefined) throw new Error(`units.json has no run of ${id}; npm run bench:units counts it.`);
      // One that runs more rarely than an idle environment ends starts a new one each time.
      const starting = 1 / runs_per_minute > traffic.idle_minutes ? 1 : 0;
      const run = { waiting_ms: units.waiting_ms, processor_ms: traffic.unmeasured_processor_ms, starting };
      const one = { ...runs(stage, id, run), ...unitsOf(units) };
      return times({ ...one, schedule_per_million_invocations: 1 }, perMonth(runs_per_minute));
    }),
  );
}

/** A month of asking queues that hold nothing. */
export function pollingAmounts({ polled }: CostedStage): Amounts {
  const calls = (traffic.polls_per_minute * 60 * traffic.hours_per_month) / million;
  return {
    sqs_per_million_requests: polled.standard * calls,
    sqs_fifo_per_million_requests: polled.fifo * calls,
  };
}
