import { Aws, Duration } from "aws-cdk-lib";
import {
  Alarm,
  ComparisonOperator,
  Dashboard,
  GraphWidget,
  type IMetric,
  MathExpression,
  Metric,
  TreatMissingData,
} from "aws-cdk-lib/aws-cloudwatch";
import { SnsAction } from "aws-cdk-lib/aws-cloudwatch-actions";
import { ServicePrincipal } from "aws-cdk-lib/aws-iam";
import type { ILogGroup } from "aws-cdk-lib/aws-logs";
import { Topic } from "aws-cdk-lib/aws-sns";
import { EmailSubscription } from "aws-cdk-lib/aws-sns-subscriptions";
import type { Queue } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";
import type { MetricName } from "../../../shared/runtime/log.ts";
import { averageLatencyMs } from "../../latency.ts";
import { apiVersion, functionName, type StageConfig, serviceName } from "../../stages.ts";
import { allow } from "../grants.ts";
import type { StageTable } from "../table.ts";
import { type AlarmRule, byAlarm, filledSum, fiveMinutes } from "./alarm-rule.ts";
import { platformAlarms } from "./platform-alarms.ts";
import { runbookOf } from "./runbooks.ts";
import { SlowRoutes } from "./slow-routes.ts";
import { streamAlarms, streamErrorRule } from "./stream-alarms.ts";
import { tableRules } from "./table-alarms.ts";

/** Namespace of what the functions count themselves, written to their logs in CloudWatch's embedded metric format. */
const ownNamespace = "Brokerage";

/** Resources to watch. */
export interface AlarmsProps {
  readonly config: StageConfig;
  readonly mainTable: StageTable;
  readonly failureQueues: readonly Queue[];
  /** Queues that a function empties, and the age at which their oldest message is late. */
  readonly workQueues: readonly { readonly queue: Queue; readonly lateAfterSeconds: number }[];
  /** Ids of the functions that no caller waits for, so that no caller would complain. */
  readonly backgroundIds: readonly string[];
  /** Those of them that only this stage has. */
  readonly stageIds: readonly string[];
  readonly lateStreams: readonly LateStream[];
  /** Id of the WebSocket API. */
  readonly streamApiId: string;
  /** Log of the functions behind routes. */
  readonly requestLogs: ILogGroup;
}

/** An alarm on the age of the oldest record that a function did not read from its stream. */
export interface LateStream {
  readonly id: string;
  readonly description: string;
  readonly functionId: string;
}

const halfHour = Duration.minutes(30);

/** Share of requests that may fail: the objective is 99.9 % over 30 days. */
const errorBudgetPercent = 0.1;
/** Burning 14.4 times the budget uses up 2 % of a month's in an hour; 6 times uses up 5 % in six hours. */
const fastBurn = 14.4;
const slowBurn = 6;

/**
 * Requests of a period from which on an average says something: of fewer, those that wait for the start of an
 * environment alone make more than 50 ms where none is kept warm (test/bench/LATENCY.md).
 */
const leastForAverage = 100;

/** The alarms of a stage, one topic that they call, and one dashboard with what they look at. */
export class Alarms extends Construct {
  readonly topic: Topic;
  private readonly props: AlarmsProps;
  private readonly slowRoutes: SlowRoutes;

  constructor(scope: Construct, id: string, props: AlarmsProps) {
    super(scope, id);
    this.props = props;
    this.slowRoutes = new SlowRoutes(this, "SlowRoutes", { config: props.config, log: props.requestLogs });
    this.topic = this.makeTopic();
    const rules = [...this.apiRules(), ...this.backgroundRules(), ...this.queueRules(), ...this.throttleRules()];
    for (const rule of rules) this.addAlarm(rule);
    this.addDashboard(rules);
  }

  private makeTopic(): Topic {
    const topic = new Topic(this, "Topic", {
      topicName: `${serviceName}-${this.props.config.stage}-alarms`,
      enforceSSL: true,
    });
    for (const address of this.props.config.alarmEmails) topic.addSubscription(new EmailSubscription(address));
    // A topic with a policy of its own no longer admits the services of the same account by default.
    for (const service of ["cloudwatch", "budgets"]) {
      topic.addToResourcePolicy(
        allow(`Publish${service}`, ["sns:Publish"], [topic.topicArn], {
          principals: [new ServicePrincipal(`${service}.amazonaws.com`)],
          conditions: { StringEquals: { "aws:SourceAccount": Aws.ACCOUNT_ID } },
        }),
      );
    }
    return topic;
  }

