import type { JsonObject, OpenApi, Operation } from "./document.ts";
import { collectionOf, exampleIds, exampleNames } from "./examples/identifiers.ts";
import { operationIdOf } from "./links.ts";
import { type Chapter, type Step, tour } from "./tour.ts";

const credentials = { client: "{{oauth_client_id}}", secret: "{{oauth_client_secret}}" };

/** A name with its value, as Postman represents parameters and headers; disabled ones are listed but not sent. */
interface Pair {
  readonly key: string;
  readonly value: string;
  readonly description?: string;
  readonly disabled?: boolean;
}

/** A request of the collection, or a folder of them. */
export interface PostmanItem extends JsonObject {
  readonly name: string;
  readonly item?: readonly PostmanItem[];
  readonly request?: JsonObject;
}

/** A Postman collection (schema 2.1.0), with the members that this code reads. */
export interface PostmanCollection extends JsonObject {
  readonly info: JsonObject;
  readonly item: readonly PostmanItem[];
  readonly variable: readonly { readonly key: string; readonly value: string }[];
}

/** An operation of the document with its path and method. */
interface Place {
  readonly path: string;
  readonly method: string;
  readonly operation: Operation;
}

/** A parameter of an operation, or the reference to one. */
interface DocumentParameter {
  readonly $ref?: string;
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly description?: string;
  readonly example?: string;
}

/**
 * The document of the sandbox as a Postman collection: the chapters of the tour as folders, with a request for each
 * step. Run from the first to the last in an empty brokerage, every request succeeds: the first one stores an access
 * token that the others send, each checks the status of its response, and those that create a resource store its
 * identifier. Requests that reset the sandbox are skipped unless the environment asks for them.
 * @throws Error if the document lacks an operation of the tour
 */
export function postmanCollection(document: OpenApi): PostmanCollection {
  const places = placesOf(document);
  const item = tour.map((chapter) => folder(chapter, document, places));
  const { title, description } = document.info as { title: string; description: string };
  const kept = tour.flatMap(({ steps }) =>
    steps.flatMap((step) => Object.keys(variablesOf(step, operationOf(step, places)))),
  );
  return {
    info: {
      name: title,
      description: { content: description, type: "text/markdown" },
      schema: "https://schema.getpostman.com/json/collection/v2.1.0/collection.json",
    },
    item,
    auth: { type: "bearer", bearer: settings({ token: "{{access_token}}" }) },
    variable: [
      { key: "base_url", value: document.servers[0]?.url ?? "" },
      { key: "oauth_client_id", value: "" },
      { key: "oauth_client_secret", value: "" },
      ...optedIn().map((key) => ({ key, value: "" })),
      ...[...new Set(kept)].map((key) => ({ key, value: "" })),
    ],
  };
}

/** Variables that a user fills in before the first run; they take precedence over those of the collection. */
export function postmanEnvironment(document: OpenApi) {
  return {
    name: `${String(document.info["title"])}, ${document.servers[0]?.description ?? ""}`,
    values: [
      { key: "base_url", value: document.servers[0]?.url ?? "", type: "default", enabled: true },
      { key: "oauth_client_id", value: "", type: "default", enabled: true },
      { key: "oauth_client_secret", value: "", type: "secret", enabled: true },
      ...optedIn().map((key) => ({ key, value: "", type: "default", enabled: true })),
    ],
    _postman_variable_scope: "environment",
  };
}

/** Variables that steps are skipped without. */
function optedIn(): readonly string[] {
  const named = tour.flatMap(({ steps }) => steps.flatMap(({ onlyWith }) => onlyWith ?? []));
  return [...new Set(named)];
}

function placesOf({ paths }: OpenApi): ReadonlyMap<string, Place> {
  const places = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  return new Map(places.map((place) => [place.operation.operationId, place]));
}

function operationOf({ row }: Step, places: ReadonlyMap<string, Place>): Place {
  const place = places.get(operationIdOf({ id: row }));
  if (place === undefined) throw new Error(`The document has no operation ${row}.`);
  return place;
}

