import { createPrivateKey, createPublicKey, generateKeyPairSync } from "node:crypto";
import { GetSecretValueCommand, SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { limits } from "../limits.ts";
import { bounded } from "../runtime/budget.ts";
import { nowMs } from "../runtime/clock.ts";
import { env } from "../runtime/env.ts";

/** The signing key as Secrets Manager keeps it. */
export interface SigningKey {
  readonly kid: string;
  /** Private key, PKCS #8 in PEM. */
  readonly pem: string;
  /** Epoch milliseconds from which it may sign: by then every cache knows its public half. */
  readonly signs_from_ms: number;
}

/** A fresh ES256 key pair. */
export function generateSigningKey(kid: string, signsFromMs: number): SigningKey {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return { kid, pem: privateKey.export({ type: "pkcs8", format: "pem" }).toString(), signs_from_ms: signsFromMs };
}

/** The public half as JSON Web Key (RFC 7517), with its use and algorithm. */
export function publicJwkOf(key: SigningKey): Readonly<Record<string, string>> {
  const jwk = createPublicKey(createPrivateKey(key.pem)).export({ format: "jwk" });
  return { kty: "EC", crv: "P-256", x: String(jwk["x"]), y: String(jwk["y"]), kid: key.kid, alg: "ES256", use: "sig" };
}

/** A public key from its JSON Web Key, in PEM. */
export function pemOfJwk(jwk: Readonly<Record<string, string>>): string {
  return createPublicKey({ key: { ...jwk }, format: "jwk" })
    .export({ type: "spki", format: "pem" })
    .toString();
}

/** Secrets Manager, for those who read and those who rotate the signing key. */
export const secrets = bounded(
  new SecretsManagerClient({ maxAttempts: limits.calls.attempts, requestHandler: limits.calls.handler }),
);

/** A version of the signing key: one by its id, or the one that has a label. */
export type KeyVersion = { readonly VersionId: string } | { readonly VersionStage: "AWSCURRENT" | "AWSPREVIOUS" };

/** A version of the signing key; undefined when it is not there or not made yet. */
export async function readSigningKey(secretId: string, version: KeyVersion): Promise<SigningKey | undefined> {
  try {
    const answer = await secrets.send(new GetSecretValueCommand({ SecretId: secretId, ...version }));
    const value = JSON.parse(answer.SecretString ?? "{}") as Partial<SigningKey>;
    return value.pem === undefined ? undefined : (value as SigningKey);
  } catch (error) {
    // The value that the secret was created with need not be JSON.
    if ((error as Error).name === "ResourceNotFoundException" || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

let cached: { readonly key: SigningKey; readonly untilMs: number } | undefined;

/**
 * The key that signs now: the current one, or the one before while the current one is still being made known. Undefined
 * while there is none yet, since the first rotation runs after the deployment.
 */
export async function signingKey(): Promise<SigningKey | undefined> {
  if (cached !== undefined && cached.untilMs > nowMs()) return cached.key;
  const current = await readSigningKey(env.signingKeySecretId, { VersionStage: "AWSCURRENT" });
  const early = current !== undefined && current.signs_from_ms > nowMs();
  const before = early ? await readSigningKey(env.signingKeySecretId, { VersionStage: "AWSPREVIOUS" }) : undefined;
  const chosen = before ?? current;
  if (chosen !== undefined) cached = { key: chosen, untilMs: nowMs() + limits.token.signing_key_seconds * 1000 };
  return chosen;
}
