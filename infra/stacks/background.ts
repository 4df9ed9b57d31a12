import { Aws } from "aws-cdk-lib";
import type { PolicyStatement } from "aws-cdk-lib/aws-iam";
import { limits } from "../../shared/limits.ts";
import type { SecretName, Stage } from "../../shared/routes/route.ts";
import { keyTag } from "../../shared/schema/provision.ts";
import {
  allow,
  breachKeys,
  clientIdKeys,
  deliveryKeys,
  dueApplicationKeys,
  dueKeys,
  dueMarginKeys,
  dueProviderKeys,
  dueResetKeys,
  dueWalkKeys,
  eraseStatements,
  exposureKeys,
  publicKeyKeys,
  quoteStatements,
  symbolKeys,
  tableStatements,
  tenantKeys,
  walkKeys,
  withinTenants,
} from "../constructs/grants.ts";
import type { DeliveryQueue } from "../constructs/webhook-ladder.ts";

/** ARNs that the functions without a route are granted something on. */
export interface BackgroundArns {
  /** The stage that they are in: some may do in the sandbox what they may not in production. */
  readonly stage: Stage;
  readonly table: string;
  /** The table of volatile items. */
  readonly volatile: string;
  readonly stream: string;
  readonly volatileStream: string;
  readonly signingKey: string;
  readonly publishFailures: string;
  readonly watchFailures: string;
  readonly usagePlanId: string;
}

/** A function that no row of the route table names. */
export interface BackgroundFunction {
  readonly id: string;
  readonly file: string;
  readonly description: string;
  readonly timeoutSeconds: number;
  /** Nested stack, when not the folder's. */
  readonly nestedStack?: string;
  /** Secrets that it may read; their ids are in its environment. */
  readonly secrets?: readonly SecretName[];
  /** Queues of the webhook ladder that it sends to. */
  readonly queues?: readonly DeliveryQueue[];
  /** Whether the stream of prices wakes it, and no schedule. */
  readonly readsQuotes?: true;
  /** Whether it asks for evaluations of margin. */
  readonly sendsAccounts?: true;
  /** Memory in MB, when not that of all functions. */
  readonly memoryMb?: number;
  readonly statements: (arns: BackgroundArns) => PolicyStatement[];
}

const { PARTITION, REGION } = Aws;

function gateway(path: string): string {
  return `arn:${PARTITION}:apigateway:${REGION}::${path}`;
}

/** ARN of the tags of an API key that is being made: API Gateway asks with an asterisk for what has no id yet. */
function tagsOfNewKey(): string {
  // As a variable the asterisk stands for itself: as a wildcard it would let any key be given our tag.
  return gateway(`/tags/arn%3A${PARTITION}%3Aapigateway%3A${REGION}%3A%3A%2Fapikeys%2F\${*}`);
}

/** What an event source mapping reads a stream with, in the name of its function. */
function readStream(stream: string): PolicyStatement {
  const actions = ["DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"];
  return allow(
    "ReadStream",
    actions.map((action) => `dynamodb:${action}`),
    [stream],
  );
}

/** Verifies tokens: reads the application and the public keys. API Gateway waits for it, so it fails early. */
const authorize: BackgroundFunction = {
  id: "authorize",
  file: "oauth/authorize",
  description: "Authorizer: verifies access tokens",
  timeoutSeconds: 10,
  statements: ({ table }) =>
    tableStatements(["read"], { tableArn: table, keys: [...Object.values(withinTenants), ...publicKeyKeys] }),
};

/** Makes key pairs; of the table it knows the public keys only. */
const rotateSigningKey: BackgroundFunction = {
  id: "rotate-signing-key",
  file: "oauth/rotate-signing-key",
  description: "Makes the next signing key and publishes its public half",
  timeoutSeconds: 30,
  secrets: ["signing_key"],
  statements: ({ table, signingKey }) => [
    ...tableStatements(["put", "query", "update"], { tableArn: table, keys: publicKeyKeys }),
    allow(
      "RotateSecret",
      ["secretsmanager:DescribeSecret", "secretsmanager:PutSecretValue", "secretsmanager:UpdateSecretVersionStage"],
      [signingKey],
    ),
  ],
};

/**
 * Makes and deletes applications with their API keys. Behind a route it could not know the plan: the plan hangs on
 * the stage, the deployment, every method and so on every function behind one.
 */
