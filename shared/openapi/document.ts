/** Any JSON object: a node of the document without declared members. */
export type JsonObject = { [member: string]: unknown };

/** One operation of the document, with the members that this code reads. */
export interface Operation extends JsonObject {
  operationId: string;
  /** Stages that have the operation; absent when all have it. */
  "x-stages"?: readonly string[];
}

/** The OpenAPI 3.0.3 document, with the members that this code reads. */
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
    links: Record<string, JsonObject>;
    responses: Record<string, JsonObject>;
    examples: Record<string, JsonObject>;
    schemas: Record<string, JsonObject>;
  };
}

/** Stage and URL of a copy of the document; an absent member changes nothing. */
export interface Narrowing {
  readonly stage?: string;
  /** Base URL with the version, without a trailing slash: `https://host/v2`. */
  readonly serverUrl?: string;
}

/**
 * The document for one stage, without operations of other stages and without tags that are then unused. With a
 * `serverUrl`, that URL is the only server and the base of the token endpoint. The argument is not changed. The
 * function needs no schemas, so that the bundle that serves the document contains only this file and the committed
 * JSON.
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
