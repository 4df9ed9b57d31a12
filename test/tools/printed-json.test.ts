import fc from "fast-check";
import { expect, it } from "vitest";
import { printedJson } from "../../shared/openapi/print.ts";

it("reads as what was printed", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value);
      expect(JSON.stringify(JSON.parse(printedJson(value)))).toBe(text);
    }),
  );
});

it("puts on one line what fits into 120 columns, and no more", () => {
  const numbers = (count: number) => Array.from({ length: count }, () => 1);
  expect(printedJson({ a: numbers(36) }).split("\n")).toHaveLength(2);
  const lines = printedJson({ a: numbers(37), b: { c: "d" }, e: [] }).split("\n");
  expect(lines).toEqual(["{", `  "a": [${numbers(37).join(", ")}],`, '  "b": { "c": "d" },', '  "e": []', "}", ""]);
  expect(printedJson({ a: { b: numbers(36) } }).split("\n")).toEqual([
    ...["{", '  "a": {', `    "b": [${numbers(36).join(", ")}]`, "  }", "}", ""],
  ]);
});
