/**
 * A value as the text of an expression that is this value again, in JSON where JSON can say it.
 * @throws Error for what no literal says: a function, a date, an expression, a number that is not finite
 */
export function literal(value: unknown): string {
  if (typeof value === "bigint") return `${value}n`;
  if (value === undefined) return "undefined";
  if (Array.isArray(value)) return `[${value.map(literal)}]`;
  if (typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype) {
    return `{${Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}:${literal(member)}`)}}`;
  }
  const isPlain = value === null || ["string", "boolean"].includes(typeof value) || Number.isFinite(value);
  if (!isPlain) throw new Error(`What is shipped as text is no text, number or list: ${String(value)}`);
  return JSON.stringify(value);
}
