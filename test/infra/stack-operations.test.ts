import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { backgroundOf } from "../../infra/background/index.ts";
import { routes } from "../../shared/routes/index.ts";
import type { Stage } from "../../shared/routes/route.ts";
import { at, type Json, keptStage, list, type NamedResource, ofType, only, type SynthesizedStage } from "./assembly.ts";
import { synthesized } from "./stack-cases.ts";

describe("what a deployment asks of the account", () => {
  /** Concurrency that Lambda leaves unreserved in an account (AWS docs: Lambda reserved concurrency). */
  const unreserved = 100;

  /** Concurrency that the functions of a stage reserve, by their names. */
  function reservedBy(stage: Stage): number {
    const functions = ofType(synthesized(stage), "AWS::Lambda::Function");
    return functions.reduce((sum, { properties }) => sum + Number(properties["ReservedConcurrentExecutions"] ?? 0), 0);
  }

  test("the concurrency in infra/README.md is what the stages reserve and what Lambda keeps unreserved", async () => {
    const [sandbox, production] = [reservedBy("sandbox"), reservedBy("production")];
    const page = (await readFile(new URL("../../infra/README.md", import.meta.url), "utf8")).replaceAll(/\s+/g, " ");
    expect(page).toContain(
      `${unreserved + sandbox} for the sandbox, ${unreserved + production} for production, ` +
        `${unreserved + sandbox + production} for both`,
    );
    expect(sandbox).toBeGreaterThan(0);
    expect(production).toBeGreaterThan(sandbox);
  });

  /** How many of these can be created at the same time: each waits for at most one, and at most one waits for it. */
  function chainsOf(all: readonly NamedResource[]): number {
    const ids = new Set(all.map(({ logicalId }) => logicalId));
    const waits = all.map(({ resource }) => [resource.DependsOn ?? []].flat().filter((id) => ids.has(id)));
    const waitedFor = waits.flat();
    const first = waits.filter((before) => before.length === 0).length;
    expect(waitedFor).toHaveLength(all.length - first);
    expect(new Set(waitedFor).size).toBe(waitedFor.length);
    return first;
  }

  test.each(["sandbox", "production"] as const)(
    "no more than five paths, methods and responses at once in %s",
    (name) => {
      const stage = synthesized(name);
      const stacks = ofType(stage, "AWS::CloudFormation::Stack").filter(({ logicalId }) => /Paths/.test(logicalId));
      expect(chainsOf(stacks)).toBe(5);
      expect(chainsOf(ofType(stage, "AWS::ApiGateway::GatewayResponse"))).toBe(5);
      for (const type of ["AWS::ApiGateway::Resource", "AWS::ApiGateway::Method"]) {
        const templates = new Set(ofType(stage, type).map(({ template }) => template));
        expect(templates.size).toBe(stacks.length);
        for (const template of templates) {
          expect(chainsOf(ofType(stage, type).filter((each) => each.template === template))).toBe(1);
        }
      }
    },
  );
});

