import { spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { type Stage, stages } from "../../../shared/routes/route.ts";
import {
  helpAsked,
  oneOf,
  readArguments,
  runCommand,
  UsageError,
  wholeNumber,
} from "../../../shared/runtime/command-line.ts";
import type { Template } from "../../checks/assembly.ts";
import {
  readSettings,
  reservedConcurrency,
  SettingsError,
  settingsWarnings,
  withSettings,
} from "../../stage-settings.ts";
import { functionName, type StageConfig, serviceName, stageConfig } from "../../stages.ts";
import { type Aws, connect } from "./aws.ts";
import {
  accountOf,
  type DeployedStack,
  describeStack,
  mustBeBootstrapped,
  mustHaveConcurrency,
  mustHaveSender,
  mustOwnCertificates,
} from "./checks.ts";
import { withoutTerminationProtection } from "./first-creation.ts";
import { alarmsToWatch, type Watch, watchOptions } from "./rollback.ts";
import { type StatefulChange, statefulChanges } from "./stateful.ts";
import { deployedTemplates, templatesIn, withNested } from "./templates.ts";

/** Time for the alarms of errors and latency to be raised, which judge 10 and 15 minutes. */
const watchMinutes: Readonly<Record<Stage, number>> = { sandbox: 0, production: 15 };
/** The longest that CloudFormation watches (AWS docs: rollback triggers). */
const maxWatchMinutes = 180;

const help = `Deploys a stage: checks the account, shows what happens to data, deploys, and runs the smoke test.

npm run deploy -- --stage <stage> [options]
  --stage <stage>      ${stages.join(" or ")}
  --dry-run            checks and shows only, deploys nothing
  --allow <list>       logical ids of stateful resources, with commas between them, that may be removed or replaced
  --assembly <folder>  deploys this cloud assembly and does not synthesize one
  --watch <minutes>    rolls an update back when an alarm of errors, latency or publishing is raised while it runs or
                       so long after it; 0 watches nothing (default ${watchMinutes.production}, in the sandbox 0)
  --no-smoke           leaves out the smoke test
  --help               this text

It takes credentials and region as the AWS SDK does, and what differs by account from .stages.json. The smoke test
needs BROKERAGE_CLIENT_ID and BROKERAGE_CLIENT_SECRET in the environment, of an application of a brokerage of its own;
without them it is left out. A step that fails says what to do, and the command can be repeated.`;

interface Options {
  readonly stage: Stage;
  readonly isDry: boolean;
  readonly allowed: readonly string[];
  readonly assembly: string | undefined;
  readonly watchMinutes: number;
  readonly isSmokeTested: boolean;
}

function optionsOf(): Options {
  const text = { type: "string" } as const;
  const flag = { type: "boolean", default: false } as const;
  const { values } = readArguments({
    ...{ stage: text, "dry-run": flag, allow: text, assembly: text, watch: text, "no-smoke": flag },
  });
  if (values.stage === undefined) throw new UsageError("The option --stage is missing: name the stage to deploy.");
  const stage = oneOf("stage", values.stage, stages);
  return {
    stage,
    isDry: values["dry-run"],
    allowed: values.allow?.split(",").map((id) => id.trim()) ?? [],
    assembly: values.assembly,
    watchMinutes: wholeNumber("watch", values.watch ?? String(watchMinutes[stage]), 0, maxWatchMinutes),
    isSmokeTested: !values["no-smoke"],
  };
}

/** Runs a program with its output on this terminal; throws a UsageError with the advice when it fails. */
async function run(command: readonly string[], advice: string, env: NodeJS.ProcessEnv = {}): Promise<void> {
  const [program = "", ...words] = command;
  const child = spawn(program, words, { stdio: "inherit", env: { ...process.env, ...env } });
  const [code] = (await once(child, "exit")) as [number | null];
  if (code !== 0) throw new UsageError(`\n${command.slice(0, 3).join(" ")} failed. ${advice}`);
}

function configOf(stage: Stage): StageConfig {
  try {
    return withSettings(stageConfig(stage), readSettings(stage, process.cwd(), process.env));
  } catch (error) {
    throw error instanceof SettingsError ? new UsageError(error.message) : error;
  }
}

/** Connects to AWS; a lack of credentials or of a region is said in one sentence. */
async function connected(): Promise<Aws> {
  return await connect().catch((error: Error) => {
    if (error.message === "Region is missing") throw new UsageError("No AWS region is set: set AWS_REGION.");
    throw new UsageError(`There are no AWS credentials: sign in to AWS, then repeat the command. (${error.message})`);
  });
}

/** Checks what a deployment needs of the account; returns the stack of the stage, undefined before the first time. */
async function checkAccount(aws: Aws, config: StageConfig): Promise<DeployedStack | undefined> {
  const account = await accountOf(aws);
  console.log(`Account ${account}, region ${aws.region}, stage ${config.stage}`);
  await mustBeBootstrapped(aws, account);
  mustOwnCertificates(config, account, aws.region);
  const stack = await describeStack(aws, stackName(config.stage));
  const reserved = Object.entries(reservedConcurrency(config));
  const named = reserved.map(([id, count]) => [functionName(config.stage, id), count] as const);
  await mustHaveConcurrency(aws, Object.fromEntries(named));
  for (const warning of settingsWarnings(config)) console.warn(`Warning: ${warning}`);
  return stack;
}

const stackName = (stage: Stage) => `${serviceName}-${stage}`;

/** States of a stack that has no resource that works: before its creation, and after one that failed. */
const notCreated = ["REVIEW_IN_PROGRESS", "ROLLBACK_COMPLETE"];

function isCreated(stack: DeployedStack | undefined): boolean {
  return stack !== undefined && !notCreated.includes(stack.status);
}

const deleteIt = "delete it in the console, and retain what cannot be deleted";

/** States of a stack that accept no update, with what to do (AWS docs: stack status codes). */
const stuck: Readonly<Record<string, (name: string) => string>> = {
  UPDATE_ROLLBACK_FAILED: (name) => `run aws cloudformation continue-update-rollback --stack-name ${name}`,
  CREATE_FAILED: () => deleteIt,
  ROLLBACK_FAILED: () => deleteIt,
  DELETE_FAILED: () => deleteIt,
};

function mustBeUpdatable(name: string, { status }: DeployedStack): void {
  if (status === "ROLLBACK_COMPLETE") console.log(`The first creation of ${name} has failed: it is created again.`);
  // A creation whose change set was refused or never carried out stays in review: the CDK makes another change set.
  if (status === "REVIEW_IN_PROGRESS") return;
  if (status.endsWith("_IN_PROGRESS")) throw new UsageError(`${name} is ${status}: wait, then repeat the command.`);
  const advice = stuck[status]?.(name);
  if (advice !== undefined) throw new UsageError(`${name} is ${status}: ${advice}.`);
}

const marks = { created: "+", removed: "-", replaced: "!" } as const;

/** Shows what happens to stateful resources, and stops at a loss that was not allowed. */
function showChanges(changes: readonly StatefulChange[], allowed: readonly string[]): void {
  console.log(`\nStateful resources: ${changes.length === 0 ? "no change" : ""}`);
  for (const { logicalId, type, change, property } of changes) {
    console.log(
      `  ${marks[change]} ${logicalId} (${type}) ${change}${property === undefined ? "" : ` by ${property}`}`,
    );
  }
  const lost = changes.filter(({ change, logicalId }) => change !== "created" && !allowed.includes(logicalId));
  if (lost.length === 0) return;
  const ids = lost.map(({ logicalId }) => logicalId).join(",");
  throw new UsageError(
    `The deployment would lose what these resources hold. If that is meant, copy it first and add --allow ${ids}.`,
  );
}

const cdk = [process.execPath, "node_modules/aws-cdk/bin/cdk"] as const;

async function synthesized({ stage, assembly }: Options): Promise<string> {
  if (assembly !== undefined) return resolve(assembly);
  const folder = resolve("cdk.out", stage);
  const command = [process.execPath, "--import", "tsx", "infra/app.ts", "-c", `stage=${stage}`, "--output", folder];
  await run(command, "The sentence above says what is wrong in the code or in .stages.json.");
  return folder;
}

/** The alarms that watch an update, which are shown; none for a first creation. */
async function watchOf(aws: Aws, options: Options, next: Partial<Template>, isFirst: boolean): Promise<Watch> {
  const { stage, watchMinutes: minutes } = options;
  if (isFirst || minutes === 0) return { alarms: [], ringing: [] };
  const watch = await alarmsToWatch(aws, stage, next);
  const names = watch.alarms.map((arn) => arn.split(":").at(-1)).join(", ") || "no alarm";
  console.log(`\nRolled back by: ${names}, until ${minutes} minutes after the last resource`);
  for (const name of watch.ringing) console.warn(`Warning: ${name} is in alarm already and rolls nothing back.`);
  return watch;
}

async function deployStage(options: Options, folder: string, isFirst: boolean, watch: Watch): Promise<void> {
  const { stage } = options;
  const deploy = [...cdk, "deploy", "--require-approval", "never"];
  const foundation = "The role that API Gateway logs with is not made: look at the stack brokerage-foundation.";
  await run([...deploy, "-c", "foundation=true"], foundation);
  const advice =
    "CloudFormation has rolled it back. The first resource with CREATE_FAILED or UPDATE_FAILED above is the cause, " +
    "or an alarm that watched the update; infra/runbooks/failed-deployment.md says what to do.";
  const words = isFirst ? [] : watchOptions(watch, options.watchMinutes);
  const deployFrom = async (assembly: string) => await run([...deploy, "--app", assembly, ...words], advice);
  if (isFirst && stage === "production") await withoutTerminationProtection(folder, stackName(stage), deployFrom);
  await deployFrom(folder);
}

async function smokeTest(aws: Aws, { stage }: Options, config: StageConfig): Promise<void> {
  const outputs = (await describeStack(aws, stackName(stage)))?.outputs ?? {};
  const { ApiUrl = "", StreamUrl = "", DashboardUrl = "" } = outputs;
  console.log(`\nApiUrl        ${ApiUrl}\nStreamUrl     ${StreamUrl}\nDashboardUrl  ${DashboardUrl}`);
  const claims = ["--issuer", config.tokenIssuer, "--audience", config.tokenAudience];
  const agreed = stage === "production" ? ["--production"] : [];
  const words = ["--base-url", ApiUrl, "--dashboard-url", DashboardUrl, ...claims, ...agreed];
  const { BROKERAGE_CLIENT_ID, BROKERAGE_CLIENT_SECRET } = process.env;
  if (!BROKERAGE_CLIENT_ID || !BROKERAGE_CLIENT_SECRET) {
    const create = `npm run application -- create --stage ${stage} --brokerage new --name Smoke`;
    console.log(`\nNo smoke test: make an application (${create}), set BROKERAGE_CLIENT_ID and`);
    console.log(`BROKERAGE_CLIENT_SECRET, and run\nnpm run smoke -- ${words.join(" ")}`);
    return;
  }
  const command = [process.execPath, "--import", "tsx", "infra/tools/smoke/run.ts", ...words];
  await run(
    command,
    "The stage is deployed; each finding names the resource to look at. To go back: infra/runbooks/rollback.md.",
  );
}

async function main(): Promise<void> {
  if (helpAsked(help)) return;
  const options = optionsOf();
  const { stage, allowed, isDry } = options;
  const config = configOf(stage);
  const aws = await connected();
  const name = stackName(stage);
  const stack = await checkAccount(aws, config);
  if (stack !== undefined) mustBeUpdatable(name, stack);
  const folder = await synthesized(options);
  const next = templatesIn(folder, name);
  mustHaveSender(next.parent);
  const isFirst = !isCreated(stack);
  const deployed = isFirst ? {} : withNested(await deployedTemplates(aws, name, next));
  showChanges(statefulChanges(deployed, withNested(next)), allowed);
  const watch = await watchOf(aws, options, next.parent, isFirst);
  if (isDry) return console.log("\nNothing was deployed (--dry-run).");
  await deployStage(options, folder, isFirst, watch);
  if (options.isSmokeTested) await smokeTest(aws, options, config);
}

await runCommand(main);
