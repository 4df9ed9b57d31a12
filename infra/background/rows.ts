import { Aws } from "aws-cdk-lib";
import { limits } from "../../shared/limits.ts";
import type { Governed } from "../../shared/routes/route.ts";
import { keyTag } from "../../shared/schema/provision.ts";
import {
  applicationType,
  operatorKeyType,
  operatorType,
  outboxType,
  pulseType,
  quoteType,
  riskType,
} from "../../shared/table/table-shape.ts";
import {
  allow,
  keyStatements,
  noteQuotesStatement,
  quoteStatements,
  streamStatements,
  tableStatements,
} from "../constructs/grants.ts";
import {
  breachKeys,
  clientIdKeys,
  deliveryKeys,
  dueApplicationKeys,
  dueKeys,
  dueMarginKeys,
  dueOutboxKeys,
  exposureKeys,
  identityKeys,
  jobKeys,
  loneOutboxKeys,
  positionKeys,
  publicKeyKeys,
  reconcileKeys,
  refusalKeys,
  reviewKeys,
  sealKeys,
  sumKeys,
  symbolKeys,
  tenantKeys,
  usageKeys,
  withinTenants,
} from "../constructs/key-patterns.ts";
import { type BackgroundRow, everyMinute } from "./row.ts";

const { PARTITION, REGION } = Aws;

/** Items of the function that begins a brokerage, and settles its people and programs with the pool and gateway. */
const everything: readonly Governed[] = ["applications", "operators", "brokerages"];
/** Commits leave their outbox items beside what they change, so what publishes them writes there. */
const besideOutboxes: readonly Governed[] = ["applications", "operators"];

function gateway(path: string): string {
  return `arn:${PARTITION}:apigateway:${REGION}::${path}`;
}

/** ARN of the tags of an API key that is being made: API Gateway asks with an asterisk for what has no id yet. */
function tagsOfNewKey(): string {
  // As a variable the asterisk stands for itself: as a wildcard it would let any key be given our tag.
  return gateway(`/tags/arn%3A${PARTITION}%3Aapigateway%3A${REGION}%3A%3A%2Fapikeys%2F\${*}`);
}

const sweptKeys = {
  "query:due": dueMarginKeys,
  query: [...clientIdKeys, ...exposureKeys],
  "query:list": positionKeys,
  read: tenantKeys,
  "query:owner": tenantKeys,
  update: tenantKeys,
  delete: breachKeys,
} as const;

