import { deflateRawSync, inflateRawSync } from "node:zlib";

/** Deflates a text (RFC 1951), with what its reader knows of it. */
export function packText(text: string, known?: string): Uint8Array {
  return deflateRawSync(text, dictionaryOf(known));
}

/**
 * The bytes of a text as they were, from the same `known`.
 * @throws Error for bytes that {@link packText} did not make
 */
export function unpackText(packed: Uint8Array, known?: string): Buffer {
  return inflateRawSync(packed, dictionaryOf(known));
}

function dictionaryOf(known: string | undefined) {
  return known === undefined ? {} : { dictionary: Buffer.from(known) };
}