function folder({ name, description, steps }: Chapter, document: OpenApi, places: ReadonlyMap<string, Place>) {
  return { name, description, item: steps.map((step) => itemOf(step, operationOf(step, places), document)) };
}

function itemOf(step: Step, place: Place, document: OpenApi): PostmanItem {
  const { summary, description } = place.operation as Operation & { summary: string; description: string };
  const auth = authOf(place);
  return {
    name: step.name ?? summary,
    event: [...skipOf(step), { listen: "test", script: { type: "text/javascript", exec: testsOf(step, place) } }],
    request: {
      method: place.method,
      description: { content: description, type: "text/markdown" },
      url: urlOf(step, place, document),
      header: headersOf(place, document),
      ...bodyOf(step, place),
      ...(auth === undefined ? {} : { auth }),
    },
  };
}

/** The script that skips a request before it is sent. */
function skipOf({ onlyWith }: Step): readonly JsonObject[] {
  if (onlyWith === undefined) return [];
  const exec = [`if (pm.variables.get("${onlyWith}") !== "yes") pm.execution.skipRequest();`];
  return [{ listen: "prerequest", script: { type: "text/javascript", exec } }];
}

/** How a request authenticates itself; undefined when it sends the token of the collection. */
function authOf({ operation }: Place): JsonObject | undefined {
  const schemes = (operation["security"] as readonly JsonObject[]).flatMap((one) => Object.keys(one));
  if (schemes.includes("oauth2")) return undefined;
  if (schemes.length === 0) return { type: "noauth" };
  return { type: "basic", basic: settings({ username: credentials.client, password: credentials.secret }) };
}

/** `webhook_endpoints` is `webhook_endpoint_id`. */
function variableOf(collection: string): string {
  return `${collection.replace(/ies$/, "y").replace(/s$/, "")}_id`;
}

/** The parameters of an operation in one place, with references resolved. */
function parametersOf({ operation }: Place, document: OpenApi, where: DocumentParameter["in"]): DocumentParameter[] {
  const all = operation["parameters"] as readonly DocumentParameter[];
  return all
    .map((one) => {
      const shared = document.components.parameters[one.$ref?.split("/").at(-1) ?? ""];
      return (shared as unknown as DocumentParameter | undefined) ?? one;
    })
    .filter((one) => one.in === where);
}

function urlOf(step: Step, place: Place, document: OpenApi): JsonObject {
  const path = place.path.slice(1).replace(/\{(\w+)\}/g, ":$1");
  const sent = step.query ?? {};
  const query = parametersOf(place, document, "query").map(({ name, description }): Pair => {
    const value = sent[name];
    return { key: name, value: value ?? "", ...described(description), disabled: value === undefined };
  });
  const variable = parametersOf(place, document, "path").map(({ name, description }): Pair => {
    const kept = name === "id" ? variableOf(collectionOf(place.path)) : name;
    return { key: name, value: exampleOr(kept), ...described(description) };
  });
  const asked = query.filter(({ disabled }) => disabled !== true).map(({ key, value }) => `${key}=${value}`);
  const raw = `{{base_url}}/${path}${asked.length > 0 ? `?${asked.join("&")}` : ""}`;
  return { raw, host: ["{{base_url}}"], path: path.split("/"), query, variable };
}

/** A symbol is its own example; identifiers and sequence numbers are taken from earlier responses. */
function exampleOr(variable: string): string {
  return variable === "symbol" ? (exampleNames["symbol"] ?? "") : `{{${variable}}}`;
}

function described(description: string | undefined): { description?: string } {
  return description === undefined ? {} : { description };
}

function headersOf(place: Place, document: OpenApi): Pair[] {
  const media = mediaOf(place);
  const own: Pair[] = [
    { key: "Accept", value: "application/json" },
    ...(media === undefined ? [] : [{ key: "Content-Type", value: media.type }]),
  ];
  const others = parametersOf(place, document, "header").map(({ name, description, example }): Pair => {
    const repeatable = name === "Idempotency-Key";
    const value = repeatable ? "{{$guid}}" : (example ?? "");
    return { key: name, value, ...described(description), ...(repeatable ? {} : { disabled: true }) };
  });
  return [...own, ...others];
}

