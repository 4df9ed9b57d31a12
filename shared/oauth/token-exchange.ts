import { signIn } from "../domain/access/operator.ts";
import { sessionLives, sessionName } from "../domain/access/session.ts";
import type { Operator, OperatorKey } from "../domain/records/operator.ts";
import { limits } from "../limits.ts";
import { scopesOf } from "../roles.ts";
import { addressBlock } from "../runtime/address.ts";
import { nowIso, nowMs } from "../runtime/clock.ts";
import { env } from "../runtime/env.ts";
import { causeOf, log } from "../runtime/log.ts";
import { countFailure, countRequest } from "../table/counters.ts";
import { operatorKeys, operators, tenants, usedTokens } from "../table/entities.ts";
import { isNew, isStill, isStored } from "../table/expression.ts";
import { changeItem } from "../table/items.ts";
import { findAll, readKeys } from "../table/store.ts";
import { reasonsOf, transact, transactOnce } from "../table/transact.ts";
import { changeMember, type TransactItem, updateItem } from "../table/write.ts";
import type { OAuthRequest } from "./client-authentication.ts";
import { grantedScopes, operatorTokenReply } from "./grant.ts";
import { failure, notReady, type OAuthAnswer, success, tooMany, withRate } from "./oauth-answer.ts";
import { identityHash } from "./pool/identity.ts";
import { operatorsBehind } from "./pool/operators-behind.ts";
import { type PoolExpectation, readSubjectToken, type SignedIn } from "./pool/subject-token.ts";
import { signingKey } from "./signing-key.ts";
import { endedAccess, operatorParty, reportAccessRefusal, signInAudit } from "./token-audit.ts";

/** Grant type of a token exchange (RFC 8693 2.1). */
export const exchangeGrant = "urn:ietf:params:oauth:grant-type:token-exchange";

const idToken = "urn:ietf:params:oauth:token-type:id_token";
const accessToken = "urn:ietf:params:oauth:token-type:access_token";

const refused = failure("invalid_grant", "The subject token is not valid.");

/**
 * Answers a token exchange (RFC 8693): an id token of the user pool for an access token. The client is public: the pool
 * has authenticated the person, and the token is accepted once. All refusals have the same words; refusals are counted
 * by address, exchanges by operator.
 */
export async function exchangeToken(request: OAuthRequest): Promise<OAuthAnswer> {
  const expect = poolOfStage();
  if (expect === undefined) return failure("unsupported_grant_type", "This environment has no user pool.");
  const fault = faultIn(request);
  if (fault !== undefined) return fault;
  const { parameters } = request;
  const signedIn = await readSubjectToken(parameters.get("subject_token") ?? "", expect);
  if (signedIn === undefined) return refuse(request, []);
  const identity = identityHash(signedIn);
  const session = sessionName(identity, signedIn.auth_time);
  const found = await operatorOf({ identity, session }, parameters.get("brokerage_id"));
  if ("outside" in found) return refuse(request, found.outside);
  if ("choices" in found) return severalBrokerages(found.choices);
  const { operator, key } = found;
  const signing = await signingKey();
  if (signing === undefined || key?.api_key_id == null) return notReady();
  const scopes = grantedScopes(scopesOf(operator.role, env.stage), parameters.get("scope"));
  if (scopes === undefined) {
    await reportAccessRefusal(operatorParty(operator), "create_token", request, "invalid_scope");
    return failure("invalid_scope", "The role of the operator does not hold this scope.");
  }
  const counter = { tenant_id: operator.tenant_id, application_id: `${operator.id}|TOKEN` };
  const counted = await countRequest(counter, "operator", request.time_ms);
  if (!counted.allowed) return tooMany(counted.retry_after_seconds);
  if (!(await useOnce(signedIn, signInAudit(operator, scopes, request)))) return refuse(request, [operator]);
  const seen = await noteSignIn(operator, session);
  if (seen === undefined) return refuse(request, [operator]);
  const reply = operatorTokenReply({ operator: seen, session }, scopes, expect.client_id, signing);
  return withRate(success({ ...reply, issued_token_type: accessToken }), counted);
}

function poolOfStage(): PoolExpectation | undefined {
  const { poolIssuer: issuer, poolClientId: client_id, poolKeysUrl: keys_url } = env;
  if (issuer === undefined || client_id === undefined || keys_url === undefined) return undefined;
  return { issuer, client_id, keys_url, nowSeconds: Math.floor(nowMs() / 1000) };
}

/** The fault in the form of the request; nothing of it depends on the token. */
function faultIn({ authorization, parameters, has_query }: OAuthRequest): OAuthAnswer | undefined {
  const invalid = (detail: string) => failure("invalid_request", detail);
  if (has_query) return invalid("Parameters belong in the body, not in the address.");
  if (authorization !== undefined || parameters.has("client_secret")) {
    return invalid("This grant takes no client authentication.");
  }
  if (!parameters.has("subject_token")) return invalid("The parameter subject_token is missing.");
  if (parameters.get("subject_token_type") !== idToken) return invalid(`The subject_token_type must be ${idToken}.`);
  if ((parameters.get("requested_token_type") ?? accessToken) !== accessToken) {
    return invalid(`The requested_token_type must be ${accessToken}.`);
  }
  return parameters.has("actor_token") ? invalid("An actor_token is not supported.") : undefined;
}

