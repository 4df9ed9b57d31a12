import { CloudWatchLogsClient, FilterLogEventsCommand } from "@aws-sdk/client-cloudwatch-logs";
import { limits } from "../limits.ts";

const client = new CloudWatchLogsClient({
  maxAttempts: limits.calls.attempts,
  requestHandler: limits.calls.slow_handler,
});

/**
 * The lines about requests that a log group received from one moment to another, the end exclusive, in epoch
 * milliseconds: a page with each call. Nothing is charged for the calls; CloudWatch takes five a second.
 */
export async function* requestLines(group: string, from_ms: number, to_ms: number): AsyncGenerator<string[]> {
  let nextToken: string | undefined;
  do {
    const page = await client.send(
      new FilterLogEventsCommand({
        logGroupName: group,
        startTime: from_ms,
        // CloudWatch returns what bears this time as well.
        endTime: to_ms - 1,
        filterPattern: '{ $.message = "request" }',
        nextToken,
      }),
    );
    yield (page.events ?? []).map(({ message = "" }) => message);
    nextToken = page.nextToken;
  } while (nextToken !== undefined);
}
