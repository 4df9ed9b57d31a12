import type * as z from "zod/mini";
import type { $ZodType } from "zod/v4/core";

const descriptions = new WeakMap<$ZodType, string>();

/**
 * The schema with a description for the OpenAPI document: plain English, one or two sentences. The result is a copy, so
 * a schema that several members share has a description in each of them. Bundles contain the schema only
 * (`infra/declarations.ts`), so a description costs a function nothing.
 */
// @__NO_SIDE_EFFECTS__
export function described<T extends z.ZodMiniType>(schema: T, description: string): T {
  const copy = schema.clone(schema._zod.def as never, { parent: true }) as T;
  descriptions.set(copy, description);
  return copy;
}

/** The description that {@link described} gave to a schema; undefined for any other schema. */
export function descriptionOf(schema: $ZodType): string | undefined {
  return descriptions.get(schema);
}
