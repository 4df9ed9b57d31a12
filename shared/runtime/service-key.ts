import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, type KeyObject, randomBytes } from "node:crypto";
import { GetSecretValueCommand, SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { limits } from "../limits.ts";
import { bounded } from "./budget.ts";
import { nowMs } from "./clock.ts";
import { env } from "./env.ts";

/** A text under AES-256-GCM: `v1.<iv>.<tag>.<ciphertext>`, each part in base64url. */
export type Sealed = string;

const version = "v1";
const ivBytes = 12;
const tagBytes = 16;
const keyBytes = 32;

let client: SecretsManagerClient | undefined;
let cached: { readonly key: KeyObject; readonly untilMs: number } | undefined;
let asking: Promise<KeyObject> | undefined;

/**
 * A key of 32 bytes for one purpose, derived from the service key by HKDF-SHA256 (RFC 5869). Keys of two purposes, or
 * of two salts, say nothing of each other. A KeyObject, which costs a cipher a quarter of what bytes do (ADR 0006).
 * @throws Error when Secrets Manager does not answer and the service key was never read
 */
export async function deriveKey(purpose: string, salt = ""): Promise<KeyObject> {
  const info = `brokerage ${version} ${purpose}`;
  return createSecretKey(Buffer.from(hkdfSync("sha256", await serviceKey(), salt, info, keyBytes)));
}

/**
 * Seals a text for one purpose. `aad` names what the text belongs to and must be the same to open it, so a sealed text
 * that is moved to another item does not open there (NIST SP 800-38D). With a `salt` it opens only for a caller that
 * has that too.
 */
export async function seal(purpose: string, plain: string, aad: string, salt = ""): Promise<Sealed> {
  const iv = randomBytes(ivBytes);
  const cipher = createCipheriv("aes-256-gcm", await deriveKey(purpose, salt), iv, { authTagLength: tagBytes });
  cipher.setAAD(Buffer.from(aad));
  const text = Buffer.concat([cipher.update(plain, "utf8"), cipher.final()]);
  return [version, ...[iv, cipher.getAuthTag(), text].map((part) => part.toString("base64url"))].join(".");
}

/**
 * Opens a sealed text.
 * @throws Error when it was sealed for another purpose, another `aad`, another salt or by another key, or was changed
 */
export async function open(purpose: string, sealed: Sealed, aad: string, salt = ""): Promise<string> {
  const [made, ...parts] = sealed.split(".");
  const [iv, tag, text] = parts.map((part) => Buffer.from(part, "base64url"));
  if (made !== version || parts.length !== 3 || iv?.length !== ivBytes || tag?.length !== tagBytes || !text) {
    throw new Error("The sealed text has another form.");
  }
  const decipher = createDecipheriv("aes-256-gcm", await deriveKey(purpose, salt), iv, { authTagLength: tagBytes });
  decipher.setAAD(Buffer.from(aad));
  decipher.setAuthTag(tag);
  return Buffer.concat([decipher.update(text), decipher.final()]).toString("utf8");
}

/** The service key, read again every few minutes; an old reading serves on while Secrets Manager does not answer. */
async function serviceKey(): Promise<KeyObject> {
  if (cached !== undefined && cached.untilMs > nowMs()) return cached.key;
  asking ??= readServiceKey().finally(() => {
    asking = undefined;
  });
  try {
    return await asking;
  } catch (error) {
    if (cached === undefined) throw error;
    return cached.key;
  }
}

async function readServiceKey(): Promise<KeyObject> {
  client ??= bounded(
    // Two tries leave time for the request that waits, which an older reading of the key may serve.
    new SecretsManagerClient({ maxAttempts: 2, requestHandler: limits.calls.handler }),
  );
  const { SecretString: text = "" } = await client.send(
    new GetSecretValueCommand({ SecretId: env.serviceKeySecretId }),
  );
  if (text.length < keyBytes) throw new Error("The service key is too short to be one.");
  cached = { key: createSecretKey(text, "utf8"), untilMs: nowMs() + limits.token.service_key_seconds * 1000 };
  return cached.key;
}
