import * as z from "zod/mini";
import type { $ZodType } from "zod/v4/core";
import { limits } from "../limits.ts";

/**
 * Money in a request: a decimal string, or a JSON number whose source text is such a string. No sign, exponent or
 * leading zero. How many digits after the point are right depends on the currency and is checked where that is known.
 */
export const MoneyInput = z
  .string()
  .check(
    z.regex(
      new RegExp(`^(?:0|[1-9]\\d{0,${limits.money.max_integer_digits - 1}})(?:\\.\\d{1,20})?$`),
      "must be a plain decimal such as 1000.00: no sign, exponent or leading zero, at most 15 digits before the point",
    ),
  );

/**
 * Names of the members of an object schema that hold money. The strict JSON reader keeps the source text of numbers
 * under these names, because a double cannot hold every amount: `90071992547409.93` would become `…09.94`, a cent made.
 */
export function moneyMembersOf(schema: $ZodType | undefined): ReadonlySet<string> {
  const names = new Set<string>();
  const shape =
    (schema as { _zod?: { def?: { shape?: Record<string, $ZodType> } } } | undefined)?._zod?.def?.shape ?? {};
  for (const [name, member] of Object.entries(shape)) if (innermost(member) === MoneyInput) names.add(name);
  return names;
}

function innermost(schema: $ZodType): unknown {
  const inner = (schema as { _zod: { def: { innerType?: $ZodType } } })._zod.def.innerType;
  return inner === undefined ? schema : innermost(inner);
}
