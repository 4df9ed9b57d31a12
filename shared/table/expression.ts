import type { Requirement } from "../domain/kernel/decision.ts";

/**
 * A condition on an item. An attribute is its name, or a path into a map with dots between the names: names of
 * attributes hold none. A `size` is the number of members of a map.
 */
export type Condition =
  | Requirement
  | { readonly attribute: string; readonly is: Comparator; readonly value: unknown }
  | { readonly attribute: string; readonly is: "present" }
  | { readonly attribute: string; readonly is: "absent" }
  | { readonly attribute: string; readonly is: "size_at_most"; readonly value: number }
  | { readonly any: readonly Condition[] };

type Comparator = keyof typeof comparators;

const comparators = { equal: "=", not: "<>", at_least: ">=", below: "<", above: ">", at_most: "<=" } as const;

/** Changes of a write, and their conditions. Attributes are named as in a {@link Condition}. */
export interface ItemChange {
  readonly set?: Readonly<Record<string, unknown>> | undefined;
  readonly add?: Readonly<Record<string, number | bigint>> | undefined;
  readonly remove?: readonly string[] | undefined;
  /** All must hold. */
  readonly when?: readonly Condition[] | undefined;
}

/** The item exists. */
export const isStored = { attribute: "pk", is: "present" } as const satisfies Condition;

/** The item does not exist. */
export const isNew = { attribute: "pk", is: "absent" } as const satisfies Condition;

/** Each of these attributes still has the value that was read. */
export function isStill(read: Readonly<Record<string, unknown>>): Condition[] {
  return Object.entries(read).map(([attribute, value]) => ({ attribute, is: "equal", value }));
}

/**
 * A change in the terms of DynamoDB. Every name and value is a placeholder, so that no attribute meets a reserved word.
 * Members that would be empty are undefined, which no call sends.
 */
export function expressionOf({ set = {}, add = {}, remove = [], when = [] }: ItemChange) {
  const names: Record<string, string> = {};
  const values: Record<string, unknown> = {};
  let count = 0;
  const named = (part: string) => {
    // The key of a map may hold characters that a placeholder may not, such as the `=` of a connection's identifier.
    const placeholder = /^\w+$/.test(part) ? `#${part}` : `#_${Buffer.from(part).toString("hex")}`;
    names[placeholder] = part;
    return placeholder;
  };
  const name = (path: string) => (path.includes(".") ? path.split(".").map(named).join(".") : named(path));
  const value = (given: unknown) => {
    const placeholder = `:v${count}`;
    count += 1;
    values[placeholder] = given;
    return placeholder;
  };
  const test = (condition: Condition): string => {
    if ("any" in condition) return `(${condition.any.map(test).join(" OR ")})`;
    const path = name(condition.attribute);
    if (condition.is === "present") return `attribute_exists(${path})`;
    if (condition.is === "absent") return `attribute_not_exists(${path})`;
    const wanted = value(condition.value);
    return condition.is === "size_at_most"
      ? `size(${path}) <= ${wanted}`
      : `${path} ${comparators[condition.is]} ${wanted}`;
  };
  const clause = (word: string, members: readonly string[]) => (members[0] ? [`${word} ${members.join(", ")}`] : []);
  const update = [
    ...clause(
      "SET",
      Object.entries(set).map(([path, given]) => `${name(path)} = ${value(given)}`),
    ),
    ...clause(
      "ADD",
      Object.entries(add).map(([path, given]) => `${name(path)} ${value(given)}`),
    ),
    ...clause("REMOVE", remove.map(name)),
  ];
  return {
    UpdateExpression: update.join(" ") || undefined,
    ConditionExpression: when.map(test).join(" AND ") || undefined,
    ExpressionAttributeNames: Object.keys(names)[0] === undefined ? undefined : names,
    ExpressionAttributeValues: count === 0 ? undefined : values,
  };
}
