import { withoutSession } from "../../domain/access/session.ts";
import type { Operator } from "../../domain/records/operator.ts";
import { limits } from "../../limits.ts";
import { nowIso } from "../../runtime/clock.ts";
import { env } from "../../runtime/env.ts";
import { Unavailable } from "../../runtime/unavailable.ts";
import { countRequest } from "../../table/counters.ts";
import { operators } from "../../table/entities.ts";
import { readKeys } from "../../table/store.ts";
import { transactOnce } from "../../table/transact.ts";
import { updateItem } from "../../table/write.ts";
import type { OAuthRequest } from "../client-authentication.ts";
import { type OAuthAnswer, success, tooMany, withRate } from "../oauth-answer.ts";
import { pemOfKey } from "../public-keys.ts";
import { type AccessClaims, type PeekedToken, verifyAccessToken } from "../token.ts";
import { signOutAudit } from "../token-audit.ts";
import { operatorsBehind } from "./operators-behind.ts";

/**
 * Ends the sign-in that an operator's token comes from, in every brokerage of the person: the client is public, so who
 * has the token may end it. One that has expired is as good, since its sign-in may go on at the user pool. Undefined
 * where this service has not issued the token.
 */
export async function signOutBy(
  token: string,
  { kid, issued_at = 0 }: PeekedToken,
  request: OAuthRequest,
): Promise<OAuthAnswer | undefined> {
  const pem = await pemOfKey(kid);
  const expect = { issuer: env.tokenIssuer, audience: env.tokenAudience, environment: env.stage };
  const claims = pem === undefined ? undefined : verifyAccessToken(token, pem, { ...expect, nowSeconds: issued_at });
  if (claims?.sid === undefined) return undefined;
  const counter = { tenant_id: claims.tenant, application_id: `${claims.sub}|TOKEN` };
  const counted = await countRequest(counter, "operator", request.time_ms);
  if (!counted.allowed) return tooMany(counted.retry_after_seconds);
  await endEverywhere(claims, claims.sid, request);
  return withRate(success(undefined), counted);
}

async function endEverywhere({ tenant, sub }: AccessClaims, session: string, request: OAuthRequest): Promise<void> {
  const [found] = (await readKeys([operators.key(tenant, sub)])) as readonly (Operator | undefined)[];
  const identity = found?.identity_sha256;
  if (identity == null) return;
  for (const operator of await operatorsBehind(identity)) await endSession(operator, session, request);
}

async function endSession(read: Operator, session: string, request: OAuthRequest): Promise<void> {
  let operator: Operator | undefined = read;
  for (let attempt = 0; attempt < limits.commit.decision_tries; attempt += 1) {
    const after = operator && withoutSession(operator, session, nowIso());
    if (operator === undefined || after === undefined) return;
    const change = updateItem(operators, operator, after);
    if ((await transactOnce([change, signOutAudit(operator, request)])).ok) return;
    [operator] = (await readKeys([operators.keyOf(read)])) as readonly (Operator | undefined)[];
  }
  throw new Unavailable("The operator changed every time.");
}
