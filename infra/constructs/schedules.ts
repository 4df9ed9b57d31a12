import { Aws } from "aws-cdk-lib";
import { PolicyDocument, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import type { IFunction } from "aws-cdk-lib/aws-lambda";
import { CfnSchedule } from "aws-cdk-lib/aws-scheduler";
import type { IQueue } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";
import { type StageConfig, serviceName } from "../stages.ts";
import { allow } from "./grants.ts";

/** One thing that is done again and again. */
export interface ScheduleRow {
  readonly name: string;
  readonly description: string;
  /** EventBridge Scheduler's own words: `rate(5 minutes)`. */
  readonly expression: string;
  readonly target: IFunction;
  /** Event that the function receives. */
  readonly input: Readonly<Record<string, string>>;
}

/** Input to the schedules. */
export interface SchedulesProps {
  readonly config: StageConfig;
  readonly rows: readonly ScheduleRow[];
  /** Receives invocations that Lambda did not take. */
  readonly deadLetters: IQueue;
}

/** The schedules of a stage, all invoked by one role. */
export class Schedules extends Construct {
  constructor(scope: Construct, id: string, props: SchedulesProps) {
    super(scope, id);
    const { config, rows, deadLetters } = props;
    const functions = rows.map((row) => row.target.functionArn);
    const role = new Role(this, "Role", {
      assumedBy: new ServicePrincipal("scheduler.amazonaws.com", {
        conditions: { StringEquals: { "aws:SourceAccount": Aws.ACCOUNT_ID } },
      }),
      inlinePolicies: {
        schedules: new PolicyDocument({
          statements: [
            allow("Invoke", ["lambda:InvokeFunction"], functions),
            allow("DeadLetter", ["sqs:SendMessage"], [deadLetters.queueArn]),
          ],
        }),
      },
    });
    for (const row of rows) {
      new CfnSchedule(this, row.name, {
        name: `${serviceName}-${config.stage}-${row.name}`,
        description: row.description,
        scheduleExpression: row.expression,
        flexibleTimeWindow: { mode: "OFF" },
        target: {
          arn: row.target.functionArn,
          roleArn: role.roleArn,
          input: JSON.stringify(row.input),
          // The next turn does the same work, so an old invocation has no use.
          retryPolicy: { maximumRetryAttempts: 2, maximumEventAgeInSeconds: 60 },
          deadLetterConfig: { arn: deadLetters.queueArn },
        },
      });
    }
  }
}
