import { deflateRawSync, inflateRawSync } from "node:zlib";

/** What a text and its reader have in common: a dictionary that never changes, and parts that its item says as well. */
type Known = readonly [dictionary: string, ...parts: readonly unknown[]];

/** Deflates a text (RFC 1951) with what its reader knows. */
export function packText(text: string, known: Known): Uint8Array {
  return deflateRawSync(text, { dictionary: Buffer.from(known.join()) });
}

/** The bytes of a text as they were, from the same `known`. */
export function unpackText(packed: Uint8Array, known: Known): Buffer {
  return inflateRawSync(packed, { dictionary: Buffer.from(known.join()) });
}
