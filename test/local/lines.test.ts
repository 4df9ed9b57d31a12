import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { onLine } from "../../infra/local/lines.mjs";

/** Lines in bytes that arrive in pieces of this size. */
function heard(bytes: Buffer, size: number): string[] {
  const stream = new PassThrough();
  const lines: string[] = [];
  onLine(stream, (line) => lines.push(line));
  for (let from = 0; from < bytes.length; from += size) stream.emit("data", bytes.subarray(from, from + size));
  return lines;
}

describe("the lines between the runner's processes", () => {
  // Everything that some reader of lines takes for the end of one, and characters of two, three and four bytes.
  const texts = ["a\u2028b\u2029c", "\u0085\v\f\r", "\u00e9\u20ac\u{1f600}", "", "a\r\nb\nc"];
  const messages = texts.map((text) => JSON.stringify({ text }));
  const bytes = Buffer.from(messages.map((message) => `${message}\n`).join(""));

  it.each([1, 2, 3, 7, 4096])("end at the byte 0x0a alone, in pieces of %d bytes", (size) => {
    const lines = heard(bytes, size);
    expect(lines).toEqual(messages);
    expect(lines.map((line) => JSON.parse(line).text)).toEqual(texts);
  });

  it("are whole: what a process wrote before it was killed is no message", () => {
    expect(heard(Buffer.from('{"a":1}\n{"a":'), 4096)).toEqual(['{"a":1}']);
    expect(heard(Buffer.from("\n\nx\n"), 1)).toEqual(["", "", "x"]);
  });

  it("are read by no reader that ends them elsewhere", () => {
    const folder = new URL("../../infra/", import.meta.url).pathname;
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => /\.m?[jt]s$/.test(file));
    const readers = files.filter((file) => /from "node:readline/.test(readFileSync(join(folder, file), "utf8")));
    expect(files).toContain("local/lines.mjs");
    expect(readers).toEqual([]);
  });
});
