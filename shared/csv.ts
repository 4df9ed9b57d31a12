/**
 * A table (RFC 4180): a line of names, then one for each row, in the order of the columns; a member that a row lacks is
 * empty.
 */
export function csvText(columns: readonly string[], rows: readonly Readonly<Record<string, unknown>>[]): string {
  return [csvLine(columns), ...rows.map((row) => csvLine(columns.map((name) => row[name])))].join("");
}

/** One line of a table; a value that is null or undefined is empty. */
export function csvLine(values: readonly unknown[]): string {
  return `${values.map((value) => field(value ?? "")).join(",")}\r\n`;
}

/** A decimal with its sign, as the API writes amounts: a spreadsheet is to sum it. */
const isNumber = /^-?\d+(?:\.\d+)?$/;

/**
 * A text that a spreadsheet would read as a formula, in full width too, or as the end of a cell begins with an
 * apostrophe, and so does one that begins like that behind apostrophes of its own: without the first one it is the text
 * again. Quotes, commas and line ends are quoted.
 */
function field(value: unknown): string {
  const text = String(value);
  if (isNumber.test(text)) return text;
  const shown = /^'*(?:\s*[=+\-@;＝＋－＠]|[\t\r])/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(shown) ? `"${shown.replaceAll('"', '""')}"` : shown;
}
