import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { JsonObject, OpenApi, Operation } from "../../../shared/openapi/document.ts";
import { openEnum } from "../../../shared/openapi/open-enums.ts";
import { note } from "./notes.ts";

/** One request and its answer, as they were on the wire. */
export interface SeenExchange {
  readonly method: string;
  /** Path without the version, as it was sent. */
  readonly path: string;
  readonly query: readonly (readonly [name: string, value: string])[];
  readonly request_headers: readonly (readonly [name: string, value: string])[];
  readonly request_body: string;
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string;
}

interface Described extends JsonObject {
  readonly description?: string;
  readonly headers?: Record<string, JsonObject>;
  readonly content?: Record<string, { readonly schema: JsonObject }>;
  readonly "x-codes"?: readonly string[];
}

interface Validate {
  (value: unknown): boolean;
  errors?: readonly { instancePath: string; keyword: string; message?: string; params: object }[] | null;
}

interface Ajv {
  addSchema(schema: object, key: string): void;
  compile(schema: object): Validate;
  addFormat(name: string, format: RegExp): void;
}

const file = new URL("../../../shared/openapi/openapi.json", import.meta.url);
const text = readFileSync(file, "utf8");

// The validator of the document brings the validator of values: schemas of OpenAPI 3.0 are those of draft 4, nearly.
const fromValidator = createRequire(createRequire(import.meta.url).resolve("@seriousme/openapi-schema-validator"));
const AjvDraft4 = fromValidator("ajv-draft-04") as new (options: object) => Ajv;
const addFormats = fromValidator("ajv-formats") as (ajv: Ajv) => void;

/** The document, and what is made of its schemas. */
interface Judge {
  readonly text: string;
  readonly document: OpenApi;
  readonly ajv: Ajv;
  readonly compiled: Map<string, Validate>;
}

/**
 * Files of a worker share what they compile: it depends on the document alone, and compiling takes longer than judging
 * does. Each loads this module again, so it is kept where that does not reach (test/support/fresh-file.ts).
 */
const kept = globalThis as { documentJudge?: Judge };
if (kept.documentJudge?.text !== text) kept.documentJudge = judgeOf();
const { document, ajv, compiled } = kept.documentJudge;

function judgeOf(): Judge {
  const read: OpenApi = JSON.parse(text);
  // Few values are judged by each schema: short code is what counts.
  const made = new AjvDraft4({ strict: false, allErrors: true, code: { optimize: false }, inlineRefs: false });
  addFormats(made);
  // Its addresses may hold any letter, also left of the sign (RFC 6531), which the package has no rule for.
  made.addFormat("idn-email", /^[^\s@]+@[^\s@]+$/u);
  made.addSchema({ components: { schemas: read.components.schemas } }, "sent");
  // Integrators must bear members and values that they do not know; we must send none that the document does not know.
  made.addSchema({ components: { schemas: closed(read.components.schemas) } }, "answered");
  return { text, document: read, ajv: made, compiled: new Map() };
}

/**
 * Objects with named members get no others, and open lists of values are closed; members of a composition are left
 * alone, for they see a part each.
 */
function closed(node: unknown, composed = false): unknown {
  if (Array.isArray(node)) return node.map((one) => closed(one, composed));
  if (typeof node !== "object" || node === null) return node;
  const entries = Object.entries(node).map(([name, value]) => [name, closed(value, name === "allOf")] as const);
  const { [openEnum]: known, ...copy } = Object.fromEntries(entries);
  if (Array.isArray(known)) copy["enum"] = [...known, ...(copy["nullable"] === true ? [null] : [])];
  const named = typeof copy["properties"] === "object" && copy["type"] === "object";
  return named && !composed && copy["additionalProperties"] === undefined
    ? { ...copy, additionalProperties: false }
    : copy;
}

