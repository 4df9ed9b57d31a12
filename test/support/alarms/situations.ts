import { backgroundOf } from "../../../infra/background/index.ts";
import { longestDurationMs } from "../../../infra/latency.ts";
import type { Assembly } from "../../../infra/local/template/assembly.ts";
import { functionName } from "../../../infra/stages.ts";
import { Slowness } from "../../../shared/domain/usage/slowness.ts";
import { routes } from "../../../shared/routes/index.ts";
import type { Stage } from "../../../shared/routes/route.ts";
import { countMetric, type MetricName } from "../../../shared/runtime/log.ts";
import { indexes } from "../../../shared/table/table-shape.ts";
import type { Metric } from "./metric-data.ts";

/** The stage that something happens to. */
export interface Place {
  readonly stage: Stage;
  readonly assembly: Assembly;
}

/**
 * Values of the metrics that an event changes, while it lasts.
 * @param slots slots since it began
 */
export type Happening = (metric: Metric, slots: number) => readonly number[] | undefined;

/** Purpose of an alarm. */
export interface Situation {
  /** In words, as the table of the runbooks has it. */
  readonly what: string;
  /** The same to one resource after another; each must raise the alarm, or one of those with its name and a number. */
  readonly happens: (place: Place) => readonly Happening[];
}

function changes(name: string, dimensions: Readonly<Record<string, string>>, samples: readonly number[]): Happening {
  return (metric) => (isOf(metric, name, dimensions) ? samples : undefined);
}

/** Whether a metric has these dimensions and no others: CloudWatch finds none by a part of them. */
function isOf(metric: Metric, name: string, dimensions: Readonly<Record<string, string>>): boolean {
  const names = Object.keys(dimensions);
  if (metric.name !== name || Object.keys(metric.dimensions).length !== names.length) return false;
  return names.every((each) => metric.dimensions[each] === dimensions[each]);
}

function ofApi(what: string, name: string, samples: readonly number[]): Situation {
  const happens = ({ stage }: Place) => [changes(name, { ApiName: `brokerage-${stage}`, Stage: "v2" }, samples)];
  return { what, happens };
}

function ofFunctions(
  what: string,
  ids: (stage: Stage) => readonly string[],
  [name, samples]: readonly [string, readonly number[]],
): Situation {
  const happens = ({ stage }: Place) =>
    ids(stage).map((id) => changes(name, { FunctionName: functionName(stage, id) }, samples));
  return { what, happens };
}

interface EmbeddedMetrics {
  readonly _aws: {
    readonly CloudWatchMetrics: readonly {
      readonly Namespace: string;
      readonly Dimensions: readonly (readonly string[])[];
      readonly Metrics: readonly { readonly Name: string }[];
    }[];
  };
  readonly [member: string]: unknown;
}

/** Line of a function that counts something, read as CloudWatch reads it. */
function written(stage: Stage, name: MetricName): string {
  const { write } = process.stdout;
  const { STAGE } = process.env;
  let text = "";
  process.env["STAGE"] = stage;
  process.stdout.write = (line) => {
    text += line;
    return true;
  };
  try {
    countMetric(name);
  } finally {
    process.stdout.write = write;
    if (STAGE === undefined) delete process.env["STAGE"];
    else process.env["STAGE"] = STAGE;
  }
  return text;
}

function counted(what: string, name: MetricName): Situation {
  const happens = ({ stage }: Place) => {
    const line = JSON.parse(written(stage, name)) as EmbeddedMetrics;
    const [embedded] = line._aws.CloudWatchMetrics;
    const [dimensions = []] = embedded?.Dimensions ?? [];
    const values = Object.fromEntries(dimensions.map((each) => [each, String(line[each])]));
    const counts = (metric: Metric) =>
      metric.namespace === embedded?.Namespace && isOf(metric, embedded.Metrics[0]?.Name ?? "", values);
    return [(metric: Metric) => (counts(metric) ? [Number(line[metric.name])] : undefined)];
  };
  return { what, happens };
}

