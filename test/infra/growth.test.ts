import { afterAll, beforeAll, expect, test } from "vitest";
import { backgroundOf } from "../../infra/background/index.ts";
import { type BackgroundRow, everyMinute } from "../../infra/background/row.ts";
import { maxResources, maxTemplateBytes } from "../../infra/checks/templates.ts";
import { routes } from "../../shared/routes/index.ts";
import type { Method, Route } from "../../shared/routes/route.ts";
import { at, functionOf, keptStage, list, ofType, only, type SynthesizedStage, synthesizeStage } from "./assembly.ts";

/** The number of endpoints that the stacks have to hold. */
const endpoints = 200;
/** Most resources of the parent stack at that number: about half of the 500 that CloudFormation allows. */
const mostInParent = 255;

const folders = ["clients", "accounts", "transactions", "trading", "webhooks", "feed", "sandbox", "documents"] as const;
const template = only(routes.filter(({ id }) => id === "update_client"));

/** Rows like the real ones: collections with items, and actions on items, each with the most rights there are. */
function syntheticRows(count: number): Route[] {
  const shapes: readonly (readonly [Method, string])[] = [
    ["GET", ""],
    ["POST", ""],
    ["GET", "/{id}"],
    ["PATCH", "/{id}"],
    ["POST", "/{id}/approve"],
  ];
  return Array.from({ length: count }, (_, n) => {
    const [method, suffix] = shapes[n % shapes.length] ?? ["GET", ""];
    const collection = Math.floor(n / shapes.length);
    const folder = folders[collection % folders.length] ?? "clients";
    return {
      ...template,
      id: `operation_${n}`,
      method,
      path: `/collection_${collection}${suffix}`,
      file: `${folder}/operation-${n}`,
      grants: [
        "read",
        "query",
        "query:list",
        "query:state",
        "query:owner",
        "query:client",
        "put",
        "update",
        "delete",
        "check",
      ],
    } as const;
  });
}

/** Twice as many background functions as today, each by its row alone. */
const jobs = backgroundOf("production").map(
  (_, n): BackgroundRow => ({
    id: `job-${n}`,
    file: `events/job-${n}`,
    description: `Job ${n}`,
    trigger: everyMinute,
    timeoutSeconds: 60,
    statements: () => [],
  }),
);

let stage: SynthesizedStage;

beforeAll(async () => {
  const deployed = routes.filter(({ stages }) => stages.includes("production"));
  const rows = [...deployed, ...syntheticRows(endpoints - deployed.length)];
  const background = [...backgroundOf("production"), ...jobs];
  stage = await synthesizeStage({ stage: "production", routes: rows, background, validate: false });
});

afterAll(() => stage.remove());

test(`every template stays below ${maxResources} resources and its size limit at ${endpoints} endpoints`, () => {
  expect(ofType(stage, "AWS::Lambda::Function").length).toBeGreaterThanOrEqual(endpoints);
  for (const { name, template } of stage.templates) {
    expect({ name, resources: Object.keys(template.Resources).length }).toSatisfy(
      ({ resources }: { resources: number }) => resources < maxResources,
    );
    expect(JSON.stringify(template).length).toBeLessThan(maxTemplateBytes);
  }
});

test(`the parent stays below ${mostInParent} resources at ${endpoints} endpoints`, () => {
  const parent = only(stage.templates.filter(({ name }) => name === "brokerage-production.template.json"));
  expect(Object.keys(parent.template.Resources).length).toBeLessThan(mostInParent);
});

test("a background function needs no more than its row: a schedule invokes it, and an alarm counts its errors", () => {
  const schedules = ofType(stage, "AWS::Scheduler::Schedule").map(({ properties }) => properties["Name"]);
  const alarms = ofType(stage, "AWS::CloudWatch::Alarm")
    .filter(({ properties }) => /-background-errors/.test(String(properties["AlarmName"])))
    .map(({ properties }) =>
      list(properties["Metrics"]).flatMap((metric) =>
        list(at(metric, "MetricStat", "Metric", "Dimensions", 0, "Value")),
      ),
    );
  // CloudWatch calculates with ten metrics in one alarm.
  for (const counted of alarms) expect(counted.length).toBeLessThanOrEqual(10);
  for (const { id } of jobs) {
    expect(functionOf(stage, `brokerage-production-${id}`).properties["Timeout"]).toBe(60);
    expect(schedules).toContain(`brokerage-production-${id}`);
    expect(alarms.flat()).toContain(`brokerage-production-${id}`);
  }
});

test("every nested stack stays below 200 outputs and parameters", () => {
  for (const { template } of stage.templates) {
    const { Outputs = {}, Parameters = {} } = template as { Outputs?: object; Parameters?: object };
    expect(Object.keys(Outputs).length).toBeLessThan(200);
    expect(Object.keys(Parameters).length).toBeLessThan(200);
  }
});

test("a policy of a role with every grant fits into what IAM takes", () => {
  const sizes = ofType(stage, "AWS::IAM::Role").map(({ properties }) => JSON.stringify(properties["Policies"]).length);
  expect(Math.max(...sizes)).toBeLessThan(10_240);
});

test("the same source gives the same templates and assets", async () => {
  const options = { stage: "sandbox", config: { leadingKeys: true } } as const;
  const [first, second] = [await keptStage(options), await synthesizeStage({ ...options, validate: false })];
  expect(second.templates).toEqual(first.templates);
  await second.remove();
});
