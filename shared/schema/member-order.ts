import type { $ZodType } from "zod/v4/core";

interface Definition {
  readonly type: string;
  readonly innerType?: $ZodType;
  readonly shape?: Readonly<Record<string, $ZodType>>;
  readonly element?: $ZodType;
  readonly valueType?: $ZodType;
}

/**
 * Order of the members of a response: for an object, its members with their own order; for a list or a map (whose
 * entries are sorted by name), the order of each entry. Links are sorted by name and get absolute URLs. Null keeps the
 * order.
 */
export type MemberOrder =
  | { readonly members: Readonly<Record<string, MemberOrder>> }
  | { readonly each: MemberOrder }
  | { readonly entries: MemberOrder }
  | { readonly links: true }
  | null;

/** Replacement of the reply's schema in a bundled row: all that a function needs of the schema. */
interface BundledReply {
  readonly order: MemberOrder;
}

/** The order of a reply, from its schema or, in a bundle, as the build derived it from there. */
export function replyOrder(reply: $ZodType | BundledReply): MemberOrder {
  return "order" in reply ? reply.order : memberOrder(reply);
}

/** The order that a schema defines. */
export function memberOrder(schema: $ZodType): MemberOrder {
  const { type, innerType, shape, element, valueType } = definitionOf(schema);
  if (innerType !== undefined) return memberOrder(innerType);
  if (element !== undefined) return { each: memberOrder(element) };
  if (shape !== undefined) {
    const members = Object.entries(shape).map(([name, member]) => [
      name,
      name === "_links" ? { links: true } : memberOrder(member),
    ]);
    return { members: Object.fromEntries(members) };
  }
  // A value of unknown shape, such as the resource inside a published event, keeps the order that it has.
  if (type !== "record" || valueType === undefined || definitionOf(valueType).type === "unknown") return null;
  return { entries: memberOrder(valueType) };
}

function definitionOf(schema: $ZodType): Definition {
  return (schema as unknown as { _zod: { def: Definition } })._zod.def;
}

/**
 * The value with its members in the order of the schema, without members that the schema does not name. DynamoDB does
 * not keep the order of members, so two reads of one version would otherwise differ in bytes and entity tags.
 * `absolute` returns the absolute URL of the path of a link.
 */
export function inOrder(order: MemberOrder, value: unknown, absolute: (path: string) => string): unknown {
  if (order === null || typeof value !== "object" || value === null) return value;
  if ("each" in order) return Array.isArray(value) ? value.map((each) => inOrder(order.each, each, absolute)) : value;
  const given = value as Readonly<Record<string, unknown>>;
  const shown: Record<string, unknown> = {};
  if ("members" in order) {
    // The first list of an environment runs this before V8 has compiled it, so unnecessary calls are avoided.
    for (const name in order.members) {
      const member = given[name];
      const inner = order.members[name] ?? null;
      if (member !== undefined) shown[name] = inner === null ? member : inOrder(inner, member, absolute);
    }
    return shown;
  }
  const entries = Object.entries(given).toSorted(([a], [b]) => (a < b ? -1 : 1));
  if ("links" in order) {
    const links = entries as [string, { readonly href: string }][];
    return Object.fromEntries(links.map(([name, { href }]) => [name, { href: absolute(href) }]));
  }
  return Object.fromEntries(entries.map(([name, each]) => [name, inOrder(order.entries, each, absolute)]));
}
