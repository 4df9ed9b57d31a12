import { createHmac, createSign, generateKeyPairSync, type KeyObject, randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A key pair of a user pool. */
export interface PoolKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

/** A user pool as far as token exchange sees it: real keys behind a real key set over HTTP. */
export interface UserPool {
  readonly issuer: string;
  readonly client_id: string;
  readonly keys_url: string;
  readonly key: PoolKey;
  /** Keys of the set; a test may add and remove some. */
  readonly published: PoolKey[];
  /** How often the set was read. */
  reads: number;
  /** Answers instead of the set, when it is set. */
  answer: { readonly status: number; readonly body: string } | undefined;
  /** Claims of a fresh id token of this subject, with others in the place of some; undefined leaves one out. */
  readonly claims: (subject: string, more?: Claims) => Claims;
  readonly stop: () => Promise<void>;
}

/** Claims of a token. */
export type Claims = Readonly<Record<string, unknown>>;

/** A new RSA key pair. */
export function newPoolKey(kid: string = randomUUID(), modulusLength = 2048): PoolKey {
  return { kid, ...generateKeyPairSync("rsa", { modulusLength }) };
}

const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");

/** A token in the compact form (RFC 7515 3.1), signed as the header says or, where it says none, not at all. */
export function signedToken(claims: Claims, { kid, privateKey, publicKey }: PoolKey, header: Claims = {}): string {
  const head = { alg: "RS256", kid, ...header };
  const input = `${part(head)}.${part(claims)}`;
  if (head.alg === "none") return `${input}.`;
  // Act of a library that takes the public key for a shared secret (RFC 8725 2.1).
  const secret = publicKey.export({ type: "spki", format: "pem" });
  const signature =
    head.alg === "HS256"
      ? createHmac("sha256", secret).update(input).digest("base64url")
      : createSign(head.alg === "RS512" ? "RSA-SHA512" : "RSA-SHA256")
          .update(input)
          .sign(privateKey, "base64url");
  return `${input}.${signature}`;
}

/** Starts the key set of a new pool on 127.0.0.1. */
export async function startUserPool(): Promise<UserPool> {
  const key = newPoolKey();
  const published = [key];
  const server = createServer((_request, reply) => {
    pool.reads += 1;
    const keys = published.map(({ kid, publicKey }) => ({ ...publicKey.export({ format: "jwk" }), kid, use: "sig" }));
    const { status, body } = pool.answer ?? { status: 200, body: JSON.stringify({ keys }) };
    reply.writeHead(status, { "Content-Type": "application/json" }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client_id = "dashboard";
  const claims = (subject: string, more: Claims = {}) => {
    const iat = Math.floor(Date.now() / 1000);
    const own = {
      iss: issuer,
      aud: client_id,
      sub: subject,
      token_use: "id",
      iat,
      exp: iat + 3600,
      auth_time: iat,
      jti: randomUUID(),
    };
    return { ...own, ...more };
  };
  const stop = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  const pool: UserPool = {
    ...{ issuer, client_id, keys_url: `${issuer}/keys`, key, published, claims, stop },
    ...{ reads: 0, answer: undefined },
  };
  return pool;
}
