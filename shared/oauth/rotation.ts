import {
  DescribeSecretCommand,
  PutSecretValueCommand,
  UpdateSecretVersionStageCommand,
} from "@aws-sdk/client-secrets-manager";
import { limits } from "../limits.ts";
import { nowIso, nowMs } from "../runtime/clock.ts";
import { env } from "../runtime/env.ts";
import { newSecretWord } from "../runtime/ids.ts";
import type { PublicKey } from "../table/entities.ts";
import { expireKey, publishedKeys, publishKey } from "./published-keys.ts";
import { generateSigningKey, pemOfJwk, publicJwkOf, readSigningKey, type SigningKey, secrets } from "./signing-key.ts";
import { signAccessToken, verifyAccessToken } from "./token.ts";

/** Request of Secrets Manager to a rotation function, step by step; any step may be asked twice. */
export interface RotationStep {
  readonly Step: "createSecret" | "setSecret" | "testSecret" | "finishSecret";
  readonly SecretId: string;
  /** Version id of the new value. */
  readonly ClientRequestToken: string;
}

/** Runs one step of the rotation of the signing key. */
export async function rotate({
  Step: step,
  SecretId: secret,
  ClientRequestToken: version,
}: RotationStep): Promise<void> {
  if (step === "createSecret") await createPending(secret, version);
  if (step === "setSecret") await publish(await pendingKey(secret, version));
  if (step === "testSecret") testKey(await pendingKey(secret, version), await publishedKeys());
  if (step === "finishSecret") await makeCurrent(secret, version);
}

/**
 * A new key signs only after its publication has reached every cache; the very first one signs at once. While the
 * current key does not sign yet the one before it does, and a third would push that one out, so it has to wait.
 * @throws Error when the current key does not sign yet
 */
async function createPending(secret: string, version: string): Promise<void> {
  const { VersionIdsToStages: versions = {} } = await secrets.send(new DescribeSecretCommand({ SecretId: secret }));
  if (versions[version]?.includes("AWSCURRENT")) return;
  if ((await readSigningKey(secret, { VersionId: version })) !== undefined) return;
  const current = await readSigningKey(secret, { VersionStage: "AWSCURRENT" });
  if (current !== undefined && current.signs_from_ms > nowMs()) {
    throw new Error("The current signing key does not sign yet. Rotate again some minutes later.");
  }
  const first = (await publishedKeys()).length === 0;
  const lead = first ? 0 : limits.token.key_publication_lead_seconds * 1000;
  const key = generateSigningKey(`key_${newSecretWord(20)}`, nowMs() + lead);
  await secrets.send(
    new PutSecretValueCommand({
      SecretId: secret,
      ClientRequestToken: version,
      SecretString: JSON.stringify(key),
      VersionStages: ["AWSPENDING"],
    }),
  );
}

async function publish(key: SigningKey): Promise<void> {
  await publishKey({ kid: key.kid, jwk: publicJwkOf(key), published_at: nowIso() });
}

/** Signs a token with the private half and verifies it with the published one, before anything depends on the pair. */
function testKey(key: SigningKey, published: readonly PublicKey[]): void {
  const found = published.find(({ kid }) => kid === key.kid);
  if (found === undefined) throw new Error("The public half of the new key is not published.");
  const now = Math.floor(nowMs() / 1000);
  const expect = { issuer: env.tokenIssuer, audience: env.tokenAudience, environment: env.stage, nowSeconds: now };
  const token = signAccessToken(
    {
      iss: expect.issuer,
      aud: expect.audience,
      sub: "test",
      client_id: "test",
      exp: now + 60,
      iat: now,
      jti: "test",
      scope: "",
      tenant: "test",
      app: "test",
      fam: "test",
      env: expect.environment,
    },
    key,
  );
  if (verifyAccessToken(token, pemOfJwk(found.jwk), expect) === undefined) {
    throw new Error("The new key pair does not verify its own token.");
  }
}

async function makeCurrent(secret: string, version: string): Promise<void> {
  const { VersionIdsToStages: versions = {} } = await secrets.send(new DescribeSecretCommand({ SecretId: secret }));
  const current = Object.entries(versions).find(([, stages]) => stages.includes("AWSCURRENT"))?.[0];
  if (current !== version) {
    await secrets.send(
      new UpdateSecretVersionStageCommand({
        SecretId: secret,
        VersionStage: "AWSCURRENT",
        MoveToVersionId: version,
        ...(current === undefined ? {} : { RemoveFromVersionId: current }),
      }),
    );
  }
  await retireOthers((await readSigningKey(secret, { VersionId: version }))?.kid);
}

/** Every other public key stays until the last token that it can have signed has expired. */
async function retireOthers(kid: string | undefined): Promise<void> {
  const { key_publication_lead_seconds, signing_key_seconds, access_lifetime_seconds, clock_skew_seconds } =
    limits.token;
  const last = key_publication_lead_seconds + signing_key_seconds + access_lifetime_seconds + clock_skew_seconds;
  for (const key of await publishedKeys()) {
    if (key.kid === kid || key.expires_at !== undefined) continue;
    await expireKey(key.kid, Math.floor(nowMs() / 1000) + last);
  }
}

async function pendingKey(secret: string, version: string): Promise<SigningKey> {
  const key = await readSigningKey(secret, { VersionId: version });
  if (key === undefined) throw new Error("The new signing key is not there.");
  return key;
}
