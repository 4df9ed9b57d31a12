import { namelessOperator } from "../domain/access/operator.ts";
import type { Requirement } from "../domain/kernel/decision.ts";
import type { Operator } from "../domain/records/operator.ts";
import { limits } from "../limits.ts";
import { nowIso, nowMs } from "../runtime/clock.ts";
import { env } from "../runtime/env.ts";
import { destroyPersonKey } from "../table/audit/erasure.ts";
import { type Key, type OperatorIdentity, operatorIdentities, operators } from "../table/entities.ts";
import { isStill, isStored } from "../table/expression.ts";
import { readKeys } from "../table/store.ts";
import { transactOnce } from "../table/transact.ts";
import { changeMember, putNew, updateItem } from "../table/write.ts";
import { identityHash } from "./pool/identity.ts";
import { operatorsBehind } from "./pool/operators-behind.ts";
import {
  deletePoolUser,
  disablePoolUser,
  enablePoolUser,
  ensurePoolUser,
  findPoolUser,
  type PoolUser,
  resendInvitation,
} from "./pool/users.ts";
import type { EndStreams } from "./settle.ts";

/** Standing in the pool that the operators of a user want together. */
type Standing = "in" | "suspended" | "removed";

function identityOf({ subject }: PoolUser): string {
  const { poolIssuer: issuer } = env;
  if (issuer === undefined) throw new Error("The issuer of the user pool is not set.");
  return identityHash({ issuer, subject });
}

/**
 * Does for the user of the pool what an operator who waits for it needs: makes the user and notes the identity of one
 * who may sign in; shuts out or removes the user of one who may not, unless another brokerage has them as an operator
 * too. Each side writes before it looks at what the other wrote, so that of two runs at the same time one sees both.
 * An operator who was changed meanwhile is read again.
 * @throws Error when the pool fails, or the operator changes all the time
 */
export async function settleOperator(key: Key, endStreams?: EndStreams): Promise<void> {
  for (let attempt = 0; attempt < limits.commit.conflict_tries; attempt += 1) {
    const [found] = await readKeys([key]);
    const operator = found as Operator | undefined;
    const dueMs = nowMs() + limits.applications.clock_skew_seconds * 1000;
    if (operator === undefined || operator.wake_at === null || Date.parse(operator.wake_at) > dueMs) return;
    // First what is open: the pool may take its time.
    if (operator.status !== "invited") await endStreams?.(operator);
    if (await (standingOf([operator]) === "in" ? letIn(operator) : keepOut(operator))) return;
  }
  throw new Error("The operator changes all the time.");
}

/** Makes or finds the user and notes it; false when that has to be tried again. */
async function letIn(operator: Operator): Promise<boolean> {
  const user = await userOf(operator);
  // Another brokerage had them replaced; only their own one lets the new ones in.
  if (user === undefined) return finish(operator, { ...operator, pool_state: "ready", wake_at: null });
  if (!user.enabled) await enablePoolUser(user);
  if (operator.pool_state === "resend" && user.isNew !== true) await resendInvitation(operator.email);
  const identity_sha256 = identityOf(user);
  const pool_subject = user.subject;
  if (!(await noteIdentity(operator, { identity_sha256, pool_subject }))) return false;
  const kept = await findPoolUser(user.subject);
  if (kept === undefined || !kept.enabled) return false;
  return finish(operator, { ...operator, pool_state: "ready", identity_sha256, pool_subject, wake_at: null });
}

/**
 * The user who an operator is to be. One who has signed in stays with the user whom they signed in as, and has none
 * where another brokerage had that one replaced: else whom that brokerage lets in would be let in here.
 */
async function userOf(operator: Operator): Promise<(PoolUser & { readonly isNew?: boolean }) | undefined> {
  const { email, status, pool_state, pool_subject } = operator;
  if (pool_state === "reset") await dropCredentials(operator);
  else if (status === "active" && pool_subject !== undefined) return findPoolUser(pool_subject);
  return ensurePoolUser(email);
}

/**
 * Removes the user whose credentials are to be reset: their second factor cannot be taken from them otherwise (the pool
 * asks everybody for one, so AdminSetUserMFAPreference changes nothing). A user that has taken their place stays.
 */
