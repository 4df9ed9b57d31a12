import { RemovalPolicy } from "aws-cdk-lib";
import { RetentionDays } from "aws-cdk-lib/aws-logs";
import { publishedUrls, tokenClaims } from "../shared/hosts.ts";
import { limits } from "../shared/limits.ts";
import { type Stage, stages } from "../shared/routes/route.ts";
import { localDashboard, localOrigin } from "./local-origin.ts";

/** Requests per second and the size of the token bucket, as API Gateway counts them. */
export interface Throttle {
  readonly ratePerSecond: number;
  readonly burst: number;
}

/** Everything that differs between two deployments; what differs by account comes from `stage-settings.ts`. */
export interface StageConfig {
  readonly stage: Stage;
  /** Fate of tables when they leave the template; their names are generated, so none is ever in the way. */
  readonly removalPolicy: RemovalPolicy;
  /**
   * Fate of log groups and secrets when they leave the template. `RETAIN_ON_UPDATE_OR_DELETE` still removes them when
   * their own creation is rolled back: a secret that a failed deployment leaves would obstruct the next one.
   */
  readonly logAndSecretRemovalPolicy: RemovalPolicy;
  readonly logRetention: RetentionDays;
  /** Point-in-time recovery of the business table. */
  readonly pointInTimeRecovery: boolean;
  /** Years for which nothing deletes or replaces a sealed day of the audit; without it none is locked. */
  readonly auditLockYears?: number;
  /** Region with a copy of the business table; writing stays in the region of the stack (ADR 0082). */
  readonly copyRegion?: string;
  /**
   * ARN of the stream of a restored table that the stage uses for its business table. The one that it made leaves the
   * template and is retained (infra/runbooks/restore.md).
   */
  readonly tableStream?: string;
  /** Deletion protection of the business table. */
  readonly deletionProtection: boolean;
  /**
   * Termination protection of the stack. The first deployment goes without it (context `first=true`): the CDK command
   * line sets it before the creation succeeds, and deletes a stack whose creation failed before it tries again.
   */
  readonly terminationProtection: boolean;
  /**
   * Whether roles bind their rights on the tables to partitions by `dynamodb:LeadingKeys`, and deny changes of the
   * ledger by them. False leaves the same rights on whole tables, for the case that AWS judges transactions otherwise
   * than ADR 0013 reads it.
   */
  readonly leadingKeys: boolean;
  /** The usage plan: one application, all endpoints together. The exact limits are counted by the functions. */
  readonly planThrottle: Throttle;
  /** The usage plan's own limit of `GET /quotes/{symbol}`. */
  readonly quoteThrottle: Throttle;
  /** Limit of every method over all callers. */
  readonly methodThrottle: Throttle;
  /** The same of each method that needs no token: it is the only wall of the token endpoints and the documents. */
  readonly openThrottle: Throttle;
  /** The same of the two descriptions of the API, whose answers are a thousand times as long: their transfer costs. */
  readonly documentThrottle: Throttle;
  /**
   * Invocations of the deliverer at the same time, each with up to ten deliveries. They are reserved, as those of the
   * evaluator and the publisher are, so an account needs a concurrency of 100 more than all of them (infra/README.md).
   */
  readonly deliveries: {
    /** From the queue of first attempts. */
    readonly firstConcurrency: number;
    /** From the queue of endpoints that are not proven; Lambda takes no less than 2. */
    readonly unprovenConcurrency: number;
    /** From each queue of retries; Lambda takes no less than 2. */
    readonly retryConcurrency: number;
  };
  /**
   * Invocations of the publisher at the same time, each with one or more brokerages of which no other has any, and of
   * the function that creates many deliveries. `streamShards`: shards of the stream of the main table, by which the
   * router waits (ADR 0037); up to 16 count as 16.
   */
  readonly publishing: {
    readonly concurrency: number;
    readonly fanOutConcurrency: number;
    readonly streamShards: number;
    /** Of the function that records refusals; Lambda takes no less than 2. */
    readonly refusalConcurrency: number;
  };
  /**
   * Invocations at the same time that are kept for the authorizer, without which no caller is admitted, and for the
   * router of commits, which has one for each shard: a flood of other requests takes none of them.
   */
  readonly reserved: { readonly authorizer: number; readonly router: number };
  /** Invocations of the evaluator at the same time, each with up to ten accounts. */
  readonly evaluations: { readonly concurrency: number };
  /**
   * Invocations of the stream's worker at the same time, each with the sets of up to ten messages. A set that is looked
   * at all the time keeps one for seconds: with more of them than this, sets take turns. `postsPerSecond`: what all of
   * them post, of the 10,000 requests that API Gateway serves an account in a second.
   */
  readonly streaming: { readonly concurrency: number; readonly postsPerSecond: number };
  /** Whether an environment of each function is kept warm, so that single requests do not wait for its start. */
  readonly keepWarm: boolean;
  readonly alarms: {
    /** 99th percentile of the gateway's latency. */
    readonly latencyP99Ms: number;
    /** Age of the oldest record of a stream that its function has not dealt with. */
    readonly iteratorAgeMs: number;
  };
  /** Addresses that receive the alarms and the news of the budget, once each has confirmed its subscription. */
  readonly alarmEmails: readonly string[];
  readonly monthlyBudgetUsd: number;
  /** Tag `cost-center` of every resource. */
  readonly costCenter: string;
  /** Claim `iss` of access tokens; exact, so a token of one stage fails in the other. */
  readonly tokenIssuer: string;
  /** Claim `aud` of access tokens. */
  readonly tokenAudience: string;
  /** Own name of the API, with the ARN of its certificate in the same region; without it, one of API Gateway's. */
  readonly api?: { readonly domain: string; readonly certificateArn: string };
  /**
   * Own name of the stream, with the ARN of its certificate in the same region: a WebSocket API shares no name with a
   * REST API. Without it, one of API Gateway's.
   */
  readonly stream?: { readonly domain: string; readonly certificateArn: string };
  readonly logLevel: "DEBUG" | "INFO" | "WARN";
  /**
   * Own name of the dashboard, with the ARN of its certificate in us-east-1 (ACM), where CloudFront looks for it;
   * contexts `dashboardDomain` and `dashboardCertificate` beat it. Without it the name is one of CloudFront's.
   */
  readonly dashboard?: { readonly domain: string; readonly certificateArn: string };
  /** Origins other than the dashboard that the pool's login page may send a browser back to. */
  readonly signInOrigins: readonly string[];
  /**
   * Sender of invitations, an address of a domain that SES has verified in the account; context `mailFrom` beats it.
   * Without it Cognito sends them, 50 a day.
   */
  readonly mailFrom?: string;
}