/** Something ends in a queue of failures. */
function deadLetter(queue: string, what: string): Situation {
  const happens = ({ stage }: Place) => [
    changes("ApproximateNumberOfMessagesVisible", { QueueName: `brokerage-${stage}-${queue}` }, [1]),
  ];
  return { what: `one message in the queue ${queue}: ${what}`, happens };
}

/** The function of a queue takes no messages: the oldest one grows older. */
function untaken(queue: string): Situation {
  const happens = ({ stage }: Place) => [
    (metric: Metric, slots: number) =>
      isOf(metric, "ApproximateAgeOfOldestMessage", { QueueName: `brokerage-${stage}-${queue}` })
        ? [(slots + 1) * 300]
        : undefined,
  ];
  return { what: `no message of the queue ${queue} is taken`, happens };
}

/** The business table, which alone has indexes. */
function mainTable({ assembly }: Place): string {
  const main = assembly.resources.find(({ properties }) => "GlobalSecondaryIndexes" in properties);
  if (main === undefined) throw new Error("No table has indexes.");
  return main.physical_id;
}

const throttles = ["ReadThrottleEvents", "WriteThrottleEvents"] as const;

/** The other tables have alarms of their users: the counter of requests, and the functions that need keys. */
const throttledTable: Situation = {
  what: "reads or writes of the business table are throttled",
  happens: (place) => throttles.map((name) => changes(name, { TableName: mainTable(place) }, [10])),
};

const throttledIndexes: Situation = {
  what: "reads or writes of one index are throttled",
  happens: (place) => {
    const TableName = mainTable(place);
    return Object.values(indexes).flatMap(({ name: GlobalSecondaryIndexName }) =>
      throttles.map((name) => changes(name, { TableName, GlobalSecondaryIndexName }, [10])),
    );
  },
};

const conflicts: Situation = {
  what: "three of five transactions meet another one",
  happens: (place) => {
    const TableName = mainTable(place);
    return [changes("TransactionConflict", { TableName }, [900])];
  },
};

const failingStream: Situation = {
  what: "handshakes of the stream end with 5xx",
  happens: ({ assembly }) => {
    const apis = assembly.resources.filter(({ type }) => type === "AWS::ApiGatewayV2::Api");
    return apis.map(({ physical_id: ApiId }) => changes("ExecutionError", { ApiId, Stage: "v2" }, [3]));
  },
};

const slowest = Array.from({ length: 100 }, (_, n) => (n < 2 ? 5000 : 10));

/** Ids of background functions of every stage, or of those of one alone; authorizers refuse by throwing. */
const background = (own: boolean) => (stage: Stage) =>
  backgroundOf(stage)
    .filter((row) => (row.stage !== undefined) === own && row.trigger.authorizer !== true)
    .filter(({ trigger }) => trigger.socket !== "authorizer")
    .map(({ id }) => id);
/** Requests of one route in a slot, by the function that judges them. */
const slotRequests = 20;

/** Each route, slower than it may be, as its function says it in the lines of its requests. */
const slowRoute: Situation = {
  what: "one route takes two thirds more than it may on average",
  happens: ({ stage }) =>
    routes
      .filter((row) => row.stages.includes(stage))
      .map(({ id }) => {
        const duration_ms = (5 / 3) * longestDurationMs(id);
        let judge = new Slowness(longestDurationMs(id));
        return (metric: Metric, slots: number) => {
          if (metric.name !== "SlowRequests" || metric.namespace !== `brokerage-${stage}`) return undefined;
          if (slots === 0) judge = new Slowness(longestDurationMs(id));
          const durations = Array.from({ length: slotRequests }, (_, n) => (n % 2 === 0 ? 0.7 : 1.3) * duration_ms);
          return durations.filter((each) => judge.counts(each)).map(() => 1);
        };
      }),
};

