/**
 * A source text with comments, and then also string contents, turned into spaces. Length and line breaks stay, so a
 * position in one is a position in the others.
 */
export interface SourceText {
  readonly raw: string;
  /** Comments blanked; strings as they are. */
  readonly withoutComments: string;
  /** Comments and the insides of strings, templates and regular expressions blanked. */
  readonly code: string;
}

type Kind = "comment" | "text";

interface Span {
  readonly kind: Kind;
  readonly end: number;
  /** The literal text of a template stopped before the code of a `${…}`. */
  readonly opensCode?: true;
}

/** After one of these a slash starts a regular expression; after anything else it divides. */
const beforeExpression = /(?:^|[=(,:;!&|?{}[\]+*%<>~^-]|\b(?:return|typeof|case|in|of|do|else|void|delete|throw))\s*$/;

/** A stretch of the text that is no code. */
interface Blank {
  readonly kind: Kind;
  readonly from: number;
  readonly end: number;
}

/** May begin or end a literal, a comment or the code inside a template. */
const landmark = /["'`/{}]/g;

/** Several rules look at the same file. */
const known = new Map<string, SourceText>();

/** Splits TypeScript into code, comments and literal text; `${…}` inside a template is code again. */
export function sourceText(raw: string): SourceText {
  const found = known.get(raw) ?? split(raw);
  known.set(raw, found);
  return found;
}

function split(raw: string): SourceText {
  const blanks: Blank[] = [];
  const templates: number[] = [];
  let depth = 0;
  for (let at = nextLandmark(raw, 0); at < raw.length; at = nextLandmark(raw, at)) {
    const char = raw[at];
    const closesTemplatePart = char === "}" && templates.at(-1) === depth;
    if (closesTemplatePart) templates.pop();
    const span = closesTemplatePart || char === "`" ? templatePart(raw, at) : literalAt(raw, at);
    if (span !== undefined) {
      blanks.push({ kind: span.kind, from: at, end: span.end });
      at = span.end;
      if (span.opensCode) templates.push(depth);
      continue;
    }
    if (char === "{") depth += 1;
    if (char === "}") depth -= 1;
    at += 1;
  }
  return {
    raw,
    withoutComments: blankOut(
      raw,
      blanks.filter(({ kind }) => kind === "comment"),
    ),
    code: blankOut(raw, blanks),
  };
}

function nextLandmark(raw: string, at: number): number {
  landmark.lastIndex = at;
  return landmark.exec(raw)?.index ?? raw.length;
}

function blankOut(raw: string, blanks: readonly Blank[]): string {
  let text = "";
  let at = 0;
  for (const { from, end } of blanks) {
    text += raw.slice(at, from) + raw.slice(from, end).replaceAll(/[^\n]/g, " ");
    at = end;
  }
  return text + raw.slice(at);
}

/** The comment, string or regular expression that starts here. */
function literalAt(raw: string, at: number): Span | undefined {
  const char = raw[at];
  if (raw.startsWith("//", at)) return { kind: "comment", end: orEnd(raw, raw.indexOf("\n", at)) };
  if (raw.startsWith("/*", at)) {
    const close = raw.indexOf("*/", at + 2);
    return { kind: "comment", end: close < 0 ? raw.length : close + 2 };
  }
  if (char === '"' || char === "'") return { kind: "text", end: quotedEnd(raw, at, char) };
  if (char === "/" && beforeExpression.test(raw.slice(Math.max(0, at - 40), at))) return regularExpression(raw, at);
  return undefined;
}

function orEnd(raw: string, at: number): number {
  return at < 0 ? raw.length : at;
}

function quotedEnd(raw: string, start: number, quote: string): number {
  for (let at = start + 1; at < raw.length && raw[at] !== "\n"; at += 1) {
    if (raw[at] === "\\") at += 1;
    else if (raw[at] === quote) return at + 1;
  }
  return orEnd(raw, raw.indexOf("\n", start));
}

function regularExpression(raw: string, start: number): Span | undefined {
  let inClass = false;
  for (let at = start + 1; at < raw.length && raw[at] !== "\n"; at += 1) {
    const char = raw[at];
    if (char === "\\") at += 1;
    else if (char === "[") inClass = true;
    else if (char === "]") inClass = false;
    else if (char === "/" && !inClass) return { kind: "text", end: at + 1 };
  }
  return undefined;
}

/** Literal text of a template: from its backtick, or the brace that ends a `${…}`, through the next `${` or its end. */
function templatePart(raw: string, start: number): Span {
  for (let at = start + 1; at < raw.length; at += 1) {
    if (raw[at] === "\\") at += 1;
    else if (raw[at] === "`") return { kind: "text", end: at + 1 };
    else if (raw.startsWith("${", at)) return { kind: "text", end: at + 2, opensCode: true };
  }
  return { kind: "text", end: raw.length };
}
