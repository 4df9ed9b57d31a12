import { expectedDurationMs, longestDurationMs, slowRoutes } from "../../../infra/latency.ts";
import { functionName } from "../../../infra/stages.ts";
import { Slowness } from "../../../shared/domain/usage/slowness.ts";
import { routes } from "../../../shared/routes/index.ts";
import type { Stage } from "../../../shared/routes/route.ts";
import type { Metric, MetricData } from "./metric-data.ts";

/** Metrics of a time without a fault. */
export interface Traffic {
  readonly title: string;
  readonly data: (stage: Stage) => MetricData;
}

type Samples = Readonly<Record<string, readonly number[]>>;

/** A slot in which single things fail that are repeated by themselves. */
const blip = 50;
/** Slots after a deployment, in which environments are started. */
const deployed = new Set([30, 31]);

const commits = Array.from({ length: 600 }, () => 25);
const commonLatency = Array.from({ length: 200 }, (_, n) => (n === 0 ? 900 : 20 + (n % 30)));
const coldLatency = Array.from({ length: 200 }, (_, n) => (n < 20 ? 3000 : 30));

/** The age of the oldest message of a queue: one that is delayed grows as old as its delay. */
function ageOf(queue = ""): number {
  if (/-retry-long$/.test(queue)) return 905;
  if (/-retry-5m$/.test(queue)) return 310;
  return /-retry-1m$/.test(queue) ? 65 : 3;
}

/** The slowest time of routes that have no reason to be slow (test/bench/LATENCY.md). */
const slowestOfOthersMs = 35.8;

/** Lines of slow requests in a slot in which each route has some requests, the first ones cold after a deployment. */
function slowOnes(stage: Stage, slot: number): readonly number[] {
  const key = `${stage} ${deployed.has(slot)}`;
  const known = slowBefore.get(key) ?? countSlow(stage, deployed.has(slot));
  slowBefore.set(key, known);
  return known;
}

/** Slots are alike, and each alarm is asked about all of them. */
const slowBefore = new Map<string, readonly number[]>();

function countSlow(stage: Stage, isCold: boolean): readonly number[] {
  const ids = routes.filter(({ stages }) => stages.includes(stage)).map(({ id }) => id);
  return ids.flatMap((id) => {
    const expected_ms = slowRoutes[id] === undefined ? slowestOfOthersMs : expectedDurationMs(id);
    const judge = new Slowness(longestDurationMs(id));
    // Now and then a call is repeated after a timeout.
    const usual = Array.from({ length: 40 }, (_, n) => (n === 20 ? 1500 : (n % 2 === 0 ? 0.8 : 1.2) * expected_ms));
    return [...(isCold ? [400, 300] : []), ...usual].filter((each) => judge.counts(each)).map(() => 1);
  });
}

const once = ["EventPublishFailed", "DeliveryMessageFailed", "CommandLate", "CommandUnknown"];

function samplesOf(stage: Stage, { name, dimensions }: Metric, slot: number): readonly number[] {
  const { FunctionName = "", QueueName } = dimensions;
  const failing = slot === blip ? [1] : [];
  // API Gateway calls the authorizer for each token that it has not kept, and it throws for one that has expired.
  const isAuthorizer = FunctionName === functionName(stage, "authorize");
  const samples: Samples = {
    Count: [1000],
    "4XXError": [300],
    "5XXError": slot % 7 === 0 ? [1] : [],
    Latency: deployed.has(slot) ? coldLatency : commonLatency,
    Errors: isAuthorizer ? [150] : failing,
    SlowRequests: name === "SlowRequests" ? slowOnes(stage, slot) : [],
    Throttles: failing,
    IteratorAge: [800],
    ApproximateNumberOfMessagesVisible: [0],
    ApproximateAgeOfOldestMessage: [ageOf(QueueName)],
    ReadThrottleEvents: failing,
    WriteThrottleEvents: failing,
    TransactionConflict: [20],
    SuccessfulRequestLatency: commits,
  };
  return samples[name] ?? (once.includes(name) ? failing : []);
}

/** The same metrics with some of them in other numbers. */
function instead(samples: Samples): Traffic["data"] {
  return (stage) => (metric, slot) => samples[metric.name] ?? samplesOf(stage, metric, slot);
}

/** A day as every day is; each situation happens in the middle of it. */
export const usualDay: Traffic = {
  title: "a day with 401 for expired tokens, single failures that are repeated, and a deployment",
  data: (stage) => (metric, slot) => samplesOf(stage, metric, slot),
};

/** Times that call no person. */
export const quietTimes: readonly Traffic[] = [
  usualDay,
  { title: "nine of ten requests answered 429, or 401 for expired tokens", data: instead({ "4XXError": [900] }) },
  { title: "a night without any request", data: () => () => [] },
  {
    title: "six requests an hour, each of which waits for the start of its function and of which one fails",
    data: (stage) => (metric, slot) => {
      const few: Samples = { Count: slot % 2 === 0 ? [1] : [], "5XXError": slot % 12 === 0 ? [1] : [], Latency: [400] };
      return few[metric.name] ?? (metric.namespace === "AWS/SQS" ? samplesOf(stage, metric, slot) : []);
    },
  },
];