/** Faults of a value, by the schema; `side` tells whether unknown members are a fault. */
function faultsIn(side: "sent" | "answered", schema: JsonObject, value: unknown): string[] {
  const written = JSON.stringify(schema);
  const key = `${side} ${written}`;
  const validate = compiled.get(key) ?? ajv.compile(JSON.parse(written.replaceAll(`"#/`, `"${side}#/`)));
  compiled.set(key, validate);
  if (validate(value)) return [];
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath === "" ? "/" : instancePath} ${message} ${told(params)}`,
  );
}

function told(params: object): string {
  return JSON.stringify(params).slice(0, 200);
}

/** Faults of an answer of this component by the document; a member that it does not name is a fault. */
export function documentedFaults(component: string, value: unknown): string[] {
  return faultsIn("answered", { $ref: `#/components/schemas/${component}` }, value);
}

const patterns = Object.entries(document.paths).map(([path, operations]) => {
  const form = new RegExp(`^${path.replaceAll(".", "\\.").replace(/\{\w+\}/g, "[^/]+")}$`);
  return { path, operations, form };
});

/** The operation of the document that a request is for; a path with fewer parameters comes first. */
function operationOf(method: string, path: string): Operation | undefined {
  const fitting = patterns.filter(({ form }) => form.test(path));
  const parameters = ({ path: known }: { readonly path: string }) => known.split("{").length;
  const [best] = fitting.toSorted((one, other) => parameters(one) - parameters(other));
  return best?.operations[method.toLowerCase()];
}

/** Follows one reference. */
function resolved<T extends JsonObject>(node: JsonObject): T {
  const reference = node["$ref"];
  if (typeof reference !== "string") return node as T;
  const steps = reference.slice(2).split("/");
  return steps.reduce<unknown>((at, step) => (at as JsonObject)[step], document) as T;
}

/** Headers that say nothing about the API: those of HTTP itself, of API Gateway and of security on the web. */
const transport = new RegExp(
  "^(?:date|connection|keep-alive|transfer-encoding|content-(?:type|length)|pragma|x-amzn-.*|x-amz-apigw-id|" +
    "strict-transport-security|x-content-type-options)$",
);

/**
 * Faults of an exchange by the document. A request that was refused may be anything; one that was served must be as the
 * document says.
 */
function faultsOf(seen: SeenExchange): string[] {
  const operation = operationOf(seen.method, seen.path);
  if (operation === undefined) return [404, 405].includes(seen.status) ? problemFaults(seen) : [];
  const name = `${operation.operationId} ${seen.status}`;
  const responses = operation["responses"] as Record<string, JsonObject>;
  const answer = responses[seen.status];
  if (answer === undefined) {
    return [`${name}: the document does not know this status (${seen.body.slice(0, 300)})`];
  }
  const faults = [
    ...answerFaults(seen, resolved<Described>(answer)),
    ...(seen.status < 400 ? requestFaults(seen, operation) : []),
  ];
  return faults.map((fault) => `${name}: ${fault}`);
}

function problemFaults({ method, path, status, body }: SeenExchange): string[] {
  const faults = documentedFaults("Problem", parsed(body));
  return faults.map((fault) => `${method} ${path} ${status}: ${fault}`);
}

function answerFaults(seen: SeenExchange, answer: Described): string[] {
  const faults = headerFaults(seen, answer.headers ?? {});
  if (answer.content === undefined) return seen.body === "" ? faults : [...faults, "the answer has a body"];
  const type = headerOf(seen.headers, "content-type")?.split(";")[0] ?? "";
  const media = answer.content[type];
  if (media === undefined) return [...faults, `the document does not know the type ${type}`];
  const value = type === "text/csv" ? seen.body : parsed(seen.body);
  faults.push(...faultsIn("answered", media.schema, value).map((fault) => `body ${fault}`));
  const code = (value as { code?: string } | undefined)?.code;
  if (type === "application/problem+json" && code !== undefined && !answer["x-codes"]?.includes(code)) {
    faults.push(`the document does not know the code ${code} here`);
  }
  return faults;
}