const provision: BackgroundFunction = {
  id: "provision",
  file: "applications/provision",
  description: "Makes applications and their API keys, and takes them away",
  timeoutSeconds: 30,
  nestedStack: "provision",
  statements: ({ stage, table, volatile, stream, usagePlanId }) => {
    const planKeys = gateway(`/usageplans/${usagePlanId}/keys`);
    const withOurTag = {
      StringEquals: { [`aws:RequestTag/${keyTag}`]: stage },
      "ForAllValues:StringEquals": { "aws:TagKeys": [keyTag] },
    };
    const havingOurTag = { StringEquals: { [`aws:ResourceTag/${keyTag}`]: stage } };
    return [
      ...tableStatements(["query:due"], { tableArn: table, keys: dueApplicationKeys }),
      ...tableStatements(["read", "update"], { tableArn: table, keys: tenantKeys }),
      ...tableStatements(["put"], { tableArn: table, keys: [...tenantKeys, ...clientIdKeys] }),
      // A new tenant of the sandbox begins with a market.
      ...(stage === "sandbox" ? quoteStatements(["put:quotes"], volatile) : []),
      readStream(stream),
      allow("MakeKeys", ["apigateway:POST"], [gateway("/apikeys")], { conditions: withOurTag }),
      allow("TagKeys", ["apigateway:PUT"], [tagsOfNewKey()], { conditions: withOurTag }),
      allow("JoinPlan", ["apigateway:POST"], [planKeys]),
      allow("FindKeys", ["apigateway:GET"], [gateway("/apikeys")]),
      allow("LeavePlan", ["apigateway:DELETE"], [`${planKeys}/*`]),
      allow("DeleteKeys", ["apigateway:DELETE"], [gateway("/apikeys/*")], { conditions: havingOurTag }),
    ];
  },
};

/** Numbers events, from the stream of the table back into the table, and sends due accounts to the evaluator. */
const publish: BackgroundFunction = {
  id: "publish",
  file: "events/publish",
  description: "Publishes the events of a commit and hands over due accounts",
  timeoutSeconds: 60,
  queues: ["deliver"],
  sendsAccounts: true,
  statements: ({ table, volatile, stream, publishFailures }) => [
    ...tableStatements(["read", "query", "query:state", "put", "update", "delete"], {
      tableArn: table,
      keys: tenantKeys,
    }),
    ...quoteStatements(["read:quotes"], volatile),
    readStream(stream),
    allow("ReportFailure", ["sqs:SendMessage"], [publishFailures]),
  ],
};

/** Wakes what is due. */
const promote: BackgroundFunction = {
  id: "promote",
  file: "events/promote",
  description: "Does what is due by now and was not done",
  timeoutSeconds: 60,
  queues: ["deliver", "retry_long"],
  statements: ({ table }) => [
    ...tableStatements(["query:due"], { tableArn: table, keys: dueKeys }),
    ...tableStatements(["read", "query", "query:state", "put", "update", "delete"], {
      tableArn: table,
      keys: tenantKeys,
    }),
  ],
};

/**
 * Posts events to the receivers. It speaks to addresses that customers choose, so of the table it sees what a delivery
 * needs and no more, and writes deliveries, their attempts and the health of endpoints. An endpoint it cannot write:
 * that one is to be off it notes in its health, and the sweep writes it.
 */
const deliver: BackgroundFunction = {
  id: "deliver",
  file: "events/deliver",
  description: "Posts events to webhook endpoints",
  // Not more than the lease of a claim, so that nobody else posts while this one may still do.
  timeoutSeconds: 20,
  // A delivery goes to the lane of its endpoint; one that finds it busy goes back to the queue that it came from.
  queues: ["deliver", "deliver_unproven", "retry_1m", "retry_5m", "retry_long"],
  secrets: ["service_key"],
  statements: ({ table }) => [
    ...tableStatements(["read"], { tableArn: table, keys: Object.values(deliveryKeys) }),
    ...tableStatements(["put"], { tableArn: table, keys: [deliveryKeys.deliveries] }),
    ...tableStatements(["update"], { tableArn: table, keys: [deliveryKeys.deliveries, deliveryKeys.health] }),
  ],
};

/** Finds the accounts that a price must be judged for: it reads the exposure index and no account. */
const watch: BackgroundFunction = {
  id: "watch",
  file: "margin/watch",
  description: "Finds the accounts that a new price must be judged for",
  timeoutSeconds: 60,
  sendsAccounts: true,
  statements: ({ table, volatileStream, watchFailures }) => [
    ...tableStatements(["query"], { tableArn: table, keys: [...exposureKeys, ...symbolKeys] }),
    ...tableStatements(["put"], { tableArn: table, keys: breachKeys }),
    readStream(volatileStream),
    allow("ReportFailure", ["sqs:SendMessage"], [watchFailures]),
  ],
};

