import { NormalizedSchema } from "@smithy/core/schema";

/** Members that lie below others: each step a name, or `*` for every entry of a list or map. */
export type MemberPath = readonly string[];

/** What the published schemas say of an operation beyond plain JSON (Smithy traits). */
export interface OperationFacts {
  /** Members of the request that get a UUID when they are missing, so that a repeated request is done once. */
  readonly tokens: readonly string[];
  /** Members of the answer that come as seconds since 1970 and become Date. */
  readonly dates: readonly MemberPath[];
  /** Members of the answer that come as base64 and become bytes. */
  readonly blobs: readonly MemberPath[];
  /** Whether attribute values of DynamoDB can be in the answer: their binary kinds are bytes too. */
  readonly attributes: boolean;
  /** Whether the request has members that JSON cannot carry as they are: moments in time. Nothing of ours sends one. */
  readonly unsupported: boolean;
}

/** What the published schemas say of the errors of a service. */
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
    ...operations.map(([name, [mark, namespace, title, , input, output]]) => {
      const facts = JSON.stringify(operationFacts(input, output));
      return `export const ${name} = [${mark}, ${JSON.stringify(namespace)}, ${JSON.stringify(title)}, ${facts}];`;
    }),
  ].join("\n");
}

function operationFacts(input: unknown, output: unknown): OperationFacts {
  const [request, answer] = [NormalizedSchema.of(input as never), NormalizedSchema.of(output as never)];
  const members = request.isStructSchema() ? [...request.structIterator()] : [];
  return {
    tokens: members.filter(([, member]) => member.getMergedTraits().idempotencyToken).map(([name]) => name),
    dates: pathsTo(answer, (schema) => schema.isTimestampSchema()),
    blobs: pathsTo(answer, (schema) => schema.isBlobSchema()),
    attributes: pathsTo(answer, isAttributeValue).length > 0,
    unsupported: pathsTo(request, (schema) => schema.isTimestampSchema()).length > 0,
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
