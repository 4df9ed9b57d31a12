import { digest } from "./entities.ts";

/** A place in a list: which way to go from which sort key. It names no partition, so it can reach no other list. */
export interface Cursor {
  readonly direction: "next" | "prev";
  readonly position: string;
}

const version = 1;

/** Fingerprint of a list: its path, filters and order. A cursor is good for the list it came from only. */
export function listFingerprint(path: string, query: Readonly<Record<string, string | undefined>>): string {
  const { cursor: _cursor, limit: _limit, ...rest } = query;
  const sorted = Object.entries(rest)
    .filter(([, value]) => value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return digest(JSON.stringify([path, sorted])).slice(0, 12);
}

/** The cursor as opaque base64url text. */
export function encodeCursor(cursor: Cursor, fingerprint: string): string {
  const text = JSON.stringify([version, cursor.direction === "next" ? "n" : "p", cursor.position, fingerprint]);
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
  const [made, direction, position, owner] = parts as unknown[];
  if (made !== version || owner !== fingerprint || (direction !== "n" && direction !== "p")) return undefined;
  if (typeof position !== "string" || !/^[0-9A-Z|]{1,64}$/.test(position)) return undefined;
  return { direction: direction === "n" ? "next" : "prev", position };
}
