import { Duration } from "aws-cdk-lib";
import type { PolicyStatement } from "aws-cdk-lib/aws-iam";
import { CfnEventSourceMapping } from "aws-cdk-lib/aws-lambda";
import type { Queue } from "aws-cdk-lib/aws-sqs";
import type { StreamTrigger } from "../background/row.ts";
import { allow } from "./grants.ts";
import type { ServiceFunction } from "./service-function.ts";
import type { StageTable } from "./table.ts";

/** Where a function reads records from, and where those go that it gave up. */
export interface StreamSource {
  readonly trigger: StreamTrigger;
  readonly stream: string;
  readonly failureQueue?: Queue;
}

/** ARN of the stream of a table; throws when it has none. */
export function streamOf({ tableStreamArn, tableName }: StageTable): string {
  if (tableStreamArn === undefined) throw new Error(`The table ${tableName} has no stream.`);
  return tableStreamArn;
}

/** Rights of an event source mapping to read a stream and report failures, in the name of its function. */
export function streamStatements({ stream, failureQueue }: StreamSource): PolicyStatement[] {
  const actions = ["DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"];
  const read = allow(
    "ReadStream",
    actions.map((action) => `dynamodb:${action}`),
    [stream],
  );
  if (failureQueue === undefined) return [read];
  return [read, allow("ReportFailure", ["sqs:SendMessage"], [failureQueue.queueArn])];
}

/** Invokes a function with the records of a stream. */
export function readStream(reader: ServiceFunction, { trigger, stream, failureQueue }: StreamSource): void {
  const { images, inserted = [], batchSize, windowSeconds = 0, maximumRetryAttempts } = trigger;
  new CfnEventSourceMapping(reader, "Stream", {
    functionName: reader.lambda.functionName,
    eventSourceArn: stream,
    // From the oldest record: what was committed before the mapping existed is seen as well.
    startingPosition: "TRIM_HORIZON",
    batchSize,
    maximumBatchingWindowInSeconds: windowSeconds,
    parallelizationFactor: 1,
    bisectBatchOnFunctionError: true,
    functionResponseTypes: ["ReportBatchItemFailures"],
    maximumRecordAgeInSeconds: Duration.hours(23).toSeconds(),
    maximumRetryAttempts,
    filterCriteria: {
      filters: [
        ...inserted.map((image) => ({ eventName: ["INSERT"], dynamodb: { NewImage: image } })),
        ...images.map((image) => ({ dynamodb: { NewImage: image } })),
      ].map((pattern) => ({ pattern: JSON.stringify(pattern) })),
    },
    ...(failureQueue && { destinationConfig: { onFailure: { destination: failureQueue.queueArn } } }),
  });
}
