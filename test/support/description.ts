import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { JsonObject, OpenApi } from "../../shared/openapi/document.ts";

interface Validate {
  (value: unknown): boolean;
  errors?: readonly { instancePath: string; keyword: string; message?: string; params: object }[] | null;
}

interface Ajv {
  addSchema(schema: object, key: string): void;
  compile(schema: object): Validate;
}

const file = new URL("../../shared/openapi/openapi.json", import.meta.url);
const document = JSON.parse(readFileSync(file, "utf8")) as OpenApi;

// The validator of the document brings the validator of values: schemas of OpenAPI 3.0 are those of draft 4, nearly.
const fromValidator = createRequire(createRequire(import.meta.url).resolve("@seriousme/openapi-schema-validator"));
const AjvDraft4 = fromValidator("ajv-draft-04") as new (options: object) => Ajv;
const addFormats = fromValidator("ajv-formats") as (ajv: Ajv) => void;

const ajv = new AjvDraft4({ strict: false, allErrors: true });
addFormats(ajv);
ajv.addSchema({ components: { schemas: document.components.schemas } }, "sent");
// Integrators must bear members that they do not know; we must not send any that the document does not know.
ajv.addSchema({ components: { schemas: closed(document.components.schemas) } }, "answered");

const compiled = new Map<string, Validate>();

/** Objects with named members get no others; members of a composition are left alone, for they see a part each. */
function closed(node: unknown, composed = false): unknown {
  if (Array.isArray(node)) return node.map((one) => closed(one, composed));
  if (typeof node !== "object" || node === null) return node;
  const entries = Object.entries(node).map(([name, value]) => [name, closed(value, name === "allOf")] as const);
  const copy = Object.fromEntries(entries);
  const named = typeof copy["properties"] === "object" && copy["type"] === "object";
  return named && !composed && copy["additionalProperties"] === undefined
    ? { ...copy, additionalProperties: false }
    : copy;
}

/** What is wrong with a value, by the schema; `side` tells whether unknown members are a fault. */
function faultsIn(side: "sent" | "answered", schema: JsonObject, value: unknown): string[] {
  const key = `${side} ${JSON.stringify(schema)}`;
  const text = JSON.stringify(schema).replaceAll(`"#/components`, `"${side}#/components`);
  const validate = compiled.get(key) ?? ajv.compile(JSON.parse(text));
  compiled.set(key, validate);
  if (validate(value)) return [];
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath === "" ? "/" : instancePath} ${message} ${told(params)}`,
  );
}

function told(params: object): string {
  return JSON.stringify(params).slice(0, 200);
}

/** What is wrong with an answer of this component by the document; a member that it does not name is a fault. */
export function documentedFaults(component: string, value: unknown): string[] {
  return faultsIn("answered", { $ref: `#/components/schemas/${component}` }, value);
}