describe("what is kept", () => {
  test("production retains, protects and backs up the business table", () => {
    const [main, volatile] = ofType(synthesized("production"), "AWS::DynamoDB::GlobalTable");
    expect(main?.resource).toMatchObject({ DeletionPolicy: "Retain", UpdateReplacePolicy: "Retain" });
    expect(main?.properties).toMatchObject({
      BillingMode: "PAY_PER_REQUEST",
      Replicas: [
        {
          Region: { Ref: "AWS::Region" },
          DeletionProtectionEnabled: true,
          PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
        },
      ],
      StreamSpecification: { StreamViewType: "NEW_AND_OLD_IMAGES" },
      TimeToLiveSpecification: { AttributeName: "expires_at", Enabled: true },
    });
    expect(volatile?.resource).toMatchObject({ DeletionPolicy: "Delete" });
    expect(at(list(volatile?.properties["Replicas"])[0], "PointInTimeRecoverySpecification")).toBeUndefined();
  });

  test("a stage with a copy has one of the business table alone, protected as the table is", async () => {
    const copied = await keptStage({ stage: "production", config: { copyRegion: "eu-central-1" } });
    const [main, ...others] = ofType(copied, "AWS::DynamoDB::GlobalTable");
    const replicas = list(main?.properties["Replicas"]);
    expect(replicas.map((replica) => at(replica, "Region"))).toEqual([{ Ref: "AWS::Region" }, "eu-central-1"]);
    const [here, copy] = replicas;
    for (const name of ["DeletionProtectionEnabled", "PointInTimeRecoverySpecification"]) {
      expect(at(copy, name)).toEqual(at(here, name));
    }
    const ofService = (tags: Json | undefined) => list(tags).map((tag) => `${at(tag, "Key")} ${at(tag, "Value")}`);
    expect(ofService(at(copy, "Tags")).toSorted()).toEqual(ofService(at(here, "Tags")).toSorted());
    expect(others.map(({ properties }) => list(properties["Replicas"]).length)).toEqual([1, 1]);
    // Nothing of the stage reaches the copy: each table is written in one region.
    const elsewhere = copied.resources.filter(({ properties }) => JSON.stringify(properties).includes("eu-central-1"));
    expect(elsewhere.map(({ type }) => type)).toEqual(["AWS::DynamoDB::GlobalTable"]);
  });

  const logsAndSecrets = (stage: Stage) =>
    ["AWS::Logs::LogGroup", "AWS::SecretsManager::Secret"].flatMap((type) => ofType(synthesized(stage), type));

  test("production keeps logs and secrets, but not those of a creation that failed", () => {
    const policies = logsAndSecrets("production").map(({ resource, properties }) => {
      const { DeletionPolicy: deletion, UpdateReplacePolicy: replace } = resource;
      const execution = JSON.stringify(properties["LogGroupName"] ?? "").includes("API-Gateway-Execution-Logs");
      return `${execution ? "execution log " : ""}${deletion} ${replace}`;
    });
    // One log for the functions behind routes and those that log usage with them, one for each of the others, two for
    // the gateways' access, and three secrets.
    const functions = ofType(synthesized("production"), "AWS::Lambda::Function").length;
    const behindRoutes = routes.filter(({ stages }) => stages.includes("production")).length;
    const besides = backgroundOf("production").filter(({ logsUsage }) => logsUsage).length;
    expect(besides).toBeGreaterThan(0);
    const kept = functions - behindRoutes - besides + 6;
    expect(policies.filter((policy) => policy === "RetainExceptOnCreate Retain")).toHaveLength(kept);
    expect(policies.filter((policy) => policy !== "RetainExceptOnCreate Retain")).toEqual([
      "execution log Delete Delete",
    ]);
    for (const { resource } of logsAndSecrets("sandbox")) {
      expect(resource).toMatchObject({ DeletionPolicy: "Delete", UpdateReplacePolicy: "Delete" });
    }
  });

  test("no log that is kept has a fixed name, so a route that was removed can come back", () => {
    const kept = ofType(synthesized("production"), "AWS::Logs::LogGroup").filter(
      ({ resource }) => resource.DeletionPolicy !== "Delete",
    );
    expect(kept.length).toBeGreaterThan(10);
    expect(kept.filter(({ properties }) => properties["LogGroupName"] !== undefined)).toEqual([]);
    const tables = ofType(synthesized("production"), "AWS::DynamoDB::GlobalTable");
    expect(tables.filter(({ properties }) => properties["TableName"] !== undefined)).toEqual([]);
  });

  test("production is protected from deletion after its first deployment, not before", async () => {
    const protection = async (stage: SynthesizedStage, name: Stage) => {
      const manifest = JSON.parse(await readFile(join(stage.directory, "manifest.json"), "utf8"));
      return manifest.artifacts[`brokerage-${name}`].properties.terminationProtection;
    };
    expect(await protection(synthesized("production"), "production")).toBe(true);
    expect(await protection(synthesized("sandbox"), "sandbox")).not.toBe(true);
    const first = await keptStage({ stage: "production", config: { leadingKeys: true }, context: { first: "true" } });
    expect(await protection(first, "production")).not.toBe(true);
    // Nothing else differs: the second deployment only switches the protection on.
    expect(first.templates).toEqual(synthesized("production").templates);
  });

  test("the sandbox leaves no table behind", () => {
    for (const { resource } of ofType(synthesized("sandbox"), "AWS::DynamoDB::GlobalTable")) {
      expect(resource).toMatchObject({ DeletionPolicy: "Delete", UpdateReplacePolicy: "Delete" });
    }
  });

  test("the table has five indexes: four with what filters read, and the due one with keys alone", () => {
    const [main] = ofType(synthesized("sandbox"), "AWS::DynamoDB::GlobalTable");
    const indexes = list(main?.properties["GlobalSecondaryIndexes"]).map(
      (index) => `${at(index, "IndexName")} ${at(index, "Projection", "ProjectionType")}`,
    );
    expect(indexes).toEqual(["list INCLUDE", "state INCLUDE", "owner INCLUDE", "client INCLUDE", "due KEYS_ONLY"]);
  });

  test("failures wait 14 days, and every queue is encrypted and takes calls over TLS only", () => {
    const queues = ofType(synthesized("sandbox"), "AWS::SQS::Queue");
    const retention = new Map(
      queues.map(({ properties }) => [
        String(properties["QueueName"]).replace("brokerage-sandbox-", ""),
        properties["MessageRetentionPeriod"],
      ]),
    );
    expect(Object.fromEntries(retention)).toEqual({
      "route-failures": 1_209_600,
      "watch-failures": 1_209_600,
      "schedule-failures": 1_209_600,
      "deliver-dead": 1_209_600,
      deliver: 86_400,
      "deliver-unproven": 86_400,
      "retry-1m": 86_400,
      "retry-5m": 86_400,
      "retry-long": 86_400,
      "margin-dead": 1_209_600,
      margin: 3600,
      "publish-dead.fifo": 1_209_600,
      "publish.fifo": 86_400,
      "fan-out-dead": 1_209_600,
      "fan-out": 86_400,
      "refusals-dead": 1_209_600,
      "stream-dead.fifo": 1_209_600,
      "stream.fifo": 86_400,
      // A message is the only copy of a refusal.
      refusals: 345_600,
    });
    for (const { properties } of queues) expect(properties["SqsManagedSseEnabled"]).toBe(true);
    const policies = JSON.stringify(ofType(synthesized("sandbox"), "AWS::SQS::QueuePolicy").map((p) => p.properties));
    expect(policies.match(/aws:SecureTransport/g)).toHaveLength(queues.length);
  });
});

