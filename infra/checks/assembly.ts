import { keysTag, volatileTag } from "../constructs/table.ts";

/** A resource of a synthesized template. */
export interface TemplateResource {
  readonly Type: string;
  readonly Properties?: Readonly<Record<string, unknown>>;
  readonly Metadata?: Readonly<Record<string, unknown>>;
  readonly DependsOn?: string | readonly string[];
  readonly DeletionPolicy?: string;
  readonly UpdateReplacePolicy?: string;
}

/** A synthesized template: the part that the rules read. */
export interface Template {
  readonly Resources: Readonly<Record<string, TemplateResource>>;
  readonly Outputs?: Readonly<Record<string, unknown>>;
}

/** A template and the name of its file. */
export interface NamedTemplate {
  readonly name: string;
  readonly template: Template;
}

/** A value of a template. */
export type Json = unknown;

/** An object in a template. */
export type JsonObject = Readonly<Record<string, Json>>;

/** A resource with its place. */
export interface Entry {
  readonly template: string;
  readonly logicalId: string;
  readonly resource: TemplateResource;
  readonly properties: JsonObject;
}

/** All resources of an assembly, and what the parameters and outputs of nested stacks stand for. */
export interface Assembly {
  readonly entries: readonly Entry[];
  readonly byType: ReadonlyMap<string, Entry[]>;
  readonly parameters: ReadonlyMap<string, Json>;
  readonly outputs: ReadonlyMap<string, Json>;
}

/** Whether a value is an object and no list. */
export function isObject(value: Json): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A value as an object; anything else is an empty one. */
export function objectOf(value: Json): JsonObject {
  return isObject(value) ? value : {};
}

/** A value as a list: absent is empty, one value is a list of one. */
export function listOf(value: Json): readonly Json[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value];
}

/** The resources of templates, ready to be looked up. */
export function indexAssembly(templates: readonly NamedTemplate[]): Assembly {
  const entries = templates.flatMap(({ name, template }) =>
    Object.entries(template.Resources).map(([logicalId, resource]) => ({
      template: name,
      logicalId,
      resource,
      properties: resource.Properties ?? {},
    })),
  );
  const nested = entries.filter(({ resource }) => resource.Type === "AWS::CloudFormation::Stack");
  // The library names a parameter after what it refers to, so one name means the same in every nested stack.
  const parameters = new Map(nested.flatMap(({ properties }) => Object.entries(objectOf(properties["Parameters"]))));
  const outputs = new Map(
    templates.flatMap(({ template }) =>
      Object.entries(template.Outputs ?? {}).map(([name, output]) => [name, objectOf(output)["Value"]] as const),
    ),
  );
  return { entries, byType: groupBy(entries, ({ resource }) => resource.Type), parameters, outputs };
}

/** Values by a key, in their order. */
export function groupBy<T>(values: readonly T[], keyOf: (value: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const value of values) {
    const key = keyOf(value);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [value]);
    else group.push(value);
  }
  return groups;
}

/** The resources of one type. */
export function ofType(assembly: Assembly, type: string): readonly Entry[] {
  return assembly.byType.get(type) ?? [];
}

/** Logical id that a `Ref` or `GetAtt` leads to, through parameters and outputs of nested stacks. */
export function targetOf(assembly: Assembly, value: Json): string | undefined {
  const expression = objectOf(value);
  const ref = expression["Ref"];
  if (typeof ref === "string") {
    const parameter = assembly.parameters.get(ref);
    return parameter === undefined ? ref : targetOf(assembly, parameter);
  }
  const [logicalId, attribute] = listOf(expression["Fn::GetAtt"]);
  const output = assembly.outputs.get(String(attribute).replace(/^Outputs\./, ""));
  if (output !== undefined) return targetOf(assembly, output);
  return typeof logicalId === "string" ? logicalId : undefined;
}

/**
 * The resource of a type that an expression leads to. One in `template` that names no parameter means that template
 * alone: two nested stacks may use the same logical id.
 */
export function resourceOf(assembly: Assembly, type: string, value: Json, template?: string): Entry | undefined {
  const target = targetOf(assembly, value);
  const ref = objectOf(value)["Ref"];
  const passed = typeof ref === "string" && assembly.parameters.has(ref);
  const here = passed ? undefined : template;
  return ofType(assembly, type).find(
    (entry) => entry.logicalId === target && (here === undefined || entry.template === here),
  );
}

/** The places that a table is in: the region of the stack first, and the copies in others. */
export function replicasOf(table: Entry): readonly JsonObject[] {
  return listOf(table.properties["Replicas"]).map(objectOf);
}

/** Whether a table holds volatile items, which no stage keeps. */
export function isVolatile(table: Entry): boolean {
  return hasTag(table, volatileTag);
}

/** Whether a table holds the keys of persons, which are kept without a copy. */
export function holdsKeys(table: Entry): boolean {
  return hasTag(table, keysTag);
}

function hasTag(table: Entry, { key, value }: { readonly key: string; readonly value: string }): boolean {
  const tags = replicasOf(table).flatMap((replica) => listOf(replica["Tags"]));
  return tags.map(objectOf).some((tag) => tag["Key"] === key && tag["Value"] === value);
}
