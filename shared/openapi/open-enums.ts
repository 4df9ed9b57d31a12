import type { JsonObject } from "./document.ts";

/** Extension with the known values of an answer's member; a later version may add some. */
export const openEnum = "x-extensible-enum";

/** Values of a closed or an open enumeration without null; undefined if the schema has none. */
export function wordsOf(schema: JsonObject): readonly unknown[] | undefined {
  const words = schema["enum"] ?? schema[openEnum];
  return Array.isArray(words) ? words.filter((word) => word !== null) : undefined;
}

/** The schema is a closed enumeration of two or more values. A single value names what an object is. */
export function isClosedChoice(schema: JsonObject): boolean {
  return Array.isArray(schema["enum"]) && (wordsOf(schema)?.length ?? 0) > 1;
}

/** A closed enumeration as an answer has it: its values are known ones, and `nullable` alone admits null. */
export function withOpenEnum(schema: JsonObject): JsonObject {
  if (!isClosedChoice(schema)) return schema;
  const { enum: _, ...rest } = schema;
  return { ...rest, [openEnum]: wordsOf(schema) };
}
