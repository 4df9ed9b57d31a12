import { deflateRawSync, inflateRawSync } from "node:zlib";
import { payloadDictionary } from "./event-payload-dictionary.ts";

/** Parts of a text that its reader has already, from the item that holds it. */
type Known = readonly unknown[];

/** Deflates the text of one event or several (RFC 1951) with what all events share, and what the item says already. */
export function packText(text: string, known: Known): Uint8Array {
  return deflateRawSync(text, { dictionary: dictionaryOf(known) });
}

/** The bytes of a text as they were, from the same `known`. */
export function unpackText(packed: Uint8Array, known: Known): Buffer {
  return inflateRawSync(packed, { dictionary: dictionaryOf(known) });
}

function dictionaryOf(known: Known): Buffer {
  return Buffer.from([payloadDictionary, ...known].join());
}
