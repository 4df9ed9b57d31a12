import { sha256 } from "../runtime/digest.ts";

/** A place in a list: which way to go from which sort key. It names no partition, so it can reach no other list. */
export interface Cursor {
  readonly direction: "next" | "prev";
  readonly position: string;
  /** The item at the position belongs to the page that is asked for. */
  readonly inclusive: boolean;
}

const version = 1;

/** A sort key of a list: identifiers and numbers, times, or a name as `keyPart` writes it. */
const sortKey = /^[^\p{Cc}\p{Cs}#]{1,128}$/u;

/** Fingerprint of a list: its path, filters and order. A cursor is good for the list it came from only. */
export function listFingerprint(path: string, query: Readonly<Record<string, string | undefined>>): string {
  const { cursor: _cursor, limit: _limit, ...rest } = query;
  const sorted = Object.entries(rest)
    .filter(([, value]) => value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return sha256(JSON.stringify([path, sorted])).slice(0, 12);
}

/** The cursor as opaque base64url text. */
export function encodeCursor(cursor: Cursor, fingerprint: string): string {
  const letter = cursor.direction === "next" ? "n" : "p";
  const way = cursor.inclusive ? letter.toUpperCase() : letter;
  const text = JSON.stringify([version, way, cursor.position, fingerprint]);
  return Buffer.from(text).toString("base64url");
}

/** The cursor of a text, or undefined when it is malformed or was made for another list. */
export function decodeCursor(text: string, fingerprint: string): Cursor | undefined {
  if (!/^[A-Za-z0-9_-]+$/.test(text)) return undefined;
  let parts: unknown;
  try {
    parts = JSON.parse(Buffer.from(text, "base64url").toString("utf8"));
  } catch {
    return undefined;
  }
  if (!Array.isArray(parts) || parts.length !== 4) return undefined;
  const [made, way, position, owner] = parts as unknown[];
  if (made !== version || owner !== fingerprint || typeof way !== "string" || !/^[npNP]$/.test(way)) return undefined;
  if (typeof position !== "string" || !sortKey.test(position)) return undefined;
  const direction = way.toLowerCase() === "n" ? "next" : "prev";
  return { direction, position, inclusive: way !== way.toLowerCase() };
}