/** Name of the service: prefix of stacks and functions, and the value of the tag `service`. */
export const serviceName = "brokerage";

/** Name of the API Gateway stage; it is the version in every path. */
export const apiVersion = "v2";

const { gateway_per_second, gateway_burst } = limits.rate;
const planThrottle: Throttle = { ratePerSecond: gateway_per_second, burst: gateway_burst };
const openThrottle: Throttle = { ratePerSecond: 100, burst: 200 };
const documentThrottle: Throttle = { ratePerSecond: 10, burst: 20 };
const quoteThrottle: Throttle = { ratePerSecond: 100, burst: 200 };

function claimsOf(stage: Stage): Pick<StageConfig, "tokenIssuer" | "tokenAudience"> {
  const { issuer: tokenIssuer, audience: tokenAudience } = tokenClaims(publishedUrls[stage]);
  return { tokenIssuer, tokenAudience };
}

const configs: Record<Stage, StageConfig> = {
  sandbox: {
    stage: "sandbox",
    removalPolicy: RemovalPolicy.DESTROY,
    logAndSecretRemovalPolicy: RemovalPolicy.DESTROY,
    logRetention: RetentionDays.TWO_WEEKS,
    pointInTimeRecovery: false,
    deletionProtection: false,
    terminationProtection: false,
    leadingKeys: true,
    planThrottle,
    quoteThrottle,
    methodThrottle: { ratePerSecond: 500, burst: 1000 },
    openThrottle,
    documentThrottle,
    deliveries: { firstConcurrency: 6, unprovenConcurrency: 2, retryConcurrency: 2 },
    publishing: { concurrency: 4, fanOutConcurrency: 2, streamShards: 16, refusalConcurrency: 2 },
    evaluations: { concurrency: 4 },
    reserved: { authorizer: 10, router: 4 },
    streaming: { concurrency: 8, postsPerSecond: 3000 },
    keepWarm: false,
    alarms: { latencyP99Ms: 2000, iteratorAgeMs: 300_000 },
    alarmEmails: [],
    monthlyBudgetUsd: 100,
    costCenter: "brokerage-sandbox",
    ...claimsOf("sandbox"),
    logLevel: "INFO",
    signInOrigins: [localOrigin, localDashboard],
  },
  production: {
    stage: "production",
    removalPolicy: RemovalPolicy.RETAIN,
    logAndSecretRemovalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
    logRetention: RetentionDays.THREE_MONTHS,
    pointInTimeRecovery: true,
    auditLockYears: 7,
    deletionProtection: true,
    terminationProtection: true,
    leadingKeys: true,
    planThrottle,
    quoteThrottle,
    methodThrottle: { ratePerSecond: 2000, burst: 4000 },
    openThrottle,
    documentThrottle,
    deliveries: { firstConcurrency: 35, unprovenConcurrency: 5, retryConcurrency: 10 },
    publishing: { concurrency: 20, fanOutConcurrency: 10, streamShards: 16, refusalConcurrency: 2 },
    evaluations: { concurrency: 19 },
    reserved: { authorizer: 50, router: 16 },
    streaming: { concurrency: 20, postsPerSecond: 6000 },
    keepWarm: true,
    alarms: { latencyP99Ms: 1000, iteratorAgeMs: 60_000 },
    alarmEmails: [],
    monthlyBudgetUsd: 1000,
    costCenter: "brokerage-production",
    ...claimsOf("production"),
    logLevel: "INFO",
    signInOrigins: [],
    mailFrom: "no-reply@brokerage.example",
  },
};

function isStage(name: string): name is Stage {
  return stages.some((stage) => stage === name);
}

/** The configuration of a stage; throws when there is no stage of that name. */
export function stageConfig(name: string): StageConfig {
  if (!isStage(name)) throw new Error(`There is no stage "${name}"; the stages are ${stages.join(" and ")}.`);
  return configs[name];
}

/** Name of a function on AWS: `brokerage-<stage>-<id with hyphens>`. */
export function functionName(stage: Stage, id: string): string {
  return `${serviceName}-${stage}-${id.replaceAll("_", "-")}`;
}
