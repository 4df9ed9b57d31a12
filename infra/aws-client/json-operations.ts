import { NormalizedSchema } from "@smithy/core/schema";

/** Members that lie below others: each step a name, or `*` for every entry of a list or map. */
export type MemberPath = readonly string[];

/** Facts in the published schemas about an operation beyond plain JSON (Smithy traits). */
export interface OperationFacts {
  /** Members of the request that get a UUID when they are missing, so that a repeated request is done once. */
  readonly tokens: readonly string[];
  /** Members of the answer that come as seconds since 1970 and become Date. */
  readonly dates: readonly MemberPath[];
  /** Members of the answer that come as base64 and become bytes. */
  readonly blobs: readonly MemberPath[];
  /** Whether attribute values of DynamoDB can be in the answer: their binary kinds are bytes too. */
  readonly attributes: boolean;
  /** Whether members travel in a way that `json-protocol.ts` does not know: moments in a request, headers. */
  readonly unsupported: boolean;
  /** Where a service with resources in its addresses finds the operation; absent where one address has them all. */
  readonly http?: HttpFacts;
}

/** How an operation of AWS REST JSON is addressed. */
export interface HttpFacts {
  readonly method: string;
  /** Path, a member of the request in each pair of braces. */
  readonly path: string;
  /** Members of the request that are parameters of the address, with their names there. */
  readonly query: Readonly<Record<string, string>>;
  /** Whether the other members are the body, which a request without any other member has none of. */
  readonly body: boolean;
  /** Members of the answer that have another name in its JSON, by that name. */
  readonly names: Readonly<Record<string, string>>;
}

/** Facts in the published schemas about the errors of a service. */
export interface ErrorFacts {
  /** Names of errors that the service marks as worth another try. */
  readonly retryable: readonly string[];
  /** Names by the codes of the query protocol, which SQS still sends in a header. */
  readonly codes: Readonly<Record<string, string>>;
}

type Schema = ReturnType<typeof NormalizedSchema.of>;

const attributeValue = "com.amazonaws.dynamodb#AttributeValue";
/** A schema of an operation is a list that begins with this number, one of an error with the other (Smithy). */
const [operationMark, errorMark] = [9, -3];

/**
 * The text of a module that stands in for the schemas of a client: of every operation its name and the facts above, and
 * nothing of the shapes, of which the client's own JSON has no need. Made from the installed schemas at every build.
 */
export async function operationsModule(client: string): Promise<string> {
  const published = Object.entries((await import(`@aws-sdk/${client}`)) as Record<string, unknown>);
  const base = published.map(([name]) => name).find((name) => /^\w+ServiceException$/.test(name));
  const schemas = published.filter((entry): entry is [string, unknown[]] => Array.isArray(entry[1]));
  const operations = schemas.filter(([, [mark]]) => mark === operationMark);
  if (base === undefined || operations.length === 0) throw new Error(`The schemas of ${client} have another form.`);
  const errors = schemas.filter(([, [mark]]) => mark === errorMark).map(([, schema]) => schema);
  return [
    `import { ${base} } from "../models/${base}";`,
    `export const errorTypeRegistries = [${base}, ${JSON.stringify(errorFacts(errors, published))}];`,
    ...operations.map(([name, [mark, namespace, title, traits, input, output]]) => {
      const facts = JSON.stringify(operationFacts(input, output, traits as OperationTraits));
      return `export const ${name} = [${mark}, ${JSON.stringify(namespace)}, ${JSON.stringify(title)}, ${facts}];`;
    }),
  ].join("\n");
}

interface OperationTraits {
  readonly http?: readonly [method: string, path: string, status: number];
}

function operationFacts(input: unknown, output: unknown, { http }: OperationTraits): OperationFacts {
  const [request, answer] = [NormalizedSchema.of(input as never), NormalizedSchema.of(output as never)];
  const members = membersOf(request);
  const isElsewhere = (schema: Schema) => elsewhere.some((trait) => schema.getMergedTraits()[trait] !== undefined);
  return {
    tokens: members.filter(([, member]) => member.getMergedTraits().idempotencyToken).map(([name]) => name),
    dates: pathsTo(answer, (schema) => schema.isTimestampSchema()),
    blobs: pathsTo(answer, (schema) => schema.isBlobSchema()),
    attributes: pathsTo(answer, isAttributeValue).length > 0,
    unsupported:
      pathsTo(request, (schema) => schema.isTimestampSchema()).length > 0 ||
      [...members, ...membersOf(answer)].some(([, member]) => isElsewhere(member)),
    ...(http !== undefined && { http: httpFacts(http, members, membersOf(answer)) }),
  };
}

type Members = readonly (readonly [string, Schema])[];

/** Traits of what stands neither in an address nor in a body. */
const elsewhere = ["httpHeader", "httpPrefixHeaders", "httpQueryParams", "httpPayload", "httpResponseCode"] as const;

function membersOf(schema: Schema): Members {
  return schema.isStructSchema() ? [...schema.structIterator()] : [];
}

function httpFacts([method, path]: readonly [string, string, number], request: Members, answer: Members): HttpFacts {
  const traits = request.map(([name, member]) => [name, member.getMergedTraits()] as const);
  const query = traits.flatMap(([name, { httpQuery }]) => (httpQuery === undefined ? [] : [[name, httpQuery]]));
  const names = answer.flatMap(([name, member]) => {
    const { jsonName = name } = member.getMergedTraits();
    return jsonName === name ? [] : [[jsonName, name]];
  });
  return {
    method,
    path,
    query: Object.fromEntries(query),
    body: traits.some(([, { httpLabel, httpQuery }]) => httpLabel === undefined && httpQuery === undefined),
    names: Object.fromEntries(names),
  };
}

function isAttributeValue(schema: Schema): boolean {
  return schema.isStructSchema() && schema.getName(true) === attributeValue;
}

/** Where in a shape something lies. A shape inside itself is not entered again, nor is an attribute value. */
function pathsTo(schema: Schema, wanted: (schema: Schema) => boolean, within: readonly string[] = []): MemberPath[] {
  if (wanted(schema)) return [[]];
  const below = (name: string, member: Schema, shapes: readonly string[]) =>
    pathsTo(member, wanted, shapes).map((path) => [name, ...path]);
  if (schema.isListSchema() || schema.isMapSchema()) return below("*", schema.getValueSchema(), within);
  const name = schema.getName(true) ?? "";
  if (!schema.isStructSchema() || isAttributeValue(schema) || within.includes(name)) return [];
  return [...schema.structIterator()].flatMap(([member, each]) => below(member, each, [...within, name]));
}

function errorFacts(errors: readonly unknown[][], published: readonly (readonly [string, unknown])[]): ErrorFacts {
  const classes = new Map(published);
  const codes: Record<string, string> = {};
  const retryable: string[] = [];
  for (const schema of errors) {
    const name = String(schema[2]);
    const [code] = (NormalizedSchema.of(schema as never).getMergedTraits().awsQueryError ?? []) as readonly string[];
    if (code !== undefined) codes[code] = name;
    const Made = classes.get(name) as (new (options: object) => { readonly $retryable?: object }) | undefined;
    if (Made !== undefined && new Made({}).$retryable !== undefined) retryable.push(name);
  }
  return { retryable, codes };
}
