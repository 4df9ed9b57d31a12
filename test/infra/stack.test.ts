import { describe, expect, test } from "vitest";
import { backgroundOf } from "../../infra/background/index.ts";
import { memories, memoryOf } from "../../infra/function-memory.ts";
import { functionName, stageConfig } from "../../infra/stages.ts";
import { routes } from "../../shared/routes/index.ts";
import { at, functionOf, type NamedResource, ofType, only } from "./assembly.ts";
import { synthesized } from "./stack-cases.ts";

/** Whether a function is of this service: the library's own, which copies the dashboard's files, has no name. */
const isOurs = ({ properties }: NamedResource) => properties["FunctionName"] !== undefined;

describe("functions", () => {
  test("have the settings of the service, a name from their id, and a log with the stage's retention", () => {
    for (const stage of ["sandbox", "production"] as const) {
      const functions = ofType(synthesized(stage), "AWS::Lambda::Function").filter(isOurs);
      const expected = routes.filter((route) => route.stages.includes(stage)).length + backgroundOf(stage).length;
      expect(functions).toHaveLength(expected);
      const ids = [...routes, ...backgroundOf(stage)].map(({ id }) => id);
      const traced = new Set(["authorize", ...routes.map(({ id }) => id)].map((id) => functionName(stage, id)));
      const memories = new Map(ids.map((id) => [functionName(stage, id), memoryOf(id)]));
      for (const { properties } of functions) {
        expect(properties).toMatchObject({
          Runtime: "nodejs24.x",
          Architectures: ["arm64"],
          MemorySize: memories.get(String(properties["FunctionName"])),
          Handler: "index.handler",
          TracingConfig: { Mode: traced.has(String(properties["FunctionName"])) ? "Active" : "PassThrough" },
        });
        expect(properties["FunctionName"]).toMatch(new RegExp(`^brokerage-${stage}-[a-z-]+$`));
      }
      const retentions = ofType(synthesized(stage), "AWS::Logs::LogGroup").map(
        (log) => log.properties["RetentionInDays"],
      );
      expect(new Set(retentions)).toEqual(new Set([Number(stageConfig(stage).logRetention)]));
    }
  });

  test("have memory of their own only by an id that exists, and a whole processor where they compute for long", () => {
    const ids = new Set([...routes, ...backgroundOf("sandbox")].map(({ id }) => id));
    expect(Object.keys(memories).filter((id) => !ids.has(id))).toEqual([]);
    const long = ["evaluate", "publish", "fan-out", "send_feed_batch", "set_sandbox_prices", "drive_sandbox_account"];
    for (const id of long) expect([id, memoryOf(id)]).toEqual([id, 1769]);
    expect(new Set(Object.values(memories))).toEqual(new Set([1024, 1769]));
    expect(memoryOf("get_client")).toBe(512);
  });

  test("get exactly the environment that they use", () => {
    const common = [
      ...["STAGE", "TABLE_NAME", "VOLATILE_TABLE_NAME", "PUBLIC_BASE_URL", "TOKEN_ISSUER", "TOKEN_AUDIENCE"],
      ...["LOG_LEVEL", "POWERTOOLS_SERVICE_NAME"],
    ];
    const variables = (id: string) => {
      const lambda = functionOf(synthesized("sandbox"), `brokerage-sandbox-${id}`);
      return at(lambda.properties["Environment"], "Variables");
    };
    const routed = [...common, "SLOW_ABOVE_MS"];
    expect(Object.keys(Object(variables("get-health"))).sort()).toEqual(routed.sort());
    const reports = [...routed, "REFUSAL_QUEUE_URL"];
    expect(Object.keys(Object(variables("get-me"))).sort()).toEqual([...reports].sort());
    const pool = ["POOL_ISSUER", "POOL_CLIENT_ID", "POOL_KEYS_URL"];
    const provisions = ["USAGE_PLAN_ID", "USER_POOL_ID", "KEY_TABLE_NAME", "STREAM_ENDPOINT", ...pool];
    expect(Object.keys(Object(variables("provision"))).sort()).toEqual([...common, ...provisions].sort());
    const both = ["SERVICE_KEY_SECRET_ID", "SIGNING_KEY_SECRET_ID"];
    expect(Object.keys(Object(variables("rotate-signing-key"))).sort()).toEqual([...common, both[1]].sort());
    expect(Object.keys(Object(variables("create-token"))).sort()).toEqual([...reports, ...both, ...pool].sort());
    expect(Object.keys(Object(variables("create-application"))).sort()).toEqual([...reports, both[0]].sort());
    expect(variables("get-me")).toMatchObject({
      STAGE: "sandbox",
      TOKEN_ISSUER: "https://sandbox.brokerage.example",
      TOKEN_AUDIENCE: "https://sandbox.brokerage.example/v2",
    });
  });

  test("are in nested stacks by folder, and provision in one of its own", () => {
    const stage = synthesized("sandbox");
    const template = (id: string) => functionOf(stage, `brokerage-sandbox-${id}`).template;
    expect(template("create-client")).toBe(template("get-client"));
    expect(template("publish")).toBe(template("sweep-events"));
    const besideProvision = ofType(stage, "AWS::Lambda::Function").filter((f) => f.template === template("provision"));
    expect(besideProvision).toHaveLength(1);
  });

  test("behind a route know the API by its id, never by its stage, plan or deployment", () => {
    const stage = synthesized("sandbox");
    const others = ["provision", "DashboardFiles"];
    const nested = stage.templates.filter(
      ({ name }) => name.includes("nested") && !others.some((other) => name.includes(other)),
    );
    expect(nested.length).toBeGreaterThan(3);
    for (const { template } of nested) expect(JSON.stringify(template)).not.toMatch(/Deployment|DeploymentStage|Plan/);
  });

  test("of the stream: batches, filter and failures as the design says", () => {
    const mappings = ofType(synthesized("sandbox"), "AWS::Lambda::EventSourceMapping").filter(
      ({ properties }) => properties["StartingPosition"] !== undefined,
    );
    const readerOf = (et: string, windowSeconds = 0) =>
      only(
        mappings.filter(
          ({ properties }) =>
            JSON.stringify(properties["FilterCriteria"]).includes(et) &&
            properties["MaximumBatchingWindowInSeconds"] === windowSeconds,
        ),
      );
    const common = {
      MaximumBatchingWindowInSeconds: 0,
      ParallelizationFactor: 1,
      BisectBatchOnFunctionError: true,
      FunctionResponseTypes: ["ReportBatchItemFailures"],
      MaximumRecordAgeInSeconds: 82_800,
      StartingPosition: "TRIM_HORIZON",
    };
    const route = readerOf("OUTBOX");
    expect(route.properties).toMatchObject({
      ...common,
      BatchSize: 100,
      MaximumRetryAttempts: 5,
      FilterCriteria: {
        Filters: [
          { Pattern: '{"eventName":["INSERT"],"dynamodb":{"NewImage":{"et":{"S":["OUTBOX"]}}}}' },
          { Pattern: '{"dynamodb":{"NewImage":{"et":{"S":["RISK"]},"left_by":{"S":["commit"]}}}}' },
        ],
      },
    });
    expect(at(route.properties["DestinationConfig"], "OnFailure", "Destination")).toBeDefined();
    const waiting = '{"et":{"S":["APP","OPERATOR","OPRKEY"]},"wake_at":{"S":[{"exists":true}]}}';
    expect(readerOf("APP").properties).toMatchObject({
      ...common,
      BatchSize: 10,
      MaximumRetryAttempts: 2,
      FilterCriteria: { Filters: [{ Pattern: `{"dynamodb":{"NewImage":${waiting}}}` }] },
    });
    const watch = readerOf("QUOTE");
    expect(watch.properties).toMatchObject({
      ...common,
      BatchSize: 500,
      MaximumRetryAttempts: 5,
      FilterCriteria: { Filters: [{ Pattern: '{"dynamodb":{"NewImage":{"et":{"S":["QUOTE","PULSE"]}}}}' }] },
    });
    expect(at(watch.properties["DestinationConfig"], "OnFailure", "Destination")).toBeDefined();
    const match = readerOf("QUOTE", 1);
    expect(match.properties).toMatchObject({ ...common, MaximumBatchingWindowInSeconds: 1, BatchSize: 500 });
    // A stream serves two readers; a third is throttled. Production has no second one of prices.
    const sources = mappings.map(({ properties }) => JSON.stringify(properties["EventSourceArn"]));
    expect(sources.filter((source) => /Main/.test(source))).toHaveLength(2);
    expect(sources.filter((source) => /Volatile/.test(source))).toHaveLength(2);
    expect(mappings).toHaveLength(4);
    const windows = ofType(synthesized("production"), "AWS::Lambda::EventSourceMapping").flatMap(({ properties }) =>
      properties["StartingPosition"] === undefined ? [] : [properties["MaximumBatchingWindowInSeconds"]],
    );
    expect(windows).not.toContain(1);
  });
});
