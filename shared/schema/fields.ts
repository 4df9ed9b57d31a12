import * as z from "zod/mini";
import type { $ZodCheck } from "zod/v4/core";
import { currencyCodes } from "../currencies.ts";
import { limits } from "../limits.ts";
import { metadataBytes } from "../text.ts";
import { described } from "./described.ts";

/** RFC 3339 in UTC with milliseconds: `2026-11-21T06:30:00.123Z`. */
export const Timestamp = z
  .string()
  .check(
    z.regex(
      /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
      "must be a moment in RFC 3339 form such as 2026-11-21T06:30:00Z",
    ),
  );

// A valid calendar day, by the pattern of `z.iso`, which itself would add four formats, 3 KB.
const leapYear = String.raw`(?:\d\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)`;
const shortMonths = String.raw`(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)`;
const day = String.raw`(?:${leapYear}-02-29|\d{4}-(?:${shortMonths}|(?:0[13578]|1[02])-31))`;
const timeOfDay = String.raw`(?:[01]\d|2[0-3]):[0-5]\d`;

const momentOf = (second: string) =>
  z.regex(
    new RegExp(String.raw`^${day}T${timeOfDay}:${second}(?:\.\d+)?(?:Z|[+-]${timeOfDay})$`),
    "must be a moment in RFC 3339 form such as 2026-11-21T06:30:00Z",
  );
// JavaScript writes another year with a sign and six digits, which is no RFC 3339 and does not sort as text.
const inYears = z.refine<string>((moment) => !/^[+-]/.test(inUtc(moment)), {
  error: "must be within the years 0000 to 9999 in UTC",
  params: { code: "out_of_range" },
});

/** A time in a request: RFC 3339 with any offset, in the years 0000 to 9999 also in UTC, in which it is stored. */
export const TimestampInput = z.string().check(momentOf(String.raw`[0-5]\d`), inYears);
/** A time of a platform: second 60, which some clocks show before midnight of UTC, is the end of the minute. */
export const PlatformTime = z.string().check(
  momentOf(String.raw`(?:[0-5]\d|60)`),
  z.overwrite((moment) => moment.replace(/:60(?:\.\d+)?(?=Z|[+-])/, ":59.999")),
  inYears,
);

/** The time in UTC as it would be stored; empty for a text that is no time. */
function inUtc(moment: string): string {
  const time = Date.parse(moment);
  return Number.isNaN(time) ? "" : new Date(time).toISOString();
}

/** A calendar day: `2026-11-21`. */
export const CalendarDate = z.string().check(z.regex(new RegExp(`^${day}$`), "must be a date such as 1990-12-31"));

/** Decimal string with exactly the decimals of its currency: `"1250.00"` USD, `"15000"` JPY. */
export const Money = z
  .string()
  .check(
    z.regex(
      /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/,
      "must be a plain decimal such as 1000.00: no sign, exponent or leading zero, at most 15 digits before the point",
    ),
  );

/** Query parameter of what can be had as a table too. */
export const tableFormat = described(
  z.optional(z.enum(["json", "csv"])),
  "Form of the answer. Without it, `Accept` decides: `text/csv` where it is preferred, else JSON.",
);

/** Whether an account trades with money or with play money. */
export const AccountType = z.enum(["live", "demo"]);

/** Code of a currency that an account can have: ISO 4217, a crypto asset or a cent currency. */
export const Currency = z.enum(currencyCodes);

/** Text of a member that is a currency. */
export const currencyText = "Currency code: ISO 4217, a crypto asset or a cent currency.";

/** A percentage with two digits: `"100.00"`. */
export const Percent = z
  .string()
  .check(z.regex(/^(?:0|[1-9]\d{0,4})(?:\.\d{1,2})?$/, "must be a percentage such as 100.00"));

/** ISO 3166-1 alpha-2 in capitals. */
export const Country = z
  .string()
  .check(z.regex(/^[A-Z]{2}$/, "must be a country code of two capital letters (ISO 3166-1)"));

