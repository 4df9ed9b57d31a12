import { type BackgroundWork, workOfEvent } from "../../../shared/domain/usage/event-cost.ts";
import type { Route } from "../../../shared/routes/route.ts";
import { type Amounts, sumOf, times } from "./amounts.ts";
import type { CostedStage } from "./template.ts";
import { traffic } from "./traffic.ts";
import type { MeasuredUnits, RequestUnits, SweepUnits, TradingUnits } from "./units.ts";

const million = 1_000_000;
/** Gigabytes of a million times so many bytes; gigabytes are decimal, as the bills of AWS have them. */
const gigabytes = (bytes: number) => bytes / 1000;
/** Days of a month of 730 hours, and what compression leaves of a log that is kept (CloudWatch: archived logs). */
const daysPerMonth = traffic.hours_per_month / 24;
const keptShare = 0.15;

/** A million runs of a function. */
function runs(stage: CostedStage, id: string, waiting_ms: number, processor_ms: number): Amounts {
  const memory_mb = stage.memory_mb.get(id.replaceAll("_", "-"));
  if (memory_mb === undefined) throw new Error(`The stage has no function ${id}.`);
  const computing_ms = processor_ms / Math.min(1, memory_mb / traffic.whole_processor_mb);
  const starting_ms = traffic.cold_start_share * traffic.cold_start_ms;
  const seconds = (million * (waiting_ms + computing_ms + starting_ms)) / 1000;
  return {
    lambda_per_million_requests: 1,
    lambda_per_gigabyte_second: seconds * (memory_mb / 1024),
    ...leftBehind(stage, 1),
  };
}

/** Logs and traces of so many million invocations. */
function leftBehind(stage: CostedStage, invocations: number): Amounts {
  const traces_per_million = invocations * traffic.traced_share;
  return { ...logged(stage, invocations, traffic.log_bytes), traces_per_million };
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

/** A million requests of a route, with its share of the authorizer. */
export function requestAmounts(stage: CostedStage, row: Route, { routes, authorizer }: MeasuredUnits): Amounts {
  const units = routes[row.id];
  if (units === undefined) throw new Error(`units.json has no ${row.id}; npm run bench:units counts it.`);
  const asked =
    row.auth === "token" ? [times(authorizerAmounts(stage, authorizer), traffic.authorizer_miss_share)] : [];
  const read = (row.secrets?.length ?? 0) * traffic.cold_start_share;
  const usage = row.auth === "token" ? logged(stage, 1, traffic.usage_bytes) : {};
  return sumOf([answered(stage, row.id, units), usage, { secret_per_million_calls: read }, ...asked]);
}

function answered(stage: CostedStage, id: string, units: RequestUnits): Amounts {
  return {
    gateway_per_million_requests: 1,
    ...runs(stage, id, units.waiting_ms, units.processor_ms ?? traffic.unmeasured_processor_ms),
    ...unitsOf(units),
    sqs_fair_per_million_requests: units.messages * traffic.calls_per_message,
    transfer_per_gigabyte: gigabytes(traffic.answer_bytes),
  };
}

function authorizerAmounts(stage: CostedStage, units: SweepUnits): Amounts {
  return { ...runs(stage, "authorize", units.waiting_ms, traffic.unmeasured_processor_ms), ...unitsOf(units) };
}

/** A million times what is done behind a request. */
function backgroundAmounts(stage: CostedStage, work: BackgroundWork): Amounts {
  return {
    ...unitsOf(work),
    lambda_per_million_requests: work.invocations,
    lambda_per_gigabyte_second: work.gigabyte_seconds * million,
    sqs_fair_per_million_requests: work.messages * traffic.calls_per_message,
    sqs_fifo_per_million_requests: work.fifo_messages * traffic.calls_per_message,
    ...leftBehind(stage, work.invocations),
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

/** A million prices from a bridge, each of which reaches an account with a position. */
export function tickAmounts(stage: CostedStage, { tick }: MeasuredUnits): Amounts {
  const request = answered(stage, "send_feed_quotes", tick.request);
  return sumOf([times(request, 1 / tick.prices_per_request), backgroundAmounts(stage, tick.behind)]);
}

/** A million commits of trading, on the database alone. */
export function tradingAmounts(units: TradingUnits): Amounts {
  return unitsOf(units);
}

/** A million accounts in one nightly reconciliation: their reads are waited for together. */
export function reconciledAmounts(stage: CostedStage): Amounts {
  const { read_units, processor_ms } = traffic.reconciled_account;
  const { lambda_per_gigabyte_second = 0 } = runs(stage, "reconcile-books", 0, processor_ms);
  return { dynamodb_per_million_read_units: read_units, lambda_per_gigabyte_second };
}

/** A month of what runs each minute, whether there is work or not. */
export function sweepAmounts(stage: CostedStage, { sweeps }: MeasuredUnits): Amounts {
  const perMonth = (runs_per_minute: number) => (runs_per_minute * 60 * traffic.hours_per_month) / million;
  return sumOf(
    stage.schedules.map(({ id, runs_per_minute }) => {
      const units = sweeps[id];
      if (units === undefined) throw new Error(`units.json has no run of ${id}; npm run bench:units counts it.`);
      const one = { ...runs(stage, id, units.waiting_ms, traffic.unmeasured_processor_ms), ...unitsOf(units) };
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
