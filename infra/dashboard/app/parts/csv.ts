/**
 * Rows as CSV (RFC 4180) with the names of the API in the first line: members of objects as `a.b`, lists as JSON,
 * amounts as the API sends them. A text that a spreadsheet would take for a formula gets an apostrophe in front.
 */
export function csvOf(rows: readonly unknown[]): string {
  const flat = rows.map((row) => new Map(membersOf(row)));
  const names = [...new Set(flat.flatMap((row) => [...row.keys()]))];
  const lines = [names, ...flat.map((row) => names.map((name) => row.get(name) ?? ""))];
  return lines.map((cells) => `${cells.map(cellOf).join(",")}\r\n`).join("");
}

function membersOf(value: unknown, path = ""): [name: string, text: string][] {
  return Object.entries(value ?? {}).flatMap(([member, one]): [string, string][] => {
    const name = path + member;
    if (member === "_links") return [];
    if (one === null || one === undefined) return [[name, ""]];
    if (Array.isArray(one)) return [[name, JSON.stringify(one)]];
    return typeof one === "object" ? membersOf(one, `${name}.`) : [[name, String(one)]];
  });
}

/**
 * Beginning of a formula for a spreadsheet, in full width too; where `;` divides cells, it ends this one. A number with
 * a sign is none.
 */
const formula = /^[=+\-@;＝＋－＠\t\r]/;
const number = /^[+-]?\d+(?:\.\d+)?$/;

function cellOf(text: string): string {
  const harmless = formula.test(text.trimStart()) && !number.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
