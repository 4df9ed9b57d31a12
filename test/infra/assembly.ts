import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import type { BuildOptions } from "../../infra/app.ts";
import { backgroundOf } from "../../infra/background/index.ts";
import type { BackgroundRow } from "../../infra/background/row.ts";
import type { NamedTemplate, TemplateResource } from "../../infra/checks/assembly.ts";
import { keptAssembly, sourceDigest } from "../../infra/local/synthesis.ts";
import { type StageConfig, stageConfig } from "../../infra/stages.ts";
import { routes as routeTable } from "../../shared/routes/index.ts";
import type { Route, Stage } from "../../shared/routes/route.ts";
import { keptTestAssemblies, placeholderDashboard } from "../support/assemblies.ts";

/** A synthesized stage on disk. */
export interface SynthesizedStage {
  readonly directory: string;
  readonly templates: readonly NamedTemplate[];
  readonly resources: readonly NamedResource[];
  readonly remove: () => Promise<void>;
}

/** A resource and where it is. */
export interface NamedResource {
  readonly template: string;
  readonly logicalId: string;
  readonly type: string;
  // Templates are JSON from outside; the tests read them at arbitrary depth and fail when something is missing.
  readonly properties: Record<string, Json>;
  readonly resource: TemplateResource;
}

/** JSON that is read without knowing its shape. */
export type Json = string | number | boolean | null | undefined | Json[] | { [key: string]: Json };

const fixture = new URL("./fixtures/handler.ts", import.meta.url).pathname;

/** Fills a folder with the smallest handler under every file that the rows and the background functions name. */
export async function writeHandlers(
  folder: string,
  routes: readonly Route[],
  background: readonly BackgroundRow[] = backgroundOf("sandbox", true),
): Promise<string> {
  const files = [...routes, ...background].map(({ file }) => join(folder, `${file}.ts`));
  for (const file of new Set(files)) {
    await mkdir(dirname(file), { recursive: true });
    await copyFile(fixture, file);
  }
  return folder;
}

