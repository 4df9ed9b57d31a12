import { CloudWatchLogsClient, FilterLogEventsCommand } from "@aws-sdk/client-cloudwatch-logs";
import { limits } from "../limits.ts";

const client = new CloudWatchLogsClient({
  maxAttempts: limits.calls.attempts,
  requestHandler: limits.calls.slow_handler,
});

/** Subjects of lines: requests, messages of the stream, and connections of it that ended. */
export type CountedLine = "request" | "stream" | "connection";

/**
 * The lines about these things that a log group received from one moment to another, the end exclusive, in epoch
 * milliseconds: a page with each call. Nothing is charged for the calls; CloudWatch takes five a second.
 */
export async function* countedLines(
  group: string,
  about: readonly CountedLine[],
  { from_ms, to_ms }: { readonly from_ms: number; readonly to_ms: number },
): AsyncGenerator<string[]> {
  let nextToken: string | undefined;
  do {
    const page = await client.send(
      new FilterLogEventsCommand({
        logGroupName: group,
        startTime: from_ms,
        // CloudWatch returns what bears this time as well.
        endTime: to_ms - 1,
        filterPattern: patternOf(about),
        nextToken,
      }),
    );
    yield (page.events ?? []).map(({ message = "" }) => message);
    nextToken = page.nextToken;
  } while (nextToken !== undefined);
}

/** A pattern that a line matches whose message is one of these. */
function patternOf(messages: readonly string[]): string {
  const terms = messages.map((message) => `$.message = "${message}"`);
  return terms.length === 1 ? `{ ${terms[0]} }` : `{ ${terms.map((term) => `(${term})`).join(" || ")} }`;
}
