import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { statefulChanges, statefulOf } from "../../../infra/tools/deploy/stateful.ts";
import { keptStage } from "../assembly.ts";
import { type Account, type DeployCommand, template, withDeployCommand } from "./deploy-command.ts";

/**
 * Logical ids of what holds data, secrets, people or addresses, in the order of the alphabet. CloudFormation deletes
 * a resource whose id is no longer there and creates an empty one: an id of a deployed stage never changes. A new one
 * is added here.
 */
const parentIds = [
  "AlarmsTopic3A2DFEBA",
  "ApiRestApiE35FEAFE",
  "ApiRestApiPlan890EB2ED",
  "Audit3D8ADE0A",
  "Exports25637AFB",
  "FanOutfanoutB47B9E24",
  "FanOutfanoutdeadC7B865E9",
  "Ladderdeliver335E2C85",
  "Ladderdeliverdead5C89C79E",
  "LadderdeliverunprovenD3B767A6",
  "Ladderretry1m2C33797F",
  "Ladderretry5mA12E5FC1",
  "LadderretrylongF0C9982F",
  "MarginmarginA6A0C3C2",
  "Marginmargindead3593B095",
  "OperatorsClient467806A2",
  "OperatorsDomainDD16C037",
  "OperatorsPool8ED9B6FE",
  "OriginSecret5DDC59F1",
  "Publishingpublish4BBD60B7",
  "PublishingpublishdeadDE952A3B",
  "Refusalsrefusals19DA1880",
  "RefusalsrefusalsdeadDA110ADE",
  "ServiceKey5A47A26D",
  "SigningKeyEEFC2790",
  "TablesKeys6B5A3ABF",
  "TablesMainBB1D2EBD",
  "TablesVolatileACD9833A",
  "routefailures31383BE4",
  "schedulefailuresCD0B3064",
  "watchfailures5F130706",
];
/** Those of the nested stack of the dashboard, whose own id counts as well. */
const dashboardIds = ["Distribution830FAC52", "Files8E6940B8"];

describe("stateful resources", () => {
  test.each(["sandbox", "production"] as const)("of %s have the logical ids that they always had", async (stage) => {
    const { templates } = await keptStage({ stage });
    const parent = templates.find(({ name }) => name === `brokerage-${stage}.template.json`);
    const dashboard = templates.find(({ name }) => /Dashboard[0-9A-F]{8}\.nested/.test(name));
    expect(Object.keys(statefulOf(parent?.template ?? {})).sort()).toEqual(parentIds);
    expect(Object.keys(statefulOf(dashboard?.template ?? {})).sort()).toEqual(dashboardIds);
    const stacks = Object.keys(parent?.template.Resources ?? {}).filter((id) => id.startsWith("DashboardNestedStack"));
    expect(stacks).toEqual([dashboardStackId]);
  });

  const table = (key: string) => ({
    Type: "AWS::DynamoDB::GlobalTable",
    Properties: { KeySchema: [key], Tags: [key] },
  });

  test("that leave a template, or change what only a replacement changes, are named", () => {
    const before = { Resources: { A: table("pk"), B: table("pk"), C: table("pk"), F: { Type: "AWS::IAM::Role" } } };
    const after = { Resources: { B: table("id"), C: table("pk"), D: table("pk") } };
    expect(statefulChanges(before, after)).toEqual([
      { logicalId: "A", type: "AWS::DynamoDB::GlobalTable", change: "removed" },
      { logicalId: "B", type: "AWS::DynamoDB::GlobalTable", change: "replaced", property: "KeySchema" },
      { logicalId: "D", type: "AWS::DynamoDB::GlobalTable", change: "created" },
    ]);
    expect(statefulChanges(before, before)).toEqual([]);
  });
});

const dashboardStackId = "DashboardNestedStackDashboardNestedStackResource8EE10CBD";

