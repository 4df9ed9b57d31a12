import { LogQueryWidget, Metric } from "aws-cdk-lib/aws-cloudwatch";
import { CfnQueryDefinition, FilterPattern, type ILogGroup, MetricFilter } from "aws-cdk-lib/aws-logs";
import { Construct } from "constructs";
import { type StageConfig, serviceName } from "../../stages.ts";
import { type AlarmRule, fiveMinutes } from "./alarm-rule.ts";

/** Query of the saved query and the dashboard on the log of requests: the slow routes, the most often first. */
const slowRoutesQuery = [
  "fields operation, duration_ms",
  'filter message = "request" and ispresent(slow)',
  "stats count(*) as slow_requests, avg(duration_ms) as average_ms, max(duration_ms) as longest_ms by operation",
  "sort slow_requests desc",
];

/**
 * Requests of routes that are slower than they may be. A function knows what its requests may take and says so in the
 * line of a request (`shared/domain/usage/slowness.ts`), so that all routes together are one metric and one alarm: an
 * alarm on the duration of each was 11 USD a month. The saved query names the routes.
 */
export class SlowRoutes extends Construct {
  readonly rule: AlarmRule;
  readonly widget: LogQueryWidget;

  constructor(scope: Construct, id: string, { config, log }: { config: StageConfig; log: ILogGroup }) {
    super(scope, id);
    const name = { metricNamespace: `${serviceName}-${config.stage}`, metricName: "SlowRequests" };
    new MetricFilter(this, "Filter", {
      ...name,
      logGroup: log,
      filterPattern: FilterPattern.booleanValue("$.slow", true),
      metricValue: "1",
    });
    new CfnQueryDefinition(this, "Query", {
      name: `${serviceName}-${config.stage}/slow-routes`,
      logGroupNames: [log.logGroupName],
      queryString: slowRoutesQuery.join("\n| "),
    });
    this.widget = new LogQueryWidget({
      title: "Slow routes",
      logGroupNames: [log.logGroupName],
      queryLines: slowRoutesQuery,
      width: 12,
    });
    this.rule = {
      id: "route-latency",
      description: `A route takes longer than it may on average; the query ${config.stage}/slow-routes names it.`,
      metric: new Metric({
        namespace: name.metricNamespace,
        metricName: name.metricName,
        statistic: "Sum",
        period: fiveMinutes,
      }),
      threshold: 0,
      evaluationPeriods: 6,
      datapointsToAlarm: 5,
    };
  }
}