/** Purpose of each alarm, by its id without the number of those that need more than one. */
export const situations: Readonly<Record<string, Situation>> = {
  "errors-fast-burn": ofApi("5 % of the requests end with 5xx", "5XXError", [50]),
  "errors-slow-burn": ofApi("0.8 % of the requests end with 5xx", "5XXError", [8]),
  latency: ofApi("2 % of the requests take 5 s", "Latency", slowest),
  "latency-average": ofApi("each request takes 70 ms", "Latency", [70]),
  "route-latency": slowRoute,
  "background-errors": ofFunctions("one background function fails each time", background(false), ["Errors", [5]]),
  "sandbox-errors": ofFunctions("one of the sandbox's own functions fails each time", background(true), [
    ...(["Errors", [5]] as const),
  ]),
  "function-throttles": {
    what: "the account's concurrency is used up",
    happens: () => [changes("Throttles", {}, [20])],
  },
  "recursion-dropped": {
    what: "Lambda ends a chain of messages of a function to itself",
    happens: () => [changes("RecursiveInvocationsDropped", {}, [1])],
  },
  "table-throttles": throttledTable,
  "index-throttles": throttledIndexes,
  "transaction-conflicts": conflicts,
  "counter-failed-open": counted("the counter of requests does not answer", "RateCounterFailedOpen"),
  "refusal-not-reported": counted("the queue of refusals takes no message", "RefusalNotReported"),
  "publish-failed": counted("commits cannot be published", "EventPublishFailed"),
  "outbox-parked": counted("a commit could not be published three times", "OutboxParked"),
  "item-unreadable": counted(
    "a stored item is damaged, or of a schema version that this release does not know",
    "ItemUnreadable",
  ),
  "message-failed": counted("deliveries cannot be queued", "DeliveryMessageFailed"),
  "stream-wake-failed": counted("the queue of the stream takes no message", "StreamWakeFailed"),
  "stream-post-failed": counted("messages for open connections are refused", "StreamPostFailed"),
  "stream-errors": failingStream,
  "unexpected-operation": counted("a platform moves money by an operation of no command", "UnexpectedOperation"),
  "money-needs-attention": counted(
    "a platform refuses what was decided here: money, or no access",
    "MoneyNeedsAttention",
  ),
  "command-late": counted("a command waits for a bridge that does not take it", "CommandLate"),
  "command-unknown": counted("a bridge took a command and reports no outcome", "CommandUnknown"),
  "drift-open": counted("a snapshot differs from the books", "DriftOpen"),
  "reconciliation-difference": counted("the books of a brokerage do not agree", "ReconciliationDifference"),
  "job-failed": counted("an export fails, or waits for half an hour", "JobFailed"),
  "account-moved-on": counted("an account could not be compared for a day", "AccountMovedOn"),
  "iterator-age": ofFunctions("commits wait 10 minutes in the stream", () => ["route"], ["IteratorAge", [600_000]]),
  "watch-iterator-age": ofFunctions("prices wait 10 minutes in the stream", () => ["watch"], [
    ...(["IteratorAge", [600_000]] as const),
  ]),
  "route-failures": deadLetter("route-failures", "commits that the router gave up"),
  "watch-failures": deadLetter("watch-failures", "prices that the watch of margins gave up"),
  "schedule-failures": deadLetter("schedule-failures", "a schedule could not invoke its function"),
  "deliver-dead": deadLetter("deliver-dead", "a delivery crashed its function"),
  "margin-dead": deadLetter("margin-dead", "an account crashed the evaluator"),
  "publish-dead": deadLetter("publish-dead.fifo", "commits crashed the publisher"),
  "fan-out-dead": deadLetter("fan-out-dead", "an event with many deliveries crashed its function"),
  "refusals-dead": deadLetter("refusals-dead", "a refusal could not be recorded"),
  "stream-dead": deadLetter("stream-dead.fifo", "a set of connections crashed the worker of the stream"),
  "stream-late": untaken("stream.fifo"),
  "deliver-late": untaken("deliver"),
  "deliver-unproven-late": untaken("deliver-unproven"),
  "retry-1m-late": untaken("retry-1m"),
  "retry-5m-late": untaken("retry-5m"),
  "retry-long-late": untaken("retry-long"),
  "margin-late": untaken("margin"),
  "publish-late": untaken("publish.fifo"),
  "fan-out-late": untaken("fan-out"),
  "refusals-late": untaken("refusals"),
};