function mediaOf({ operation }: Place): { readonly type: string; readonly example: JsonObject } | undefined {
  const body = operation["requestBody"] as { content: Record<string, { example?: JsonObject }> } | undefined;
  const [first] = Object.entries(body?.content ?? {});
  return first && { type: first[0], example: first[1].example ?? {} };
}

function bodyOf(step: Step, place: Place): { body?: JsonObject } {
  const media = mediaOf(place);
  if (media === undefined) return {};
  const content = { ...media.example, ...step.body };
  if (media.type === "application/x-www-form-urlencoded") {
    const urlencoded = Object.entries(content).map(([key, value]): Pair => ({ key, value: String(value) }));
    return { body: { mode: "urlencoded", urlencoded } };
  }
  const raw = withVariables(JSON.stringify(content, null, 2));
  return { body: { mode: "raw", raw, options: { raw: { language: "json" } } } };
}

/** The text with variables instead of the identifiers of the examples. */
function withVariables(text: string): string {
  const ids = Object.entries(exampleIds);
  return ids.reduce((replaced, [collection, id]) => replaced.replaceAll(id, `{{${variableOf(collection)}}}`), text);
}

/** Variables that a step stores, with their places in the response. */
function variablesOf({ keeps }: Step, place: Place): Readonly<Record<string, string>> {
  return { ...(hasAddress(place) ? { [variableOf(collectionOf(place.path))]: "id" } : {}), ...keeps };
}

/** Whether a request creates a resource of its collection that can be asked for by its id. */
function hasAddress({ operation, path }: Place): boolean {
  // Below a resource, as the reviews of a client, the new one is of another kind.
  if (path.includes("{")) return false;
  const created = (operation["responses"] as Readonly<Record<string, JsonObject | undefined>>)["201"];
  return Object.hasOwn((created?.["headers"] as JsonObject | undefined) ?? {}, "Location");
}

/** The expected status of a request: that of its step, or the status of success. */
function statusOf({ operation }: Place, step?: Step): number {
  if (step?.status !== undefined) return step.status;
  return Number(Object.keys(operation["responses"] as JsonObject).find((status) => status.startsWith("2")));
}

/** Polling for the effect of an earlier request: number of attempts and interval. */
const waiting = { times: 40, between_milliseconds: 500 };

/** The script that runs on the response: checks its status, then stores what later requests use. */
function testsOf(step: Step, place: Place): string[] {
  const kept = Object.entries(variablesOf(step, place));
  const status = statusOf(place, step);
  const lines = [
    `pm.test("answers ${status}", () => pm.response.to.have.status(${status}));`,
    ...kept.flatMap(([variable, where]) => [
      `pm.test("keeps ${variable}", () => {`,
      `  const value = pm.response.json().${where};`,
      `  pm.expect(value).to.be.a("string");`,
      `  pm.collectionVariables.set("${variable}", value);`,
      "});",
    ]),
  ];
  const [first] = kept;
  return step.waits === true && first !== undefined ? waitingFor(`pm.response.json().${first[1]}`, lines) : lines;
}

/** Repeats the request until a value is present; the last response is checked in any case. */
function waitingFor(value: string, then: readonly string[]): string[] {
  const optional = value.replace("[0].", "[0]?.");
  return [
    `const asked = Number(pm.collectionVariables.get("asked") || 1);`,
    `if (pm.response.code === 200 && ${optional} === undefined && asked < ${waiting.times}) {`,
    `  pm.collectionVariables.set("asked", asked + 1);`,
    "  pm.execution.setNextRequest(pm.info.requestId);",
    `  setTimeout(() => {}, ${waiting.between_milliseconds});`,
    "} else {",
    `  pm.collectionVariables.unset("asked");`,
    ...then.map((line) => `  ${line}`),
    "}",
  ];
}

function settings(values: Readonly<Record<string, string>>): JsonObject[] {
  return Object.entries(values).map(([key, value]) => ({ key, value, type: "string" }));
}
