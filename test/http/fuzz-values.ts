import fc from "fast-check";
import * as z from "zod/mini";
import type { Route } from "../../shared/routes/route.ts";
import { anyText } from "../support/builders/text.ts";

/** Identifiers that exist here, exist elsewhere, or exist nowhere; the test adds to them before its first case. */
export const ids: string[] = [
  "cli_01JD0000000000000000000000",
  "acc_01JD0000000000000000000000",
  "1",
  "01",
  "999999999",
];

/** Text that has broken parsers before. */
export const hostile = fc.constantFrom(
  ...[
    "",
    " ",
    "null",
    "undefined",
    "NaN",
    "-0",
    "1e999",
    "0x10",
    "true",
    "[]",
    "{}",
    "%00",
    "%2e%2e%2f",
    "../..",
    "'--",
  ],
  ...[
    "\u0000",
    "\u202e",
    "\ufeff",
    "\u{1f4a9}",
    "İ",
    "ß",
    "a\r\nb: c",
    "__proto__",
    "constructor",
    "toString",
    "*",
    "|",
  ],
  ...["brk_01JD0000000000000000000000", "#", "a#b", "9".repeat(400), "Z".repeat(2000), '"1"', 'W/"1"', "GLOBAL|KEYS"],
  ...["9999-12-31T23:59:59.999Z", "0000-01-01T00:00:00Z", "2026-02-30T00:00:00Z", "+010000-01-01T00:00:00Z", "-1"],
  ...["9999-12-31T23:59:59-23:59", "0000-01-01T00:00:00+23:59", "2026-06-30T23:59:60Z", "0.1", "999999999999999.99"],
);

/** A value of any type, most often one that has broken parsers before. */
export const unexpected: fc.Arbitrary<unknown> = fc.oneof(
  hostile,
  anyText({ maxLength: 30 }).map((text) => text.toWellFormed()),
  fc.double(),
  fc.integer(),
  fc.jsonValue({ maxDepth: 3 }),
);

/** One value in `times` comes from here; the others are `otherwise`. */
export function rarely<T, E>(times: number, arbitrary: fc.Arbitrary<T>, otherwise: E): fc.Arbitrary<T | E> {
  return fc.oneof({ weight: times - 1, arbitrary: fc.constant(otherwise) }, { weight: 1, arbitrary });
}

/** The part of a JSON Schema that values are made from. */
export interface Schema {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly format?: string;
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly maximum?: number;
}

/** Values that a schema means, as far as its shape tells. */
export function fitting(schema: Schema): fc.Arbitrary<unknown> {
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map(fitting));
  if (schema.format === "date-time") return fc.date({ noInvalidDate: true }).map((date) => date.toISOString());
  if (schema.format === "date") return fc.date({ noInvalidDate: true }).map((date) => date.toISOString().slice(0, 10));
  switch (schema.type) {
    case "object":
      return schema.properties === undefined
        ? fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), fc.string(), { maxKeys: 3 })
        : members(schema);
    case "array":
      return fc.array(fitting(schema.items ?? {}), { maxLength: 4 });
    case "integer":
    case "number":
      return fc.integer({ min: -1, max: Math.min(schema.maximum ?? 2000, 2000) });
    case "boolean":
      return fc.boolean();
    case "null":
      return fc.constant(null);
    default:
      return fc.oneof(
        { weight: 5, arbitrary: textOf(schema.pattern) },
        { weight: 1, arbitrary: fc.constantFrom(...ids, "ana@example.com", "10.00") },
      );
  }
}

function textOf(pattern: string | undefined): fc.Arbitrary<string> {
  try {
    const form = new RegExp(pattern ?? "^[ -~]{1,20}$");
    const known = pattern === undefined ? [] : ids.filter((id) => form.test(id));
    if (known.length > 0) return fc.constantFrom(...known);
    return fc.stringMatching(form).map((text) => text.slice(0, 300));
  } catch {
    // Some patterns use what the generator does not know, such as classes of characters.
    return fc.string({ maxLength: 20 });
  }
}

/** An object in which most members fit, some are missing, some are wrong, and some are unknown. */
export function members({ properties = {}, required = [] }: Schema): fc.Arbitrary<Record<string, unknown>> {
  const parts = Object.entries(properties).map(([name, schema]) =>
    fc
      .tuple(fc.nat(19), fc.nat(2), fitting(schema), unexpected)
      .map(([luck, fate, fit, wrong]): [string, unknown] | undefined =>
        luck === 0 && fate === 0 ? [name, wrong] : luck < (required.includes(name) ? 19 : 5) ? [name, fit] : undefined,
      ),
  );
  const extra = rarely(12, fc.tuple(hostile, unexpected), null);
  return fc
    .tuple(extra, ...parts)
    .map(([more, ...own]) =>
      Object.fromEntries([...(more == null ? [] : [more]), ...own].filter((each) => each !== undefined)),
    );
}

/** The JSON Schema of a query or a body. */
export function schemaOf(schema: Route["body"]): Schema {
  return schema === undefined ? {} : (z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as Schema);
}
