import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const stepMs = 30_000;
/** Cognito takes the code before and the one after as well, for clocks that differ. */
const steps = [0, -1, 1];

/** A new secret in base32, as authenticator apps take it. */
export function newTotpSecret(): string {
  return Array.from(randomBytes(32), (byte) => alphabet[byte % 32]).join("");
}

/** The code of six digits for a secret at a time (RFC 6238). */
export function totpCode(secret: string, nowMs: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(nowMs / stepMs)));
  const digest = createHmac("sha1", bytesOf(secret)).update(counter).digest();
  const at = digest.readUInt8(digest.length - 1) % 16;
  return String((digest.readUInt32BE(at) % 2 ** 31) % 1_000_000).padStart(6, "0");
}

/** Whether a code belongs to a secret now. */
export function isTotpCode(secret: string, code: string, nowMs: number): boolean {
  return steps.some((step) => {
    const expected = Buffer.from(totpCode(secret, nowMs + step * stepMs));
    return code.length === expected.length && timingSafeEqual(expected, Buffer.from(code.padEnd(6).slice(0, 6)));
  });
}

function bytesOf(secret: string): Buffer {
  const bits = Array.from(secret, (letter) => alphabet.indexOf(letter).toString(2).padStart(5, "0")).join("");
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}
