import { CfnQueryDefinition, type ILogGroup } from "aws-cdk-lib/aws-logs";
import type { Construct } from "constructs";
import { type StageConfig, serviceName } from "../stages.ts";

/**
 * Finds what was logged about a request, from the gateway to the attempts to deliver its events. The text to search for
 * is the request id or the last 24 digits of the trace id, which X-Ray and W3C Trace Context write alike.
 */
const query = `fields @timestamp, @log, message, operation, status, attempt, http_status, error, @message
| filter @message like "PASTE A REQUEST ID, OR THE LAST 24 DIGITS OF A TRACE ID"
| sort @timestamp asc
| limit 1000`;

/** Saves the query that follows a request, with the log groups that it looks at (runbooks: follow a request). */
export function addRequestQuery(scope: Construct, { stage }: StageConfig, groups: readonly ILogGroup[]): void {
  new CfnQueryDefinition(scope, "RequestQuery", {
    name: `${serviceName}/${stage}/follow-a-request`,
    logGroupNames: groups.map(({ logGroupName }) => logGroupName),
    queryString: query,
  });
}