  private addAlarm(rule: AlarmRule): void {
    const alarm = new Alarm(this, rule.id, {
      alarmName: `${serviceName}-${this.props.config.stage}-${rule.id}`,
      alarmDescription: `${rule.description} Runbook: ${runbookOf(rule.id)}`,
      metric: rule.metric,
      threshold: rule.threshold,
      comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD,
      evaluationPeriods: rule.evaluationPeriods ?? 1,
      datapointsToAlarm: rule.datapointsToAlarm ?? rule.evaluationPeriods ?? 1,
      treatMissingData: TreatMissingData.NOT_BREACHING,
    });
    const action = new SnsAction(this.topic);
    alarm.addAlarmAction(action);
    alarm.addOkAction(action);
  }

  private apiMetric(metricName: string, statistic: string, period: Duration): Metric {
    const dimensionsMap = { ApiName: `${serviceName}-${this.props.config.stage}`, Stage: apiVersion };
    return new Metric({ namespace: "AWS/ApiGateway", metricName, dimensionsMap, statistic, period });
  }

  private lambdaMetric(id: string, metricName: string, statistic: string): Metric {
    const dimensionsMap = { FunctionName: functionName(this.props.config.stage, id) };
    return new Metric({ namespace: "AWS/Lambda", metricName, dimensionsMap, statistic, period: fiveMinutes });
  }

  private ownMetric(metricName: MetricName): Metric {
    const dimensionsMap = { stage: this.props.config.stage };
    return new Metric({ namespace: ownNamespace, metricName, dimensionsMap, statistic: "Sum", period: fiveMinutes });
  }

  /**
   * Percent of requests answered 5xx; too few requests to tell count as none. An expression has no value where one of
   * its metrics has none, so what is missing is filled: without errors there may be no count of errors.
   */
  private failedPercent(period: Duration): IMetric {
    return new MathExpression({
      expression: "IF(FILL(requests, 0) > 20, 100 * FILL(errors, 0) / FILL(requests, 1), 0)",
      usingMetrics: {
        errors: this.apiMetric("5XXError", "Sum", period),
        requests: this.apiMetric("Count", "Sum", period),
      },
      label: "5xx %",
      period,
    });
  }

  private apiRules(): AlarmRule[] {
    const { latencyP99Ms } = this.props.config.alarms;
    return [
      {
        id: "errors-fast-burn",
        description: "5xx burn the error budget of 99.9 % so fast that 2 % of a month's is gone within an hour.",
        metric: this.failedPercent(fiveMinutes),
        threshold: fastBurn * errorBudgetPercent,
        evaluationPeriods: 3,
        datapointsToAlarm: 2,
      },
      {
        id: "errors-slow-burn",
        description: "5xx burn the error budget of 99.9 % so fast that 5 % of a month's is gone within six hours.",
        metric: this.failedPercent(halfHour),
        threshold: slowBurn * errorBudgetPercent,
        evaluationPeriods: 12,
        datapointsToAlarm: 6,
      },
      {
        id: "latency",
        description: `One request in a hundred takes longer than ${latencyP99Ms} ms.`,
        metric: this.apiMetric("Latency", "p99", fiveMinutes),
        threshold: latencyP99Ms,
        evaluationPeriods: 5,
        datapointsToAlarm: 3,
      },
      {
        id: "latency-average",
        description: `Of more than ${leastForAverage} requests each takes ${averageLatencyMs} ms and more on average.`,
        metric: new MathExpression({
          expression: `IF(FILL(requests, 0) > ${leastForAverage}, FILL(latency, 0), 0)`,
          usingMetrics: {
            latency: this.apiMetric("Latency", "Average", fiveMinutes),
            requests: this.apiMetric("Count", "Sum", fiveMinutes),
          },
          label: "average, ms",
          period: fiveMinutes,
        }),
        threshold: averageLatencyMs,
        evaluationPeriods: 5,
        datapointsToAlarm: 3,
      },
      this.slowRoutes.rule,
      {
        id: "counter-failed-open",
        description: "Requests passed uncounted because the request counter could not be asked.",
        metric: this.ownMetric("RateCounterFailedOpen"),
        threshold: 0,
      },
      {
        id: "refusal-not-reported",
        description: "Requests were refused without an entry in the audit, because the queue did not take a message.",
        metric: this.ownMetric("RefusalNotReported"),
        threshold: 0,
      },
    ];
  }

  /** Alarms on the errors of these functions. */
  private errorsRules(id: string, functionIds: readonly string[]): AlarmRule[] {
    return byAlarm(id, functionIds, (each, some) => this.errorsRule(each, some));
  }

  private errorsRule(id: string, functionIds: readonly string[]): AlarmRule {
    const metrics = functionIds.map((each, n) => [`f${n}`, this.lambdaMetric(each, "Errors", "Sum")] as const);
    return {
      id,
      description: `One of ${functionIds.join(", ")} fails again and again.`,
      metric: new MathExpression({
        expression: filledSum(metrics.map(([name]) => name)),
        usingMetrics: Object.fromEntries(metrics),
        label: "errors",
        period: fiveMinutes,
      }),
      threshold: 0,
      evaluationPeriods: 3,
      datapointsToAlarm: 2,
    };
  }

