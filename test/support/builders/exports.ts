import { createHash } from "node:crypto";
import { gunzipSync } from "node:zlib";

/** Fields of each line of a table (RFC 4180). */
function parseCsv(text: string): string[][] {
  const lines: string[][] = [];
  let line: string[] = [];
  // A field with its end: a comma, or the end of the line.
  for (const [, quoted, plain = "", end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g)) {
    line.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    if (end === ",") continue;
    lines.push(line);
    line = [];
  }
  return lines;
}

/** A value of a field without the apostrophe that keeps a spreadsheet from reading it as a formula. */
function fieldValue(field: string): string {
  return /^'+(?:\s*[=+\-@;＝＋－＠]|[\t\r])/.test(field) ? field.slice(1) : field;
}

/** The rows of a file of an export in CSV, by the names of its columns. */
export function csvRows(content: Buffer, name: string): Record<string, string>[] {
  const text = (name.endsWith(".gz") ? gunzipSync(content) : content).toString();
  if (!text.startsWith("\ufeff")) throw new Error(`${name} has no byte order mark.`);
  const [columns = [], ...lines] = parseCsv(text.slice(1));
  return lines.map((line) => Object.fromEntries(columns.map((column, at) => [column, fieldValue(line[at] ?? "")])));
}

/** A resource as a row of a table must show it: members of objects as `a.b`, lists and maps as JSON. */
export function flat(value: object, columns: readonly string[]): Record<string, string> {
  const member = (path: string) =>
    path.split(".").reduce<unknown>((of, name) => (of as Record<string, unknown> | null | undefined)?.[name], value);
  const text = (each: unknown) =>
    each === null || each === undefined ? "" : typeof each === "object" ? JSON.stringify(each) : String(each);
  return Object.fromEntries(columns.map((path) => [path, text(member(path))]));
}

/** SHA-256 in hexadecimal, by Node alone. */
export function hashOf(content: Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}
