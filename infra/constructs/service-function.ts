import { Duration } from "aws-cdk-lib";
import { PolicyDocument, type PolicyStatement, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import {
  ApplicationLogLevel,
  Architecture,
  Code,
  Function as LambdaFunction,
  LoggingFormat,
  RecursiveLoop,
  Runtime,
  SystemLogLevel,
  Tracing,
} from "aws-cdk-lib/aws-lambda";
import { type ILogGroup, LogGroup } from "aws-cdk-lib/aws-logs";
import { Construct } from "constructs";
import { limits } from "../../shared/limits.ts";
import { memoryOf } from "../function-memory.ts";
import { functionName, type StageConfig } from "../stages.ts";
import { acknowledge } from "./acknowledge.ts";
import { allow, withoutLeadingKeys } from "./grants.ts";

/** Input to one function. */
export interface ServiceFunctionProps {
  readonly config: StageConfig;
  /** Operation id, snake_case or with hyphens; it becomes the function's name. */
  readonly id: string;
  readonly description: string;
  /** Folder that holds `index.mjs`. */
  readonly directory: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Rights of the function in addition to writing its log and its traces. */
  readonly statements: readonly PolicyStatement[];
  readonly timeoutSeconds?: number;
  /** Log group that it writes to together with others; one of its own without it. */
  readonly logGroup?: ILogGroup;
  /** Invocations at the same time that are kept for it, and the most that it gets. */
  readonly reservedConcurrency?: number;
  /** Whether it ends chains of its own messages itself, see `BackgroundRow`. */
  readonly endsItself?: boolean;
  /** Whether API Gateway invokes it for a request of the REST API, which then decides whether it records a trace. */
  readonly traced?: boolean;
}

/**
 * The one place where a function is made: its role with exactly the statements given, a log group with the stage's
 * retention, and its settings. The policy is part of the role, so a function never runs before it may.
 */
export class ServiceFunction extends Construct {
  readonly lambda: LambdaFunction;
  readonly role: Role;

  constructor(scope: Construct, id: string, props: ServiceFunctionProps) {
    super(scope, id);
    const { config } = props;
    const name = functionName(config.stage, props.id);
    const logGroup = props.logGroup ?? functionLogs(this, "Logs", config);
    const logging = allow("Log", ["logs:CreateLogStream", "logs:PutLogEvents"], [logGroup.logGroupArn]);
    const granted = config.leadingKeys ? props.statements : withoutLeadingKeys(props.statements);
    const tracing = props.traced ? [allow("Trace", ["xray:PutTraceSegments", "xray:PutTelemetryRecords"], ["*"])] : [];
    this.role = new Role(this, "Role", {
      assumedBy: new ServicePrincipal("lambda.amazonaws.com"),
      inlinePolicies: { function: new PolicyDocument({ statements: [...granted, logging, ...tracing] }) },
    });
    if (props.traced) {
      acknowledge(this.role, "AwsSolutions-IAM5[Resource::*]", "The X-Ray actions know no resource but *.");
    }
    this.lambda = new LambdaFunction(this, "Function", {
      functionName: name,
      description: props.description,
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      memorySize: memoryOf(props.id),
      timeout: Duration.seconds(props.timeoutSeconds ?? limits.functions.timeout_seconds),
      ...(props.reservedConcurrency !== undefined && { reservedConcurrentExecutions: props.reservedConcurrency }),
      handler: "index.handler",
      code: Code.fromAsset(props.directory),
      // The role above is complete; without this the library would add a policy of its own for what it switches on.
      role: this.role.withoutPolicyUpdates(),
      logGroup,
      // Of its own lines Lambda writes those about crashes and timeouts; the others cost as much as ours and say less.
      loggingFormat: LoggingFormat.JSON,
      systemLogLevelV2: SystemLogLevel.WARN,
      // The functions choose by LOG_LEVEL themselves. A line of a metric has no level, counts as INFO, and must pass.
      applicationLogLevelV2: ApplicationLogLevel.DEBUG,
      // Where the gateway does not decide, Lambda would trace one invocation a second and 5 % of the others, which no
      // rule changes (AWS docs: Lambda with X-Ray): nearly each run of a quiet stage, at 5 USD a million.
      tracing: props.traced ? Tracing.ACTIVE : Tracing.PASS_THROUGH,
      environment: { ...props.environment },
      ...(props.endsItself && { recursiveLoop: RecursiveLoop.ALLOW }),
    });
  }
}

/** A log group with the stage's retention. */
export function functionLogs(scope: Construct, id: string, config: StageConfig): LogGroup {
  return new LogGroup(scope, id, {
    // Its name is generated: a log that outlives its function must not stand in the way when the function comes back.
    retention: config.logRetention,
    removalPolicy: config.logAndSecretRemovalPolicy,
  });
}
