import type { $ZodType } from "zod/v4/core";

interface Definition {
  readonly type: string;
  readonly innerType?: $ZodType;
  readonly shape?: Readonly<Record<string, $ZodType>>;
  readonly element?: $ZodType;
  readonly valueType?: $ZodType;
}

function definitionOf(schema: $ZodType): Definition {
  return (schema as unknown as { _zod: { def: Definition } })._zod.def;
}

/**
 * The value as its schema shows it: the members of an object in the order of the schema, the entries of a map by name,
 * and nothing that the schema does not name. DynamoDB keeps no order of members, so without this two reads of one
 * version would differ in their bytes and in their entity tags.
 */
export function inSchemaOrder(schema: $ZodType, value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  const { type, innerType, shape, element, valueType } = definitionOf(schema);
  if (innerType !== undefined) return inSchemaOrder(innerType, value);
  if (element !== undefined && Array.isArray(value)) return value.map((each) => inSchemaOrder(element, each));
  const members = value as Readonly<Record<string, unknown>>;
  if (shape !== undefined) {
    const shown = Object.entries(shape).filter(([name]) => Object.hasOwn(members, name));
    return Object.fromEntries(shown.map(([name, member]) => [name, inSchemaOrder(member, members[name])]));
  }
  // What holds anything at all, such as the resource inside a published event, has no order but the one it came in.
  if (type !== "record" || valueType === undefined || definitionOf(valueType).type === "unknown") return value;
  const entries = Object.entries(members).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, each]) => [name, inSchemaOrder(valueType, each)]));
}
