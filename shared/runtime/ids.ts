import { randomBytes, randomInt } from "node:crypto";
import { nowMs } from "./clock.ts";

/** A fresh identifier `<prefix>_<ULID>`; identifiers sort by the time they were made. */
export function newId(prefix: string, atMs: number = nowMs()): string {
  let random = "";
  // The alphabet has 32 letters, so each byte gives one without a preference.
  for (const byte of freshBytes()) random += crockford[byte & 31];
  return `${prefix}_${timePart(atMs)}${random}`;
}

/** Whether a text has the form of the identifiers of resources. */
export function isIdentifier(text: string): boolean {
  return /^[a-z]{3}_[0-9A-HJKMNP-TV-Z]{26}$/.test(text);
}

let drawn = new Uint8Array();

/** Sixteen random bytes. They are drawn for many identifiers at once: a draw costs more than the rest of one. */
function freshBytes(): Uint8Array {
  if (drawn.length === 0) drawn = randomBytes(1024);
  const bytes = drawn.subarray(0, 16);
  drawn = drawn.subarray(16);
  return bytes;
}

/** Base 32 without the letters that are taken for others (Crockford), in the order of their values. */
const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** The beginning that every identifier of a millisecond has after its prefix; those made before sort below it. */
export function timePart(atMs: number): string {
  let part = "";
  for (let rest = atMs; part.length < 10; rest = Math.floor(rest / 32)) part = crockford[rest % 32] + part;
  return part;
}

/** A random number of so many decimal digits, the first one not zero. */
export function newNumber(digits: number): string {
  return String(randomInt(10 ** (digits - 1), 10 ** digits));
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/**
 * A random word of letters and digits with at least 5.9 bits each: it needs no encoding in a form, a header or a URL.
 */
export function newSecretWord(characters: number): string {
  let word = "";
  while (word.length < characters) {
    // A byte above 247 is thrown away: 248 is the largest multiple of 62, so every letter stays equally likely.
    for (const byte of randomBytes(characters)) if (byte < 248 && word.length < characters) word += alphabet[byte % 62];
  }
  return word;
}

/** A new secret of a webhook endpoint: `whsec_` and base64 of 32 random bytes (Standard Webhooks). */
export function newWebhookSecret(): string {
  return `whsec_${randomBytes(32).toString("base64")}`;
}

/** A random number from 0 up to, not including, 1: for jitter. */
export function chance(): number {
  return Math.random();
}
