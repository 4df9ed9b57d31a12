import type { Family, RevocationReason } from "../domain/family.ts";
import { nowIso } from "../runtime/clock.ts";
import { families } from "../table/entities.ts";
import { type Condition, isStill, isStored } from "../table/expression.ts";
import { changeAndRead, changeItem, putItem } from "../table/items.ts";
import { readKeys } from "../table/store.ts";

/** Stores a new family. Its id was just drawn, so there is nothing to compare, and a repeat by the SDK does no harm. */
export async function putFamily(family: Family): Promise<void> {
  await putItem(families, family);
}

/** A family, strongly consistent; undefined when there is none. */
export async function readFamily(tenant: string, id: string): Promise<Family | undefined> {
  const [found] = await readKeys([families.key(tenant, id)]);
  return found as Family | undefined;
}

/**
 * Moves a family on to its next refresh token, in one conditional write: of any number of requests at once one does it.
 * Returns the family as it is stored then: `after`, or what another request made of it; undefined when it is gone.
 */
export async function rotateFamily(before: Family, after: Family): Promise<Family | undefined> {
  const { generation, rotated_at, refresh_until, expires_at, secret_number } = after;
  const done = await changeAndRead<Family>(families.keyOf(before), {
    set: { generation, rotated_at, refresh_until, expires_at, secret_number },
    when: [...isStill({ generation: before.generation }), isUnrevoked],
  });
  return done.ok ? after : done.item;
}

/** Ends a family for good, with all its tokens. Returns whether it lived until now. */
export function revokeFamily(tenant: string, id: string, reason: RevocationReason): Promise<boolean> {
  const set = { revoked_at: nowIso(), revoked_for: reason };
  return changeItem(families.key(tenant, id), { set, when: [isStored, isUnrevoked] });
}

const isUnrevoked = { attribute: "revoked_at", is: "absent" } as const satisfies Condition;
