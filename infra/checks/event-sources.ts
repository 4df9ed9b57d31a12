import { passesOfLambda } from "../local/queues/lineage.ts";
import { statementsOf } from "./access.ts";
import { type Assembly, type Entry, listOf, objectOf, ofType, resourceOf, targetOf } from "./assembly.ts";
import { finding, type Rule } from "./rule.ts";

/** AWS asks for a visibility timeout of six function timeouts, so that a retried batch is not delivered twice. */
const visibilityTimeouts = 6;

function mappingsOf(assembly: Assembly, lambda: Entry): Entry[] {
  return ofType(assembly, "AWS::Lambda::EventSourceMapping").filter(
    ({ properties }) => targetOf(assembly, properties["FunctionName"]) === lambda.logicalId,
  );
}

/**
 * A queue hides a message for six timeouts of the function that reads it. A FIFO queue gives the messages of a group to
 * one reader at a time, so a message needs no more than the time of that one, and a killed reader delays its group less
 * (ADR 0037).
 */
const queueVisibility: Rule = (assembly) =>
  ofType(assembly, "AWS::Lambda::Function").flatMap((lambda) =>
    mappingsOf(assembly, lambda).flatMap(({ properties }) => {
      const queue = resourceOf(assembly, "AWS::SQS::Queue", properties["EventSourceArn"]);
      if (queue === undefined) return [];
      const timeout = Number(lambda.properties["Timeout"] ?? 3);
      const needed = queue.properties["FifoQueue"] === true ? timeout + 1 : visibilityTimeouts * timeout;
      const visible = Number(queue.properties["VisibilityTimeout"] ?? 30);
      if (visible >= needed) return [];
      return [finding("queue-visibility", queue, `Visible again after ${visible} s; ${needed} s are needed.`)];
    }),
  );

/**
 * Reserved concurrency below what the event sources send at once only makes throttles, and without any the readers of
 * queues and the endpoints of the API take it from each other.
 */
const reservedConcurrency: Rule = (assembly) =>
  ofType(assembly, "AWS::Lambda::Function").flatMap((lambda) => {
    const mappings = mappingsOf(assembly, lambda);
    const reserved = lambda.properties["ReservedConcurrentExecutions"];
    if (reserved === undefined && !mappings.some((mapping) => queueOf(assembly, mapping) !== undefined)) return [];
    const needed = mappings
      .map(({ properties }) => Number(objectOf(properties["ScalingConfig"])["MaximumConcurrency"] ?? 0))
      .reduce((sum, maximum) => sum + maximum, 0);
    if (Number(reserved ?? 0) >= needed) return [];
    const text = `Reserved are ${Number(reserved ?? 0)}; its event sources need ${needed}.`;
    return [finding("reserved-concurrency", lambda, text)];
  });

/** The queue that a mapping reads; undefined for a stream. */
function queueOf(assembly: Assembly, mapping: Entry): Entry | undefined {
  return resourceOf(assembly, "AWS::SQS::Queue", mapping.properties["EventSourceArn"]);
}

/** One message that fails must not bring the others back, and one queue must not take every worker. */
const eventSources: Rule = (assembly) =>
  ofType(assembly, "AWS::Lambda::EventSourceMapping").flatMap((mapping) => {
    const { FunctionResponseTypes: responses, ScalingConfig: scaling } = mapping.properties;
    const reports = listOf(responses).includes("ReportBatchItemFailures");
    const bounded = objectOf(scaling)["MaximumConcurrency"] !== undefined || queueOf(assembly, mapping) === undefined;
    return [
      ...(reports ? [] : [finding("batch-failures", mapping, "One failure brings the whole batch back.")]),
      ...(bounded ? [] : [finding("unbounded-queue", mapping, "The queue may start any number of functions.")]),
    ];
  });

/** Messages of one invocation that a queue gives without a window. */
const maxPlainBatch = 10;

/**
 * Mappings that Lambda refuses (AWS docs: creating and configuring an SQS event source mapping): a window on a FIFO
 * queue, more than ten messages without one, and a concurrency outside 2 to 1000.
 */
const refusedMappings: Rule = (assembly) =>
  ofType(assembly, "AWS::Lambda::EventSourceMapping").flatMap((mapping) => {
    const queue = queueOf(assembly, mapping);
    if (queue === undefined) return [];
    const { BatchSize: size = maxPlainBatch, MaximumBatchingWindowInSeconds: window } = mapping.properties;
    const most = Number(objectOf(mapping.properties["ScalingConfig"])["MaximumConcurrency"] ?? 2);
    const isFifo = queue.properties["FifoQueue"] === true;
    const problems = [
      ...(isFifo && window !== undefined ? ["A FIFO queue takes no batching window."] : []),
      ...(Number(size) > maxPlainBatch && (isFifo || !(Number(window) > 0)) ? [`${size} messages need a window.`] : []),
      ...(most < 2 || most > 1000 ? [`A maximum concurrency of ${most} is refused.`] : []),
    ];
    return problems.map((problem) => finding("refused-mapping", mapping, problem));
  });