function headerFaults(seen: SeenExchange, described: Record<string, JsonObject>): string[] {
  const known = new Map(Object.entries(described).map(([name, header]) => [name.toLowerCase(), resolved(header)]));
  const unknown = seen.headers.filter(
    ([name]) => !transport.test(name.toLowerCase()) && !known.has(name.toLowerCase()),
  );
  const faults = unknown.map(([name]) => `the document does not know the header ${name}`);
  for (const [name, header] of known) {
    const value = headerOf(seen.headers, name);
    if (value === undefined) {
      if (header["required"] === true) faults.push(`the header ${name} is missing`);
      continue;
    }
    const schema = header["schema"] as JsonObject;
    faults.push(...faultsIn("answered", schema, typed(schema, value)).map((fault) => `header ${name} ${fault}`));
  }
  return faults;
}

function requestFaults(seen: SeenExchange, operation: Operation): string[] {
  const parameters = (operation["parameters"] as JsonObject[]).map((one) => resolved(one));
  const ofQuery = new Map(parameters.filter((one) => one["in"] === "query").map((one) => [one["name"], one]));
  const faults = seen.query.flatMap(([name, value]) => {
    const schema = ofQuery.get(name)?.["schema"] as JsonObject | undefined;
    if (schema === undefined) return [`the parameter ${name} is served but not in the document`];
    return faultsIn("sent", schema, typed(schema, value)).map((fault) => `parameter ${name} ${fault}`);
  });
  for (const one of parameters.filter((each) => each["in"] === "header")) {
    const value = headerOf(seen.request_headers, String(one["name"]));
    if (value === undefined) continue;
    const schema = one["schema"] as JsonObject;
    // A correlation id of another form is not echoed, and not refused either.
    if (one["name"] === "X-Correlation-Id") continue;
    faults.push(...faultsIn("sent", schema, value).map((fault) => `header ${one["name"]} ${fault}`));
  }
  const body = operation["requestBody"] as Described | undefined;
  return [...faults, ...(body === undefined ? [] : bodyFaults(seen, body))];
}

function bodyFaults(seen: SeenExchange, body: Described): string[] {
  if (seen.request_body === "" && body["required"] !== true) return [];
  const type = (headerOf(seen.request_headers, "content-type") ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
  const media = body.content?.[type];
  if (media === undefined) return [`a body of the type ${type} is served but not in the document`];
  const value = type.endsWith("form-urlencoded")
    ? Object.fromEntries(new URLSearchParams(seen.request_body))
    : withMoneyAsText(parsed(seen.request_body));
  return faultsIn("sent", media.schema, value).map((fault) => `request ${fault}`);
}

/** Money may come as a JSON number. The document does not promise it: most languages cannot write one exactly. */
function withMoneyAsText(body: unknown): unknown {
  if (typeof body !== "object" || body === null) return body;
  const entries = Object.entries(body).map(([name, value]) => {
    const isMoney = ["amount", "fee"].includes(name) && typeof value === "number";
    return [name, isMoney ? String(value) : value] as const;
  });
  return Object.fromEntries(entries);
}

/** A text of the wire as the value that its schema speaks of. */
function typed({ type }: JsonObject, value: string): unknown {
  if (type === "array") return value.split(",");
  if (type === "integer" || type === "number") return value.trim() === "" ? value : Number(value);
  return value;
}

function headerOf(headers: SeenExchange["headers"], name: string): string | undefined {
  return headers.find(([one]) => one.toLowerCase() === name.toLowerCase())?.[1];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\ufeff/, ""));
  } catch {
    return undefined;
  }
}

/** Notes for the whole run that an operation answered with a status, and tells what the document does not allow. */
export function judge(seen: SeenExchange): string[] {
  const operation = operationOf(seen.method, seen.path);
  // The bench uses the same handlers outside of a run of the tests, where no test asks what was seen.
  if (process.env["VITEST"] !== undefined && operation !== undefined) {
    note("answers", [`${operation.operationId} ${seen.status}`]);
  }
  return faultsOf(seen);
}

/** Operations with the statuses that the document promises and no test has seen. */
export function unseenAnswers(
  described: OpenApi,
  seen: ReadonlySet<string>,
): { operation: string; missing: string[] }[] {
  const operations = Object.values(described.paths).flatMap((one) => Object.values(one));
  return operations.map(({ operationId, responses }) => ({
    operation: operationId,
    missing: Object.keys(responses as object).filter((status) => !seen.has(`${operationId} ${status}`)),
  }));
}
