/** Bytes of a text in UTF-8. */
function utf8Bytes(text: string): number {
  return Buffer.byteLength(text, "utf8");
}

/** Bytes of metadata: its keys and its values in UTF-8 together, and nothing between them. */
export function metadataBytes(metadata: Readonly<Record<string, string>>): number {
  return Object.entries(metadata).reduce((sum, [key, value]) => sum + utf8Bytes(key) + utf8Bytes(value), 0);
}

/** The beginning of a text, at most so many UTF-16 units long; a surrogate pair that is cut in two becomes U+FFFD. */
export function clipped(text: string, units: number): string {
  return text.slice(0, units).toWellFormed();
}

/** Columns of a line of {@link printedJson}, its comma included. */
const printedColumns = 120;

/** JSON for people: what fits on a line stands on one, so that a change is seen as the line that it is. */
export function printedJson(value: unknown): string {
  return `${printed(value, 0, 0)}\n`;
}

/** A value at a depth, behind so many characters of its own line. */
function printed(value: unknown, depth: number, before: number): string {
  const line = onOneLine(value);
  const indent = "  ".repeat(depth);
  if (typeof value !== "object" || value === null) return line;
  if (indent.length + before + line.length < printedColumns) return line;
  const inner = `\n${indent}  `;
  if (Array.isArray(value))
    return `[${inner}${value.map((one) => printed(one, depth + 1, 0)).join(`,${inner}`)}\n${indent}]`;
  const members = Object.entries(value).filter(([, one]) => one !== undefined);
  const lines = members.map(([name, one]) => {
    const label = `${JSON.stringify(name)}: `;
    return label + printed(one, depth + 1, label.length);
  });
  return `{${inner}${lines.join(`,${inner}`)}\n${indent}}`;
}

function onOneLine(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(onOneLine).join(", ")}]`;
  const members = Object.entries(value).filter(([, one]) => one !== undefined);
  if (members.length === 0) return "{}";
  return `{ ${members.map(([name, one]) => `${JSON.stringify(name)}: ${onOneLine(one)}`).join(", ")} }`;
}
