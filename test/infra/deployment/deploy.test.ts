import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { mustHaveNode } from "../../../infra/tools/deploy/checks.ts";
import { watchedAlarms } from "../../../infra/tools/deploy/rollback.ts";
import { statefulChanges, statefulOf } from "../../../infra/tools/deploy/stateful.ts";
import { type CommandProcess, startCommandProcess } from "../../support/command-process.ts";
import { keptStage } from "../assembly.ts";

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

  const table = (key: string) => ({ Type: "AWS::DynamoDB::Table", Properties: { KeySchema: [key], Tags: [key] } });

  test("that leave a template, or change what only a replacement changes, are named", () => {
    const before = { Resources: { A: table("pk"), B: table("pk"), C: table("pk"), F: { Type: "AWS::IAM::Role" } } };
    const after = { Resources: { B: table("id"), C: table("pk"), D: table("pk") } };
    expect(statefulChanges(before, after)).toEqual([
      { logicalId: "A", type: "AWS::DynamoDB::Table", change: "removed" },
      { logicalId: "B", type: "AWS::DynamoDB::Table", change: "replaced", property: "KeySchema" },
      { logicalId: "D", type: "AWS::DynamoDB::Table", change: "created" },
    ]);
    expect(statefulChanges(before, before)).toEqual([]);
  });
});

const dashboardStackId = "DashboardNestedStackDashboardNestedStackResource8EE10CBD";

/** What AWS answers; each situation changes a part of it. */
interface Account {
  identity: readonly [status: number, body: string];
  concurrency: { ConcurrentExecutions: number; UnreservedConcurrentExecutions: number };
  bootstrap: string | undefined;
  stack: { status: string; template: object } | undefined;
  keys: number;
  /** State of each alarm that there is. */
  alarms: Readonly<Record<string, string>>;
}

const arn = "<GetCallerIdentityResponse><Account>123456789012</Account></GetCallerIdentityResponse>";
const absent =
  "<ErrorResponse><Error><Code>ValidationError</Code><Message>Stack does not exist</Message></Error></ErrorResponse>";
const escaped = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

/** Takes the place of the CDK's command: notes its words, and the protection of the stack in the assembly to deploy. */
const notingCdk = `
  const { appendFileSync, readFileSync } = require("node:fs");
  const words = process.argv.slice(2);
  const [folder] = words.splice(words.indexOf("--app") + 1 || words.length, 1);
  const manifest = folder && JSON.parse(readFileSync(folder + "/manifest.json", "utf8"));
  const { terminationProtection } = manifest?.artifacts["brokerage-production"].properties ?? {};
  appendFileSync("cdk.log", JSON.stringify({ words: words.join(" "), folder, terminationProtection }) + "\\n");
`;

