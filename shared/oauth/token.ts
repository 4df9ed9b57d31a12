import jwt from "jsonwebtoken";
import { limits } from "../limits.ts";

/** Claims of an access token (RFC 9068 2.2), with ours: tenant, application, environment. Times are epoch seconds. */
export interface AccessClaims {
  readonly iss: string;
  readonly aud: string;
  /** The client id, or the id of the operator. */
  readonly sub: string;
  readonly client_id: string;
  readonly exp: number;
  readonly iat: number;
  readonly jti: string;
  readonly scope: string;
  readonly tenant: string;
  /** The application; absent in a token of an operator. */
  readonly app?: string;
  /** Family of tokens that it belongs to; when that is revoked it ends too. Absent in a token of an operator. */
  readonly fam?: string;
  /** Sign-in that a token of an operator comes from, see `sessionName`; absent in a token of an application. */
  readonly sid?: string;
  readonly env: string;
}

/** Requirements of this stage on its own tokens. */
export interface Expectation {
  readonly issuer: string;
  readonly audience: string;
  readonly environment: string;
  readonly nowSeconds: number;
}

/** Signs an access token with ES256; `kid` names the public key (RFC 7515 4.1.4). */
export function signAccessToken(claims: AccessClaims, key: { readonly kid: string; readonly pem: string }): string {
  return jwt.sign({ ...claims }, key.pem, {
    algorithm: "ES256",
    keyid: key.kid,
    header: { alg: "ES256", typ: "at+jwt", kid: key.kid },
  });
}

/** Where to look for what a token names. */
export interface PeekedToken {
  readonly kid: string;
  readonly tenant: string;
  readonly holder:
    | { readonly type: "application"; readonly id: string; readonly family: string }
    | { readonly type: "operator"; readonly id: string };
  /** Epoch seconds. */
  readonly issued_at?: number;
}

/**
 * Claims of an unverified token about its key, and about its operator, or its application and family: where to look,
 * and nothing to trust. Undefined when it is no token of ours by its form.
 */
export function peekToken(token: string): PeekedToken | undefined {
  if (token.length > limits.token.max_bytes) return undefined;
  let decoded: jwt.Jwt | null;
  try {
    decoded = jwt.decode(token, { complete: true });
  } catch {
    return undefined;
  }
  const { header, payload } = decoded ?? {};
  if (header === undefined || typeof payload !== "object") return undefined;
  if (header.alg !== "ES256" || header.typ !== "at+jwt" || hasExtensions(header)) return undefined;
  const { kid } = header;
  const { tenant } = payload as { tenant?: unknown };
  const { iat: issued_at } = payload;
  const holder = holderIn(payload);
  if (typeof kid !== "string" || !/^[A-Za-z0-9_-]{1,64}$/.test(kid)) return undefined;
  if (typeof tenant !== "string" || !/^brk_[0-9A-HJKMNP-TV-Z]{26}$/.test(tenant)) return undefined;
  return holder && { kid, tenant, holder, ...(typeof issued_at === "number" && { issued_at }) };
}

/** Holder of a token: an operator by its subject, else an application with its family. */
function holderIn({ sub, app, fam }: Readonly<Record<string, unknown>>): PeekedToken["holder"] | undefined {
  if (isId("opr", sub)) return app === undefined && fam === undefined ? { type: "operator", id: sub } : undefined;
  return isId("app", app) && isId("fam", fam) ? { type: "application", id: app, family: fam } : undefined;
}

function hasHolder({ sub, app, fam, sid }: AccessClaims): boolean {
  if (app === undefined && fam === undefined) return isId("opr", sub) && typeof sid === "string";
  return typeof app === "string" && typeof fam === "string" && !isId("opr", sub);
}

function isId(prefix: string, value: unknown): value is string {
  return (
    typeof value === "string" && value.startsWith(`${prefix}_`) && /^_[0-9A-HJKMNP-TV-Z]{26}$/.test(value.slice(3))
  );
}

/**
 * Whether the header names extensions that the receiver must understand (RFC 7515 4.1.11). None is implemented here,
 * and the library passes over the member, so such a token is not valid.
 */
function hasExtensions(header: jwt.JwtHeader): boolean {
  return "crit" in header;
}

/**
 * The claims of a token whose signature, algorithm, type, issuer, audience, environment and times are right; undefined
 * otherwise. The key is ours, looked up by `kid` in our own set: never `jku` or `x5u` (RFC 8725 3.10).
 */
export function verifyAccessToken(token: string, publicKeyPem: string, expect: Expectation): AccessClaims | undefined {
  let verified: jwt.Jwt;
  try {
    verified = jwt.verify(token, publicKeyPem, {
      complete: true,
      algorithms: ["ES256"],
      issuer: expect.issuer,
      audience: expect.audience,
      clockTolerance: limits.token.clock_skew_seconds,
      clockTimestamp: expect.nowSeconds,
    });
  } catch {
    return undefined;
  }
  if (hasExtensions(verified.header)) return undefined;
  const claims = verified.payload as unknown as AccessClaims;
  const texts = [claims.sub, claims.client_id, claims.jti, claims.scope, claims.tenant];
  const complete =
    hasHolder(claims) && texts.every((text) => typeof text === "string") && typeof claims.iat === "number";
  const timely = typeof claims.exp === "number" && claims.iat <= expect.nowSeconds + limits.token.clock_skew_seconds;
  return complete && timely && claims.env === expect.environment && claims.aud === expect.audience ? claims : undefined;
}
