/**
 * JSON in the one form that a hash can be made of (RFC 8785): no white space, members in the order of the UTF-16 code
 * units of their names, numbers and texts as ECMAScript writes them. Members that are undefined are left out.
 * @throws Error for a number that is not finite
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((each) => canonicalJson(each ?? null)).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).filter(([, member]) => member !== undefined);
    // Sorted without a comparison of locales: by code units.
    const sorted = members.toSorted(([a], [b]) => (a < b ? -1 : 1));
    return `{${sorted.map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`).join(",")}}`;
  }
  if (typeof value === "number" && !Number.isFinite(value)) throw new Error("A number of JSON is finite.");
  return JSON.stringify(value);
}
