/**
 * The source text of an expression that evaluates to a value: JSON where possible.
 * @throws Error for a value without a literal: a function, a date, a regular expression, a number that is not finite
 */
export function literal(value: unknown): string {
  if (typeof value === "bigint") return `${value}n`;
  if (value === undefined) return "undefined";
  if (Array.isArray(value)) return `[${value.map(literal)}]`;
  if (typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype) {
    return `{${Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}:${literal(member)}`)}}`;
  }
  const isPlain = value === null || ["string", "boolean"].includes(typeof value) || Number.isFinite(value);
  if (!isPlain) throw new Error(`There is no literal of this value to ship: ${String(value)}`);
  return JSON.stringify(value);
}
