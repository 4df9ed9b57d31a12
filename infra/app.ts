import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { App, Validations } from "aws-cdk-lib";
import type { CloudAssembly } from "aws-cdk-lib/cx-api";
import { AwsSolutionsChecks } from "cdk-nag";
import { routes as routeTable } from "../shared/routes/index.ts";
import type { Route } from "../shared/routes/route.ts";
import { backgroundOf } from "./background/index.ts";
import type { BackgroundRow } from "./background/row.ts";
import { type BundleEntry, bundle } from "./bundle.ts";
import { ServiceRules, wholeTemplateValidation } from "./constructs/validation.ts";
import { FoundationStack } from "./stacks/foundation.ts";
import { ServiceStack } from "./stacks/service.ts";
import { readSettings, type StageSettings, settingsWarnings, withSettings } from "./stage-settings.ts";
import { type StageConfig, serviceName, stageConfig } from "./stages.ts";

/** How to synthesize; everything has a default. */
export interface BuildOptions {
  /** `sandbox` (default) or `production`; beats the context value `stage`. */
  readonly stage?: string;
  /** Folder of the cloud assembly; default `cdk.out/<stage>`. */
  readonly outdir?: string;
  /**
   * Context values, as `cdk -c` gives them: `stage`, `foundation`, `first`, `mailFrom`, `dashboardDomain` and
   * `dashboardCertificate`.
   */
  readonly context?: Readonly<Record<string, unknown>>;
  /** Settings that differ by account, as `.stages.json` names them; contexts override them. Default: nothing. */
  readonly settings?: StageSettings;
  /** Settings instead of those of the stage. */
  readonly config?: Partial<StageConfig>;
  /** Rows instead of the route table. */
  readonly routes?: readonly Route[];
  /** Functions without a route instead of those of the stage. */
  readonly background?: readonly BackgroundRow[];
  /** Folder of the handlers; default `functions/`. */
  readonly functionsRoot?: string;
  /** Folder of the bundles that an assembly of the same functions has (`bundle`); default: they are made. */
  readonly bundled?: string;
  /** Folder of a built dashboard; default: it is built. */
  readonly dashboard?: string;
  /** False leaves out the rule packs, for tests that look at templates only. */
  readonly validate?: boolean;
}

/** Set here and not in `cdk.json`, so that the app comes out the same with and without the CDK command line. */
const featureFlags = {
  "@aws-cdk/core:validateAgainstDefaultRules": true,
  "@aws-cdk/core:annotationsInValidationReport": true,
  "@aws-cdk/core:checkSecretUsage": true,
  "@aws-cdk/core:validateSnapshotRemovalPolicy": true,
  "@aws-cdk/core:target-partitions": ["aws", "aws-cn"],
  "@aws-cdk/aws-apigateway:authorizerChangeDeploymentLogicalId": true,
  "@aws-cdk/aws-apigateway:disableCloudWatchRole": true,
  "@aws-cdk/aws-apigateway:logGroupDestinationArnWithoutWildcard": true,
  "@aws-cdk/aws-lambda:recognizeLayerVersion": true,
  "@aws-cdk/aws-lambda:useCdkManagedLogGroup": true,
  // Statements stay apart, so that each grant can be read and taken away alone.
  "@aws-cdk/aws-iam:minimizePolicies": false,
} as const;

const defaultRoot = new URL("../functions/", import.meta.url).pathname;

/**
 * Builds the app: one stack per stage, or with context `foundation=true` the one-off stack of the account. With context
 * `first=true` the stack of the stage has no termination protection, so that a failed first creation can be repeated.
 * Throws for an unknown stage and for a row whose handler does not exist.
 */
export async function buildApp(options: BuildOptions = {}): Promise<App> {
  const context = contextOf(options);
  const config = { ...configOf(context, options.settings), ...options.config };
  const foundation = String(context["foundation"] ?? false) === "true";
  const name = foundation ? "foundation" : config.stage;
  const outdir = resolve(options.outdir ?? process.env["CDK_OUTDIR"] ?? join("cdk.out", name));
  const routes = (options.routes ?? routeTable).filter((route) => route.stages.includes(config.stage));
  const validate = options.validate ?? true;
  const app = new App({
    outdir,
    context: { ...featureFlags },
    postCliContext: context,
    autoSynth: false,
    analyticsReporting: false,
    performanceReporting: false,
    treeMetadata: false,
    stackTraces: false,
    // The framework's own sees top-level stacks only, which are among those that ours sees.
    builtinCloudFormationValidation: false,
  });
  if (foundation) {
    new FoundationStack(app, `${serviceName}-foundation`);
  } else {
    const background = options.background ?? backgroundOf(config.stage, config.keepWarm);
    // The bundles of the sandbox have every function, so that production can be synthesized from them.
    const entries = entriesOf(routes, options.background ?? backgroundOf(config.stage, true));
    const bundles = await bundlesOf(entries, outdir, options);
    const dashboard = await dashboardOf(outdir, options);
    new ServiceStack(app, `${serviceName}-${config.stage}`, { config, routes, background, bundles, dashboard });
  }
  Validations.of(app).addPlugins(new ServiceRules({ stage: config.stage, routes, leadingKeys: config.leadingKeys }));
  if (validate) Validations.of(app).addPlugins(wholeTemplateValidation, new AwsSolutionsChecks(app));
  return app;
}

