import * as z from "zod/mini";
import { limits } from "../../../shared/limits.ts";
import type { Route } from "../../../shared/routes/route.ts";

interface Schema {
  readonly type?: string;
  readonly pattern?: string;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
}

/** As much metadata as is legal, of one character: values of full length, and a last one of what is left. */
export function largestMetadata(character: string): Record<string, string> {
  const { max_bytes, max_value_characters } = limits.metadata;
  const metadata: Record<string, string> = {};
  let left: number = max_bytes;
  for (let place = 10; left > 2; place += 1) {
    const fitting = Math.floor((left - 2) / Buffer.byteLength(character));
    const value = character.repeat(Math.min(max_value_characters, fitting));
    metadata[String(place)] = value;
    left -= 2 + Buffer.byteLength(value);
    if (fitting < max_value_characters) break;
  }
  return metadata;
}

/** Text is bounded in characters, of which this has the most bytes. */
export const widest = "\u{1f4bb}";

/** Metadata is bounded in bytes: this has two in JSON, and four in the answer of a function. */
export const mostEscaped = '"';

/**
 * The largest body that a row takes: its example with every free text, list of texts and metadata it knows filled up. A
 * value of another form, such as an amount, stays as the example has it.
 */
export function largestBody(row: Route, example: unknown): unknown {
  if (row.body === undefined) return undefined;
  return filled(z.toJSONSchema(row.body, { io: "input", unrepresentable: "any" }) as Schema, example, "");
}

function filled(schema: Schema, example: unknown, name: string): unknown {
  if (name === "metadata") return largestMetadata(mostEscaped);
  const inner = schema.anyOf?.find(({ type }) => type !== "null") ?? schema;
  if (inner.type === "string") {
    // A seed is for a price that walks only, and a country is the one form that text stands beside.
    if (name === "country") return example ?? "PT";
    const free = name !== "seed" && inner.pattern?.includes("\\p{Cc}") === true;
    return free ? widest.repeat(inner.maxLength ?? 1) : example;
  }
  if (inner.type === "array") {
    const each = filled(inner.items ?? {}, undefined, "");
    if (each !== undefined && typeof each === "string") return Array(inner.maxItems).fill(each);
    const [first] = Array.isArray(example) ? example : [];
    return first === undefined ? example : [filled(inner.items ?? {}, first, "")];
  }
  if (inner.type !== "object" || inner.properties === undefined) return example;
  const given = (example ?? {}) as Readonly<Record<string, unknown>>;
  const members = Object.entries(inner.properties).map(
    ([member, part]) => [member, filled(part, given[member], member)] as const,
  );
  const known = members.filter(([, value]) => value !== undefined);
  return known.length === 0 && example === undefined ? undefined : Object.fromEntries(known);
}
