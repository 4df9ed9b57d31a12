import { sha256 } from "../../runtime/digest.ts";

/** A user of the pool: `iss` and `sub` of its tokens (OpenID Connect Core 2). */
interface PoolIdentity {
  readonly issuer: string;
  readonly subject: string;
}

/** The one name of an identity: an issuer has no line break (OpenID Connect Core 2). */
export function identityHash({ issuer, subject }: PoolIdentity): string {
  return sha256(`${issuer}\n${subject}`);
}
