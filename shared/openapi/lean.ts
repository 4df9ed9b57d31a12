import type { JsonObject, OpenApi, Operation } from "./document.ts";

/** Refusals that every operation may answer with; the introduction says when. */
const everywhere =
  /\/(?:Unauthenticated|RateLimitExceeded|InternalError|BadGateway|ServiceUnavailable|GatewayTimeout)$/;
/** Headers of every answer, which the introduction describes. */
const common = /^(?:X-Request-Id|X-Correlation-Id|X-RateLimit-.*|Cache-Control)$/;
const sections = ["headers", "links", "responses", "examples"] as const;

/**
 * The document for programs: a generator reads the schemas, parameters, scopes and an operation's own refusals. Left
 * out is what it has no use for and the reference shows to people, examples and links, and what would stand at each of
 * the operations alike: the headers of every answer, the refusals that any request may get, which are `default` here,
 * and a callback for each type of event instead of one for all. The argument is not changed.
 */
export function lean(document: OpenApi): OpenApi {
  const { responses } = document.components;
  const refusal = { description: "Any other refusal; handle it by status and `code`.", content: problem };
  const paths = mapped(document.paths, (operations) => mapped(operations, leanOperation));
  const components = {
    ...document.components,
    ...{ examples: {}, links: {}, responses: { ...mapped(responses, leanResponse), [refusalName]: refusal } },
  };
  return withoutUnused({ ...document, paths, components });
}

const refusalName = "Refusal";
const problem = { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } };

function mapped<T, R>(members: Readonly<Record<string, T>>, change: (member: T) => R): Record<string, R> {
  return Object.fromEntries(Object.entries(members).map(([name, member]) => [name, change(member)]));
}

function leanOperation(operation: Operation): Operation {
  const responses = Object.entries(operation["responses"] as Record<string, JsonObject>);
  const own = responses.filter(([, { $ref: reference = "" }]) => !everywhere.test(String(reference)));
  const { callbacks } = operation as { callbacks?: Record<string, Record<string, { post: Operation }>> };
  return {
    ...operation,
    responses: {
      ...mapped(Object.fromEntries(own), leanResponse),
      default: { $ref: `#/components/responses/${refusalName}` },
    },
    ...(callbacks !== undefined && { callbacks: { event: oneCallback(callbacks) } }),
  };
}

function leanResponse({
  links: _links,
  headers = {},
  "x-codes": _codes,
  content,
  ...response
}: JsonObject): JsonObject {
  const own = Object.entries(headers as JsonObject).filter(([name]) => !common.test(name));
  const media = Object.entries((content ?? {}) as Record<string, JsonObject>);
  return {
    ...response,
    ...(own.length > 0 && { headers: Object.fromEntries(own) }),
    ...(content !== undefined && {
      content: Object.fromEntries(media.map(([type, { schema }]) => [type, { schema }])),
    }),
  };
}

/** The requests of all types of events to an endpoint as one, whose body is one of theirs. */
function oneCallback(callbacks: Record<string, Record<string, { post: Operation }>>): JsonObject {
  const all = Object.values(callbacks).flatMap(Object.entries);
  const [[address = "", { post: first }] = ["", { post: {} as Operation }]] = all;
  const schemaOf = ({ requestBody }: JsonObject) =>
    (requestBody as { content: { "application/json": { schema: JsonObject } } }).content["application/json"].schema;
  const schema = { oneOf: all.map(([, { post }]) => schemaOf(post)) };
  const requestBody = { required: true, content: { "application/json": { schema } } };
  const post = { ...first, operationId: "receiveEvent", summary: "Receive an event", requestBody };
  return { [address]: { post } };
}

/** Without components that nothing refers to any more. */
function withoutUnused(document: OpenApi): OpenApi {
  const text = JSON.stringify(document);
  const isUsed = (section: string, name: string) => text.includes(`"#/components/${section}/${name}"`);
  const kept = sections.map((section) => {
    const all = Object.entries(document.components[section]).filter(([name]) => isUsed(section, name));
    return [section, Object.fromEntries(all)];
  });
  return { ...document, components: { ...document.components, ...Object.fromEntries(kept) } };
}
