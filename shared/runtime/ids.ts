import { randomBytes, randomInt } from "node:crypto";
import { encodeTime, ulid } from "ulid";
import { nowMs } from "./clock.ts";

/** A fresh identifier `<prefix>_<ULID>`; identifiers sort by the time they were made. */
export function newId(prefix: string, atMs: number = nowMs()): string {
  return `${prefix}_${ulid(atMs)}`;
}

/** The beginning that every identifier of a millisecond has after its prefix; those made before sort below it. */
export function timePart(atMs: number): string {
  return encodeTime(atMs, 10);
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

/** A random number from 0 up to, not including, 1: for jitter. */
export function chance(): number {
  return Math.random();
}
