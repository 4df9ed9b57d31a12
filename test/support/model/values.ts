/** A value as the document client hands it over: numbers are numbers, or bigints where a double is not exact. */
export type Value =
  | string
  | number
  | bigint
  | boolean
  | null
  | Uint8Array
  | readonly Value[]
  | { readonly [name: string]: Value };

/** A stored item, without DynamoDB's notation of types. */
export type Item = Readonly<Record<string, Value>>;

/** A copy as DynamoDB would give it back: without undefined members, and a bigint only where a number is not exact. */
export function stored(value: unknown): Value {
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  if (typeof value !== "object" || value === null) return value as Value;
  if (value instanceof Uint8Array) return Uint8Array.from(value);
  if (Array.isArray(value)) return value.map(stored);
  const copy: Record<string, Value> = {};
  for (const [name, member] of Object.entries(value)) if (member !== undefined) copy[name] = stored(member);
  return copy;
}

/** DynamoDB's name of the type of a value. */
function typeOf(value: Value): string {
  if (value === null) return "NULL";
  if (typeof value === "string") return "S";
  if (typeof value === "number" || typeof value === "bigint") return "N";
  if (typeof value === "boolean") return "BOOL";
  if (value instanceof Uint8Array) return "B";
  return Array.isArray(value) ? "L" : "M";
}

/** Whether two values are the same to DynamoDB, whose maps have no order. */
export function same(one: Value, other: Value): boolean {
  const type = typeOf(one);
  if (type !== typeOf(other)) return false;
  // biome-ignore lint/suspicious/noDoubleEquals: a number and a bigint of the same value are the same number.
  if (type === "N") return (one as number) == (other as number);
  if (type === "B") return Buffer.compare(one as Uint8Array, other as Uint8Array) === 0;
  if (type !== "L" && type !== "M") return one === other;
  const [these, those] = [Object.entries(one as object), Object.entries(other as object)];
  return these.length === those.length && these.every(([name, value]) => isSameIn(those, name, value));
}

function isSameIn(entries: readonly [string, Value][], name: string, value: Value): boolean {
  const found = entries.find(([each]) => each === name);
  return found !== undefined && same(value, found[1]);
}

/** Negative, 0 or positive for two numbers, texts or binaries; undefined for values that have no order. */
export function order(one: Value, other: Value): number | undefined {
  const type = typeOf(one);
  if (type !== typeOf(other)) return undefined;
  if (type === "N") return (one as number) < (other as number) ? -1 : (one as number) > (other as number) ? 1 : 0;
  if (type === "S") return Buffer.compare(Buffer.from(one as string), Buffer.from(other as string));
  return type === "B" ? Buffer.compare(one as Uint8Array, other as Uint8Array) : undefined;
}

/** `size()` of a value; undefined for a type that has none. */
export function sizeOf(value: Value): number | undefined {
  if (typeof value === "string") return [...value].length;
  if (value instanceof Uint8Array) return value.length;
  if (Array.isArray(value)) return value.length;
  return typeof value === "object" && value !== null ? Object.keys(value).length : undefined;
}

/** Bytes of an item as DynamoDB counts them, see test/support/emulator/item-size.ts, without its notation of types. */
export function bytesOf(item: Item): number {
  let sum = 0;
  for (const [name, value] of Object.entries(item)) sum += Buffer.byteLength(name) + valueBytes(value);
  return sum;
}

function valueBytes(value: Value): number {
  if (typeof value === "string") return Buffer.byteLength(value);
  if (typeof value === "number" || typeof value === "bigint") {
    return Math.ceil(String(value).replace(/[-.]|e.*/gi, "").length / 2) + 2;
  }
  if (value instanceof Uint8Array) return value.length;
  if (Array.isArray(value)) return value.reduce((sum: number, each: Value) => sum + 1 + valueBytes(each), 3);
  if (typeof value !== "object" || value === null) return 1;
  return bytesOf(value as Item) + 3 + Object.keys(value).length;
}
