import { createHash, createPrivateKey, createPublicKey, generateKeyPair, randomUUID } from "node:crypto";
import { promisify } from "node:util";
import jwt from "jsonwebtoken";
import type { StateFile } from "../state-file.ts";
import type { PoolSettings } from "./settings.ts";
import type { PoolState, PoolUser } from "./users.ts";

/** The sign-in that tokens come from. */
export interface SignIn {
  readonly user: PoolUser;
  /** Stays the same from the sign-in to the last refresh. */
  readonly grant_id: string;
  readonly auth_time: number;
  readonly scope: string;
  /** Of the sign-in alone; a refreshed id token has none. */
  readonly nonce?: string | undefined;
}

/** Answer of the token endpoint, in the words of OAuth. */
interface Tokens {
  readonly id_token: string;
  readonly access_token: string;
  readonly expires_in: number;
  readonly token_type: "Bearer";
}

/** Makes and verifies the tokens of a pool, with its claims and not those of the standard alone. */
export class PoolTokens {
  private readonly settings: PoolSettings;
  private readonly issuer: string;
  private readonly pem: string;
  private readonly kid: string;

  private constructor(settings: PoolSettings, issuer: string, pem: string) {
    this.settings = settings;
    this.issuer = issuer;
    this.pem = pem;
    this.kid = createHash("sha256").update(pem).digest("base64").slice(0, 44);
  }

  /** With the key of the file, which is made when there is none. */
  static async load(settings: PoolSettings, issuer: string, file: StateFile<PoolState>): Promise<PoolTokens> {
    if (file.value.key_pem === undefined) {
      const { privateKey } = await promisify(generateKeyPair)("rsa", { modulusLength: 2048 });
      file.value.key_pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
      file.save();
    }
    return new PoolTokens(settings, issuer, file.value.key_pem);
  }

  /** The public key as the pool publishes it. */
  keySet(): { readonly keys: readonly object[] } {
    const { kty, n, e } = createPublicKey(this.pem).export({ format: "jwk" });
    return { keys: [{ alg: "RS256", e, kid: this.kid, kty, n, use: "sig" }] };
  }

  /** The private key as the library takes it. Its signature is replaced before the token is sent. */
  privateKey(): object {
    return { ...createPrivateKey(this.pem).export({ format: "jwk" }), kid: this.kid, alg: "RS256", use: "sig" };
  }

  /** The id token and the access token of a sign-in, new ones each time. */
  issue({ user, grant_id, auth_time, scope, nonce }: SignIn): Tokens {
    const { client_id, access_token_seconds, id_token_seconds } = this.settings;
    const common = { sub: user.sub, iss: this.issuer, auth_time, origin_jti: uuidOf(grant_id), event_id: randomUUID() };
    const access_token = this.sign(
      // An audience it has none: the client is a claim of its own.
      { ...common, client_id, token_use: "access", scope, username: user.sub, version: 2, jti: randomUUID() },
      access_token_seconds,
    );
    const { email, email_verified } = user;
    const id_token = this.sign(
      {
        ...common,
        at_hash: createHash("sha256").update(access_token).digest().subarray(0, 16).toString("base64url"),
        aud: client_id,
        token_use: "id",
        "cognito:username": user.sub,
        ...(scope.split(" ").includes("email") && { email, email_verified }),
        ...(nonce !== undefined && { nonce }),
        jti: randomUUID(),
      },
      id_token_seconds,
    );
    return { id_token, access_token, expires_in: access_token_seconds, token_type: "Bearer" };
  }

  /** The `sub` of an access token that is valid now; undefined for any other text. */
  subjectOf(accessToken: string): string | undefined {
    try {
      const claims = jwt.verify(accessToken, createPublicKey(this.pem), {
        algorithms: ["RS256"],
        issuer: this.issuer,
      });
      return typeof claims === "object" && claims["token_use"] === "access" ? claims.sub : undefined;
    } catch {
      return undefined;
    }
  }

  private sign(claims: object, seconds: number): string {
    return jwt.sign(claims, this.pem, { algorithm: "RS256", keyid: this.kid, expiresIn: seconds });
  }
}

/** A UUID that is the same for the same text. */
function uuidOf(text: string): string {
  const hex = createHash("sha256").update(text).digest("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    "-",
  );
}
