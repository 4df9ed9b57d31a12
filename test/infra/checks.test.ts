import { beforeAll, expect, test } from "vitest";
import type { NamedTemplate } from "../../infra/checks/assembly.ts";
import { checkTemplates } from "../../infra/checks/index.ts";
import { routes } from "../../shared/routes/index.ts";
import type { Stage } from "../../shared/routes/route.ts";
import { keptStage, type SynthesizedStage } from "./assembly.ts";
import { find, plantable, statements, withText } from "./checks/planted.ts";

let stage: SynthesizedStage;

beforeAll(async () => {
  stage = await keptStage({ stage: "production", config: { leadingKeys: true } });
});

function check(templates: readonly NamedTemplate[], name: Stage = "production") {
  return checkTemplates(templates, { stage: name, routes, leadingKeys: true });
}

test("the templates of the service have no finding", () => {
  expect(check(stage.templates)).toEqual([]);
});

const role = "AWS::IAM::Role";

/** Each plants one defect into the templates and returns the logical id that has to be named. */
const defects: readonly (readonly [string, string, (templates: NamedTemplate[]) => string])[] = [
  [
    "an index that projects more than 20 attributes",
    "index-projection",
    (templates) => {
      const table = find(templates, "AWS::DynamoDB::GlobalTable", withText("NonKeyAttributes"));
      const indexes = table.properties["GlobalSecondaryIndexes"] as { Projection: { NonKeyAttributes?: string[] } }[];
      const names = Array.from({ length: 21 }, (_, number) => `attribute_${number}`);
      for (const { Projection: projection } of indexes)
        if (projection.NonKeyAttributes) projection.NonKeyAttributes = names;
      return table.logicalId;
    },
  ],
  [
    "a method without authorizer",
    "open-method",
    (templates) => {
      const method = find(templates, "AWS::ApiGateway::Method", withText("create_client"));
      method.properties["AuthorizationType"] = "NONE";
      delete method.properties["AuthorizerId"];
      return method.logicalId;
    },
  ],
  [
    "a method with an authorizer that does not exist",
    "open-method",
    (templates) => {
      const method = find(templates, "AWS::ApiGateway::Method", withText("create_client"));
      method.properties["AuthorizerId"] = { Ref: "Nowhere" };
      return method.logicalId;
    },
  ],
  [
    "a method without an API key",
    "unmetered-method",
    (templates) => {
      const method = find(templates, "AWS::ApiGateway::Method", withText("list_clients"));
      delete method.properties["ApiKeyRequired"];
      return method.logicalId;
    },
  ],
  [
    "a method that no row has",
    "unknown-method",
    (templates) => {
      const method = find(templates, "AWS::ApiGateway::Method", withText("create_client"));
      method.properties["HttpMethod"] = "PUT";
      return method.logicalId;
    },
  ],
  [
    "an Allow header that leaves a method out",
    "no-405",
    (templates) => {
      const mock = find(templates, "AWS::ApiGateway::Method", withText("'GET, POST'"));
      const text = JSON.stringify(mock.properties).replace("'GET, POST'", "'GET'");
      Object.assign(mock.properties, JSON.parse(text));
      return mock.logicalId;
    },
  ],
  [
    "a plan for a stage that does not exist",
    "dangling-plan",
    (templates) => {
      const plan = find(templates, "AWS::ApiGateway::UsagePlan");
      const [apiStage] = plan.properties["ApiStages"] as [Record<string, unknown>];
      apiStage["Stage"] = "v2";
      return plan.logicalId;
    },
  ],
  [
    "a plan that throttles a method which does not exist",
    "dangling-plan",
    (templates) => {
      const plan = find(templates, "AWS::ApiGateway::UsagePlan");
      const [apiStage] = plan.properties["ApiStages"] as [Record<string, unknown>];
      apiStage["Throttle"] = { "/quotes/{sym}/GET": { RateLimit: 1, BurstLimit: 1 } };
      return plan.logicalId;
    },
  ],
  ...["dynamodb:Scan", "dynamodb:PartiQLSelect", "dynamodb:*", "*"].map(
    (action) =>
      [
        `the right to ${action}`,
        "scan-grant",
        (templates: NamedTemplate[]) => {
          const found = find(templates, role, withText('"Sid":"Read"'));
          const [first] = statements(found);
          Object.assign(first ?? {}, { Action: ["dynamodb:BatchGetItem", action] });
          return found.logicalId;
        },
      ] as const,
  ),
  [
    "a right on any partition",
    "leading-keys",
    (templates) => {
      const found = find(templates, role, withText('"Sid":"Read"'));
      delete statements(found)[0]?.["Condition"];
      return found.logicalId;
    },
  ],
  [
    "a role that may change the ledger",
    "ledger-denial",
    (templates) => {
      const found = find(templates, role, withText('"Sid":"KeepLedger"'));
      const all = statements(found);
      all.splice(
        all.findIndex((statement) => statement["Sid"] === "KeepLedger"),
        1,
      );
      return found.logicalId;
    },
  ],
  [
    "a denial that forgets the contra accounts",
    "ledger-denial",
    (templates) => {
      const found = find(templates, role, withText('"Sid":"KeepLedger"'));
      const text = JSON.stringify(found.properties).replace('"*|LED","*|CTL|*"', '"*|LED"');
      Object.assign(found.properties, JSON.parse(text));
      return found.logicalId;
    },
  ],
  [
    "a queue whose messages come back before six timeouts of its reader",
    "queue-visibility",
    (templates) => {
      const queue = find(templates, "AWS::SQS::Queue", withText("brokerage-production-retry-1m"));
      queue.properties["VisibilityTimeout"] = 119;
      return queue.logicalId;
    },
  ],
  [
    "reserved concurrency below what the event sources send",
    "reserved-concurrency",
    (templates) => {
      const lambda = find(templates, "AWS::Lambda::Function", withText("brokerage-production-deliver"));
      lambda.properties["ReservedConcurrentExecutions"] = 69;
      return lambda.logicalId;
    },
  ],
  [
    "a reader of queues without reserved concurrency",
    "reserved-concurrency",
    (templates) => {
      const lambda = find(templates, "AWS::Lambda::Function", withText("brokerage-production-deliver"));
      delete lambda.properties["ReservedConcurrentExecutions"];
      return lambda.logicalId;
    },
  ],
  ...["StreamArn", "Ladderretrylong"].map(
    (source) =>
      [
        `an event source at ${source} that reports no failures`,
        "batch-failures",
        (templates: NamedTemplate[]) => {
          const mapping = find(templates, "AWS::Lambda::EventSourceMapping", withText(source));
          delete mapping.properties["FunctionResponseTypes"];
          return mapping.logicalId;
        },
      ] as const,
  ),
  [
    "a queue that starts any number of functions",
    "unbounded-queue",
    (templates) => {
      const mapping = find(templates, "AWS::Lambda::EventSourceMapping", withText("Ladderretry5m"));
      delete mapping.properties["ScalingConfig"];
      return mapping.logicalId;
    },
  ],
  [
    "a queue without dead letters",
    "no-dead-letters",
    (templates) => {
      const queue = find(templates, "AWS::SQS::Queue", withText("brokerage-production-retry-long"));
      delete queue.properties["RedrivePolicy"];
      return queue.logicalId;
    },
  ],
  [
    "a dead-letter queue that forgets first",
    "no-dead-letters",
    (templates) => {
      const queue = find(templates, "AWS::SQS::Queue", withText("brokerage-production-deliver-dead"));
      queue.properties["MessageRetentionPeriod"] = 86_400;
      return queue.logicalId;
    },
  ],
  [
    "a queue of failures without an alarm",
    "silent-queue",
    (templates) => {
      const alarm = find(templates, "AWS::CloudWatch::Alarm", withText("brokerage-production-deliver-dead"));
      alarm.properties["MetricName"] = "NumberOfMessagesSent";
      return find(templates, "AWS::SQS::Queue", withText("brokerage-production-deliver-dead")).logicalId;
    },
  ],
  [
    "a log that is kept forever",
    "log-retention",
    (templates) => {
      const log = find(templates, "AWS::Logs::LogGroup");
      delete log.properties["RetentionInDays"];
      return log.logicalId;
    },
  ],
  ...["AWS::Logs::LogGroup", "AWS::SecretsManager::Secret"].map(
    (type) =>
      [
        `a ${type} that a failed creation would leave`,
        "kept-name",
        (templates: NamedTemplate[]) => {
          const kept = find(templates, type, withText("RetainExceptOnCreate"));
          kept.resource["DeletionPolicy"] = "Retain";
          return kept.logicalId;
        },
      ] as const,
  ),
  [
    "a log that is kept under a fixed name",
    "kept-name",
    (templates) => {
      const log = find(templates, "AWS::Logs::LogGroup", withText("RetainExceptOnCreate"));
      log.properties["LogGroupName"] = "/aws/lambda/brokerage-production-create-client";
      return log.logicalId;
    },
  ],
  [
    "a function that leaves its log to Lambda",
    "log-retention",
    (templates) => {
      const lambda = find(templates, "AWS::Lambda::Function");
      delete lambda.properties["LoggingConfig"];
      return lambda.logicalId;
    },
  ],
  ...(
    [
      ["DeletionPolicy", "Delete"],
      ["UpdateReplacePolicy", "Delete"],
    ] as const
  ).map(
    ([attribute, value]) =>
      [
        `a business table with ${attribute} ${value}`,
        "table-retention",
        (templates: NamedTemplate[]) => {
          const table = find(templates, "AWS::DynamoDB::GlobalTable", withText("list_pk"));
          table.resource[attribute] = value;
          return table.logicalId;
        },
      ] as const,
  ),
  ...(
    [
      ["a copy of the business table without recovery", "list_pk", { DeletionProtectionEnabled: true }],
      ["a copy of the keys in another region", '"keys"', {}],
    ] as const
  ).map(
    ([name, text, copy]) =>
      [
        name,
        "table-retention",
        (templates: NamedTemplate[]) => {
          const table = find(templates, "AWS::DynamoDB::GlobalTable", withText(text));
          (table.properties["Replicas"] as object[]).push({ Region: "eu-central-1", ...copy });
          return table.logicalId;
        },
      ] as const,
  ),
  ...["PointInTimeRecoverySpecification", "DeletionProtectionEnabled"].map(
    (property) =>
      [
        `a business table without ${property}`,
        "table-retention",
        (templates: NamedTemplate[]) => {
          const table = find(templates, "AWS::DynamoDB::GlobalTable", withText("list_pk"));
          for (const replica of table.properties["Replicas"] as object[]) Reflect.deleteProperty(replica, property);
          return table.logicalId;
        },
      ] as const,
  ),
  ...["BROKERAGE_LOCAL", "BUDGET_FACTOR", "WEBHOOK_ALLOW_CIDRS"].map(
    (name) =>
      [
        `the setting ${name}`,
        "local-setting",
        (templates: NamedTemplate[]) => {
          const lambda = find(templates, "AWS::Lambda::Function");
          Object.assign((lambda.properties["Environment"] as { Variables: object }).Variables, { [name]: "1" });
          return lambda.logicalId;
        },
      ] as const,
  ),
  [
    "an address without TLS",
    "local-setting",
    (templates) => {
      const lambda = find(templates, "AWS::Lambda::Function");
      Object.assign((lambda.properties["Environment"] as { Variables: object }).Variables, { URL: "http://x.example" });
      return lambda.logicalId;
    },
  ],
  [
    "a function that waits for the stage it is behind",
    "cycle",
    (templates) => {
      const nested = find(templates, "AWS::CloudFormation::Stack", withText("clients"));
      const api = find(templates, "AWS::ApiGateway::Stage");
      Object.assign(nested.properties["Parameters"] as object, { Stage: { Ref: api.logicalId } });
      return nested.logicalId;
    },
  ],
];

