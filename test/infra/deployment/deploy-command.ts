import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, expect } from "vitest";
import { startCommandProcess } from "../../support/command-process.ts";

/** Answers of AWS; each situation changes a part of them. */
export interface Account {
  identity: readonly [status: number, body: string];
  concurrency: { ConcurrentExecutions: number; UnreservedConcurrentExecutions: number };
  /** Reservations of the functions that there are, by their names. */
  reserved: Readonly<Record<string, number>>;
  bootstrap: string | undefined;
  stack: { status: string; template: object } | undefined;
  /** Templates of its nested stacks, by logical id, which is their name as well. */
  nested: Readonly<Record<string, object>>;
  /** State of each alarm that there is. */
  alarms: Readonly<Record<string, string>>;
}

/** Calls of the CDK: its words but the folder of the assembly, and what that says of production. */
export interface CdkCall {
  readonly words: string;
  readonly folder?: string;
  readonly terminationProtection?: boolean;
}

/** `npm run deploy` against an account of AWS that a server of the test stands for. */
export interface DeployCommand {
  account: Account;
  /** Actions that were asked for, in their order. */
  asked: string[];
  /** The assembly to deploy, of both stages. */
  readonly folder: string;
  /** Runs it with --dry-run. */
  dryRun(words?: readonly string[], env?: NodeJS.ProcessEnv): Promise<{ code: number | null; text: string }>;
  /** Runs it for a stage, without the smoke test; returns what the CDK was asked for. */
  deployed(...words: string[]): Promise<CdkCall[]>;
  /** Ends the processes; returns what was written past the streams of the commands. */
  stop(): Promise<{ code: number | null; stdout: string; stderr: string }>;
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

/** Alarms of the template: those that watch an update, but one. */
export const alarmNames = ["errors-fast-burn", "latency", "background-errors", "publish-failed"].map(
  (id) => `brokerage-production-${id}`,
);

const alarms = alarmNames.map((name) => [name, { Type: "AWS::CloudWatch::Alarm", Properties: { AlarmName: name } }]);
const table = { Type: "AWS::DynamoDB::GlobalTable", Properties: { KeySchema: ["pk"] } };

/** The template that is deployed and the one to deploy. */
export const template = { Resources: { Table: table, ...Object.fromEntries(alarms) } };

/** An account in which the stage was deployed, and nothing stands in the way of an update. */
function quietAccount(): Account {
  return {
    identity: [200, arn],
    concurrency: { ConcurrentExecutions: 1000, UnreservedConcurrentExecutions: 1000 },
    reserved: {},
    bootstrap: "21",
    stack: { status: "UPDATE_COMPLETE", template },
    nested: {},
    alarms: {},
  };
}

type Answer = readonly [status: number, body: string];

function alarmOf({ alarms: states }: Account, name: string): string {
  const alarm = `<AlarmArn>arn:aws:cloudwatch:eu-west-1:123456789012:alarm:${name}</AlarmArn>`;
  return states[name] === undefined ? "<MetricAlarms/>" : `${alarm}<StateValue>${states[name]}</StateValue>`;
}

function stackOf({ bootstrap, stack }: Account, name: string): Answer {
  if (name === "CDKToolkit") {
    if (bootstrap === undefined) return [400, absent];
    const output = `<OutputKey>BootstrapVersion</OutputKey><OutputValue>${bootstrap}</OutputValue>`;
    return [200, `<StackStatus>CREATE_COMPLETE</StackStatus><Outputs>${output}</Outputs>`];
  }
  return stack === undefined ? [400, absent] : [200, `<StackStatus>${stack.status}</StackStatus>`];
}

/** The answer of a service with the query protocol. */
function answerTo(account: Account, parameters: URLSearchParams): Answer {
  const of = (name: string) => parameters.get(name) ?? "";
  switch (of("Action")) {
    case "GetCallerIdentity":
      return account.identity;
    case "GetTemplate": {
      const body = account.nested[of("StackName")] ?? account.stack?.template;
      return [200, `<TemplateBody>${escaped(JSON.stringify(body))}</TemplateBody>`];
    }
    case "DescribeAlarms":
      return [200, alarmOf(account, of("AlarmNames.member.1"))];
    case "DescribeStackResource":
      return [200, `<PhysicalResourceId>${of("LogicalResourceId")}</PhysicalResourceId>`];
    default:
      return stackOf(account, of("StackName"));
  }
}

/** The answer of a service with the REST protocol; undefined when there is nothing at the path. */
function resourceAt(account: Account, { pathname }: URL): object | undefined {
  if (pathname.endsWith("/account-settings")) return { AccountLimit: account.concurrency };
  const ReservedConcurrentExecutions = account.reserved[/functions\/([^/]+)\/concurrency$/.exec(pathname)?.[1] ?? ""];
  return ReservedConcurrentExecutions === undefined ? undefined : { ReservedConcurrentExecutions };
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request) text += chunk;
  return text;
}