/** Synthesizes a stage with the smallest handlers, so that templates are tested without what the functions do. */
export async function synthesizeStage(options: BuildOptions): Promise<SynthesizedStage> {
  const folder = await mkdtemp(join(tmpdir(), "infra-test-"));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    const directory = join(folder, "cdk.out");
    await synthesizeInto(directory, options);
    return { ...(await readStage(directory)), remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** Options by which kept templates differ; all of them are JSON. */
export type KeptOptions = Pick<BuildOptions, "config" | "context"> & { readonly stage: Stage };

/** Files of the tests that the templates here are made from, in addition to the sources of a stage. */
const ownSources = [fixture, fileURLToPath(import.meta.url)].map((file) => readFileSync(file, "utf8"));

/**
 * The same without the rule packs, synthesized once for all files and runs with the same sources: the folder below
 * `.local` is named after their digest.
 */
export async function keptStage({ stage, config = {}, context = {} }: KeptOptions): Promise<SynthesizedStage> {
  const own = stageConfig(stage);
  const others = Object.entries(config).filter(
    ([name, value]) => !isDeepStrictEqual(value, own[name as keyof StageConfig]),
  );
  // A setting that the stage has by itself makes no other assembly.
  const more = { config: Object.fromEntries(others), context };
  const digest = sourceDigest(JSON.stringify([stage, more, ...ownSources]));
  // Settings may be objects, and hold addresses: their digest is a name of one folder.
  const settings = createHash("sha256").update(JSON.stringify(more)).digest("hex").slice(0, 8);
  const name = `${stage}-${settings}`;
  const { directory } = await keptAssembly(keptTestAssemblies, name, digest, async (draft) => {
    await synthesizeInto(draft, { stage, ...more, validate: false });
  });
  return { ...(await readStage(directory)), remove: async () => {} };
}

async function synthesizeInto(outdir: string, options: BuildOptions): Promise<void> {
  // Where the templates are kept, the CDK need not be loaded, which takes longer than to read them.
  const { synthesize } = await import("../../infra/app.ts");
  const handlers = await mkdtemp(join(tmpdir(), "infra-handlers-"));
  try {
    const functionsRoot = await writeHandlers(handlers, options.routes ?? routeTable, options.background);
    await synthesize({ functionsRoot, outdir, dashboard: placeholderDashboard, ...options });
  } finally {
    await rm(handlers, { recursive: true, force: true });
  }
}

async function readStage(directory: string): Promise<Omit<SynthesizedStage, "remove">> {
  const templates = await readTemplates(directory);
  return { directory, templates, resources: templates.flatMap(resourcesOf) };
}

/** All templates of an assembly, by name. */
export async function readTemplates(directory: string): Promise<NamedTemplate[]> {
  const names = (await readdir(directory)).filter((name) => name.endsWith(".template.json")).sort();
  return Promise.all(
    names.map(async (name) => ({ name, template: JSON.parse(await readFile(join(directory, name), "utf8")) })),
  );
}

function resourcesOf({ name, template }: NamedTemplate): NamedResource[] {
  return Object.entries(template.Resources).map(([logicalId, resource]) => ({
    template: name,
    logicalId,
    type: resource.Type,
    properties: (resource.Properties ?? {}) as Record<string, Json>,
    resource,
  }));
}

/** The resources of one type. */
export function ofType(stage: SynthesizedStage, type: string): NamedResource[] {
  return stage.resources.filter((resource) => resource.type === type);
}

/** The only element; throws when there are others or none. */
export function only<T>(values: readonly T[]): T {
  const [first] = values;
  if (first === undefined || values.length !== 1) throw new Error(`One was expected, ${values.length} were found.`);
  return first;
}

/** A value inside JSON; undefined where the way ends. */
export function at(value: Json, ...path: (string | number)[]): Json {
  return path.reduce<Json>((inner, key) => {
    if (typeof inner !== "object" || inner === null) return undefined;
    return Array.isArray(inner) ? inner[Number(key)] : inner[String(key)];
  }, value);
}

/** A value as a list: absent is empty, one value is a list of one. */
export function list(value: Json): Json[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value];
}

/** Subject of an IAM statement, in few words: `main`, `main/index/list`, `volatile`, or the expression. */
function subject(resource: Json): string {
  const text = JSON.stringify(resource);
  if (/TablesMain[0-9A-F]+StreamArn/.test(text)) return "stream";
  if (/TablesVolatile[0-9A-F]+StreamArn/.test(text)) return "volatile stream";
  const index = /\/index\/([a-z]+)/.exec(text)?.[1];
  if (/TablesMain/.test(text)) return index === undefined ? "main" : `main/index/${index}`;
  if (/TablesVolatile/.test(text)) return "volatile";
  if (/TablesKeys/.test(text)) return "keys";
  if (/OperatorsPool[0-9A-F]+Arn/.test(text)) return "pool";
  if (/SigningKey/.test(text)) return "signing-key";
  if (/ServiceKey/.test(text)) return "service-key";
  const purpose = "(?:deliver|margin|publish|fanout|refusals|stream)(?:dead)?|deliverunproven|retry(?:1m|5m|long)";
  const queue = new RegExp(`(?:Ladder|Margin|Publishing|FanOut|Refusals|Sets)(${purpose})[0-9A-F]{8}`).exec(text)?.[1];
  if (queue !== undefined) return `queue ${queue}`;
  return text;
}

/** A statement of a role in one line: effect, action, subject, and the leading keys that bind it. */
export function lines(role: NamedResource): string[] {
  return list(role.properties["Policies"])
    .flatMap((policy) => list(at(policy, "PolicyDocument", "Statement")))
    .flatMap((statement) =>
      list(at(statement, "Action")).flatMap((action) =>
        list(at(statement, "Resource")).map((resource) => {
          const all = list(at(statement, "Condition", "ForAllValues:StringLike", "dynamodb:LeadingKeys"));
          const any = list(at(statement, "Condition", "ForAnyValue:StringLike", "dynamodb:LeadingKeys"));
          const keys = [...all, ...any].join(" ");
          return [at(statement, "Effect"), action, subject(resource), keys].filter((word) => word !== "").join(" ");
        }),
      ),
    );
}

/** The role of a function. */
export function roleOf(stage: SynthesizedStage, functionName: string): NamedResource {
  const lambda = functionOf(stage, functionName);
  const roleId = at(lambda.properties["Role"], "Fn::GetAtt", 0);
  return only(
    stage.resources.filter(({ template, logicalId }) => template === lambda.template && logicalId === roleId),
  );
}

/** A function by its name on AWS. */
export function functionOf(stage: SynthesizedStage, functionName: string): NamedResource {
  return only(
    ofType(stage, "AWS::Lambda::Function").filter(({ properties }) => properties["FunctionName"] === functionName),
  );
}
