import converter, { type Options } from "openapi-to-postmanv2";
import type { JsonObject, OpenApi } from "./document.ts";
import { collectionOf, exampleIds, exampleNames } from "./examples.ts";

/** Settings of the converter: folders by tag, values from the examples, authentication from the collection. */
const conversion = {
  folderStrategy: "Tags",
  parametersResolution: "Example",
  requestParametersResolution: "Example",
  exampleParametersResolution: "Example",
  alwaysInheritAuthentication: true,
  preferredRequestBodyType: "first-listed",
  stackLimit: 20,
} as const satisfies Options;

const credentials = { client: "{{oauth_client_id}}", secret: "{{oauth_client_secret}}" };

interface Parameter extends JsonObject {
  readonly key: string;
  value: string;
  disabled?: boolean;
}

interface PostmanRequest extends JsonObject {
  readonly method: string;
  readonly url: { readonly path: readonly string[]; readonly query: Parameter[]; readonly variable: Parameter[] };
  readonly header: Parameter[];
  readonly body?: { readonly urlencoded?: Parameter[] };
}

interface PostmanItem extends JsonObject {
  readonly name: string;
  id?: string;
  item?: PostmanItem[];
  request?: PostmanRequest;
  response?: JsonObject[];
}

/** A Postman collection (schema 2.1.0), as far as this code reads it back. */
export interface PostmanCollection extends JsonObject {
  info: JsonObject;
  item: PostmanItem[];
  variable: { key: string; value: string }[];
}

/**
 * The document as a Postman collection: a folder for each tag, a request for each operation, tokens by client
 * credentials, and variables for the address, the credentials and the identifiers. A request that creates something
 * sets the variable of its kind, so that the requests work in their order without any copying.
 */
export async function postmanCollection(document: OpenApi): Promise<PostmanCollection> {
  const plain = await converted(successful(document));
  const collection = JSON.parse(withVariables(JSON.stringify(plain))) as PostmanCollection;
  for (const folder of collection.item) for (const one of folder.item ?? []) finishItem(one, document);
  const { title, description } = document.info as { title: string; description: string };
  return {
    ...collection,
    info: {
      name: title,
      description: { content: description, type: "text/markdown" },
      schema: "https://schema.getpostman.com/json/collection/v2.1.0/collection.json",
    },
    auth: clientCredentials(),
    variable: [
      { key: "base_url", value: document.servers[0]?.url ?? "" },
      { key: "oauth_client_id", value: "" },
      { key: "oauth_client_secret", value: "" },
      ...Object.keys(exampleIds).map((collectionOf) => ({ key: variableOf(collectionOf), value: "" })),
    ],
  };
}

/** Refusals are in the reference; in a collection each would be a saved example of its own, a megabyte in all. */
function successful(document: OpenApi): OpenApi {
  const paths = Object.entries(document.paths).map(([path, operations]) => {
    const kept = Object.entries(operations).map(([method, { callbacks, ...operation }]) => {
      const answers = Object.entries(operation["responses"] as JsonObject).filter(([status]) => status.startsWith("2"));
      return [method, { ...operation, responses: Object.fromEntries(answers) }] as const;
    });
    return [path, Object.fromEntries(kept)] as const;
  });
  return { ...document, paths: Object.fromEntries(paths) as OpenApi["paths"] };
}

function converted(document: OpenApi): Promise<PostmanCollection> {
  return new Promise((resolve, reject) => {
    converter.convertV2({ type: "string", data: JSON.stringify(document) }, conversion, (error, outcome) => {
      const output = outcome?.output?.[0]?.data;
      if (error || output === undefined) reject(new Error(`No collection: ${error?.message ?? outcome?.reason}`));
      else resolve(output as unknown as PostmanCollection);
    });
  });
}

/** `webhook_endpoints` is `webhook_endpoint_id`. */
function variableOf(collection: string): string {
  return `${collection.replace(/ies$/, "y").replace(/s$/, "")}_id`;
}

/** Variables in the place of the address, of the identifiers of the examples, and of what must be new every time. */
function withVariables(text: string): string {
  let replaced = text
    .replaceAll("{{baseUrl}}", "{{base_url}}")
    .replaceAll("ana@example.com", "{{$randomExampleEmail}}");
  for (const [collection, id] of Object.entries(exampleIds)) {
    replaced = replaced.replaceAll(id, `{{${variableOf(collection)}}}`);
  }
  return replaced;
}

function finishItem(item: PostmanItem, document: OpenApi): void {
  const { request } = item;
  if (request === undefined) return;
  const path = `/${request.url.path.map((part) => part.replace(/^:(\w+)$/, "{$1}")).join("/")}`;
  const operation = document.paths[path]?.[request.method.toLowerCase()];
  const collection = collectionOf(path);
  for (const variable of request.url.variable)
    variable.value = exampleNames[variable.key] ?? `{{${variableOf(collection)}}}`;
  for (const parameter of request.url.query) parameter.value = "";
  for (const parameter of [...request.url.query, ...request.header]) parameter.disabled = isOptional(parameter);
  for (const header of request.header) if (header.key === "Idempotency-Key") header.value = "{{$guid}}";
  // The converter invents values for parameters, and for members of a form even where there is an example.
  const example = formExample(operation);
  for (const member of request.body?.urlencoded ?? []) {
    member.value = example[member.key] ?? "";
    member.disabled = example[member.key] === undefined;
  }
  delete item.response;
  // Made anew at every run, while equal documents shall give equal collections.
  delete item.id;
  const security = JSON.stringify(operation?.["security"] ?? []);
  if (security.includes("client")) request["auth"] = basic();
  else if (security === "[]") request["auth"] = { type: "noauth" };
  else delete request["auth"];
  const responses = operation?.["responses"] as JsonObject | undefined;
  if (responses?.["201"] !== undefined) item["event"] = [remember(variableOf(collection))];
}

interface FormBody {
  readonly content?: Readonly<Record<string, { readonly example?: Readonly<Record<string, string>> }>>;
}

function formExample(operation: JsonObject | undefined): Readonly<Record<string, string>> {
  const body = operation?.["requestBody"] as FormBody | undefined;
  return body?.content?.["application/x-www-form-urlencoded"]?.example ?? {};
}

/** What the converter cannot know to be needed: everything but the types of the body and the key of a repetition. */
function isOptional({ key }: Parameter): boolean {
  return !["Accept", "Content-Type", "Idempotency-Key"].includes(key);
}

/** Keeps the identifier of what was just created. */
function remember(variable: string): JsonObject {
  const exec = [
    `pm.test("created", () => pm.response.to.have.status(201));`,
    `pm.collectionVariables.set("${variable}", pm.response.json().id);`,
  ];
  return { listen: "test", script: { type: "text/javascript", exec } };
}

function settings(values: Readonly<Record<string, string>>): JsonObject[] {
  return Object.entries(values).map(([key, value]) => ({ key, value, type: "string" }));
}

function clientCredentials(): JsonObject {
  return {
    type: "oauth2",
    oauth2: settings({
      grant_type: "client_credentials",
      accessTokenUrl: "{{base_url}}/oauth/token",
      clientId: credentials.client,
      clientSecret: credentials.secret,
      client_authentication: "header",
      addTokenTo: "header",
      headerPrefix: "Bearer",
      tokenName: "Brokerage",
    }),
  };
}

function basic(): JsonObject {
  return { type: "basic", basic: settings({ username: credentials.client, password: credentials.secret }) };
}
