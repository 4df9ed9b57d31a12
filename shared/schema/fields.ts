import * as z from "zod/mini";
import { limits } from "../limits.ts";

/** RFC 3339 in UTC with milliseconds: `2026-11-21T06:30:00.123Z`. */
export const Timestamp = z.string().check(z.regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/, "timestamp"));

/** A moment in a request: RFC 3339 with any offset. */
export const TimestampInput = z.iso.datetime({ offset: true, error: "timestamp" });

/** A calendar day: `2026-11-21`. */
export const CalendarDate = z.iso.date("date");

/** Decimal string with exactly the minor digits of its currency: `"1250.00"` USD, `"15000"` JPY. */
export const Money = z.string().check(z.regex(/^-?(?:0|[1-9]\d*)(?:\.\d+)?$/, "amount"));

/** ISO 4217 code of a currency the service trades in. */
export const Currency = z.enum(["USD", "EUR", "GBP", "CHF", "JPY", "AUD"]);
/** One such code. */
export type CurrencyCode = z.infer<typeof Currency>;

/** A percentage with two digits: `"100.00"`. */
export const Percent = z.string().check(z.regex(/^(?:0|[1-9]\d{0,4})(?:\.\d{1,2})?$/, "percent"));

/** ISO 3166-1 alpha-2 in capitals. */
export const Country = z.string().check(z.regex(/^[A-Z]{2}$/, "country"));

/** Text without control characters, not blank, at most `max` characters. */
// @__NO_SIDE_EFFECTS__
export function text(max: number) {
  return z.string().check(z.minLength(1), z.maxLength(max), z.regex(/^(?!\s*$)[^\p{Cc}\p{Cs}]+$/u, "text"));
}

/** What the caller keeps with a resource: at most 50 keys of 40 characters, values of at most 500. */
export const Metadata = z
  .record(
    z.string().check(z.regex(/^[A-Za-z0-9_.-]{1,40}$/, "metadata_key")),
    z.string().check(z.maxLength(limits.metadata.max_value_characters)),
  )
  .check(z.refine((value) => Object.keys(value).length <= limits.metadata.max_keys, "metadata_keys"));

/** Metadata in a merge patch: null removes a key. */
export const MetadataPatch = z.record(
  z.string().check(z.regex(/^[A-Za-z0-9_.-]{1,40}$/, "metadata_key")),
  z.nullable(z.string().check(z.maxLength(limits.metadata.max_value_characters))),
);

/** Pattern of a ULID in capitals, as identifiers hold it. */
export const ulid = "[0-9A-HJKMNP-TV-Z]{26}";

/** Identifier `<prefix>_<ULID>`. */
// @__NO_SIDE_EFFECTS__
export function id(prefix: string) {
  return z.string().check(z.regex(new RegExp(`^${prefix}_${ulid}$`), `id ${prefix}_`));
}

/** Links of a resource or of a page. */
export const Links = z.record(z.string(), z.object({ href: z.string() }));

/** What every resource carries. `version` rises by one with every change and is the entity tag. */
export const resourceFields = {
  created_at: Timestamp,
  updated_at: Timestamp,
  version: z.int().check(z.minimum(1)),
  metadata: z.record(z.string(), z.string()),
  _links: Links,
};

/** Query parameters of every list. */
export const pageParameters = {
  limit: z.optional(z.string().check(z.regex(/^(?:[1-9]\d?|100)$/, "limit"))),
  cursor: z.optional(z.string().check(z.minLength(1), z.maxLength(1024))),
};

/** A range over `created_at`, from inclusive, to exclusive. */
export const createdRange = { created_from: z.optional(TimestampInput), created_to: z.optional(TimestampInput) };

/** One or more of these words, separated by commas. */
// @__NO_SIDE_EFFECTS__
export function setOf(words: readonly string[]) {
  const word = `(?:${words.join("|")})`;
  const more = limits.page.max_filter_words - 1;
  return z.string().check(z.regex(new RegExp(`^${word}(?:,${word}){0,${more}}$`), `one of ${words.join(", ")}`));
}

/** One or more texts of this pattern, at most `most`, separated by commas. */
// @__NO_SIDE_EFFECTS__
export function listOf(pattern: string, most: number, what: string) {
  return z.string().check(z.regex(new RegExp(`^${pattern}(?:,${pattern}){0,${most - 1}}$`), `list of ${what}`));
}

/** One page of a list. */
// @__NO_SIDE_EFFECTS__
export function page<T extends z.ZodMiniType>(item: T) {
  return z.object({
    object: z.literal("list"),
    data: z.array(item),
    page: z.object({ limit: z.int(), has_more: z.boolean() }),
    _links: Links,
  });
}

/** Path with one identifier. */
// @__NO_SIDE_EFFECTS__
export function idPath(prefix: string) {
  return z.strictObject({ id: id(prefix) });
}