  private backgroundRules(): AlarmRule[] {
    const { config, backgroundIds, stageIds, lateStreams } = this.props;
    return [
      ...this.errorsRules("background-errors", backgroundIds),
      ...this.errorsRules(`${config.stage}-errors`, stageIds),
      {
        id: "publish-failed",
        description: "Events of a commit could not be published; they wait in the table and are tried again.",
        metric: this.ownMetric("EventPublishFailed"),
        threshold: 0,
        evaluationPeriods: 3,
        datapointsToAlarm: 2,
      },
      {
        id: "outbox-parked",
        description: "A commit could not be published three times and was set aside until it is released.",
        metric: this.ownMetric("OutboxParked"),
        threshold: 0,
      },
      {
        id: "item-unreadable",
        description: "A stored item cannot be read: what needs it fails or waits, and everything else goes on.",
        metric: this.ownMetric("ItemUnreadable"),
        threshold: 0,
      },
      {
        id: "message-failed",
        description: "Deliveries could not be queued; the sweep sends them later than they are due.",
        metric: this.ownMetric("DeliveryMessageFailed"),
        threshold: 0,
        evaluationPeriods: 3,
        datapointsToAlarm: 2,
      },
      {
        id: "job-failed",
        description: "An export has failed, or has waited for half an hour.",
        metric: this.ownMetric("JobFailed"),
        threshold: 0,
      },
      ...[...platformAlarms, ...streamAlarms].map(({ metricName, ...alarm }) => ({
        ...alarm,
        metric: this.ownMetric(metricName),
      })),
      streamErrorRule({ ApiId: this.props.streamApiId, Stage: apiVersion }),
      ...lateStreams.map(({ id, description, functionId }) => ({
        id,
        description,
        metric: this.lambdaMetric(functionId, "IteratorAge", "Maximum"),
        threshold: config.alarms.iteratorAgeMs,
        evaluationPeriods: 2,
      })),
    ];
  }

  private queueRules(): AlarmRule[] {
    const { failureQueues, workQueues } = this.props;
    return [
      ...failureQueues.map((queue) => ({
        id: queue.node.id,
        description: "Something failed for good and waits for a person.",
        metric: queue.metricApproximateNumberOfMessagesVisible({ period: fiveMinutes, statistic: "Maximum" }),
        threshold: 0,
      })),
      ...workQueues.map(({ queue, lateAfterSeconds }) => ({
        id: `${queue.node.id}-late`,
        description: "Messages wait in the queue longer than they should: they come faster than they are dealt with.",
        metric: queue.metricApproximateAgeOfOldestMessage({ period: fiveMinutes, statistic: "Maximum" }),
        threshold: lateAfterSeconds,
        evaluationPeriods: 2,
      })),
    ];
  }

  private throttleRules(): AlarmRule[] {
    return [
      {
        id: "function-throttles",
        description: "Functions were refused: the account's concurrency in this region is used up.",
        // Without a dimension, since concurrency belongs to the account and not to one function.
        metric: new Metric({
          namespace: "AWS/Lambda",
          metricName: "Throttles",
          statistic: "Sum",
          period: fiveMinutes,
        }),
        threshold: 0,
        evaluationPeriods: 3,
        datapointsToAlarm: 2,
      },
      {
        id: "recursion-dropped",
        description: "Lambda took the messages of a function to itself for an endless loop, and ended it.",
        metric: new Metric({
          namespace: "AWS/Lambda",
          metricName: "RecursiveInvocationsDropped",
          statistic: "Sum",
          period: fiveMinutes,
        }),
        threshold: 0,
      },
      ...tableRules(this.props.mainTable),
    ];
  }

  private addDashboard(rules: readonly AlarmRule[]): void {
    const requests = new GraphWidget({
      title: "Requests",
      left: [
        this.apiMetric("Count", "Sum", fiveMinutes),
        this.apiMetric("4XXError", "Sum", fiveMinutes),
        this.apiMetric("5XXError", "Sum", fiveMinutes),
      ],
      width: 12,
    });
    const latency = new GraphWidget({
      title: "Latency",
      left: ["Average", "p50", "p95", "p99"].map((statistic) => this.apiMetric("Latency", statistic, fiveMinutes)),
      leftAnnotations: [{ value: averageLatencyMs, label: "average" }],
      width: 12,
    });
    const widgets = rules.map(
      ({ id, metric, threshold }) =>
        new GraphWidget({ title: id, left: [metric], leftAnnotations: [{ value: threshold }], width: 8 }),
    );
    new Dashboard(this, "Dashboard", {
      dashboardName: `${serviceName}-${this.props.config.stage}`,
      widgets: [[requests, latency], [this.slowRoutes.widget], widgets],
    });
  }
}
