/** Any JSON object: a node of the document whose members this code does not name. */
export type JsonObject = { [member: string]: unknown };

/** One operation of the document, as far as this code reads it back. */
export interface Operation extends JsonObject {
  operationId: string;
  /** Stages that have the operation; absent when all have it. */
  "x-stages"?: readonly string[];
}

/** The OpenAPI 3.0.3 document, as far as this code reads it back. */
export interface OpenApi {
  openapi: "3.0.3";
  info: JsonObject;
  servers: { url: string; description: string }[];
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: {
    securitySchemes: {
      oauth2: {
        type: "oauth2";
        description: string;
        flows: { clientCredentials: { tokenUrl: string; scopes: JsonObject } };
      };
      client: JsonObject;
    };
    parameters: Record<string, JsonObject>;
    headers: Record<string, JsonObject>;
    responses: Record<string, JsonObject>;
    examples: Record<string, JsonObject>;
    schemas: Record<string, JsonObject>;
  };
}

/** Which stage a copy of the document is for, and under which address; what is absent is left as it is. */
export interface Narrowing {
  readonly stage?: string;
  /** Base address with the version, without a slash at the end: `https://host/v2`. */
  readonly serverUrl?: string;
}

/**
 * The document for one stage: operations that the stage does not have are gone, and so are tags that no other has; with
 * a `serverUrl` that address is the only server and the place of the token endpoint. The argument is not changed. No
 * schema is needed, so that the function which serves the document imports this file and the committed JSON and stays
 * small.
 */
export function narrow(document: OpenApi, { stage, serverUrl }: Narrowing): OpenApi {
  const paths: OpenApi["paths"] = {};
  for (const [path, operations] of Object.entries(document.paths)) {
    const kept = Object.entries(operations).filter(([, one]) => stage === undefined || has(one, stage));
    if (kept.length > 0) paths[path] = Object.fromEntries(kept);
  }
  const servers = document.servers.filter((one) => stage === undefined || one.description.toLowerCase() === stage);
  const url = serverUrl ?? servers[0]?.url ?? "";
  const tags = new Set(Object.values(paths).flatMap((one) => Object.values(one).flatMap(({ tags: own }) => own)));
  return {
    ...document,
    tags: document.tags.filter(({ name }) => tags.has(name)),
    servers: serverUrl === undefined ? servers : [{ url: serverUrl, description: servers[0]?.description ?? "" }],
    paths,
    components: { ...document.components, securitySchemes: withTokenUrl(document, `${url}/oauth/token`) },
  };
}

function has(operation: Operation, stage: string): boolean {
  return operation["x-stages"] === undefined || operation["x-stages"].includes(stage);
}

function withTokenUrl(document: OpenApi, tokenUrl: string): OpenApi["components"]["securitySchemes"] {
  const { oauth2, ...others } = document.components.securitySchemes;
  const { clientCredentials } = oauth2.flows;
  const flows = { ...oauth2.flows, clientCredentials: { ...clientCredentials, tokenUrl } };
  return { ...others, oauth2: { ...oauth2, flows } };
}