/** SQS refuses a FIFO queue without its ending, and dead letters of the other kind. */
const refusedQueues: Rule = (assembly) =>
  ofType(assembly, "AWS::SQS::Queue").flatMap((queue) => {
    const { FifoQueue: fifo, QueueName: name, RedrivePolicy: redrive, DeduplicationScope: scope } = queue.properties;
    const isFifo = fifo === true;
    const dead = resourceOf(assembly, "AWS::SQS::Queue", objectOf(redrive)["deadLetterTargetArn"]);
    const perGroup = queue.properties["FifoThroughputLimit"] === "perMessageGroupId";
    const problems = [
      ...(name !== undefined && String(name).endsWith(".fifo") !== isFifo ? ["The name of a FIFO queue ends so."] : []),
      ...(dead !== undefined && (dead.properties["FifoQueue"] === true) !== isFifo
        ? ["Its dead letters are of another kind of queue."]
        : []),
      ...(perGroup && scope !== "messageGroup" ? ["A throughput per group needs the same deduplication."] : []),
    ];
    return problems.map((problem) => finding("refused-queue", queue, problem));
  });

const defaultRetentionSeconds = 345_600;

/**
 * A message that cannot be read ends in a queue that keeps it longer than the one it comes from, since a message that
 * is moved there keeps its age.
 */
const deadLetters: Rule = (assembly) =>
  ofType(assembly, "AWS::Lambda::EventSourceMapping").flatMap((mapping) => {
    const queue = queueOf(assembly, mapping);
    if (queue === undefined) return [];
    const redrive = objectOf(queue.properties["RedrivePolicy"]);
    const dead = resourceOf(assembly, "AWS::SQS::Queue", redrive["deadLetterTargetArn"]);
    if (dead === undefined) return [finding("no-dead-letters", queue, "A message that crashes its reader comes back.")];
    const [kept, keptDead] = [queue, dead].map(({ properties }) =>
      Number(properties["MessageRetentionPeriod"] ?? defaultRetentionSeconds),
    );
    if (Number(keptDead) > Number(kept)) return [];
    return [finding("no-dead-letters", dead, `Kept for ${keptDead} s; the queue before keeps for ${kept} s.`)];
  });

/** A dead-letter queue has no consumer: an alarm calls an operator. */
const silentQueues: Rule = (assembly) => {
  const mappings = ofType(assembly, "AWS::Lambda::EventSourceMapping");
  const read = new Set(mappings.map((mapping) => queueOf(assembly, mapping)?.logicalId));
  const watched = new Set(
    ofType(assembly, "AWS::CloudWatch::Alarm")
      .filter(({ properties }) => properties["MetricName"] === "ApproximateNumberOfMessagesVisible")
      .flatMap(({ properties }) => listOf(properties["Dimensions"]).map(objectOf))
      .map((dimension) => targetOf(assembly, dimension["Value"])),
  );
  return ofType(assembly, "AWS::SQS::Queue")
    .filter(({ logicalId }) => !read.has(logicalId) && !watched.has(logicalId))
    .map((queue) => finding("silent-queue", queue, "Nothing reads the queue, and no alarm tells what is in it."));
};

/** The functions that messages of each function reach first: those that read a queue that it may send to. */
function receivers(assembly: Assembly): ReadonlyMap<Entry, readonly Entry[]> {
  const lambdas = ofType(assembly, "AWS::Lambda::Function");
  const readers = lambdas.flatMap((lambda) =>
    mappingsOf(assembly, lambda).map((mapping) => ({ lambda, queue: queueOf(assembly, mapping) })),
  );
  return new Map(
    lambdas.map((lambda) => {
      const role = resourceOf(assembly, "AWS::IAM::Role", lambda.properties["Role"], lambda.template);
      const sent = (role === undefined ? [] : statementsOf(role))
        .filter(({ effect, actions }) => effect === "Allow" && actions.includes("sqs:SendMessage"))
        .flatMap(({ resources }) => resources.map((one) => targetOf(assembly, one)));
      return [lambda, readers.filter(({ queue }) => sent.includes(queue?.logicalId)).map((each) => each.lambda)];
    }),
  );
}

/**
 * Lambda ends a chain in which messages of a function come back to it, through whatever queues and functions: what it
 * was to do next is left out. An invocation has one trace for all messages of its batch, so a bound of its own does not
 * keep a function below those passes: it must say that Lambda lets it go, and end its chains itself.
 */
const recursion: Rule = (assembly) => {
  const next = receivers(assembly);
  return [...next.keys()].flatMap((lambda) => {
    const reached = new Set(next.get(lambda));
    for (const each of reached) for (const further of next.get(each) ?? []) reached.add(further);
    if (!reached.has(lambda) || lambda.properties["RecursiveLoop"] === "Allow") return [];
    return [
      finding("recursion", lambda, `It may send to itself, and Lambda ends that after ${passesOfLambda} passes.`),
    ];
  });
};

/** Rules of the functions that read queues and streams, and of where failures end. */
export const eventSourceRules: readonly Rule[] = [
  queueVisibility,
  reservedConcurrency,
  eventSources,
  refusedMappings,
  refusedQueues,
  deadLetters,
  silentQueues,
  recursion,
];