/** The folder of each entry's bundle, by its file. */
async function bundlesOf(
  entries: readonly BundleEntry[],
  outdir: string,
  { bundled, functionsRoot }: BuildOptions,
): Promise<ReadonlyMap<string, string>> {
  if (bundled !== undefined) return new Map(entries.map(({ file }) => [file, resolve(bundled, file)]));
  const made = await bundle({ entries, root: functionsRoot ?? defaultRoot, outdir: join(outdir, "bundle") });
  return made.directories;
}

/** The folder of the built dashboard. */
async function dashboardOf(outdir: string, { dashboard }: BuildOptions): Promise<string> {
  if (dashboard !== undefined) return resolve(dashboard);
  const built = join(outdir, "dashboard");
  const { buildDashboard } = await import("./dashboard/build.ts");
  await buildDashboard(built);
  return built;
}

/** Builds and writes the cloud assembly; throws when a rule finds something. */
export async function synthesize(options: BuildOptions = {}): Promise<CloudAssembly> {
  const app = await buildApp(options);
  return app.synth();
}

function configOf(context: Readonly<Record<string, unknown>>, settings: StageSettings = {}): StageConfig {
  const config = withSettings(stageConfig(String(context["stage"] ?? "sandbox")), settings);
  const first = String(context["first"] ?? false) === "true";
  const { mailFrom, dashboardDomain: domain, dashboardCertificate: certificateArn } = context;
  if ((domain === undefined) !== (certificateArn === undefined)) {
    throw new Error("A dashboard at a domain needs both contexts, dashboardDomain and dashboardCertificate.");
  }
  return {
    ...config,
    ...(first && { terminationProtection: false }),
    ...(mailFrom !== undefined && { mailFrom: String(mailFrom) }),
    ...(domain !== undefined && { dashboard: { domain: String(domain), certificateArn: String(certificateArn) } }),
  };
}

/** All functions of a stage: those behind a route and those that are not. */
function entriesOf(routes: readonly Route[], background: readonly BackgroundRow[]): BundleEntry[] {
  const behindRoutes = routes.map(({ id, file }) => ({ name: `The row ${id}`, file }));
  const others = background.map(({ id, file }) => ({ name: `The function ${id}`, file }));
  return [...behindRoutes, ...others];
}

/** The CDK command line hands its context over in the environment; options beat it. */
function contextOf(options: BuildOptions): Record<string, unknown> {
  const fromCommandLine: Record<string, unknown> = JSON.parse(process.env["CDK_CONTEXT_JSON"] ?? "{}");
  const stage = options.stage === undefined ? {} : { stage: options.stage };
  return { ...fromCommandLine, ...options.context, ...stage };
}

/** Reads `-c key=value` and `--output folder`, which the CDK command line would read for us. */
export function parseArguments(words: readonly string[]): BuildOptions {
  const context: Record<string, unknown> = {};
  let outdir: string | undefined;
  for (let i = 0; i < words.length; i += 2) {
    const [option, value] = [words[i], words[i + 1]];
    if (value === undefined) throw new Error(`The option ${option} needs a value.`);
    if (option === "-c" || option === "--context") {
      const [key = "", ...rest] = value.split("=");
      context[key] = rest.join("=");
    } else if (option === "-o" || option === "--output") {
      outdir = value;
    } else {
      throw new Error(`There is no option ${option}; there are -c key=value and --output folder.`);
    }
  }
  return { context, ...(outdir !== undefined && { outdir }) };
}

/** Synthesizes what the command line asks for, with the settings of the account. */
async function main(): Promise<void> {
  const options = parseArguments(process.argv.slice(2));
  const context = contextOf(options);
  const stage = String(context["stage"] ?? "sandbox");
  const settings = readSettings(stage, process.cwd(), process.env);
  await synthesize({ ...options, settings });
  if (String(context["foundation"] ?? false) === "true") return;
  for (const warning of settingsWarnings(configOf(context, settings))) console.warn(`Warning: ${warning}`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  try {
    await main();
  } catch (error) {
    // An error here is one of the rows or the templates: the message says where, a stack trace would not.
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
