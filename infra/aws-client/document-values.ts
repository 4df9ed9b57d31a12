import { marshall, unmarshall } from "@aws-sdk/util-dynamodb";

type Members = Readonly<Record<string, unknown>>;

/** Where values stand in an input or output: null here, no member in each, `*` one level down, else by name. */
type Places = { readonly [name: string]: Places } | readonly never[] | null;

type Convert = (value: unknown) => unknown;

/** The value itself is one to convert. */
export const SELF = null;
/** Each value of a map is one to convert. */
export const ALL_VALUES = {};
/** Each value of a list is one to convert. */
export const ALL_MEMBERS: readonly never[] = [];

/**
 * Takes the place of the walk from a command to the values in it, which makes lists of pairs and calls two functions
 * for each attribute: with 25 items before V8 has compiled it, a twentieth of what the first list costs. The same
 * places are converted in the same order; functions and what is undefined are left out as there.
 */
export function marshallInput(input: Members, places: Places, options: MarshallOptions): unknown {
  return convertMembers(input, (value) => attributeOf(value, options), places ?? {});
}

/** As {@link marshallInput}, from attribute values to what the program knows. */
export function unmarshallOutput(output: Members, places: Places, options: object): unknown {
  const convert = (value: unknown) => {
    const { S: text } = value as { readonly S?: string };
    return text ?? unmarshall(value as never, options);
  };
  return convertMembers(output, convert, places ?? {});
}

type MarshallOptions = NonNullable<Parameters<typeof marshall>[1]>;

/**
 * The attribute value of a value: of texts, numbers, lists and maps here, else as the published conversion makes it.
 * That one tells kinds by the name of `constructor`: of a map with a member of that name, which a key of metadata can
 * be, it says that it is none; and it compares each text with twenty other types first, which took most of the time of
 * a transaction with a hundred items.
 */
function attributeOf(value: unknown, options: MarshallOptions): object {
  if (value === null) return { NULL: true };
  if (typeof value === "string") return { S: value };
  if (typeof value === "boolean") return { BOOL: value };
  if (typeof value === "bigint" || Number.isSafeInteger(value)) return { N: String(value) };
  const isKept = (each: unknown) =>
    typeof each !== "function" && !(each === undefined && options.removeUndefinedValues === true);
  if (Array.isArray(value)) return { L: value.filter(isKept).map((each) => attributeOf(each, options)) };
  if (!isMap(value)) return marshall(value as never, options);
  const kept = Object.entries(value).filter(([, each]) => isKept(each));
  // As a member that is assigned, `__proto__` would vanish.
  return { M: Object.fromEntries(kept.map(([name, each]) => [name, attributeOf(each, options)])) };
}

function isMap(value: unknown): value is Members {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** A copy in which the members at the named places are converted. */
function convertMembers(value: Members, convert: Convert, places: object): unknown {
  const copy: Record<string, unknown> = {};
  for (const name of Object.keys(value)) if (typeof value[name] !== "function") copy[name] = value[name];
  for (const [name, inner] of Object.entries(places)) {
    const member = value[name];
    if (member === undefined || typeof member === "function") continue;
    const converted = convertAt(member, convert, inner);
    if (converted !== undefined) copy[name] = converted;
  }
  return copy;
}

function convertAt(value: unknown, convert: Convert, places: Places): unknown {
  if (places === null) return convert(value);
  const names = Object.keys(places);
  if (names.length === 0) return convertEach(value, convert);
  if (names.length > 1 || names[0] !== "*") return convertMembers(value as Members, convert, places);
  const below = (places as { readonly [name: string]: Places })["*"] ?? null;
  return convertEach(value, (each) => convertAt(each, convert, below));
}

function convertEach(value: unknown, convert: Convert): unknown {
  if (Array.isArray(value)) return value.filter((each) => typeof each !== "function").map((each) => convert(each));
  const members = value as Members;
  const converted: Record<string, unknown> = {};
  for (const name of Object.keys(members)) {
    const member = members[name];
    if (member !== undefined && typeof member !== "function") converted[name] = convert(member);
  }
  return converted;
}
