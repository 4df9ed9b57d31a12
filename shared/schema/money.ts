import * as z from "zod/mini";
import type { $ZodType } from "zod/v4/core";
import { limits } from "../limits.ts";

/**
 * Money in a request: a decimal string, or a JSON number whose source text is such a string. No sign, exponent or
 * leading zero. The number of decimals depends on the currency and is checked where the currency is known.
 */
export const MoneyInput = z
  .string()
  .check(
    z.regex(
      new RegExp(`^(?:0|[1-9]\\d{0,${limits.money.max_integer_digits - 1}})(?:\\.\\d{1,20})?$`),
      "must be a plain decimal such as 1000.00: no sign, exponent or leading zero, at most 15 digits before the point",
    ),
  );

/** Money in a request that may be below zero. */
export const SignedMoneyInput = z
  .string()
  .check(
    z.regex(
      new RegExp(`^-?(?:0|[1-9]\\d{0,${limits.money.max_integer_digits - 1}})(?:\\.\\d{1,20})?$`),
      "must be a plain decimal such as -25.00: no plus sign, exponent or leading zero, with at most 15 whole digits",
    ),
  );

/**
 * Names of the members of an object schema that hold money. The strict JSON reader keeps the source text of numbers
 * under these names, because a double cannot represent every amount: `90071992547409.93` would become `…09.94`.
 */
export function moneyMembersOf(schema: $ZodType | undefined): ReadonlySet<string> {
  const shape = (schema as unknown as Defined | undefined)?._zod.def.shape ?? {};
  const money = [MoneyInput, SignedMoneyInput].map((each) => innermost(each as unknown as Defined));
  return new Set(Object.keys(shape).filter((name) => money.includes(innermost(shape[name] as Defined))));
}

/** The parts of a schema that this module reads. */
interface Defined {
  readonly _zod: { readonly def: { readonly shape?: Readonly<Record<string, Defined>>; readonly innerType?: Defined } };
}

/** The definition inside `optional` and `nullable`, which a schema shares with its described copies. */
function innermost({ _zod: { def } }: Defined): unknown {
  return def.innerType ? innermost(def.innerType) : def;
}
