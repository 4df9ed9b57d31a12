import { randomBytes, randomInt, scryptSync, timingSafeEqual } from "node:crypto";
import type { PasswordPolicy } from "./settings.ts";

/** Cheap, since these passwords are of this machine only and tests sign in often. */
const cost = 1024;
const symbols = "^$*.[]{}()?-\"!@#%&/\\,><':;|_~`+= ";
const kinds = ["abcdefghijkmnopqrstuvwxyz", "ABCDEFGHJKLMNPQRSTUVWXYZ", "23456789", "-_!%+"] as const;

/** The stored form of a password. */
export function hashed(password: string): string {
  const salt = randomBytes(16);
  return `${salt.toString("base64url")}.${scryptSync(password, salt, 32, { cost }).toString("base64url")}`;
}

/** Whether a password is the one that was kept. */
export function isPassword(password: string, kept: string): boolean {
  const [salt = "", hash = ""] = kept.split(".").map((part) => part);
  const expected = Buffer.from(hash, "base64url");
  return timingSafeEqual(expected, scryptSync(password, Buffer.from(salt, "base64url"), 32, { cost }));
}

/** A password that every policy takes, without letters that look alike. */
export function newPassword(length: number): string {
  const letters = Array.from({ length }, (_, at) => {
    const kind = kinds[at % kinds.length] ?? kinds[0];
    return kind[randomInt(kind.length)] ?? "";
  });
  return letters.sort(() => randomInt(3) - 1).join("");
}

/** Faults of a new password, in words. `former` are those that it may not be. */
export function faultsOf(password: string, policy: PasswordPolicy, former: readonly string[]): string[] {
  const rules: readonly (readonly [boolean, string])[] = [
    [password.length < policy.minimum_length, `at least ${policy.minimum_length} characters`],
    [policy.lowercase && !/[a-z]/.test(password), "a lowercase letter"],
    [policy.uppercase && !/[A-Z]/.test(password), "an uppercase letter"],
    [policy.numbers && !/[0-9]/.test(password), "a number"],
    [policy.symbols && ![...password].some((letter) => symbols.includes(letter)), "a symbol"],
    [former.some((kept) => isPassword(password, kept)), "another value than your former passwords"],
  ];
  return rules.flatMap(([broken, text]) => (broken ? [text] : []));
}