/** Judges accounts at the newest prices and liquidates them. */
const evaluate: BackgroundFunction = {
  id: "evaluate",
  file: "margin/evaluate",
  description: "Evaluates the margin of accounts at the newest prices",
  timeoutSeconds: 30,
  memoryMb: limits.functions.computing_memory_mb,
  statements: ({ table, volatile }) => [
    ...tableStatements(["read", "query", "put", "update", "delete"], { tableArn: table, keys: tenantKeys }),
    ...quoteStatements(["read:quotes"], volatile),
  ],
};

/** The payment provider of the sandbox: it decides about transactions as PATCH does. */
const provide: BackgroundFunction = {
  id: "sandbox-provide",
  file: "sandbox/provide",
  description: "Acts as the payment provider of the sandbox",
  timeoutSeconds: 60,
  statements: ({ table, volatile }) => [
    ...tableStatements(["query:due"], { tableArn: table, keys: dueProviderKeys }),
    ...tableStatements(["read", "query", "put", "update", "delete"], { tableArn: table, keys: tenantKeys }),
    ...quoteStatements(["read:quotes"], volatile),
  ],
};

/** Removes what a brokerage of the sandbox had; no other role may remove a ledger, and no other stage has it. */
const reset: BackgroundFunction = {
  id: "sandbox-reset",
  file: "sandbox/reset",
  description: "Removes what brokerages of the sandbox had before they were reset",
  timeoutSeconds: 60,
  statements: ({ table, volatile }) => [
    ...tableStatements(["query:due"], { tableArn: table, keys: dueResetKeys }),
    ...tableStatements(["read", "query", "query:list"], { tableArn: table, keys: tenantKeys }),
    ...eraseStatements(table, volatile),
    ...quoteStatements(["put:quotes"], volatile),
  ],
};

const sweptKeys = {
  "query:due": dueMarginKeys,
  query: exposureKeys,
  read: tenantKeys,
  "query:owner": tenantKeys,
  update: tenantKeys,
  delete: breachKeys,
} as const;

/** Finds what no message wakes any more, and ends orders. */
const sweep: BackgroundFunction = {
  id: "margin-sweep",
  file: "margin/sweep",
  description: "Judges accounts that no message wakes any more, and ends orders whose time has come",
  timeoutSeconds: 60,
  sendsAccounts: true,
  statements: ({ table, volatile }) => [
    ...tableStatements(["query:due", "query", "read", "query:owner", "update", "delete"], {
      tableArn: table,
      keysOf: (grant) => sweptKeys[grant],
    }),
    ...quoteStatements(["read:quotes"], volatile),
  ],
};

/** Lets prices of the sandbox walk. */
const walk: BackgroundFunction = {
  id: "sandbox-walk",
  file: "sandbox/walk",
  description: "Moves the prices of the sandbox that walk",
  timeoutSeconds: 60,
  statements: ({ table, volatile }) => [
    ...tableStatements(["query:due"], { tableArn: table, keys: dueWalkKeys }),
    ...tableStatements(["read"], { tableArn: table, keys: walkKeys }),
    ...tableStatements(["update"], { tableArn: table, keys: [walkKeys[0]] }),
    ...quoteStatements(["read:quotes", "put:quotes"], volatile),
  ],
};

/** Fills orders and closes positions at their stops in the sandbox, where no platform does it. */
const match: BackgroundFunction = {
  id: "sandbox-match",
  file: "sandbox/match",
  description: "Fills orders and closes positions at their stops in the sandbox",
  timeoutSeconds: 60,
  readsQuotes: true,
  statements: ({ table, volatile, volatileStream }) => [
    ...tableStatements(["read", "query", "query:state", "query:client", "put", "update", "delete"], {
      tableArn: table,
      keys: tenantKeys,
    }),
    ...quoteStatements(["read:quotes"], volatile),
    readStream(volatileStream),
  ],
};

/** The functions without a route, by what they do. */
export const background = {
  authorize,
  rotateSigningKey,
  provision,
  publish,
  promote,
  deliver,
  watch,
  evaluate,
  sweep,
} as const;

/** Functions without a route that only the sandbox has. Each runs every minute, but for the readers of a stream. */
export const sandboxBackground = { provide, reset, walk, match } as const;

/** The functions without a route that a stage has. */
export function backgroundOf(stage: Stage): readonly BackgroundFunction[] {
  return [...Object.values(background), ...(stage === "sandbox" ? Object.values(sandboxBackground) : [])];
}