// Normalised first (Unicode Annex 15, NFC), so that the measured text is the one that is compared and stored.
// @__NO_SIDE_EFFECTS__
function normalised(max: number, pattern: RegExp, rule: string, ...first: readonly $ZodCheck<string>[]) {
  // Text of nothing breaks one rule, and not that of its characters too.
  const least = z.minLength(1, { abort: true });
  return z.string().check(...first, z.normalize("NFC"), least, z.maxLength(max), z.regex(pattern, rule));
}

// U+FFFD stands where a decoder found bytes of another encoding: two texts would become one. Noncharacters (NChar) are
// in no text at all.
const lost = "U+FFFD (bytes of another encoding than UTF-8) or noncharacters";

/**
 * Free text of at most `max` characters: no control characters, no unpaired surrogates, no noncharacters, no U+FFFD,
 * not blank.
 */
// @__NO_SIDE_EFFECTS__
export function text(max: number) {
  const pattern = /^(?![\s\p{DI}]*$)[^\p{Cc}\p{Cs}\p{NChar}\ufffd]+$/u;
  return normalised(max, pattern, `must be text without control characters, ${lost}, and not blank`);
}

/**
 * Identifying text: two identifiers that look the same are the same. White space at the ends, U+FEFF and U+00A0 too, is
 * no part of it: what is copied from a spreadsheet or a bank's file has it. It has no invisible characters either: no
 * format characters (Cf, which include bidirectional marks), no line separators, no default ignorable characters (DI).
 */
// @__NO_SIDE_EFFECTS__
export function identifier(max: number) {
  return echoedIdentifier(max, z.trim());
}

/** An {@link identifier} that the answer repeats as it was sent, so that the sender finds it: nothing is removed. */
// @__NO_SIDE_EFFECTS__
export function echoedIdentifier(max: number, ...first: readonly $ZodCheck<string>[]) {
  const pattern = /^(?!\s*$)[^\p{Cc}\p{Cs}\p{NChar}\ufffd\p{Cf}\p{Zl}\p{Zp}\p{DI}]+$/u;
  const rule = `must be text without control or invisible characters, ${lost}, and not blank`;
  return normalised(max, pattern, rule, ...first);
}

/**
 * A name of a person or a thing: as {@link identifier}, but with U+200C and U+200D, which join letters of Persian and
 * Indic scripts, and variation selectors (VS), which choose the form of a Han character.
 */
// @__NO_SIDE_EFFECTS__
export function name(max: number) {
  const pattern = /^(?![\s\p{DI}]*$)(?:[^\p{Cc}\p{Cs}\p{NChar}\ufffd\p{Cf}\p{Zl}\p{Zp}\p{DI}]|\u200c|\u200d|\p{VS})+$/u;
  const but = "other than U+200C, U+200D and variation selectors";
  const rule = `must be text without control characters, invisible ones ${but}, ${lost}, and not blank`;
  return normalised(max, pattern, rule, z.trim());
}

const { max_keys, max_value_characters, max_bytes } = limits.metadata;

const MetadataKey = z
  .string()
  .check(z.regex(/^[A-Za-z0-9_.-]{1,40}$/, "must be 1 to 40 letters, digits, dots, hyphens or underscores"));
/** One value of metadata. */
export const MetadataValue = z
  .string()
  .check(
    z.normalize("NFC"),
    z.maxLength(max_value_characters),
    z.regex(/^[^\p{Cc}\p{Cs}\p{NChar}\ufffd]*$/u, `must be text without control characters, ${lost}`),
  );

/** The caller's own data of a resource: keys of 40 characters, values of 500, with a limit in bytes for the whole. */
export const Metadata = z.record(MetadataKey, MetadataValue).check(
  z.refine((value) => Object.keys(value).length <= max_keys, {
    error: `must not hold more than ${max_keys} keys`,
    params: { code: "too_many_keys" },
  }),
  z.refine((value) => metadataBytes(value) <= max_bytes, {
    error: `must have at most ${max_bytes} bytes, its keys and values in UTF-8 together`,
    params: { code: "too_many_bytes" },
  }),
);

