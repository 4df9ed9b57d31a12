import type { $ZodType } from "zod/v4/core";

interface Definition {
  readonly type: string;
  readonly innerType?: $ZodType;
  readonly shape?: Readonly<Record<string, $ZodType>>;
  readonly element?: $ZodType;
  readonly valueType?: $ZodType;
}

/**
 * In which order an answer shows its members: of an object by name, each with the order inside it; of a list and of a
 * map, whose entries go by name, that of every entry. Links go by name too, with absolute addresses. Null: as it comes.
 */
export type MemberOrder =
  | { readonly members: Readonly<Record<string, MemberOrder>> }
  | { readonly each: MemberOrder }
  | { readonly entries: MemberOrder }
  | { readonly links: true }
  | null;

/** What a row has in the place of its reply's schema once it is bundled: all that a function asks the schema. */
interface BundledReply {
  readonly order: MemberOrder;
}

/** The order of a reply, from its schema or, in a bundle, as the build read it there. */
export function replyOrder(reply: $ZodType | BundledReply): MemberOrder {
  return "order" in reply ? reply.order : memberOrder(reply);
}

/** The order that a schema asks for. */
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
  // What holds anything at all, such as the resource inside a published event, has no order but the one it came in.
  if (type !== "record" || valueType === undefined || definitionOf(valueType).type === "unknown") return null;
  return { entries: memberOrder(valueType) };
}

function definitionOf(schema: $ZodType): Definition {
  return (schema as unknown as { _zod: { def: Definition } })._zod.def;
}

/**
 * The value as its schema shows it, without what the schema does not name. DynamoDB keeps no order of members, so
 * without this two reads of one version would differ in their bytes and in their entity tags. `absolute` makes an
 * address of the path that a link leads to.
 */
export function inOrder(order: MemberOrder, value: unknown, absolute: (path: string) => string): unknown {
  if (order === null || typeof value !== "object" || value === null) return value;
  if ("each" in order) return Array.isArray(value) ? value.map((each) => inOrder(order.each, each, absolute)) : value;
  const given = value as Readonly<Record<string, unknown>>;
  const shown: Record<string, unknown> = {};
  if ("members" in order) {
    // The first list of an environment comes by here before V8 has compiled it, so nothing is called without need.
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
