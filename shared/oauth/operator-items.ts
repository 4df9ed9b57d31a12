import type { Operator } from "../domain/people/operator.ts";
import { limits } from "../limits.ts";
import { nowMs } from "../runtime/clock.ts";
import { sha256 } from "../runtime/digest.ts";
import { type Key, type OperatorIdentity, operatorIdentities, operators } from "../table/entities.ts";
import { readKeys } from "../table/store.ts";
import { transactOnce } from "../table/transact.ts";
import { putNew, updateItem } from "../table/write.ts";

/** A user of the pool: `iss` and `sub` of its tokens (OpenID Connect Core 2). */
export interface PoolIdentity {
  readonly issuer: string;
  readonly subject: string;
}

/** The one name of an identity: an issuer has no line break (OpenID Connect Core 2). */
export function identityHash({ issuer, subject }: PoolIdentity): string {
  return sha256(`${issuer}\n${subject}`);
}

/**
 * Makes the pool's user of an operator who waits for it, by `ensureUser`, which finds one that is there already, and
 * notes the identity. An operator who was changed meanwhile is read again.
 * @throws Error when the user cannot be made, or the operator changes all the time
 */
export async function settleOperator(
  key: Key,
  ensureUser: (operator: Operator) => Promise<PoolIdentity>,
): Promise<void> {
  for (let attempt = 0; attempt < limits.commit.conflict_tries; attempt += 1) {
    const [found] = await readKeys([key]);
    const operator = found as Operator | undefined;
    const dueMs = nowMs() + limits.applications.clock_skew_seconds * 1000;
    if (operator === undefined || operator.wake_at === null || Date.parse(operator.wake_at) > dueMs) return;
    if (await bindIdentity(operator, await ensureUser(operator))) return;
  }
  throw new Error("The operator changes all the time.");
}

/**
 * Notes the user of the pool that an operator is, without raising the version. A former operator of the brokerage may
 * have been the same user: only one who is there has the email address of a user, so the new one takes the place.
 * Returns false when one of them has changed since it was read.
 */
async function bindIdentity(operator: Operator, identity: PoolIdentity): Promise<boolean> {
  const { id: operator_id, tenant_id: place_tenant_id } = operator;
  const identity_sha256 = identityHash(identity);
  const [found] = await readKeys([operatorIdentities.key(identity_sha256)]);
  const before = found as OperatorIdentity | undefined;
  const others = (before?.places ?? []).filter((place) => place.place_tenant_id !== place_tenant_id);
  const places = [...others, { place_tenant_id, operator_id }];
  const settled: Operator = { ...operator, pool_state: "ready", identity_sha256, wake_at: null };
  const written = await transactOnce([
    before === undefined
      ? putNew(operatorIdentities, { identity_sha256, places, version: 1 })
      : updateItem(operatorIdentities, before, { ...before, places, version: before.version + 1 }),
    updateItem(operators, operator, settled),
  ]);
  return written.ok;
}