function writeAssembly(): string {
  const folder = mkdtempSync(join(tmpdir(), "deploy-"));
  for (const stage of ["sandbox", "production"]) {
    writeFileSync(join(folder, `brokerage-${stage}.template.json`), JSON.stringify(template));
  }
  const artifact = { type: "aws:cloudformation:stack", properties: { terminationProtection: true } };
  writeFileSync(join(folder, "manifest.json"), JSON.stringify({ artifacts: { "brokerage-production": artifact } }));
  return folder;
}

const root = fileURLToPath(new URL("../../..", import.meta.url));
const { PATH } = process.env;

/** Environment of the command: credentials, and the server in place of AWS. */
function environment(port: number, home: string): NodeJS.ProcessEnv {
  return {
    ...{ PATH, AWS_ENDPOINT_URL: `http://127.0.0.1:${port}`, HOME: home },
    ...{ AWS_ACCESS_KEY_ID: "AKIAIOSFODNN7EXAMPLE", AWS_SECRET_ACCESS_KEY: "x", AWS_REGION: "eu-west-1" },
    BROKERAGE_STAGES: '{"sandbox":{"alarm_emails":["a@example.com"]}}',
    AWS_EC2_METADATA_DISABLED: "true",
  };
}

/**
 * The command for the tests of one block, each of which finds a quiet account and nothing asked for. Returns how to get
 * it, from its first test on; after the last one it must have ended without a word.
 */
export function withDeployCommand(): () => DeployCommand {
  let command: DeployCommand;
  beforeAll(async () => {
    command = await startDeployCommand();
  });
  afterAll(async () => {
    expect(await command?.stop()).toEqual({ code: 0, stdout: "", stderr: "" });
  });
  beforeEach(() => {
    Object.assign(command, { account: quietAccount(), asked: [] });
  });
  return () => command;
}

/** Starts the server and the process of the commands. */
async function startDeployCommand(): Promise<DeployCommand> {
  const folder = writeAssembly();
  const server = createServer(async (request, response) => {
    const parameters = new URLSearchParams(await textOf(request));
    const url = new URL(request.url ?? "/", "http://127.0.0.1");
    command.asked.push(parameters.get("Action") ?? url.pathname);
    const resource = resourceAt(command.account, url);
    if (resource === undefined && url.pathname.startsWith("/2019-09-30/functions/")) {
      response.writeHead(404, { "x-amzn-errortype": "ResourceNotFoundException" }).end('{"Message":"not found"}');
      return;
    }
    const [status, text] = resource ? [200, JSON.stringify(resource)] : answerTo(command.account, parameters);
    response.writeHead(status).end(text);
  });
  await new Promise<void>((listening) => void server.listen(0, "127.0.0.1", listening));
  const bin = join(folder, "node_modules", "aws-cdk", "bin");
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, "cdk"), notingCdk);
  const log = join(folder, "cdk.log");
  // Dry runs too are where they would find that CDK, and none of the command's own files.
  const commands = startCommandProcess(folder);
  const run = async (words: readonly string[], more: NodeJS.ProcessEnv = {}) => {
    const env = { ...environment((server.address() as AddressInfo).port, folder), ...more };
    const all = ["--stage", "sandbox", "--assembly", folder, ...words];
    const { code, stdout, stderr } = await commands.run(join(root, "infra/tools/deploy/run.ts"), all, env);
    return { code, text: stdout + stderr };
  };
  const command: DeployCommand = {
    ...{ account: quietAccount(), asked: [], folder },
    async dryRun(words = [], env = {}) {
      const ran = await run(["--dry-run", ...words], env);
      expect(existsSync(log)).toBe(false);
      return ran;
    },
    async deployed(...words) {
      const { code, text } = await run(["--no-smoke", "--stage", ...words]);
      if (code !== 0) throw new Error(text);
      const lines = readFileSync(log, "utf8").trim().split("\n");
      rmSync(log);
      return lines.map((line) => JSON.parse(line));
    },
    async stop() {
      const past = await commands.stop();
      server.close();
      rmSync(folder, { recursive: true, force: true });
      return past;
    },
  };
  return command;
}