describe("what runs by itself", () => {
  test("the signing key is rotated at once and every 90 days", () => {
    const rotation = only(ofType(synthesized("sandbox"), "AWS::SecretsManager::RotationSchedule"));
    expect(rotation.properties).toMatchObject({
      RotateImmediatelyOnUpdate: true,
      RotationRules: { AutomaticallyAfterDays: 90 },
    });
    const secrets = ofType(synthesized("sandbox"), "AWS::SecretsManager::Secret");
    const names = secrets.map(({ properties }) => properties["Name"]);
    const expected = ["origin-secret", "service-key", "signing-key"];
    expect(names.sort()).toEqual(expected.map((name) => `brokerage/sandbox/${name}`));
  });

  test("provision, sums, jobs and sweeps run every minute, seals and counts hourly, with a dead-letter queue", () => {
    const schedules = ofType(synthesized("production"), "AWS::Scheduler::Schedule").map(({ properties }) => [
      properties["ScheduleExpression"],
      at(properties["Target"], "Input"),
      at(properties["Target"], "DeadLetterConfig") !== undefined,
    ]);
    expect(schedules).toEqual([
      ["rate(1 minute)", '{"action":"reconcile"}', true],
      ["rate(1 minute)", '{"action":"sweep"}', true],
      ["rate(1 hour)", '{"action":"seal"}', true],
      ["rate(1 hour)", '{"action":"collect"}', true],
      ["rate(1 minute)", '{"action":"sum"}', true],
      ["rate(15 minutes)", '{"action":"reconcile"}', true],
      ["rate(1 minute)", '{"action":"run"}', true],
      ["rate(1 minute)", '{"action":"sweep"}', true],
      ["rate(1 minute)", '{"action":"sweep"}', true],
      ["rate(1 minute)", expect.stringMatching(/^{"functions":"authorize stream-authorize [a-z -]+"}$/), true],
    ]);
  });

  test.each(["sandbox", "production"] as const)(
    "functions of %s log as JSON, without the lines of Lambda about requests that go well",
    (stage) => {
      const functions = ofType(synthesized(stage), "AWS::Lambda::Function").filter(({ properties }) =>
        String(properties["FunctionName"]).startsWith(`brokerage-${stage}-`),
      );
      expect(functions.length).toBeGreaterThan(100);
      for (const { properties } of functions) {
        expect(properties["LoggingConfig"]).toMatchObject({
          LogFormat: "JSON",
          SystemLogLevel: "WARN",
          // Lines of metrics have no level and count as INFO: a higher level would drop them, and their alarms.
          ApplicationLogLevel: "DEBUG",
        });
      }
    },
  );

  test("every index of the table is watched for throttles of reads and of writes", () => {
    const alarm = only(
      ofType(synthesized("production"), "AWS::CloudWatch::Alarm").filter(({ properties }) =>
        String(properties["AlarmName"]).endsWith("-index-throttles"),
      ),
    );
    const watched = list(alarm.properties["Metrics"])
      .map((each) => at(each, "MetricStat", "Metric"))
      .filter((metric) => metric !== undefined)
      .map((metric) => {
        const dimensions = list(at(metric, "Dimensions"));
        const index = dimensions.find((each) => at(each, "Name") === "GlobalSecondaryIndexName") ?? null;
        return `${at(index, "Value")} ${at(metric, "MetricName")}`;
      });
    const [main] = ofType(synthesized("production"), "AWS::DynamoDB::GlobalTable");
    const names = list(main?.properties["GlobalSecondaryIndexes"]).map((index) => at(index, "IndexName"));
    expect(watched.sort()).toEqual(
      names.flatMap((name) => [`${name} ReadThrottleEvents`, `${name} WriteThrottleEvents`]).sort(),
    );
  });

  test("every alarm calls the topic, and the dashboard is one", () => {
    const alarms = ofType(synthesized("production"), "AWS::CloudWatch::Alarm");
    const names = alarms.map(({ properties }) => String(properties["AlarmName"]).replace("brokerage-production-", ""));
    expect(names.filter((name) => !/^background-errors-\d+$/.test(name)).sort()).toEqual([
      "account-moved-on",
      "background-errors",
      "command-late",
      "command-unknown",
      "counter-failed-open",
      "deliver-dead",
      "deliver-late",
      "deliver-unproven-late",
      "drift-open",
      "errors-fast-burn",
      "errors-slow-burn",
      "fan-out-dead",
      "fan-out-late",
      "function-throttles",
      "index-throttles",
      ...["item-unreadable", "iterator-age", "job-failed"],
      "latency",
      "latency-average",
      "margin-dead",
      "margin-late",
      "message-failed",
      "money-needs-attention",
      "outbox-parked",
      "publish-dead",
      "publish-failed",
      "publish-late",
      ...["reconciliation-difference", "recursion-dropped"],
      "refusal-not-reported",
      "refusals-dead",
      "refusals-late",
      "retry-1m-late",
      "retry-5m-late",
      "retry-long-late",
      ...["route-failures", "route-latency"],
      "schedule-failures",
      ...["stream-dead", "stream-errors", "stream-late", "stream-post-failed", "stream-wake-failed"],
      "table-throttles",
      "transaction-conflicts",
      "unexpected-operation",
      "watch-failures",
      "watch-iterator-age",
    ]);
    for (const { properties } of alarms) expect(list(properties["AlarmActions"])).toHaveLength(1);
    expect(ofType(synthesized("production"), "AWS::CloudWatch::Dashboard")).toHaveLength(1);
  });

  test.each(["sandbox", "production"] as const)(
    "the alarm on background errors of %s counts every function without a route but the authorizers",
    (stage) => {
      const alarms = ofType(synthesized(stage), "AWS::CloudWatch::Alarm").filter(({ properties }) =>
        /-(?:background|sandbox)-errors(?:-\d+)?$/.test(String(properties["AlarmName"])),
      );
      const metrics = alarms.flatMap(({ properties }) => list(properties["Metrics"]));
      const counted = metrics.flatMap((metric) => list(at(metric, "MetricStat", "Metric", "Dimensions", 0, "Value")));
      // Authorizers throw for each token that has expired: that is an answer and no failure.
      const expected = backgroundOf(stage).filter(({ id }) => !["authorize", "stream-authorize"].includes(id));
      expect(counted.sort()).toEqual(expected.map(({ id }) => `brokerage-${stage}-${id}`).sort());
    },
  );

  test("an alarm that calculates fills what is missing of each metric", () => {
    const calculating = ofType(synthesized("sandbox"), "AWS::CloudWatch::Alarm").filter(
      ({ properties }) => properties["Metrics"] !== undefined,
    );
    const names = calculating.map(({ properties }) =>
      String(properties["AlarmName"]).replace("brokerage-sandbox-", ""),
    );
    expect(names.filter((name) => !/^background-errors-\d+$/.test(name)).sort()).toEqual([
      "background-errors",
      "errors-fast-burn",
      "errors-slow-burn",
      "index-throttles",
      "latency-average",
      "sandbox-errors",
      "table-throttles",
      "transaction-conflicts",
    ]);
    for (const { properties } of calculating) {
      const metrics = list(properties["Metrics"]);
      const expression = metrics.map((metric) => at(metric, "Expression") ?? "").join("");
      const ids = metrics.filter((metric) => at(metric, "MetricStat") !== undefined).map((metric) => at(metric, "Id"));
      expect(ids.length).toBeGreaterThan(0);
      for (const id of ids) expect(expression).toContain(`FILL(${id}, `);
      const bare = expression.replaceAll(/FILL\(\w+, \d\)/g, "");
      expect(bare.match(/\b[a-z]\w*/g) ?? []).toEqual([]);
    }
  });

  test("a budget watches the stage, by the tag that everything carries", () => {
    const budget = only(ofType(synthesized("production"), "AWS::Budgets::Budget"));
    expect(at(budget.properties["Budget"], "CostFilters", "TagKeyValue", 0)).toBe(
      "user:cost-center$brokerage-production",
    );
    const tagged = synthesized("production").resources.filter(({ properties }) => Array.isArray(properties["Tags"]));
    expect(tagged.length).toBeGreaterThan(60);
    for (const { properties } of tagged) {
      const tags = list(properties["Tags"]).map((tag) => `${at(tag, "Key")}=${at(tag, "Value")}`);
      expect(tags).toEqual(
        expect.arrayContaining(["cost-center=brokerage-production", "service=brokerage", "stage=production"]),
      );
    }
  });

  test("the outputs tell where the API is and who makes applications", () => {
    const parent = only(
      synthesized("sandbox").templates.filter(({ name }) => name === "brokerage-sandbox.template.json"),
    );
    const { Outputs: outputs } = parent.template as unknown as { Outputs: Record<string, unknown> };
    expect(Object.keys(outputs).sort()).toEqual([
      ...["ApiUrl", "AuditBucketName", "DashboardUrl", "ExportBucketName", "PoolClientId", "PoolIssuer"],
      ...["ProvisionFunctionName", "StreamUrl", "UsagePlanId"],
    ]);
  });
});
