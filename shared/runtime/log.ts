import { nowIso } from "./clock.ts";
import { invocationTrace, requestNames } from "./trace.ts";

const levels = ["DEBUG", "INFO", "WARN", "ERROR", "CRITICAL", "SILENT"] as const;
type Level = "INFO" | "WARN" | "ERROR";

/** Members of an entry in addition to its message: identifiers, codes, durations. */
type Details = Readonly<Record<string, unknown>>;

/**
 * The logger of a function: one JSON line per entry, in the fields of Powertools for AWS Lambda (level, message,
 * timestamp, service, xray_trace_id), so that queries written for those work. A line of a request names it. Callers
 * pass identifiers, codes and durations, never bodies, tokens or personal data; a test plants canaries and searches
 * every line.
 */
export const log = {
  info: (message: string, details?: Details) => write("INFO", message, details),
  warn: (message: string, details?: Details) => write("WARN", message, details),
  error: (message: string, details?: Details) => write("ERROR", message, details),
};

/** The lowest level that is written; CloudWatch is paid by the byte. */
function threshold(): number {
  const { POWERTOOLS_LOG_LEVEL: own, LOG_LEVEL: common } = process.env;
  const set = levels.indexOf((own ?? common ?? "INFO").toUpperCase() as Level);
  return set === -1 ? levels.indexOf("INFO") : set;
}

/** Whether nothing is written at present. */
let silent = false;

/** Runs work without writing its log entries and metrics. Ignores its failure and waits at most `within_ms` for it. */
export async function unlogged(work: () => Promise<unknown>, within_ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, within_ms);
  });
  silent = true;
  await Promise.race([work().catch(() => undefined), late]);
  silent = false;
  clearTimeout(timer);
}

function write(level: Level, message: string, details: Details = {}): void {
  if (silent || levels.indexOf(level) < threshold()) return;
  // Of the header of X-Ray only the root is the trace: "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=…;Sampled=1".
  const trace = /Root=([^;]+)/.exec(invocationTrace())?.[1];
  const own = {
    level,
    message,
    timestamp: nowIso(),
    service: process.env["POWERTOOLS_SERVICE_NAME"],
    xray_trace_id: trace,
  };
  // The logger's own fields come last: nothing that is passed may take their place.
  process.stdout.write(`${JSON.stringify({ ...own, ...requestNames(), ...details, ...own }, plain)}\n`);
}

/** An error says nothing as JSON, and a bigint cannot become it. */
function plain(_name: string, value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  return value instanceof Error ? { name: value.name, message: value.message, stack: value.stack } : value;
}

/**
 * An error in an entry: its class, its sentence and, of an item that cannot be read, its key. A text that was no JSON
 * or no number is quoted by the sentence of its error, and may be of a person: that sentence is not said.
 */
export function causeOf(error: unknown): { error: string; error_message: string; key?: string } {
  const { name, message, key } = error as Error & { readonly key?: string };
  const error_message = error instanceof SyntaxError ? "A text could not be parsed." : message;
  return { error: name, error_message, ...(key === undefined ? {} : { key }) };
}

/** Metrics that functions count, each with an alarm of its own (`test/infra/alarms/counted-metrics.test.ts`). */
export const metricNames = [
  "RateCounterFailedOpen",
  "RefusalNotReported",
  "EventPublishFailed",
  "OutboxParked",
  "ItemUnreadable",
  "DeliveryMessageFailed",
  "UnexpectedOperation",
  "MoneyNeedsAttention",
  "CommandLate",
  "CommandUnknown",
  "DriftOpen",
  "AccountMovedOn",
  "ReconciliationDifference",
  "JobFailed",
  "StreamWakeFailed",
  "StreamPostFailed",
] as const;

/** Name of a metric that functions count. */
export type MetricName = (typeof metricNames)[number];

/** A metric in CloudWatch's embedded metric format: one log line, no call, no library. */
export function countMetric(name: MetricName, value = 1): void {
  if (silent) return;
  const metric = { Namespace: "Brokerage", Dimensions: [["stage"]], Metrics: [{ Name: name, Unit: "Count" }] };
  const line = {
    _aws: { Timestamp: Date.now(), CloudWatchMetrics: [metric] },
    stage: process.env["STAGE"],
    [name]: value,
  };
  process.stdout.write(`${JSON.stringify(line)}\n`);
}