/** The functions without a route that every stage has. */
export const backgroundRows: readonly BackgroundRow[] = [
  /** Verifies tokens: reads the application and the public keys. API Gateway waits for it, so it fails early. */
  {
    id: "authorize",
    file: "oauth/authorize",
    description: "Authorizer: verifies access tokens",
    trigger: { authorizer: true },
    timeoutSeconds: 10,
    // A token of an application or operator whose access has ended.
    sendsEvents: ["refusals"],
    statements: ({ table }) => {
      const { applications, families, operators } = withinTenants;
      return tableStatements(["read"], {
        tableArn: table,
        keys: [applications, families, operators, ...publicKeyKeys],
      });
    },
  },
  /** Makes key pairs; of the table it knows the public keys only. */
  {
    id: "rotate-signing-key",
    file: "oauth/rotate-signing-key",
    description: "Makes the next signing key and publishes its public half",
    trigger: { rotation: "signing_key" },
    timeoutSeconds: 30,
    secrets: ["signing_key"],
    statements: ({ table }) => tableStatements(["put", "query", "update"], { tableArn: table, keys: publicKeyKeys }),
  },
  /**
   * Makes and deletes applications with their API keys. Behind a route it could not know the plan: the plan hangs on
   * the stage, the deployment, every method and so on every function behind one.
   */
  {
    id: "provision",
    file: "applications/provision",
    description: "Makes applications and their API keys, and takes them away",
    // Wakes for applications that wait for the gateway, and for operators and their key. Its writes end the waiting, or
    // put it off to a time that the schedule finds; so does a record that it fails on, which needs no failure queue for
    // that.
    trigger: {
      stream: {
        table: "main",
        images: [{ et: { S: [applicationType, operatorType, operatorKeyType] }, wake_at: { S: [{ exists: true }] } }],
        batchSize: 10,
        maximumRetryAttempts: 2,
      },
      schedule: {
        name: "reconcile",
        description: "Makes the API keys that are missing and deletes those of revoked applications",
        expression: "rate(1 minute)",
        input: { action: "reconcile" },
      },
    },
    timeoutSeconds: 30,
    nestedStack: "provision",
    poolUsers: true,
    destroysKeys: true,
    // It closes what is open of the stream of those whose access ends.
    posts: true,
    environment: ({ usagePlanId }) => ({ USAGE_PLAN_ID: usagePlanId }),
    statements: ({ stage, table, volatile, keys, usagePlanId }) => {
      const planKeys = gateway(`/usageplans/${usagePlanId}/keys`);
      const withOurTag = {
        StringEquals: { [`aws:RequestTag/${keyTag}`]: stage },
        "ForAllValues:StringEquals": { "aws:TagKeys": [keyTag] },
      };
      const havingOurTag = { StringEquals: { [`aws:ResourceTag/${keyTag}`]: stage } };
      return [
        ...tableStatements(["query:due"], { tableArn: table, keys: dueApplicationKeys }),
        ...tableStatements(["query"], { tableArn: table, keys: reviewKeys }),
        ...tableStatements(["read", "update"], {
          tableArn: table,
          keys: [...tenantKeys, ...identityKeys],
          governs: everything,
          erases: true,
        }),
        ...tableStatements(["put"], {
          tableArn: table,
          keys: [...tenantKeys, ...clientIdKeys, ...identityKeys],
          governs: everything,
        }),
        ...keyStatements(["put:keys", "update:keys"], keys),
        ...streamStatements(["read"], volatile),
        // A new tenant of the sandbox begins with a market.
        ...(stage === "sandbox" ? quoteStatements(["put:quotes"], volatile) : []),
        allow("MakeKeys", ["apigateway:POST"], [gateway("/apikeys")], { conditions: withOurTag }),
        allow("TagKeys", ["apigateway:PUT"], [tagsOfNewKey()], { conditions: withOurTag }),
        allow("JoinPlan", ["apigateway:POST"], [planKeys]),
        allow("FindKeys", ["apigateway:GET"], [gateway("/apikeys")]),
        allow("LeavePlan", ["apigateway:DELETE"], [`${planKeys}/*`]),
        allow("DeleteKeys", ["apigateway:DELETE"], [gateway("/apikeys/*")], { conditions: havingOurTag }),
      ];
    },
  },
  /** Tells the publisher of new outbox items, and the evaluator of due accounts. */
  {
    id: "route",
    file: "events/route",
    description: "Sends new outbox items to the publisher and due accounts to the evaluator",
    // Wakes for new outbox items, and for the risk of accounts that a commit left to be watched, most of which come in
    // one batch with the events of that commit. It changes neither, so it cannot wake itself, and what an evaluation
    // writes does not wake it.
    trigger: {
      stream: {
        table: "main",
        inserted: [{ et: { S: [outboxType] } }],
        images: [{ et: { S: [riskType] }, left_by: { S: ["commit"] } }],
        batchSize: limits.events.routed_records,
        maximumRetryAttempts: 5,
        failureQueue: "route-failures",
        lateAlarm: {
          id: "iterator-age",
          description: "Commits wait in the table's stream: events are published and stop-outs begin late.",
        },
      },
    },
    timeoutSeconds: 30,
    sendsAccounts: true,
    sendsEvents: ["publishing"],
    environment: ({ streamShards }) => {
      const { router_pause_ms, router_shards } = limits.events;
      return { ROUTER_PAUSE_MS: String(Math.ceil(router_pause_ms * Math.max(1, streamShards / router_shards))) };
    },
    statements: ({ volatile }) => quoteStatements(["read:quotes"], volatile),
  },
  /** Numbers events, one brokerage at a time. A killed one delays the brokerages of its batch by 7 s. */
  {
    id: "publish",
    file: "events/publish",
    description: "Publishes the events of commits",
    trigger: { queue: "publishing" },
    timeoutSeconds: 5,
    queues: ["deliver"],
    sendsEvents: ["fan_out", "stream"],
    statements: ({ table, volatile }) => [
      ...tableStatements(["read", "query", "put", "update", "delete"], {
        ...{ tableArn: table, keys: tenantKeys, governs: besideOutboxes },
      }),
      // Whether a brokerage has connections to the stream.
      ...streamStatements(["read"], volatile),
    ],
  },
  /** Sends the deliveries of events that have many. */
  {
    id: "fan-out",
    file: "events/fan-out",
    description: "Sends the deliveries of events with many subscribers",
    trigger: { queue: "fan_out" },
    timeoutSeconds: 30,
    queues: ["deliver"],
    statements: ({ table }) => tableStatements(["read", "put"], { tableArn: table, keys: tenantKeys }),
  },
  /** Records refusals. It reads and writes no resource: entries wait in outbox items of their own. */
  {
    id: "record-refusals",
    file: "events/record-refusals",
    description: "Records refusals by policy or scope for the audit",
    trigger: { queue: "refusals" },
    timeoutSeconds: 30,
    statements: ({ table }) =>
      tableStatements(["read", "put", "update"], {
        tableArn: table,
        keysOf: (grant) => (grant === "put" ? [...refusalKeys, ...loneOutboxKeys] : refusalKeys),
      }),
  },
  /** Completes what the stream or a queue lost. */
  {
    id: "sweep-events",
    file: "events/sweep-due",
    description: "Sends deliveries that are due and completes work that was not finished",
    trigger: everyMinute,
    timeoutSeconds: 60,
    queues: ["deliver", "retry_long"],
    sendsEvents: ["publishing"],
    statements: ({ table, volatile }) => [
      ...tableStatements(["query:due"], { tableArn: table, keys: dueKeys }),
      ...tableStatements(["read", "query", "query:state", "put", "update", "delete"], {
        ...{ tableArn: table, keys: tenantKeys, governs: besideOutboxes },
      }),
      // Credit that ends moves the margin of an account with positions.
      ...quoteStatements(["read:quotes"], volatile),
    ],
  },
  /**
   * Posts events to the receivers. It speaks to addresses that customers choose, so of the table it sees what a
   * delivery needs and no more, and writes deliveries, their attempts and the health of endpoints. An endpoint it
   * cannot write: that one is to be off it notes in its health, and the sweep writes it.
   */
  {
    id: "deliver",
    file: "events/deliver",
    description: "Posts events to webhook endpoints",
    trigger: { queue: "deliveries" },
    // At most the lease of a claim, so that no other worker posts while this one may still be posting.
    timeoutSeconds: 20,
    // A delivery goes to the lane of its endpoint; one that finds it busy goes back to the queue that it came from.
    queues: ["deliver", "deliver_unproven", "retry_1m", "retry_5m", "retry_long"],
    // A message counts how often it went back (`max_returns`), and the sweep sends what is due later. An invocation has
    // one trace for ten messages, so the passes that Lambda counts may be those of another message of the batch.
    endsItself: true,
    secrets: ["service_key"],
    environment: ({ deliverers }) => {
      const { messages_per_invocation } = limits.queues;
      const held = deliverers * messages_per_invocation;
      return { TENANT_SLOTS: String(Math.floor(held * limits.webhooks.tenant_share)) };
    },
    statements: ({ table }) => [
      ...tableStatements(["read"], { tableArn: table, keys: Object.values(deliveryKeys) }),
      ...tableStatements(["put"], { tableArn: table, keys: [deliveryKeys.deliveries] }),
      ...tableStatements(["update"], { tableArn: table, keys: [deliveryKeys.deliveries, deliveryKeys.health] }),
    ],
  },
  /** Finds the accounts that a price must be judged for: it reads the exposure index and no account. */
  {
    id: "watch",
    file: "margin/watch",
    description: "Finds the accounts that a new price must be judged for",
    // Many records at a time, since of a symbol only the newest price counts; what it gave up is reported, and the next
    // price makes it up.
    trigger: {
      stream: {
        table: "volatile",
        images: [{ et: { S: [quoteType, pulseType] } }],
        batchSize: 500,
        maximumRetryAttempts: 5,
        failureQueue: "watch-failures",
        lateAlarm: {
          id: "watch-iterator-age",
          description: "Prices wait in their stream: margin calls and stop-outs come late.",
        },
      },
    },
    timeoutSeconds: 60,
    sendsAccounts: true,
    sendsEvents: ["stream"],
    statements: ({ table, volatile }) => [
      ...tableStatements(["query"], { tableArn: table, keys: [...exposureKeys, ...symbolKeys] }),
      ...tableStatements(["put"], { tableArn: table, keys: breachKeys }),
      noteQuotesStatement(volatile),
      // Whether a brokerage has connections that follow prices.
      ...streamStatements(["read"], volatile),
    ],
  },
  /** Judges accounts at the newest prices and liquidates them. */
  {
    id: "evaluate",
    file: "margin/evaluate",
    description: "Evaluates the margin of accounts at the newest prices",
    trigger: { queue: "evaluations" },
    timeoutSeconds: 30,
    statements: ({ table, volatile }) => [
      ...tableStatements(["read", "query", "put", "update", "delete"], { tableArn: table, keys: tenantKeys }),
      ...quoteStatements(["read:quotes"], volatile),
    ],
  },
  /** Seals the audit's days that are over. Of a brokerage it reads the audit alone, and it writes no entry of it. */
  {
    id: "seal-audit",
    file: "audit/seal",
    description: "Writes the audit's days to the locked bucket and announces their heads",
    trigger: { schedule: { expression: "rate(1 hour)", input: { action: "seal" } } },
    timeoutSeconds: 300,
    environment: ({ auditBucket }) => ({ AUDIT_BUCKET_NAME: auditBucket.name }),
    statements: ({ table, auditBucket }) => [
      ...tableStatements(["query", "read", "put", "update"], {
        tableArn: table,
        keysOf: (grant) => sealKeys[grant],
      }),
      allow("WriteDays", ["s3:PutObject"], [auditBucket.objects]),
      allow("CompareDays", ["s3:GetObject"], [auditBucket.objects]),
    ],
  },
  /** Counts what callers used. Of a brokerage it reads the events alone, and it writes nothing but the counts. */
  {
    id: "collect-usage",
    file: "usage/collect",
    description: "Counts the requests and the stream of callers from their log, and their events",
    trigger: { schedule: { expression: "rate(1 hour)", input: { action: "collect" } } },
    timeoutSeconds: 900,
    environment: ({ requestLog }) => ({ REQUEST_LOG_GROUP: requestLog.name }),
    statements: ({ table, requestLog }) => [
      ...tableStatements(["query", "read", "put", "update"], {
        tableArn: table,
        keysOf: (grant) => usageKeys[grant],
      }),
      allow("ReadRequests", ["logs:FilterLogEvents"], [requestLog.arn]),
    ],
  },
  /** Sums what transactions did. Of a brokerage it reads the events and when days end, and writes the sums. */
  {
    id: "sum-events",
    file: "sums/sum-events",
    description: "Adds the events of transactions to the sums of their days",
    trigger: { schedule: { expression: "rate(1 minute)", input: { action: "sum" } } },
    timeoutSeconds: 60,
    statements: ({ table }) =>
      tableStatements(["query", "read", "update"], { tableArn: table, keysOf: (grant) => sumKeys[grant] }),
  },
  /** Compares the books. Of what it compares it writes nothing: only how far it is, and its announcement. */
  {
    id: "reconcile-books",
    file: "reports/reconcile",
    description: "Compares balances, ledgers, holds, control accounts, events and the audit of each brokerage nightly",
    // A run of a large brokerage takes several invocations.
    trigger: { schedule: { expression: "rate(15 minutes)", input: { action: "reconcile" } } },
    timeoutSeconds: 600,
    statements: ({ table }) => [
      ...tableStatements(["query:due"], { tableArn: table, keys: dueOutboxKeys }),
      ...tableStatements(["read", "query", "query:list", "query:state", "query:owner", "put", "update"], {
        tableArn: table,
        keysOf: (grant) => reconcileKeys[grant] ?? tenantKeys,
      }),
    ],
  },
  /** Writes exports. Of what it reads it writes nothing: only how far a job is, and the announcement of its end. */
  {
    id: "run-jobs",
    file: "jobs/run",
    description: "Writes the files of exports, a step of each job in turn",
    trigger: { schedule: { expression: "rate(1 minute)", input: { action: "run" } } },
    timeoutSeconds: 600,
    environment: ({ exportsBucket }) => ({ EXPORT_BUCKET_NAME: exportsBucket.name }),
    statements: ({ table, volatile, exportsBucket }) => [
      ...tableStatements(
        [
          ...(["query:due", "query", "query:list", "query:state", "query:owner", "query:client"] as const),
          ...(["read", "put", "update"] as const),
        ],
        { tableArn: table, keysOf: (grant) => jobKeys[grant] ?? tenantKeys },
      ),
      ...quoteStatements(["read:quotes"], volatile),
      allow("WriteExports", ["s3:PutObject"], [exportsBucket.objects]),
    ],
  },
  /** Finds what no message wakes any more, ends orders, and sums open positions. */
  {
    id: "margin-sweep",
    file: "margin/sweep",
    description: "Judges accounts that no message wakes any more, ends orders, and sums open positions",
    trigger: everyMinute,
    timeoutSeconds: 60,
    sendsAccounts: true,
    statements: ({ table, volatile }) => [
      ...tableStatements(["query:due", "query", "query:list", "read", "query:owner", "update", "delete"], {
        tableArn: table,
        keysOf: (grant) => sweptKeys[grant],
      }),
      ...quoteStatements(["read:quotes", "put:open_interest"], volatile),
    ],
  },
];