/** Refuses the request; the audit gets an entry for each operator that the person is known to be. */
async function refuse(request: OAuthRequest, known: readonly Operator[]): Promise<OAuthAnswer> {
  const [wait] = await Promise.all([
    countFailure(addressBlock(request.address), request.time_ms),
    ...known.map((each) =>
      reportAccessRefusal(operatorParty(each), "create_token", request, endedAccess(each) ?? "invalid_grant"),
    ),
  ]);
  return wait === undefined ? refused : tooMany(wait);
}

/** Tells a person who is an operator of several brokerages, and has proven it, which ones to choose from. */
async function severalBrokerages(brokerage_ids: readonly string[]): Promise<OAuthAnswer> {
  const answer = failure("invalid_request", "The parameter brokerage_id is missing: there are several brokerages.");
  const found = await findAll(
    tenants,
    brokerage_ids.map((id) => tenants.key(id)),
  );
  const named = found.flatMap(({ id, name }) => (name === undefined ? [] : [[id, name] as const]));
  return { ...answer, body: { ...answer.body, brokerage_ids, brokerage_names: Object.fromEntries(named) } };
}

type Found =
  | { readonly operator: Operator; readonly key: OperatorKey | undefined }
  | { readonly choices: readonly string[] }
  /** Operators who may not sign in. */
  | { readonly outside: readonly Operator[] };

/** The operator that a person is: brokerage and role come from our own items, never from the token. */
async function operatorOf(
  { identity, session }: { readonly identity: string; readonly session: string },
  brokerage: string | undefined,
): Promise<Found> {
  const known = await operatorsBehind(identity, brokerage);
  const allowed = known.filter((each) => signIn(each, nowIso()) !== undefined && sessionLives(each, session));
  // An active operator signs in there, however many others invite them; an invitation is accepted by its name.
  const active = allowed.filter(({ status }) => status === "active");
  const people = brokerage === undefined && active.length > 0 ? active : allowed;
  const [operator, another] = people;
  if (operator === undefined) return { outside: known };
  if (another !== undefined) return { choices: people.map(({ tenant_id }) => tenant_id) };
  const [key] = await readKeys([operatorKeys.key(operator.tenant_id)]);
  return { operator, key: key as OperatorKey | undefined };
}

/**
 * Notes in one transaction that a token was used and what the audit says of it; false when it was used before. Its item
 * outlives it by more than clocks differ.
 */
async function useOnce({ issuer, jti, stale_after }: SignedIn, audit: TransactItem): Promise<boolean> {
  const expires_at = stale_after + limits.exchange.used_token_kept_seconds;
  const used = changeMember(usedTokens.key(issuer, jti), { set: { et: usedTokens.et, expires_at }, when: [isNew] });
  try {
    await transact([used, audit]);
    return true;
  } catch (error) {
    if (reasonsOf(error)[0]?.Code === "ConditionalCheckFailed") return false;
    throw error;
  }
}

/**
 * Notes a sign-in: the first one makes an invited operator active, and of the others one in five minutes is written.
 * Returns the operator after it; undefined for one who was suspended or removed meanwhile.
 */
async function noteSignIn(read: Operator, session: string): Promise<Operator | undefined> {
  let operator: Operator | undefined = read;
  for (let attempt = 0; attempt < limits.commit.decision_tries && operator !== undefined; attempt += 1) {
    const signed = signIn(operator, nowIso());
    if (signed === undefined || !sessionLives(operator, session)) return undefined;
    if (signed.after === operator) {
      await noteSeen(operator);
      return operator;
    }
    const { after, more_owners } = signed;
    const counted = { add: { active_owners: more_owners }, when: [isStored] };
    const written = await transactOnce([
      updateItem(operators, operator, after),
      ...(more_owners === 0 ? [] : [changeMember(tenants.key(operator.tenant_id), counted)]),
    ]);
    if (written.ok) return after;
    const [again]: unknown[] = await readKeys([operators.keyOf(operator)]);
    operator = again as Operator | undefined;
  }
  return undefined;
}

async function noteSeen(operator: Operator): Promise<void> {
  const { last_seen_at: seen, id } = operator;
  const now = nowMs();
  if (seen !== null && now - Date.parse(seen) < limits.applications.last_used_seconds * 1000) return;
  const set = { last_seen_at: new Date(now).toISOString() };
  await changeItem(operators.keyOf(operator), { set, when: [isStored, ...isStill({ last_seen_at: seen })] }).catch(
    (error: unknown) => log.warn("The time of a sign-in could not be stored.", { operator_id: id, ...causeOf(error) }),
  );
}
