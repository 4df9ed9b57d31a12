import type { Family, RevocationReason } from "../domain/records/family.ts";
import { nowIso, pause } from "../runtime/clock.ts";
import { isThrottle } from "../runtime/unavailable.ts";
import { families } from "../table/entities.ts";
import { type Condition, isStill, isStored } from "../table/expression.ts";
import { readKeys } from "../table/store.ts";
import { backoffMs, reasonsOf, transact, transactOnce } from "../table/transact.ts";
import { changeMember, putMember } from "../table/write.ts";
import { type TokenAction, tokenAudit } from "./token-audit.ts";

/** Stores a new family with its entry of the audit. Its id was just drawn, so there is nothing to compare. */
export async function putFamily(family: Family, action: TokenAction): Promise<void> {
  await transact([putMember(families, family), tokenAudit(family.id, action)]);
}

/** A family, strongly consistent; undefined when there is none. */
export async function readFamily(tenant: string, id: string): Promise<Family | undefined> {
  const [found] = await readKeys([families.key(tenant, id)]);
  return found as Family | undefined;
}

/**
 * Moves a family on to its next refresh token, in one conditional transaction with the entry of the audit: of any
 * number of requests at once one does it. Returns the family as it is stored then: `after`, or what another request
 * makes of it; undefined when it is gone.
 */
export async function rotateFamily(before: Family, after: Family, action: TokenAction): Promise<Family | undefined> {
  const { generation, rotated_at, refresh_until, expires_at, secret_number } = after;
  const done = await transactOnce([
    changeMember(families.keyOf(before), {
      set: { generation, rotated_at, refresh_until, expires_at, secret_number },
      when: [...isStill({ generation: before.generation }), isUnrevoked],
    }),
    tokenAudit(before.id, action),
  ]);
  if (done.ok) return after;
  if (!done.codes.every((code) => isPassing(code))) throw done.error;
  await pause(backoffMs(1));
  return readFamily(before.tenant_id, before.id);
}

/** Whether a member of a transaction was fine, or stands for another request that was faster. */
function isPassing(code: string): boolean {
  return ["None", "ConditionalCheckFailed", "TransactionConflict"].includes(code) || isThrottle(code);
}

/** Ends a family for good, and its tokens. Returns whether it lived until now: only then the audit has an entry. */
export async function revokeFamily(
  tenant: string,
  id: string,
  reason: RevocationReason,
  action: Omit<TokenAction, "action" | "after">,
): Promise<boolean> {
  const set = { revoked_at: nowIso(), revoked_for: reason };
  try {
    await transact([
      changeMember(families.key(tenant, id), { set, when: [isStored, isUnrevoked] }),
      tokenAudit(id, { ...action, action: "revoke_token", after: { revoked_for: reason } }),
    ]);
    return true;
  } catch (error) {
    if (reasonsOf(error)[0]?.Code === "ConditionalCheckFailed") return false;
    throw error;
  }
}

const isUnrevoked = { attribute: "revoked_at", is: "absent" } as const satisfies Condition;