test.each(defects)("%s is found as %s at its resource", (_, rule, plant) => {
  const templates = plantable(stage.templates);
  const logicalId = plant(templates);
  expect(check(templates)).toContainEqual(expect.objectContaining({ rule, logicalId }));
});

test("a path that answers no 405 is found", () => {
  const templates = plantable(stage.templates);
  const mock = find(templates, "AWS::ApiGateway::Method", withText("'GET, POST'"));
  delete (mock.template.Resources as Record<string, unknown>)[mock.logicalId];
  expect(check(templates).map(({ rule }) => rule)).toContain("no-405");
});

test("a condition on leading keys is found where the stage does without them, each of them", () => {
  const found = checkTemplates(stage.templates, { stage: "production", routes, leadingKeys: false });
  expect(new Set(found.map(({ rule }) => rule))).toEqual(new Set(["leading-keys"]));
  const written = stage.templates.flatMap(
    ({ template }) => JSON.stringify(template).match(/dynamodb:LeadingKeys/g) ?? [],
  );
  expect(found).toHaveLength(written.length);
});

test("a sandbox table that would be left behind is found", () => {
  expect(check(stage.templates, "sandbox").map(({ rule }) => rule)).toContain("table-retention");
});

test("a template that has reached 450 resources is found by its name", () => {
  const log = { Type: "AWS::Logs::LogGroup", Properties: { RetentionInDays: 14 } };
  const logs = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`Log${n}`, log] as const));
  expect(check([{ name: "small", template: { Resources: logs(449) } }])).toEqual([]);
  expect(check([{ name: "large", template: { Resources: logs(450) } }])).toEqual([
    expect.objectContaining({ rule: "template-size", template: "large" }),
  ]);
});
