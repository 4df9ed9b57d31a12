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
