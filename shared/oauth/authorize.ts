import type { APIGatewayAuthorizerResult } from "aws-lambda";
import { applicationActor } from "../domain/access/application.ts";
import { familyLives } from "../domain/access/family.ts";
import { operatorActor } from "../domain/access/operator.ts";
import { sessionLives } from "../domain/access/session.ts";
import type { Actor } from "../domain/kernel/decision.ts";
import type { Application } from "../domain/records/application.ts";
import type { Family } from "../domain/records/family.ts";
import type { Operator, OperatorKey } from "../domain/records/operator.ts";
import { type Role, scopesOf } from "../roles.ts";
import { nowMs } from "../runtime/clock.ts";
import { env } from "../runtime/env.ts";
import {
  applications,
  families,
  type Key,
  operatorKeys,
  operators,
  type PublicKey,
  publicKeys,
} from "../table/entities.ts";
import { readKeys } from "../table/store.ts";
import { gatewayKeyOf } from "./application-draws.ts";
import { rememberedKey, rememberKey } from "./public-keys.ts";
import { type AccessClaims, type PeekedToken, peekToken, verifyAccessToken } from "./token.ts";
import {
  type AccessAttempt,
  applicationParty,
  endedAccess,
  operatorParty,
  reportAccessRefusal,
} from "./token-audit.ts";

/** Holder of a token, and their present scopes. */
export interface Authorized {
  readonly tenant_id: string;
  readonly actor: Actor;
  /** Role of an operator. */
  readonly role?: Role;
  /** Seals what the audit keeps of an operator; it opens nothing. */
  readonly audit_key?: string;
  readonly client_id: string;
  /** The family of an application's token. */
  readonly family_id?: string;
  /** The sign-in behind an operator's token. */
  readonly session?: string;
  /** Number of the client secret behind that family. */
  readonly secret_number?: number;
  /** The scopes of the token that its holder still has: taking one away works within the authorizer's cache time. */
  readonly scopes: readonly string[];
  readonly allowed_ips: readonly string[];
  /** Feed sources that an application is bound to; absent where it is bound to none. */
  readonly source_ids?: readonly string[];
  /** Value of the API key that the gateway counts the holder by. */
  readonly gateway_key: string;
}

/** Answer of an authorizer: whether calls are allowed on a resource, and who makes them. */
export function authorizerAnswer(
  authorized: Omit<Authorized, "gateway_key">,
  { effect, resource }: { readonly effect: "Allow" | "Deny"; readonly resource: string },
): APIGatewayAuthorizerResult {
  const { tenant_id, actor, role, audit_key, client_id, family_id, secret_number, scopes } = authorized;
  const { allowed_ips, source_ids, session } = authorized;
  return {
    principalId: actor.id,
    policyDocument: {
      Version: "2012-10-17",
      Statement: [{ Action: "execute-api:Invoke", Effect: effect, Resource: resource }],
    },
    // The gateway passes texts only.
    context: {
      ...{ tenant_id, client_id, actor_type: actor.type, actor_id: actor.id, actor_name: actor.name },
      ...(role === undefined ? {} : { role }),
      ...(actor.operator_ids === undefined ? {} : { operator_ids: actor.operator_ids.join(" ") }),
      ...(audit_key === undefined ? {} : { audit_key }),
      ...(family_id === undefined ? {} : { family_id }),
      ...(session === undefined ? {} : { session }),
      ...(source_ids === undefined ? {} : { source_ids: source_ids.join(" ") }),
      ...(secret_number === undefined ? {} : { secret_number: String(secret_number) }),
      ...{ scopes: scopes.join(" "), allowed_ips: allowed_ips.join(" ") },
    },
  };
}

/**
 * Verifies the one bearer token of a request and reads who holds it, an application with its family or an operator with
 * the API key of all operators, in a single strongly consistent read. Undefined when one of them is not good, for
 * whatever reason: the caller learns no more than that. A holder of a good token whose access has ended leaves an entry
 * of the audit.
 */
export async function authorizeBearer(
  authorization: readonly string[],
  attempt: AccessAttempt,
): Promise<Authorized | undefined> {
  const [only, second] = authorization;
  if (only === undefined || second !== undefined) return undefined;
  const token = /^bearer +([A-Za-z0-9_.-]+)$/i.exec(only)?.[1];
  const peeked = token === undefined ? undefined : peekToken(token);
  if (token === undefined || peeked === undefined) return undefined;
  const { kid } = peeked;
  const known = rememberedKey(kid);
  if (known === "none") return undefined;
  const [holder, companion, stored] = await readKeys([
    ...holderKeys(peeked),
    ...(known === undefined ? [publicKeys.key(kid)] : []),
  ]);
  const pem = known ?? rememberKey(kid, stored as PublicKey | undefined);
  if (pem === undefined) return undefined;
  const claims = verifyAccessToken(token, pem, {
    issuer: env.tokenIssuer,
    audience: env.tokenAudience,
    environment: env.stage,
    nowSeconds: Math.floor(nowMs() / 1000),
  });
  if (claims === undefined) return undefined;
  if (peeked.holder.type === "operator") {
    const operator = holder as Operator | undefined;
    const ended = operator && endedAccess(operator);
    if (operator && ended) await reportAccessRefusal(operatorParty(operator), "authenticate", attempt, ended);
    return authorizedOperator(claims, operator, companion as OperatorKey | undefined);
  }
  const application = holder as Application | undefined;
  if (application?.status === "revoked") {
    await reportAccessRefusal(applicationParty(application), "authenticate", attempt, "application_revoked");
  }
  return authorizedApplication(claims, application, companion as Family | undefined);
}

/** The two items that say whether the holder of a token may still use it. */
function holderKeys({ tenant, holder }: PeekedToken): readonly [Key, Key] {
  return holder.type === "operator"
    ? [operators.key(tenant, holder.id), operatorKeys.key(tenant)]
    : [applications.key(tenant, holder.id), families.key(tenant, holder.family)];
}

function authorizedApplication(
  claims: AccessClaims,
  application: Application | undefined,
  family: Family | undefined,
): Authorized | undefined {
  if (application?.status !== "active" || application.api_key_id === null) return undefined;
  if (family === undefined || !familyLives(family, application, nowMs()) || claims.client_id !== application.client_id)
    return undefined;
  const { tenant_id, client_id, allowed_ips, source_ids } = application;
  return {
    tenant_id,
    actor: applicationActor(application),
    client_id,
    family_id: family.id,
    secret_number: family.secret_number,
    scopes: heldScopes(claims, application.scopes),
    allowed_ips,
    ...(source_ids !== undefined && { source_ids }),
    gateway_key: gatewayKeyOf(application),
  };
}

function authorizedOperator(
  claims: AccessClaims,
  operator: Operator | undefined,
  key: OperatorKey | undefined,
): Authorized | undefined {
  if (operator?.status !== "active" || key === undefined || key.api_key_id === null) return undefined;
  const { tenant_id, role, audit_key } = operator;
  const { sid: session = "" } = claims;
  if (!sessionLives(operator, session)) return undefined;
  return {
    tenant_id,
    actor: operatorActor(operator),
    role,
    session,
    ...(audit_key === undefined ? {} : { audit_key }),
    client_id: claims.client_id,
    scopes: heldScopes(claims, scopesOf(role, env.stage)),
    allowed_ips: [],
    gateway_key: gatewayKeyOf(key),
  };
}

function heldScopes({ scope }: AccessClaims, held: readonly string[]): readonly string[] {
  return scope.split(" ").filter((word) => held.includes(word));
}
