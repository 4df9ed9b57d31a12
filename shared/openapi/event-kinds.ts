import type { JsonObject, OpenApi } from "./document.ts";

/** A kind of event as the catalogue shows it. */
export interface EventKind {
  readonly type: string;
  readonly description: string;
  /** Subscribed by its name only, not by `*`. */
  readonly opt_in: boolean;
  /** JSON Schema (2020-12) of the event, complete in itself. */
  readonly schema: JsonObject;
  readonly sample: JsonObject;
}

interface Content {
  readonly schema: { readonly $ref: string };
  readonly example: JsonObject;
}

interface Callback {
  readonly post: { readonly requestBody: { readonly content: Readonly<Record<string, Content>> } };
}

function contentOf(document: OpenApi, type: string): Content {
  const operation = document.paths["/webhook_endpoints"]?.["post"] as unknown as
    | { readonly callbacks?: Readonly<Record<string, Readonly<Record<string, Callback>>>> }
    | undefined;
  const [callback] = Object.values(operation?.callbacks?.[type] ?? {});
  const content = callback?.post.requestBody.content["application/json"];
  if (content?.example === undefined) throw new Error(`The description has no sample of ${type}.`);
  return content;
}

/** Every kind of event with its schema and a sample, taken from the description of what a receiver gets. */
export function eventKinds(document: OpenApi, types: readonly string[], optIn: ReadonlySet<string>): EventKind[] {
  const components = document.components["schemas"] as Readonly<Record<string, JsonObject>>;
  return types.map((type) => {
    const { schema, example } = contentOf(document, type);
    const name = nameIn(schema.$ref);
    return {
      type,
      description: String(components[name]?.["description"] ?? type),
      opt_in: optIn.has(type),
      schema: completeSchema(name, components),
      sample: example,
    };
  });
}

const prefix = "#/components/schemas/";

function nameIn(reference: string): string {
  return reference.slice(prefix.length);
}

/** A component as a schema of its own, with everything that it refers to under `$defs`. */
function completeSchema(root: string, components: Readonly<Record<string, JsonObject>>): JsonObject {
  const definitions: Record<string, JsonObject> = {};
  const visit = (name: string) => {
    if (name in definitions) return;
    definitions[name] = {};
    definitions[name] = jsonSchema(components[name] ?? {}, visit) as JsonObject;
  };
  const schema = jsonSchema(components[root] ?? {}, visit) as JsonObject;
  return { $schema: "https://json-schema.org/draft/2020-12/schema", ...schema, $defs: definitions };
}

/** OpenAPI 3.0 says `nullable` where JSON Schema names the type null, and its references point elsewhere. */
function jsonSchema(node: unknown, visit: (name: string) => void): unknown {
  if (Array.isArray(node)) return node.map((each) => jsonSchema(each, visit));
  if (typeof node !== "object" || node === null) return node;
  const { nullable, example, ...rest } = node as JsonObject;
  if (typeof rest["$ref"] === "string") {
    visit(nameIn(rest["$ref"]));
    return { $ref: `#/$defs/${nameIn(rest["$ref"])}` };
  }
  const entries = Object.entries(rest).map(([name, value]) => [name, jsonSchema(value, visit)]);
  const schema = Object.fromEntries(entries) as JsonObject;
  if (nullable === true && typeof schema["type"] === "string") schema["type"] = [schema["type"], "null"];
  return schema;
}
