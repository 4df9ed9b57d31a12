/**
 * The environment of a function, read once and typed. The stacks set exactly these variables; a missing one is named at
 * the first use, at start, and never in the middle of a request.
 */
function required(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === "") throw new Error(`The environment variable ${name} is not set.`);
  return value;
}

/** Variables of every function; each is read when first asked for, so a function needs only those it uses. */
export const env = {
  get stage(): "sandbox" | "production" {
    return required("STAGE") === "production" ? "production" : "sandbox";
  },
  /** Average duration of the function's requests above which they are slow, ms; Infinity without a setting. */
  get slowAboveMs(): number {
    return Number(process.env["SLOW_ABOVE_MS"] ?? Number.POSITIVE_INFINITY);
  },
  /** The main table. */
  get tableName(): string {
    return required("TABLE_NAME");
  },
  /** The table for rate counters and quotes. */
  get volatileTableName(): string {
    return required("VOLATILE_TABLE_NAME");
  },
  /** The table of the keys of persons; only where it is used. */
  get keyTableName(): string {
    return required("KEY_TABLE_NAME");
  },
  /** Address that links are built from, ends with the version: `https://…/v2`. */
  get publicBaseUrl(): string {
    return required("PUBLIC_BASE_URL");
  },
  get tokenIssuer(): string {
    return required("TOKEN_ISSUER");
  },
  get tokenAudience(): string {
    return required("TOKEN_AUDIENCE");
  },
  /** Issuer of the user pool's tokens; undefined where the stack has no pool. */
  get poolIssuer(): string | undefined {
    return process.env["POOL_ISSUER"];
  },
  /** Client of the user pool that operators sign in with; undefined likewise. */
  get poolClientId(): string | undefined {
    return process.env["POOL_CLIENT_ID"];
  },
  /** Address of the user pool's key set (RFC 7517); undefined likewise. */
  get poolKeysUrl(): string | undefined {
    return process.env["POOL_KEYS_URL"];
  },
  get signingKeySecretId(): string {
    return required("SIGNING_KEY_SECRET_ID");
  },
  /** Secret that keys for sealing and deriving are made from; only where it is used. */
  get serviceKeySecretId(): string {
    return required("SERVICE_KEY_SECRET_ID");
  },
  get usagePlanId(): string {
    return required("USAGE_PLAN_ID");
  },
  /** The pool itself; only the function that keeps its users has it. */
  get userPoolId(): string {
    return required("USER_POOL_ID");
  },
  /** Addresses of the queues that wake the deliverer; a function has those that it sends to. */
  queues: {
    get deliver(): string {
      return required("DELIVER_QUEUE_URL");
    },
    get deliver_unproven(): string {
      return required("DELIVER_UNPROVEN_QUEUE_URL");
    },
    get retry_1m(): string {
      return required("RETRY_1M_QUEUE_URL");
    },
    get retry_5m(): string {
      return required("RETRY_5M_QUEUE_URL");
    },
    get retry_long(): string {
      return required("RETRY_LONG_QUEUE_URL");
    },
  },
  /** Address of the FIFO queue of the publisher; only where it is sent to. */
  get publishQueueUrl(): string {
    return required("PUBLISH_QUEUE_URL");
  },
  /** Address of the queue of events with many deliveries; only where it is sent to. */
  get fanOutQueueUrl(): string {
    return required("FAN_OUT_QUEUE_URL");
  },
  /** Address of the queue of refusals that the audit keeps; a function behind a token has it. */
  get refusalQueueUrl(): string {
    return required("REFUSAL_QUEUE_URL");
  },
  /** Address of the FIFO queue of the stream's worker; only where it is sent to. */
  get streamQueueUrl(): string {
    return required("STREAM_QUEUE_URL");
  },
  /** Address that messages to connections are posted below, without a slash at its end; only where they are. */
  get streamEndpoint(): string {
    return required("STREAM_ENDPOINT");
  },
  /** Posts to connections that one environment of the stream's worker may make in a second. */
  get postsPerSecond(): number {
    return Number(required("POSTS_PER_SECOND"));
  },
  /** Address that clients connect to: `wss://…`; only where tickets are issued. */
  get streamUrl(): string {
    return required("STREAM_URL");
  },
  /** Bucket of the audit's sealed days; only the function that seals them has it. */
  get auditBucketName(): string {
    return required("AUDIT_BUCKET_NAME");
  },
  /** Bucket of the files of exports; only the functions that write them and give links to them have it. */
  get exportBucketName(): string {
    return required("EXPORT_BUCKET_NAME");
  },
  /** Log group of the functions behind routes; only the function that counts usage has it. */
  get requestLogGroup(): string {
    return required("REQUEST_LOG_GROUP");
  },
  /** The credentials of the function's role, its region, and the address of AWS where one is configured. */
  get signer() {
    return {
      id: required("AWS_ACCESS_KEY_ID"),
      secret: required("AWS_SECRET_ACCESS_KEY"),
      token: process.env["AWS_SESSION_TOKEN"],
      region: required("AWS_REGION"),
      endpoint: process.env["AWS_ENDPOINT_URL_S3"] ?? process.env["AWS_ENDPOINT_URL"],
    };
  },
  /** Region that the function runs in; undefined outside of Lambda. */
  get region(): string | undefined {
    return process.env["AWS_REGION"];
  },
  /** How long the router waits after it has sent, in milliseconds. */
  get routerPauseMs(): number {
    return Number(required("ROUTER_PAUSE_MS"));
  },
  /** Attempts at the same time that the endpoints of one brokerage may grow to together. */
  get tenantSlots(): number {
    return Number(required("TENANT_SLOTS"));
  },
  /** Address of the queue that wakes evaluations of margin; only where it is sent to. */
  get marginQueueUrl(): string {
    return required("MARGIN_QUEUE_URL");
  },
  /**
   * Whether this is a local runner that lets webhooks go to its own machine and over plain http. No template sets it.
   */
  get local(): boolean {
    return process.env["BROKERAGE_LOCAL"] === "1";
  },
  /** Whether this process is an environment of Lambda, or of the local runner, which sets the same variable. */
  get isLambda(): boolean {
    return process.env["AWS_LAMBDA_INITIALIZATION_TYPE"] !== undefined;
  },
  /**
   * How many times longer a request may take than its budget says; 1 everywhere but where functions share a machine
   * with the work of tests. No template sets it.
   */
  get budgetFactor(): number {
    return Number(process.env["BUDGET_FACTOR"] ?? "1");
  },
  /** How much faster business delays pass; 1 everywhere but on a local runner that was asked for more. */
  get timeScale(): number {
    return Number(process.env["TIME_SCALE"] ?? "1");
  },
};