/** Metadata in a merge patch: null removes a key. The limits of the whole apply to the merged result. */
export const MetadataPatch = z.record(MetadataKey, z.nullable(MetadataValue));

/** Pattern of an upper-case ULID, as used in identifiers. */
export const ulid = "[0-9A-HJKMNP-TV-Z]{26}";

/** Identifier `<prefix>_<ULID>`. */
// @__NO_SIDE_EFFECTS__
export function id(prefix: string) {
  return z
    .string()
    .check(z.regex(new RegExp(`^${prefix}_${ulid}$`), `must be an identifier that begins with ${prefix}_`));
}

/** An absolute URL (RFC 3986). */
export const Address = z.string();

/** An email address in responses. */
export const EmailText = z.string();

/** Links of a resource or of a page. */
export const Links = z.record(z.string(), z.object({ href: described(Address, "Absolute URL.") }));

const created_at = described(Timestamp, "Time of creation.");
const updated_at = described(Timestamp, "Time of the last change.");
const version = described(
  z.int().check(z.minimum(1)),
  "Version number, incremented on every change; the entity tag is derived from it.",
);
const _links = described(Links, "Links to this resource and to related resources, by relation.");

/** Members of every resource. `version` is incremented on every change; the entity tag is derived from it. */
export const ownFields = { created_at, updated_at, version, _links };

/** Members of every resource that takes metadata. */
export const resourceFields = {
  created_at,
  updated_at,
  version,
  metadata: described(
    z.record(z.string(), z.string()),
    "Your own keys and values: at most 50 keys of 40 characters, values of 500 characters, 16 KiB in " +
      "total (keys and values in UTF-8).",
  ),
  _links,
};

/** Query parameters of every list. */
export const pageParameters = {
  limit: described(
    z.optional(z.string().check(z.regex(/^(?:[1-9]\d?|100)$/, "must be a whole number from 1 to 100"))),
    "Maximum number of resources per page.",
  ),
  cursor: described(
    z.optional(z.string().check(z.minLength(1), z.maxLength(1024))),
    "Position in the list. Take it from `_links.next` or `_links.prev`; it is valid only with the same " +
      "filters and sort order.",
  ),
};

/** A range over `created_at`: from inclusive, to exclusive. */
export const createdRange = {
  created_from: described(z.optional(TimestampInput), "Created at or after this time."),
  created_to: described(z.optional(TimestampInput), "Created before this time."),
};

/** One or more of these words, separated by commas. */
// @__NO_SIDE_EFFECTS__
export function setOf(words: readonly string[]) {
  const word = `(?:${words.join("|")})`;
  const more = limits.page.max_filter_words - 1;
  return z
    .string()
    .check(
      z.regex(
        new RegExp(`^${word}(?:,${word}){0,${more}}$`),
        `must be one or more of ${words.join(", ")}, separated by commas`,
      ),
    );
}

/** One to `most` texts of this pattern, separated by commas. */
// @__NO_SIDE_EFFECTS__
export function listOf(pattern: string, most: number, what: string) {
  return z
    .string()
    .check(
      z.normalize("NFC"),
      z.regex(new RegExp(`^${pattern}(?:,${pattern}){0,${most - 1}}$`, "u"), `must be ${what}, separated by commas`),
    );
}

/** Properties of a page. */
export const PageInfo = z.object({
  limit: described(z.int(), "Page size that was applied."),
  has_more: described(z.boolean(), "Whether there is a next page."),
  unreadable: described(
    z.optional(z.int()),
    "Number of resources left out because their stored items cannot be read; absent when there is none.",
  ),
});

/** One page of a list. */
// @__NO_SIDE_EFFECTS__
export function page<T extends z.ZodMiniType>(item: T) {
  return z.object({
    object: described(z.literal("list"), "Resource type; always this value."),
    data: described(z.array(item), "Resources on this page."),
    page: described(PageInfo, "Information about the page."),
    _links: described(Links, "Links to this page and to neighbouring pages, by relation."),
  });
}

/** Path with one identifier. */
// @__NO_SIDE_EFFECTS__
export function idPath(prefix: string) {
  return z.strictObject({ id: id(prefix) });
}