describe("npm run deploy", () => {
  const root = fileURLToPath(new URL("../../..", import.meta.url));
  const { PATH } = process.env;
  let commands: CommandProcess;
  let server: Server;
  let folder: string;
  let account: Account;
  /** Alarms of the template: those that watch an update, but one. */
  const alarmNames = ["errors-fast-burn", "latency", "background-errors", "publish-failed"].map(
    (id) => `brokerage-production-${id}`,
  );
  const alarms = alarmNames.map((AlarmName) => [
    AlarmName,
    { Type: "AWS::CloudWatch::Alarm", Properties: { AlarmName } },
  ]);
  const table = { Type: "AWS::DynamoDB::Table", Properties: { KeySchema: ["pk"] } };
  const template = { Resources: { Table: table, ...Object.fromEntries(alarms) } };
  /** Actions that were asked for, in their order. */
  let asked: string[] = [];

  function alarmOf(name: string): string {
    const state = account.alarms[name];
    const alarm = `<AlarmArn>arn:aws:cloudwatch:eu-west-1:123456789012:alarm:${name}</AlarmArn>`;
    return state === undefined ? "<MetricAlarms/>" : `${alarm}<StateValue>${state}</StateValue>`;
  }

  function answer(action: string, stackName: string | null): readonly [status: number, body: string] {
    if (action === "GetCallerIdentity") return account.identity;
    if (action === "GetTemplate") {
      return [200, `<TemplateBody>${escaped(JSON.stringify(account.stack?.template))}</TemplateBody>`];
    }
    if (stackName === "CDKToolkit") {
      const version = account.bootstrap;
      if (version === undefined) return [400, absent];
      const output = `<OutputKey>BootstrapVersion</OutputKey><OutputValue>${version}</OutputValue>`;
      return [200, `<StackStatus>CREATE_COMPLETE</StackStatus><Outputs>${output}</Outputs>`];
    }
    return account.stack === undefined ? [400, absent] : [200, `<StackStatus>${account.stack.status}</StackStatus>`];
  }

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "deploy-"));
    writeFileSync(join(folder, "brokerage-sandbox.template.json"), JSON.stringify(template));
    writeFileSync(join(folder, "brokerage-production.template.json"), JSON.stringify(template));
    const artifact = { type: "aws:cloudformation:stack", properties: { terminationProtection: true } };
    writeFileSync(join(folder, "manifest.json"), JSON.stringify({ artifacts: { "brokerage-production": artifact } }));
    server = createServer(async (request, response) => {
      let body = "";
      for await (const chunk of request) body += chunk;
      const url = new URL(request.url ?? "/", "http://127.0.0.1");
      const parameters = new URLSearchParams(body);
      const action = parameters.get("Action");
      asked.push(action ?? url.pathname);
      if (url.pathname.endsWith("/account-settings")) {
        return void response.end(JSON.stringify({ AccountLimit: account.concurrency }));
      }
      if (url.pathname === "/apikeys") {
        const from = Number(url.searchParams.get("position") ?? 0);
        const size = Math.min(500, account.keys - from);
        const position = from + size < account.keys ? String(from + size) : undefined;
        return void response.end(JSON.stringify({ item: Array(size).fill({}), position }));
      }
      if (action === "DescribeAlarms") return void response.end(alarmOf(parameters.get("AlarmNames.member.1") ?? ""));
      const [status, text] = answer(action ?? "", parameters.get("StackName"));
      response.writeHead(status).end(text);
    });
    await new Promise<void>((listening) => void server.listen(0, "127.0.0.1", listening));
    commands = startCommandProcess(root);
  });
  afterAll(async () => {
    const past = await commands?.stop();
    server?.close();
    rmSync(folder, { recursive: true, force: true });
    expect(past).toEqual({ code: 0, stdout: "", stderr: "" });
  });
  beforeEach(() => {
    asked = [];
    account = {
      identity: [200, arn],
      concurrency: { ConcurrentExecutions: 1000, UnreservedConcurrentExecutions: 1000 },
      bootstrap: "21",
      stack: { status: "UPDATE_COMPLETE", template },
      keys: 3,
      alarms: {},
    };
  });

  async function deploy(words: readonly string[] = [], more: NodeJS.ProcessEnv = {}) {
    return await runIn(commands, ["--dry-run", ...words], more);
  }

  async function runIn(process: CommandProcess, words: readonly string[], more: NodeJS.ProcessEnv = {}) {
    const { port } = server.address() as AddressInfo;
    const credentials = {
      AWS_ACCESS_KEY_ID: "AKIAIOSFODNN7EXAMPLE",
      AWS_SECRET_ACCESS_KEY: "x",
      AWS_REGION: "eu-west-1",
    };
    const settings = { BROKERAGE_STAGES: '{"sandbox":{"alarm_emails":["a@example.com"]}}' };
    const env = {
      ...{ PATH, AWS_ENDPOINT_URL: `http://127.0.0.1:${port}`, HOME: folder },
      ...credentials,
      ...settings,
      AWS_EC2_METADATA_DISABLED: "true",
      ...more,
    };
    const command = ["--stage", "sandbox", "--assembly", folder, ...words];
    const { code, stdout, stderr } = await process.run(join(root, "infra/tools/deploy/run.ts"), command, env);
    return { code, text: stdout + stderr };
  }

  test("shows that no stateful resource changes, and deploys nothing", async () => {
    const { code, text } = await deploy();
    expect([code, text]).toEqual([0, expect.stringContaining("Account 123456789012, region eu-west-1, stage sandbox")]);
    expect(text).toContain("Stateful resources: no change");
    expect(text).toContain("Nothing was deployed");
    expect(text).not.toContain("Warning");
    expect([...new Set(asked)].sort()).toEqual([
      ...["/2016-08-19/account-settings", "/apikeys", "DescribeStacks", "GetCallerIdentity", "GetTemplate"],
    ]);
  });

  test("stops where a table would be lost, unless that is allowed by name", async () => {
    const gone = { Old: { Type: "AWS::DynamoDB::Table" }, ...template.Resources };
    account.stack = { status: "UPDATE_COMPLETE", template: { Resources: gone } };
    const refused = await deploy();
    expect([refused.code, refused.text]).toEqual([1, expect.stringContaining("- Old (AWS::DynamoDB::Table) removed")]);
    expect(refused.text).toContain("copy it first and add --allow Old.");
    expect((await deploy(["--allow", "Old"])).code).toBe(0);
  });

  const failed = "<Error><Code>ExpiredToken</Code><Message>expired</Message></Error>";
  const concurrency = (all: number, free: number) => ({
    concurrency: { ConcurrentExecutions: all, UnreservedConcurrentExecutions: free },
  });
  const stackIn = (status: string) => ({ stack: { status, template } });
  const situations: readonly (readonly [name: string, situation: Partial<Account>, says: string])[] = [
    ["credentials have expired", { identity: [403, failed] }, "(ExpiredToken): sign in again"],
    ["nothing is bootstrapped", { bootstrap: undefined }, "in eu-west-1: run npx cdk bootstrap"],
    ["the bootstrap is too old", { bootstrap: "5" }, "has version 5 of the bootstrap stack"],
    [
      "the account is new and may run ten functions",
      { stack: undefined, ...concurrency(10, 10) },
      "may run 10 functions at the same time in eu-west-1, and needs 126.",
    ],
    [
      "another stage has reserved what is left",
      { stack: undefined, ...concurrency(240, 120) },
      "may run 240 functions at the same time in eu-west-1, and needs 246.",
    ],
    [
      "another stage has reserved what is left, and the first creation of this one has failed",
      { ...stackIn("ROLLBACK_COMPLETE"), ...concurrency(240, 120) },
      "may run 240 functions at the same time in eu-west-1, and needs 246.",
    ],
    ["an update is under way", stackIn("UPDATE_IN_PROGRESS"), "brokerage-sandbox is UPDATE_IN_PROGRESS: wait"],
    [
      "a rollback has failed",
      stackIn("UPDATE_ROLLBACK_FAILED"),
      "continue-update-rollback --stack-name brokerage-sandbox",
    ],
  ];

  test.each(situations)("says what to do when %s", async (_, situation, says) => {
    Object.assign(account, situation);
    const { code, text } = await deploy();
    expect([code, text]).toEqual([1, expect.stringContaining(says)]);
    expect(text).not.toContain("    at ");
  });

  test("warns of alarms that reach no person and of API keys that come to an end", async () => {
    account.keys = 9_001;
    const { code, text } = await deploy([], { BROKERAGE_STAGES: "{}" });
    expect([code, text]).toEqual([0, expect.stringContaining("Warning: No alarm of the stage sandbox")]);
    expect(text).toContain("Warning: 9001 of the 10000 API keys of eu-west-1");
  });

  test.each([
    ["has failed", "ROLLBACK_COMPLETE"],
    ["was refused before it began", "REVIEW_IN_PROGRESS"],
  ])("creates everything when the first creation %s", async (_, status) => {
    account.stack = { status, template: {} };
    const { code, text } = await deploy();
    expect([code, text]).toEqual([0, expect.stringContaining("+ Table (AWS::DynamoDB::Table) created")]);
  });

  const arnIn = (region: string, owner = "123456789012") => `arn:aws:acm:${region}:${owner}:certificate/one`;

  test.each([
    ["api", arnIn("eu-central-1"), "is in eu-central-1 of the account 123456789012: name one in eu-west-1 of"],
    ["api", arnIn("eu-west-1", "210987654321"), "is in eu-west-1 of the account 210987654321"],
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
      writeFileSync(join(folder, "brokerage-sandbox.template.json"), JSON.stringify({ Resources: { Pool } }));
      return deploy(["--allow", "Table"]);
    };
    try {
      const { code, text } = await pool("no-reply@brokerage.example");
      expect([code, text]).toEqual([1, expect.stringContaining("name invitations_from in .stages.json")]);
      expect((await pool("no-reply@example.com")).code).toBe(0);
    } finally {
      writeFileSync(join(folder, "brokerage-sandbox.template.json"), JSON.stringify(template));
    }
  });

  test("refuses a folder that has no template of the stage", async () => {
    const { code, text } = await deploy(["--assembly", join(folder, "none")]);
    expect([code, text]).toEqual([1, expect.stringContaining("it has no brokerage-sandbox.template.json.")]);
  });

  /** What the CDK was asked for by a deployment that is not dry, in a folder with a command of its own. */
  async function deployed(
    ...words: string[]
  ): Promise<{ words: string; folder?: string; terminationProtection?: boolean }[]> {
    const own = mkdtempSync(join(tmpdir(), "deployed-"));
    const bin = join(own, "node_modules", "aws-cdk", "bin");
    mkdirSync(bin, { recursive: true });
    writeFileSync(join(bin, "cdk"), notingCdk);
    const there = startCommandProcess(own);
    try {
      const { code, text } = await runIn(there, ["--no-smoke", "--stage", ...words]);
      expect([code, text]).toEqual([0, expect.stringContaining("Stateful resources")]);
      const lines = readFileSync(join(own, "cdk.log"), "utf8").trim().split("\n");
      return lines.map((line) => JSON.parse(line));
    } finally {
      await there.stop();
      rmSync(own, { recursive: true, force: true });
    }
  }

  const foundation = { words: "deploy --require-approval never -c foundation=true" };
  const whole = (more = "") => ({
    words: `deploy --require-approval never --app${more}`,
    ...{ folder, terminationProtection: true },
  });
  const unwatched = " --rollback-trigger-alarm-arns none";

  test("deploys the assembly that it is given, of production first without termination protection", async () => {
    account.stack = { status: "ROLLBACK_COMPLETE", template: {} };
    const [before, first, ...then] = await deployed("production");
    expect([before, then]).toEqual([foundation, [whole()]]);
    expect(first).toEqual({
      ...whole(),
      folder: expect.stringContaining("first-creation-"),
      terminationProtection: false,
    });
    expect(existsSync(first?.folder ?? "")).toBe(false);
    account.stack = { status: "UPDATE_COMPLETE", template };
    expect(await deployed("production")).toEqual([foundation, whole(unwatched)]);
  });

  test("watches alarms that production has, as many as CloudFormation takes", async () => {
    const { resources } = await keptStage({ stage: "production" });
    const names = resources.map(({ properties }) => properties["AlarmName"]);
    expect(names).toEqual(expect.arrayContaining(watchedAlarms.map((id) => `brokerage-production-${id}`)));
    expect(watchedAlarms.length).toBeLessThanOrEqual(5);
  });

  test("has an update of production rolled back by alarms that exist, stay and do not ring already", async () => {
    const [errors = "", latency = "", background = ""] = alarmNames;
    account.alarms = { [errors]: "OK", [latency]: "ALARM", [background]: "INSUFFICIENT_DATA" };
    account.alarms = { ...account.alarms, "brokerage-production-iterator-age": "OK" };
    const triggers = [errors, background].map(
      (name) => ` --rollback-trigger-alarm-arns arn:aws:cloudwatch:eu-west-1:123456789012:alarm:${name}`,
    );
    const watched = (minutes: number) => ` --monitoring-time-minutes ${minutes}${triggers.join("")}`;
    expect(await deployed("production")).toEqual([foundation, whole(watched(15))]);
    expect(await deployed("production", "--watch", "30")).toEqual([foundation, whole(watched(30))]);
    expect(await deployed("production", "--watch", "0")).toEqual([foundation, whole(unwatched)]);
    expect(await deployed("sandbox")).toEqual([foundation, whole(unwatched)]);
    const { text } = await deploy(["--stage", "production"]);
    expect(text).toContain(`Rolled back by: ${errors}, ${background}, until 15 minutes after the last resource`);
    expect(text).toContain(`Warning: ${latency} is in alarm already`);
    expect((await deploy(["--watch", "181"])).text).toBe("--watch must be a whole number from 0 to 180.\n");
  });

  test("names what is missing of the environment and of the arguments", async () => {
    expect((await deploy([], { AWS_REGION: undefined })).text).toBe("No AWS region is set: set AWS_REGION.\n");
    const none = await deploy([], { AWS_ACCESS_KEY_ID: "" });
    expect([none.code, none.text]).toEqual([1, expect.stringContaining("There are no AWS credentials: sign in")]);
    expect((await deploy(["--stage", "staging"])).text).toMatch(/^--stage must be sandbox or production/);
    const wrong = await deploy([], { BROKERAGE_STAGES: '{"sandbox":{"all":1}}' });
    expect([wrong.code, wrong.text]).toEqual([1, 'BROKERAGE_STAGES: sandbox has no setting "all".\n']);
  });

  test("needs Node 20.19", () => {
    for (const version of ["18.20.0", "20.18.9"]) expect(() => mustHaveNode(version)).toThrow("is too old");
    for (const version of ["20.19.0", "22.0.0", "24.1.0"]) expect(() => mustHaveNode(version)).not.toThrow();
  });
});
