import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { UsageError } from "../../../shared/runtime/command-line.ts";
import type { Template } from "../../checks/assembly.ts";
import { type Aws, elementOf } from "./aws.ts";
import { statefulOf } from "./stateful.ts";

/** The template of a stack, and those of its nested stacks by their logical ids. */
export interface StackTemplates {
  readonly parent: Partial<Template>;
  readonly nested: Readonly<Record<string, Partial<Template>>>;
}

/** The members that are read of the list of assets of a stack. */
interface Assets {
  readonly files: Readonly<Record<string, { readonly source: { readonly path: string } }>>;
}

function nestedIds({ Resources = {} }: Partial<Template>): string[] {
  return Object.keys(Resources).filter((id) => Resources[id]?.Type === "AWS::CloudFormation::Stack");
}

/**
 * The templates of a stack in a cloud assembly. A nested stack names its own by the digest of an asset.
 * @throws UsageError when the folder does not hold the stack
 */
export function templatesIn(folder: string, name: string): StackTemplates {
  if (!existsSync(join(folder, `${name}.template.json`))) {
    throw new UsageError(`${folder} is no cloud assembly of this stage: it has no ${name}.template.json.`);
  }
  const read = (file: string): unknown => JSON.parse(readFileSync(join(folder, file), "utf8"));
  const parent = read(`${name}.template.json`) as Partial<Template>;
  const ids = nestedIds(parent);
  const { files } = ids.length === 0 ? { files: {} } : (read(`${name}.assets.json`) as Assets);
  const nested = ids.map((id) => {
    const url = JSON.stringify(parent.Resources?.[id]?.Properties?.["TemplateURL"]);
    const file = files[/([0-9a-f]{64})\.json/.exec(url)?.[1] ?? ""]?.source.path;
    if (file === undefined) throw new UsageError(`${folder} has no template of the nested stack ${id}.`);
    return [id, read(file) as Partial<Template>] as const;
  });
  return { parent, nested: Object.fromEntries(nested) };
}

/**
 * The templates of a deployed stack. Of its nested stacks only those are asked for that hold what a deployment could
 * lose: those that the next version no longer has, and those in which it has stateful resources.
 */
export async function deployedTemplates(aws: Aws, name: string, next: StackTemplates): Promise<StackTemplates> {
  const parent = await templateOf(aws, name);
  const asked = nestedIds(parent).filter((id) => {
    const template = next.nested[id];
    return template === undefined || Object.keys(statefulOf(template)).length > 0;
  });
  const nested: Record<string, Partial<Template>> = {};
  for (const id of asked) {
    const words = { StackName: name, LogicalResourceId: id };
    const xml = await aws.query("cloudformation", "DescribeStackResource", words);
    const stack = elementOf(xml, "PhysicalResourceId");
    if (stack !== undefined) nested[id] = await templateOf(aws, stack);
  }
  return { parent, nested };
}

async function templateOf(aws: Aws, stack: string): Promise<Partial<Template>> {
  const xml = await aws.query("cloudformation", "GetTemplate", { StackName: stack });
  return JSON.parse(elementOf(xml, "TemplateBody") ?? "{}") as Partial<Template>;
}

/** All resources of a stack and of its nested stacks in one template; logical ids end with a digest of their place. */
export function withNested({ parent, nested }: StackTemplates): Partial<Template> {
  const resources = [parent, ...Object.values(nested)].map(({ Resources }) => Resources);
  return { Resources: Object.assign({}, ...resources) };
}
