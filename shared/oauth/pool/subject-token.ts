import jwt from "jsonwebtoken";
import { limits } from "../../limits.ts";
import { poolKey } from "./keys.ts";

/** Requirements of this service on tokens of its user pool. */
export interface PoolExpectation {
  readonly issuer: string;
  /** The pool's client, whose sign-ins alone are accepted. */
  readonly client_id: string;
  readonly keys_url: string;
  readonly nowSeconds: number;
}

/** A sign-in that an id token proves. */
export interface SignedIn {
  readonly issuer: string;
  readonly subject: string;
  /** When the person showed their credentials, epoch seconds: the same in all tokens of a sign-in. */
  readonly auth_time: number;
  /** Identifier of the token, which is accepted once. */
  readonly jti: string;
  /** Epoch seconds after which the token is too old in any case. */
  readonly stale_after: number;
}

/**
 * The sign-in behind an id token of the user pool (OpenID Connect Core 3.1.3.7, RFC 8725): signed with RS256 by a key
 * of the pool's own set, by this issuer for this client, an id token and no access token, not expired and issued within
 * the last five minutes. Undefined otherwise; the caller learns no more than that.
 * @throws Unavailable when the key set cannot be read
 */
export async function readSubjectToken(token: string, expect: PoolExpectation): Promise<SignedIn | undefined> {
  const kid = keyIdOf(token);
  const key = kid === undefined ? undefined : await poolKey(expect.keys_url, kid);
  if (key === undefined) return undefined;
  const { issuer, client_id, nowSeconds } = expect;
  const { clock_skew_seconds } = limits.token;
  let claims: jwt.JwtPayload | string;
  try {
    claims = jwt.verify(token, key, {
      ...{ algorithms: ["RS256"], issuer, audience: client_id },
      ...{ clockTolerance: clock_skew_seconds, clockTimestamp: nowSeconds },
    });
  } catch {
    return undefined;
  }
  if (typeof claims !== "object") return undefined;
  // The library accepts a list that holds the audience; a token for others as well is none for us alone.
  const { iss, aud, sub, jti, iat, exp, token_use, auth_time } = claims;
  if (iss !== issuer || aud !== client_id || token_use !== "id" || typeof exp !== "number") return undefined;
  if (!isName(sub) || !isName(jti) || typeof iat !== "number") return undefined;
  if (!Number.isSafeInteger(auth_time)) return undefined;
  const stale_after = iat + limits.exchange.max_token_age_seconds;
  if (iat > nowSeconds + clock_skew_seconds || nowSeconds > stale_after) return undefined;
  return { issuer, subject: sub, auth_time, jti, stale_after };
}

function isName(claim: unknown): claim is string {
  return typeof claim === "string" && claim !== "" && claim.length <= limits.exchange.max_claim_characters;
}

/** The id of the key that an unverified token names; undefined when its header is not that of the pool's tokens. */
function keyIdOf(token: string): string | undefined {
  if (token.length > limits.exchange.max_token_bytes || !/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) return undefined;
  let header: jwt.JwtHeader | undefined;
  try {
    header = jwt.decode(token, { complete: true })?.header;
  } catch {
    return undefined;
  }
  if (header === undefined || header.alg !== "RS256" || "crit" in header) return undefined;
  const { kid } = header;
  return isName(kid) ? kid : undefined;
}
