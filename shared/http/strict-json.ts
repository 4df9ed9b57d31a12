import { limits } from "../limits.ts";
import { clipped } from "../text.ts";
import { HttpProblem } from "./problem.ts";

/**
 * Checks a JSON text strictly before it is parsed: no duplicate members (RFC 8259 4 leaves their meaning open and
 * parsers differ), no `__proto__` and no `prototype` of a `constructor`, no lone surrogates, at most 32 levels, an
 * object at the top. Returns the source text of every number that is a member of the top object, because parsing loses
 * digits. With `halves`, lone surrogates are accepted: RFC 8259 8.2 allows them, and text of a feed is cleaned where it
 * is read.
 * @throws HttpProblem `malformed_json` or `duplicate_key`, naming the position
 */
export function scanJson(text: string, { halves = false } = {}): ReadonlyMap<string, string> {
  const scanner: Scanner = { text, at: 0, numbers: new Map(), halves };
  space(scanner);
  if (peek(scanner) !== "{") throw malformed(scanner, "the body must be a JSON object");
  value(scanner, 1, "");
  space(scanner);
  if (scanner.at < text.length) throw malformed(scanner, "there is text after the end of the object");
  return scanner.numbers;
}

interface Scanner {
  readonly text: string;
  at: number;
  readonly numbers: Map<string, string>;
  readonly halves: boolean;
}

const stringPattern = /"(?:[^"\\\p{Cc}]|[\u007f-\u009f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/uy;
const numberPattern = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const wordPattern = /true|false|null/y;
const spacePattern = /[ \t\n\r]*/y;

function peek(scanner: Scanner): string {
  return scanner.text.charAt(scanner.at);
}

function take(scanner: Scanner, pattern: RegExp): string | undefined {
  pattern.lastIndex = scanner.at;
  const match = pattern.exec(scanner.text);
  if (match === null) return undefined;
  scanner.at = pattern.lastIndex;
  return match[0];
}

function space(scanner: Scanner): void {
  take(scanner, spacePattern);
}

function value(scanner: Scanner, depth: number, pointer: string): void {
  if (depth > limits.body.max_depth + 1) throw malformed(scanner, `it is nested deeper than ${limits.body.max_depth}`);
  const first = peek(scanner);
  if (first === "{") object(scanner, depth, pointer);
  else if (first === "[") array(scanner, depth, pointer);
  else if (first === '"') text(scanner);
  else scalar(scanner, depth, pointer);
}

function scalar(scanner: Scanner, depth: number, pointer: string): void {
  const number = take(scanner, numberPattern);
  if (number !== undefined) {
    if (depth === 2) scanner.numbers.set(pointer.slice(1), number);
    return;
  }
  if (take(scanner, wordPattern) === undefined) throw malformed(scanner, "a value is missing or not valid");
}

function object(scanner: Scanner, depth: number, pointer: string): void {
  if (depth > limits.body.max_depth) throw malformed(scanner, `it is nested deeper than ${limits.body.max_depth}`);
  const names = new Set<string>();
  scanner.at += 1;
  space(scanner);
  if (peek(scanner) === "}") {
    scanner.at += 1;
    return;
  }
  for (;;) {
    if (peek(scanner) !== '"') throw malformed(scanner, "a member name is missing");
    const name = text(scanner);
    if (name === "__proto__") throw malformed(scanner, 'the member name "__proto__" is not allowed');
    if (name === "prototype" && pointer.endsWith("/constructor")) {
      throw malformed(scanner, 'the member name "prototype" is not allowed in "constructor"');
    }
    if (names.has(name)) throw duplicate(`#${pointer}/${escapePointer(name)}`);
    names.add(name);
    space(scanner);
    if (peek(scanner) !== ":") throw malformed(scanner, "a colon is missing");
    scanner.at += 1;
    space(scanner);
    value(scanner, depth + 1, `${pointer}/${escapePointer(name)}`);
    if (ended(scanner, "}")) return;
  }
}

function array(scanner: Scanner, depth: number, pointer: string): void {
  if (depth > limits.body.max_depth) throw malformed(scanner, `it is nested deeper than ${limits.body.max_depth}`);
  scanner.at += 1;
  space(scanner);
  if (peek(scanner) === "]") {
    scanner.at += 1;
    return;
  }
  for (let index = 0; ; index += 1) {
    value(scanner, depth + 1, `${pointer}/${index}`);
    if (ended(scanner, "]")) return;
  }
}

function ended(scanner: Scanner, bracket: "}" | "]"): boolean {
  space(scanner);
  const next = peek(scanner);
  if (next !== bracket && next !== ",") throw malformed(scanner, `a comma or ${bracket} is missing`);
  scanner.at += 1;
  space(scanner);
  return next === bracket;
}

function text(scanner: Scanner): string {
  const source = take(scanner, stringPattern);
  if (source === undefined) throw malformed(scanner, "a string is not valid");
  const decoded = JSON.parse(source) as string;
  if (!scanner.halves && !decoded.isWellFormed()) throw malformed(scanner, "a string contains a lone surrogate");
  return decoded;
}

/** One member name as a step of a JSON Pointer (RFC 6901), cut to 100 characters. */
export function escapePointer(name: string): string {
  return clipped(name, 100).replaceAll("~", "~0").replaceAll("/", "~1");
}

function malformed(scanner: Scanner, what: string): HttpProblem {
  return new HttpProblem("malformed_json", `The body is not accepted at character ${scanner.at}: ${what}.`);
}

function duplicate(pointer: string): HttpProblem {
  const detail = "is given twice";
  return new HttpProblem("duplicate_key", `The member ${pointer} ${detail}.`, {
    errors: [{ pointer, code: "duplicate_key", detail }],
  });
}
