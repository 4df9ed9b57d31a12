import * as z from "zod/mini";
import type { $ZodType } from "zod/v4/core";
import { limits } from "../limits.ts";

const { max_integer_digits, max_fraction_digits } = limits.money;
const unsigned = `(?:0|[1-9]\\d{0,${max_integer_digits - 1}})(?:\\.\\d{1,${max_fraction_digits}})?`;

/**
 * Money in a request: a decimal string, or a JSON number whose source text is such a string. No sign, exponent or
 * leading zero. The number of decimals depends on the currency and is checked where the currency is known.
 */
export const MoneyInput = z
  .string()
  .check(z.regex(new RegExp(`^${unsigned}$`), { error: ({ input }) => amountFault(String(input), "1000.00") }));

/** Money in a request that may be below zero. */
export const SignedMoneyInput = z
  .string()
  .check(z.regex(new RegExp(`^-?${unsigned}$`), { error: ({ input }) => amountFault(String(input), "-25.00") }));

/** Why a text is no amount: the rule that it breaks, with the character that it must not hold. */
function amountFault(text: string, example: string): string {
  const plain = `must be a plain decimal such as ${example}`;
  const isSigned = example.startsWith("-");
  const size = isSigned ? text.replace(/^-/, "") : text;
  const other = /[^\d.]/u.exec(size)?.[0];
  if (other === "-" || other === "+") return `${plain}, with no sign${isSigned ? " but one - at its start" : ""}`;
  if (/\d[\s,'_\u2019]\d/u.test(size))
    return `${plain}, with a point before the decimals and digits that are not grouped`;
  if (other !== undefined)
    return `${plain}, without ${/[ -~]/.test(other) ? `"${other}"` : `the character ${codePoint(other)}`}`;
  if (/^0\d/.test(size)) return `${plain}, without a leading zero`;
  const [digits = "", decimals = ""] = size.split(".");
  if (digits.length > max_integer_digits) return `must have at most ${max_integer_digits} digits before the point`;
  return decimals.length > max_fraction_digits
    ? `must have at most ${max_fraction_digits} digits after the point`
    : plain;
}

function codePoint(character: string): string {
  return `U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}`;
}

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
