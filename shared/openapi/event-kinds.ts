import type { JsonObject, OpenApi } from "./document.ts";

/** An event type in the catalogue. */
export interface EventKind {
  readonly type: string;
  readonly description: string;
  /** Subscribed to only by name, not by `*`. */
  readonly opt_in: boolean;
  /** Self-contained JSON Schema (2020-12) of the event. */
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

/** Every event type with its schema and a sample, from the callbacks of the document. */
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

/** A component as a self-contained schema, with everything that it refers to under `$defs`. */
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

/** Converts OpenAPI 3.0 to JSON Schema: `nullable` becomes the type null, and references point to `$defs`. */
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
