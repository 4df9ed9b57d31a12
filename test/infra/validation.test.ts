import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type App, CfnResource, NestedStack, Stack } from "aws-cdk-lib";
import { PolicyStatement, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { Queue } from "aws-cdk-lib/aws-sqs";
import { afterAll, beforeAll, describe, expect, inject, test, vi } from "vitest";
import { buildApp, parseArguments, synthesize } from "../../infra/app.ts";
import { readSettings } from "../../infra/stage-settings.ts";
import { routes } from "../../shared/routes/index.ts";
import { placeholderDashboard, productionAssembly } from "../support/assemblies.ts";
import { readTemplates, writeHandlers } from "./assembly.ts";

/** A stage of one nested stack: a defect is found in it as in the whole one, and sooner. */
const someRows = routes.filter(({ id }) => id === "get_client");

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "infra-validation-"));
  await writeHandlers(join(folder, "functions"), someRows);
});

afterAll(() => rm(folder, { recursive: true, force: true }));

/** Builds the sandbox with every rule pack, plants a defect, and synthesizes. */
async function synthesizeWith(plant: (app: App) => void, context: Record<string, unknown> = {}): Promise<void> {
  const outdir = await mkdtemp(join(folder, "cdk.out-"));
  const sources = { functionsRoot: join(folder, "functions"), dashboard: placeholderDashboard };
  const app = await buildApp({ ...sources, outdir, context, routes: someRows });
  plant(app);
  app.synth();
}

function service(app: App): Stack {
  const stack = app.node.findChild("brokerage-sandbox");
  if (!(stack instanceof Stack)) throw new Error("The app has no stack.");
  return stack;
}

/** The nested stack of the functions of a folder. */
function functionsOf(app: App, folder: string): NestedStack {
  const nested = service(app).node.findChild(folder);
  if (!NestedStack.isNestedStack(nested)) throw new Error(`There is no nested stack of ${folder}.`);
  return nested;
}

/** A resource of this very stack. */
function resourceOf(stack: Stack, type: string): CfnResource {
  const found = stack.node
    .findAll()
    .find((each) => CfnResource.isCfnResource(each) && each.cfnResourceType === type && Stack.of(each) === stack);
  if (!(found instanceof CfnResource)) throw new Error(`There is no ${type}.`);
  return found;
}

describe("synthesis", () => {
  // That the sandbox passes too is seen before any test: its assembly is made with every rule for the whole run.
  test("of production passes CloudFormation's rules, cdk-nag and our own", async () => {
    const directory = await productionAssembly(inject("assemblyDir"));
    expect((await readTemplates(directory)).length).toBeGreaterThan(5);
  }, 90_000);

  test("stops at a finding of cdk-nag, as at a wildcard without a reason", async () => {
    const open = synthesizeWith((app) => {
      new Queue(service(app), "Open");
      const role = new Role(service(app), "Greedy", { assumedBy: new ServicePrincipal("lambda.amazonaws.com") });
      role.addToPolicy(new PolicyStatement({ actions: ["sqs:*"], resources: ["*"] }));
    });
    await expect(open).rejects.toThrow(/AwsSolutions-SQS4/);
    await expect(open).rejects.toThrow(/AwsSolutions-IAM5\[Action::sqs:\*\]/);
  });

  test("stops at a property that CloudFormation refuses, in the top-level and in a nested stack", async () => {
    const wrong = synthesizeWith((app) => {
      resourceOf(service(app), "AWS::SQS::Queue").addPropertyOverride("PlantedAbove", "much");
      resourceOf(functionsOf(app, "clients"), "AWS::Lambda::Function").addPropertyOverride("PlantedBelow", "much");
    });
    await expect(wrong).rejects.toThrow(/PlantedAbove/);
    await expect(wrong).rejects.toThrow(/PlantedBelow/);
  });

  test("stops at a finding of our own rules and names the resource", async () => {
    const forever = synthesizeWith((app) =>
      resourceOf(functionsOf(app, "events"), "AWS::Logs::LogGroup").addPropertyDeletionOverride("RetentionInDays"),
    );
    await expect(forever).rejects.toThrow(
      /The log is kept forever[\s\S]*brokerage-sandbox\/events\/\w+\/Logs\/Resource/,
    );
  });

  test("under the CDK command line, which waits for the report, ends with an exit code", async () => {
    const before = process.exitCode;
    const report = vi.spyOn(console, "error").mockReturnValue(undefined);
    await synthesizeWith((app) => new Queue(service(app), "Open"), { "@aws-cdk/core:appMode": "process" });
    const after = process.exitCode;
    process.exitCode = before;
    expect(report.mock.calls.join("\n")).toContain("AwsSolutions-SQS4");
    report.mockRestore();
    expect(after).toBe(1);
  });
});

describe("command", () => {
  test("writes the foundation stack, which is only the account's role for logs", async () => {
    const outdir = join(folder, "foundation");
    await synthesize(parseArguments(["-c", "foundation=true", "--output", outdir]));
    const [foundation, ...others] = await readTemplates(outdir);
    expect(others).toEqual([]);
    const types = Object.values(foundation?.template.Resources ?? {}).map(({ Type }) => Type);
    expect(types.sort()).toEqual(["AWS::ApiGateway::Account", "AWS::IAM::Role"]);
  });

  // Its exit code and its output are those of every wrong setting (deployment/stage-settings.test.ts).
  test("fails for a stage that does not exist and names those that do", async () => {
    const settings = readSettings("staging", folder, {});
    const failed = synthesize({ ...parseArguments(["-c", "stage=staging"]), settings });
    await expect(failed).rejects.toThrow('There is no stage "staging"; the stages are sandbox and production.');
  });

  test("needs the certificate of the dashboard's name, and the name of a certificate", async () => {
    for (const name of ["dashboardDomain", "dashboardCertificate"]) {
      await expect(buildApp({ context: { [name]: "x" } })).rejects.toThrow("needs both contexts");
    }
  });

  test("takes context and output as the CDK command line does, and nothing else", () => {
    expect(parseArguments(["-c", "stage=production", "--output", "out"])).toEqual({
      context: { stage: "production" },
      outdir: "out",
    });
    expect(parseArguments([])).toEqual({ context: {} });
    expect(() => parseArguments(["--stage", "production"])).toThrow("There is no option --stage");
    expect(() => parseArguments(["-c"])).toThrow("The option -c needs a value.");
  });
});
