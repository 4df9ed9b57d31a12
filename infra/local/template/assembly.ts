import { existsSync, readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { isRecord, type Json, Resolver } from "./intrinsics.ts";
import { knownType, type TypeRule } from "./resource-types.ts";

/**
 * A resource of the synthesized template; intrinsic functions in `properties` are already resolved.
 *
 * `physical_id` is what `Ref` gives on AWS. It is the same in every run of the same template: the name of a table,
 * function, role or log group; the ARN of a secret or topic; the URL of a queue; the stage name of an
 * `AWS::ApiGateway::Stage`; and for the other `AWS::ApiGateway::*` types ten characters made from the logical path, as
 * API Gateway's own ids look. The root resource of a RestApi is its attribute `RootResourceId`, `<id of the API>-root`,
 * and occurs as `ParentId` and `ResourceId`.
 */
export interface Resource {
  /** `<stack>/<nested stack's logical id>/<logical id>`: the names under which errors speak of it. */
  readonly path: string;
  /** Type in CloudFormation's words, `AWS::ApiGateway::Method`. */
  readonly type: string;
  /** Value of `Ref` of the resource. */
  readonly physical_id: string;
  readonly properties: Record<string, unknown>;
  /** Values of `Fn::GetAtt`, by attribute name. */
  readonly attributes: Readonly<Record<string, string>>;
  /** Absolute path of the code asset; functions only. */
  readonly asset?: string;
  /** Absolute paths of the assets that are copied into a bucket; deployments of files only. */
  readonly sources?: readonly string[];
}

/** Where the resources pretend to be. */
export interface Placement {
  readonly account_id: string;
  readonly region: string;
}

/** A cloud assembly as one graph. */
export interface Assembly extends Placement {
  readonly stack_name: string;
  readonly resources: readonly Resource[];
  /** Outputs of the top-level stack. */
  readonly outputs: Readonly<Record<string, string>>;
}

/** The account and region of everything that runs on this machine; the emulators insist on this account. */
const localPlacement: Placement = { account_id: "000000000000", region: "eu-west-1" };

/** The assembly asks for something that this runner does not understand. The message names the resource. */
export class AssemblyError extends Error {
  constructor(owner: string, message: string) {
    super(`${owner}: ${message}`);
    this.name = "AssemblyError";
  }
}

interface Template {
  readonly file: string;
  readonly resources: Record<string, Json>;
  readonly parameters: Record<string, Json>;
  readonly conditions: Record<string, Json>;
  readonly outputs: Record<string, Json>;
}

/** Sections of a template that this runner reads, and those that change nothing here, each with the reason. */
const templateSections = new Set(["Resources", "Parameters", "Conditions", "Outputs"]);
const idleSections: Readonly<Record<string, string>> = {
  AWSTemplateFormatVersion: "there is one version only",
  Description: "text for people",
  Metadata: "text for people and tools",
  Rules: "the library's rule asks for a bootstrapped account, which this machine is not",
};

/** Parts of a resource beside its properties that change nothing on one machine. */
const resourceParts: Readonly<Record<string, string>> = {
  Type: "read",
  Properties: "read",
  Condition: "read",
  DependsOn: "everything exists before the first function runs",
  DeletionPolicy: "nothing is deleted by a stack here",
  UpdateReplacePolicy: "nothing is replaced by a stack here",
  Metadata: "text for people and tools",
};

/**
 * Reads the one top-level stack of a cloud assembly with its nested stacks and assets. Throws an AssemblyError that
 * names the resource for every type, property, intrinsic function or asset that is not understood.
 */
export function readAssembly(directory: string, placement: Placement = localPlacement): Assembly {
  const root = resolve(directory);
  const manifest = readJson(join(root, "manifest.json"));
  const artifacts = Object.entries(recordIn(manifest, "artifacts", "manifest.json"));
  const stacks = artifacts.filter(
    ([, artifact]) => isRecord(artifact) && artifact["type"] === "aws:cloudformation:stack",
  );
  const [stack] = stacks;
  if (stack === undefined || stacks.length > 1) {
    throw new AssemblyError("manifest.json", `holds ${stacks.length} stacks; this runner runs exactly one`);
  }
  const [id, artifact] = stack;
  const properties = recordIn(artifact, "properties", id);
  const name = typeof properties["stackName"] === "string" ? properties["stackName"] : id;
  const assets = readAssets(
    root,
    artifacts.map(([, value]) => value),
  );
  const reader = new StackReader({ root, assets, placement, stackName: name });
  const stackScope = reader.read(String(properties["templateFile"]), name, {});
  return { ...placement, stack_name: name, resources: reader.resources, outputs: stackScope.allOutputs() };
}

/** Object key in the asset bucket to the file or folder beside the manifest. */
function readAssets(root: string, artifacts: readonly Json[]): Map<string, string> {
  const found = new Map<string, string>();
  for (const artifact of artifacts) {
    if (!isRecord(artifact) || artifact["type"] !== "cdk:asset-manifest") continue;
    const { file } = recordIn(artifact, "properties", "cdk:asset-manifest");
    const files = recordIn(readJson(join(root, String(file))), "files", String(file));
    for (const asset of Object.values(files)) {
      const path = String(recordIn(asset, "source", String(file))["path"]);
      for (const destination of Object.values(recordIn(asset, "destinations", String(file)))) {
        if (isRecord(destination)) found.set(String(destination["objectKey"]), resolve(root, path));
      }
    }
  }
  return found;
}

interface ReaderContext {
  readonly root: string;
  readonly assets: ReadonlyMap<string, string>;
  readonly placement: Placement;
  readonly stackName: string;
}

/** Reads templates, the nested ones where their stack resource stands. */
class StackReader {
  readonly resources: Resource[] = [];
  private readonly context: ReaderContext;

  constructor(context: ReaderContext) {
    this.context = context;
  }

  /** Resolves one template with the parameters given to it and adds its resources to the graph. */
  read(file: string, path: string, parameters: Readonly<Record<string, string>>): StackScope {
    const template = readTemplate(join(this.context.root, file), file);
    const scope = new StackScope(template, path, parameters, this, this.context);
    this.resources.push(...scope.allResources());
    return scope;
  }

  /** Path of an asset by the last part of its object's URL or key. */
  asset(owner: string, key: string): string {
    const found = this.context.assets.get(key);
    if (found === undefined || !existsSync(found)) throw new AssemblyError(owner, `the asset ${key} is not there`);
    return found;
  }

  /** Template file of a nested stack, relative to the assembly. */
  nestedTemplate(owner: string, url: string): string {
    const found = this.asset(owner, url.split("/").at(-1) ?? url);
    return found.slice(resolve(this.context.root).length + 1);
  }
}

/** One template while its references are followed: names in it are looked up here. */
class StackScope {
  private readonly template: Template;
  private readonly path: string;
  private readonly reader: StackReader;
  private readonly context: ReaderContext;
  private readonly resolver: Resolver;
  private readonly made = new Map<string, Resource>();
  private readonly nested = new Map<string, StackScope>();
  private readonly inProgress = new Set<string>();

  constructor(
    template: Template,
    path: string,
    parameters: Readonly<Record<string, string>>,
    reader: StackReader,
    context: ReaderContext,
  ) {
    this.template = template;
    this.path = path;
    this.reader = reader;
    this.context = context;
    const known = new Map(Object.entries(parameters));
    this.resolver = new Resolver({
      ref: (name, owner) =>
        known.get(name) ?? this.parameterDefault(name, owner) ?? this.resource(name, owner).physical_id,
      attribute: (name, attribute, owner) => this.attribute(name, attribute, owner),
      condition: (name) => template.conditions[name],
      pseudo: {
        "AWS::AccountId": context.placement.account_id,
        "AWS::Region": context.placement.region,
        "AWS::Partition": "aws",
        "AWS::URLSuffix": "amazonaws.com",
        "AWS::StackName": context.stackName,
        "AWS::StackId": this.arn("cloudformation", `stack/${context.stackName}/local`),
      },
    });
  }

  allResources(): Resource[] {
    const active = Object.entries(this.template.resources).filter(([id, value]) => this.isActive(id, value));
    return active
      .map(([id]) => this.resource(id, this.path))
      .filter(({ type }) => type !== "AWS::CloudFormation::Stack");
  }

  allOutputs(): Record<string, string> {
    return Object.fromEntries(Object.keys(this.template.outputs).map((name) => [name, this.output(name, this.path)]));
  }

  /** Value of an output; throws when the template has none of that name. */
  output(name: string, owner: string): string {
    const output = this.template.outputs[name];
    if (!isRecord(output)) throw new AssemblyError(owner, `the stack ${this.path} has no output ${name}`);
    return this.resolver.text(output["Value"] ?? null, `${this.path}/${name}`);
  }

  private isActive(id: string, value: Json): boolean {
    const condition = isRecord(value) ? value["Condition"] : undefined;
    return typeof condition !== "string" || this.resolver.condition(condition, `${this.path}/${id}`);
  }

  private parameterDefault(name: string, owner: string): string | undefined {
    const parameter = this.template.parameters[name];
    if (!isRecord(parameter)) return undefined;
    if (String(parameter["Type"]).startsWith("AWS::SSM::")) {
      throw new AssemblyError(owner, `refers to ${name}, a parameter of the deployed account`);
    }
    if (parameter["Default"] === undefined) throw new AssemblyError(owner, `the parameter ${name} has no value`);
    return String(parameter["Default"]);
  }

  private resource(id: string, owner: string): Resource {
    const known = this.made.get(id);
    if (known !== undefined) return known;
    const path = `${this.path}/${id}`;
    const definition = this.template.resources[id];
    if (!isRecord(definition)) throw new AssemblyError(owner, `refers to ${id}, which ${this.template.file} lacks`);
    if (this.inProgress.has(id)) throw new AssemblyError(path, "refers to itself");
    this.inProgress.add(id);
    const made = this.make(id, path, definition);
    this.inProgress.delete(id);
    this.made.set(id, made);
    return made;
  }

  private make(id: string, path: string, definition: Readonly<Record<string, Json>>): Resource {
    const type = String(definition["Type"]);
    const rule = knownType(type);
    if (rule === undefined) throw new AssemblyError(path, `the resource type ${type} is not known to the local runner`);
    const part = Object.keys(definition).find((key) => !(key in resourceParts));
    if (part !== undefined) throw new AssemblyError(path, `${type} carries ${part}, which the local runner ignores`);
    const given = recordIn(definition, "Properties", path, {});
    refuseUnknownProperties(path, type, rule, given);
    const { resolver } = this;
    const entries = Object.entries(given).map(
      ([key, value]) => [key, resolver.value(value, `${path} (${type})`)] as const,
    );
    const properties = Object.fromEntries(entries.filter(([, value]) => value !== undefined));
    const names = { id, path, stack: this.context.stackName, ...this.context.placement, properties };
    const physical_id = rule.physicalId(names);
    const base = { path, type, physical_id, properties, attributes: rule.attributes?.(names, physical_id) ?? {} };
    if (type === "AWS::CloudFormation::Stack") this.addNested(id, path, properties);
    if (type === "Custom::CDKBucketDeployment") return { ...base, sources: this.sourcesOf(path, properties) };
    return type === "AWS::Lambda::Function" ? { ...base, asset: this.codeOf(path, properties["Code"]) } : base;
  }

  private addNested(id: string, path: string, properties: Readonly<Record<string, unknown>>): void {
    const given = isRecord(properties["Parameters"]) ? properties["Parameters"] : {};
    const parameters = Object.fromEntries(Object.entries(given).map(([key, value]) => [key, String(value)]));
    const file = this.reader.nestedTemplate(path, String(properties["TemplateURL"]));
    this.nested.set(id, this.reader.read(file, path, parameters));
  }

  private codeOf(path: string, code: unknown): string {
    const key = isRecord(code) ? code["S3Key"] : undefined;
    if (typeof key !== "string") throw new AssemblyError(path, "the function's code is no asset of the assembly");
    const directory = this.reader.asset(path, key);
    if (!statSync(directory).isDirectory()) throw new AssemblyError(path, `the asset ${key} is no folder`);
    return directory;
  }

  private sourcesOf(path: string, { SourceObjectKeys: keys }: Readonly<Record<string, unknown>>): string[] {
    if (!Array.isArray(keys)) throw new AssemblyError(path, "the deployment has no assets");
    return keys.map((key) => this.reader.asset(path, String(key)));
  }

  private attribute(id: string, attribute: string, owner: string): string {
    const resource = this.resource(id, owner);
    const nested = this.nested.get(id);
    if (nested !== undefined && attribute.startsWith("Outputs.")) {
      return nested.output(attribute.slice("Outputs.".length), owner);
    }
    const value = resource.attributes[attribute];
    if (value !== undefined) return value;
    throw new AssemblyError(owner, `asks for ${attribute} of ${id} (${resource.type}), which the runner does not know`);
  }

  private arn(service: string, rest: string): string {
    const { account_id, region } = this.context.placement;
    return `arn:aws:${service}:${region}:${account_id}:${rest}`;
  }
}

function refuseUnknownProperties(
  path: string,
  type: string,
  rule: TypeRule,
  given: Readonly<Record<string, Json>>,
): void {
  if (rule.properties === "any") return;
  const known = new Set([...rule.properties, ...Object.keys(rule.idle ?? {})]);
  const unknown = Object.keys(given).find((key) => !known.has(key));
  if (unknown !== undefined) {
    throw new AssemblyError(path, `the property ${unknown} of ${type} is not known to the local runner`);
  }
}

function readTemplate(path: string, file: string): Template {
  const template = readJson(path);
  if (!isRecord(template)) throw new AssemblyError(file, "is no template");
  const section = Object.keys(template).find((key) => !templateSections.has(key) && !(key in idleSections));
  if (section !== undefined) throw new AssemblyError(file, `has a section ${section}, which the local runner ignores`);
  return {
    file,
    resources: recordIn(template, "Resources", file, {}),
    parameters: recordIn(template, "Parameters", file, {}),
    conditions: recordIn(template, "Conditions", file, {}),
    outputs: recordIn(template, "Outputs", file, {}),
  };
}

function readJson(path: string): Json {
  if (!existsSync(path)) throw new AssemblyError(path, "does not exist; synthesize first");
  const parsed: Json = JSON.parse(readFileSync(path, "utf8"));
  return parsed;
}

function recordIn(value: Json, key: string, owner: string, otherwise?: Record<string, Json>): Record<string, Json> {
  const found = isRecord(value) ? (value[key] ?? otherwise) : undefined;
  if (isRecord(found)) return found;
  throw new AssemblyError(owner, `has no ${key}`);
}