describe("npm run deploy -- --dry-run", () => {
  const command = withDeployCommand();
  const deploy: DeployCommand["dryRun"] = (...words) => command().dryRun(...words);

  test("shows that no stateful resource changes, and deploys nothing", async () => {
    const { code, text } = await deploy();
    expect([code, text]).toEqual([0, expect.stringContaining("Account 123456789012, region eu-west-1, stage sandbox")]);
    expect(text).toContain("Stateful resources: no change");
    expect(text).toContain("Nothing was deployed");
    expect(text).not.toContain("Warning");
    expect([...new Set(command().asked)].sort()).toEqual([
      "/2016-08-19/account-settings",
      ...["authorize", "deliver", "evaluate", "fan-out", "publish", "record-refusals", "route", "stream-deliver"].map(
        (id) => `/2019-09-30/functions/brokerage-sandbox-${id}/concurrency`,
      ),
      ...["DescribeStacks", "GetCallerIdentity", "GetTemplate"],
    ]);
  });

  test("stops where a table would be lost, unless that is allowed by name", async () => {
    const gone = { Old: { Type: "AWS::DynamoDB::GlobalTable" }, ...template.Resources };
    command().account.stack = { status: "UPDATE_COMPLETE", template: { Resources: gone } };
    const refused = await deploy();
    const removed = expect.stringContaining("- Old (AWS::DynamoDB::GlobalTable) removed");
    expect([refused.code, refused.text]).toEqual([1, removed]);
    expect(refused.text).toContain("copy it first and add --allow Old.");
    expect((await deploy(["--allow", "Old"])).code).toBe(0);
  });

  test("stops where what a nested stack holds would be lost, or a nested stack that holds something", async () => {
    const nested = (digit: string) => {
      const TemplateURL = { "Fn::Join": ["", ["https://s3/", `${digit.repeat(64)}.json`]] };
      return { Type: "AWS::CloudFormation::Stack", Properties: { TemplateURL } };
    };
    const resource = (Type: string) => ({ Type });
    const bucket = { Resources: { Files: resource("AWS::S3::Bucket") } };
    const site = { Resources: { ...bucket.Resources, Site: resource("AWS::CloudFront::Distribution") } };
    const functions = { Resources: { Get: resource("AWS::Lambda::Function") } };
    const next = { Resources: { Dashboard: nested("a"), Functions: nested("b") } };
    const own = mkdtempSync(join(tmpdir(), "nested-"));
    const files = {
      [`${"a".repeat(64)}`]: { source: { path: "a.json" } },
      ["b".repeat(64)]: { source: { path: "b.json" } },
    };
    const written = {
      "a.json": bucket,
      "b.json": functions,
      "brokerage-sandbox.assets.json": { files },
      "brokerage-sandbox.template.json": next,
    };
    for (const [name, content] of Object.entries(written)) writeFileSync(join(own, name), JSON.stringify(content));
    try {
      command().account.stack = {
        status: "UPDATE_COMPLETE",
        template: { Resources: { ...next.Resources, Old: nested("c") } },
      };
      command().account.nested = {
        Dashboard: site,
        Functions: functions,
        Old: { Resources: { Audit: resource("AWS::S3::Bucket") } },
      };
      const { code, text } = await deploy(["--assembly", own]);
      expect([code, text]).toEqual([1, expect.stringContaining("- Site (AWS::CloudFront::Distribution) removed")]);
      expect(text).toContain("- Audit (AWS::S3::Bucket) removed");
      expect(text).not.toContain("Files");
      // Stacks of functions are not read: each would be two requests.
      expect(command().asked.filter((action) => action === "DescribeStackResource").length).toBe(2);
      expect((await deploy(["--assembly", own, "--allow", "Site,Audit"])).code).toBe(0);
    } finally {
      rmSync(own, { recursive: true, force: true });
    }
  });

  const failed = "<Error><Code>ExpiredToken</Code><Message>expired</Message></Error>";
  const concurrency = (all: number, free: number) => ({
    concurrency: { ConcurrentExecutions: all, UnreservedConcurrentExecutions: free },
  });
  /** Reservations of the sandbox that are there. */
  const sandbox = {
    ...{ authorize: 10, route: 4, deliver: 14, publish: 4, "fan-out": 2, "record-refusals": 2, evaluate: 4 },
    "stream-deliver": 8,
  };
  const reserving = (counts: Partial<typeof sandbox>) => ({
    reserved: Object.fromEntries(Object.entries(counts).map(([id, n]) => [`brokerage-sandbox-${id}`, n])),
  });
  const stackIn = (status: string) => ({ stack: { status, template } });
  const situations: readonly (readonly [name: string, situation: Partial<Account>, says: string])[] = [
    ["credentials have expired", { identity: [403, failed] }, "(ExpiredToken): sign in again"],
    ["nothing is bootstrapped", { bootstrap: undefined }, "in eu-west-1: run npx cdk bootstrap"],
    ["the bootstrap is too old", { bootstrap: "5" }, "has version 5 of the bootstrap stack"],
    [
      "the account is new and may run ten functions",
      { stack: undefined, ...concurrency(10, 10) },
      "may run 10 functions at the same time in eu-west-1, and needs 148: 48 for the stage, 0 that",
    ],
    [
      "another stage has reserved what is left",
      { stack: undefined, ...concurrency(240, 120) },
      "may run 240 functions at the same time in eu-west-1, and needs 268: 48 for the stage, 120 that",
    ],
    [
      "another stage has reserved what is left, and the first creation of this one has failed",
      { ...stackIn("ROLLBACK_COMPLETE"), ...concurrency(240, 120) },
      "may run 240 functions at the same time in eu-west-1, and needs 268: 48 for the stage, 120 that",
    ],
    [
      "another stage has reserved what an update of this one adds",
      { ...concurrency(254, 100), ...reserving({ ...sandbox, evaluate: 2 }) },
      "needs 256: 48 for the stage, 108 that others have reserved, and 100 that Lambda keeps.",
    ],
    [
      "one function gets more before another one gets less",
      { ...concurrency(250, 100), ...reserving({ ...sandbox, deliver: 10, publish: 8 }) },
      "needs 254: 52 for the stage, 102 that others",
    ],
    ["an update is under way", stackIn("UPDATE_IN_PROGRESS"), "brokerage-sandbox is UPDATE_IN_PROGRESS: wait"],
    [
      "a rollback has failed",
      stackIn("UPDATE_ROLLBACK_FAILED"),
      "continue-update-rollback --stack-name brokerage-sandbox",
    ],
  ];

  test.each(situations)("says what to do when %s", async (_, situation, says) => {
    Object.assign(command().account, situation);
    const { code, text } = await deploy();
    expect([code, text]).toEqual([1, expect.stringContaining(says)]);
    expect(text).not.toContain("    at ");
  });

  test("deploys next to another stage where both fit the account exactly", async () => {
    Object.assign(command().account, { ...concurrency(254, 100), ...reserving(sandbox) });
    expect((await deploy()).code).toBe(0);
    Object.assign(command().account, { ...concurrency(268, 148), stack: undefined, reserved: {} });
    expect((await deploy()).code).toBe(0);
  });

  test("warns of alarms that reach no person", async () => {
    const { code, text } = await deploy([], { BROKERAGE_STAGES: "{}" });
    expect([code, text]).toEqual([0, expect.stringContaining("Warning: No alarm of the stage sandbox")]);
  });

  test.each([
    ["has failed", "ROLLBACK_COMPLETE"],
    ["was refused before it began", "REVIEW_IN_PROGRESS"],
  ])("creates everything when the first creation %s", async (_, status) => {
    command().account.stack = { status, template: {} };
    const { code, text } = await deploy();
    expect([code, text]).toEqual([0, expect.stringContaining("+ Table (AWS::DynamoDB::GlobalTable) created")]);
  });

  const arnIn = (region: string, owner = "123456789012") => `arn:aws:acm:${region}:${owner}:certificate/one`;

  test.each([
    ["api", arnIn("eu-central-1"), "is in eu-central-1 of the account 123456789012: name one in eu-west-1 of"],
    ["api", arnIn("eu-west-1", "210987654321"), "is in eu-west-1 of the account 210987654321"],
    ["stream", arnIn("us-east-1"), "is in us-east-1 of the account 123456789012: name one in eu-west-1 of"],
    ["dashboard", arnIn("us-east-1", "210987654321"), "name one in us-east-1 of 123456789012."],
  ])("refuses a certificate of %s that its resources would not find: %s", async (setting, certificate_arn, says) => {
    const sandbox = { [setting]: { domain: "name.example.com", certificate_arn } };
    const { code, text } = await deploy([], { BROKERAGE_STAGES: JSON.stringify({ sandbox }) });
    expect([code, text]).toEqual([1, expect.stringContaining(`The certificate of ${setting} is in`)]);
    expect(text).toContain(says);
  });

  test("refuses a user pool whose invitations would come from an address that cannot be verified", async () => {
    const pool = (From: string) => {
      const Pool = { Type: "AWS::Cognito::UserPool", Properties: { EmailConfiguration: { From } } };
      writeFileSync(join(command().folder, "brokerage-sandbox.template.json"), JSON.stringify({ Resources: { Pool } }));
      return deploy(["--allow", "Table"]);
    };
    try {
      const { code, text } = await pool("no-reply@brokerage.example");
      expect([code, text]).toEqual([1, expect.stringContaining("name invitations_from in .stages.json")]);
      expect((await pool("no-reply@example.com")).code).toBe(0);
    } finally {
      writeFileSync(join(command().folder, "brokerage-sandbox.template.json"), JSON.stringify(template));
    }
  });

  test("refuses a folder that has no template of the stage", async () => {
    const { code, text } = await deploy(["--assembly", join(command().folder, "none")]);
    expect([code, text]).toEqual([1, expect.stringContaining("it has no brokerage-sandbox.template.json.")]);
  });

  test("names what is missing of the environment and of the arguments", async () => {
    expect((await deploy([], { AWS_REGION: undefined })).text).toBe("No AWS region is set: set AWS_REGION.\n");
    const none = await deploy([], { AWS_ACCESS_KEY_ID: "" });
    expect([none.code, none.text]).toEqual([1, expect.stringContaining("There are no AWS credentials: sign in")]);
    expect((await deploy(["--stage", "staging"])).text).toMatch(/^--stage must be sandbox or production/);
    const wrong = await deploy([], { BROKERAGE_STAGES: '{"sandbox":{"all":1}}' });
    expect([wrong.code, wrong.text]).toEqual([1, 'BROKERAGE_STAGES: sandbox has no setting "all".\n']);
  });
});