async function dropCredentials({ email, pool_subject }: Operator): Promise<void> {
  const user = await findPoolUser(email);
  if (user !== undefined && user.subject === pool_subject) await deletePoolUser(user);
}

/**
 * Ends the wait of an operator who is as it was read. Being invited again raises no version and writes another
 * `wake_at`, so both are compared.
 */
async function finish(before: Operator, after: Operator): Promise<boolean> {
  const { wake_at } = before;
  const waits: Requirement = { attribute: "wake_at", is: "equal", value: wake_at ?? "" };
  return (await transactOnce([updateItem(operators, before, after, [waits])])).ok;
}

/**
 * Notes which operator of the brokerage the user is. A former one may have been the same user: only one who is there
 * has the email address of a user, so the new one takes the place, and one who was removed meanwhile does not take it
 * back. Returns false when the note or the operator has changed since it was read.
 */
async function noteIdentity(
  operator: Operator,
  { identity_sha256, pool_subject }: Readonly<Record<"identity_sha256" | "pool_subject", string>>,
): Promise<boolean> {
  const { id: operator_id, tenant_id, pool_state, version, wake_at } = operator;
  const [found] = await readKeys([operatorIdentities.key(identity_sha256)]);
  const before = found as OperatorIdentity | undefined;
  const place = { place_tenant_id: tenant_id, operator_id };
  const others = (before?.places ?? []).filter(({ place_tenant_id }) => place_tenant_id !== tenant_id);
  const places = [...others, place];
  const noted = await transactOnce([
    before === undefined
      ? putNew(operatorIdentities, { identity_sha256, places, version: 1 })
      : updateItem(operatorIdentities, before, { ...before, places, version: before.version + 1 }),
    changeMember(operators.keyOf(operator), {
      // A user who was made for a reset is theirs from here on: a run after this one does not replace them again.
      set: { identity_sha256, pool_subject, ...(pool_state === "reset" && { pool_state: "pending" }) },
      when: [isStored, ...isStill({ version, wake_at })],
    }),
  ]);
  return noted.ok;
}

/** Shuts out or removes the user whom no brokerage lets in any more; false when that has to be tried again. */
async function keepOut(operator: Operator): Promise<boolean> {
  // By the name that the pool gave them: a user whose email address there has changed is still the same one.
  const user = await findPoolUser(operator.pool_subject ?? operator.email);
  const identity = user === undefined ? operator.identity_sha256 : identityOf(user);
  if (identity !== null) {
    const before = standingOf(await operatorsBehind(identity));
    if (user !== undefined) await applyTo(user, before);
    const after = await operatorsBehind(identity);
    if (user === undefined || before === "removed") await inviteAgain(after);
    if (standingOf(after) !== before) return false;
  }
  if (operator.status !== "removed") return finish(operator, { ...operator, wake_at: null });
  // The key goes first: one whose names are gone is not found again by what is left to do.
  await destroyPersonKey(operator.tenant_id, operator.id);
  return finish(operator, { ...namelessOperator(operator), wake_at: null });
}

async function applyTo(user: PoolUser, standing: Standing): Promise<void> {
  if (standing === "in") return user.enabled ? undefined : enablePoolUser(user);
  return standing === "suspended" ? disablePoolUser(user) : deletePoolUser(user);
}

/** Lets the user be made again for who was invited and lost it to a removal that did not see them yet. */
async function inviteAgain(all: readonly Operator[]): Promise<void> {
  for (const operator of all.filter(({ status }) => status === "invited")) {
    const waiting: Operator = { ...operator, pool_state: "pending", wake_at: nowIso() };
    const { ok } = await transactOnce([updateItem(operators, operator, waiting)]);
    if (!ok) throw new Error("An operator of the same user changes at the same time.");
  }
}

/**
 * An invitation counts once it was accepted: where a brokerage removed the person and no other one has them active, the
 * user goes with its password, and is made again for those who have invited them.
 */
function standingOf(all: readonly Operator[]): Standing {
  const statuses = all.map(({ status }) => status);
  if (statuses.includes("active")) return "in";
  if (statuses.includes("invited") && !statuses.includes("removed")) return "in";
  return statuses.includes("suspended") && !statuses.includes("invited") ? "suspended" : "removed";
}
