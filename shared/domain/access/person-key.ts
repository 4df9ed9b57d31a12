import type { Change } from "../records/change.ts";

/** Keys that were drawn for a new person: what the audit keeps of them is sealed by one and opened by the other. */
export interface DrawnPersonKey {
  readonly public_key: string;
  readonly private_key: string;
}

/** Keeps what opens the audit of a new person. It is written once, with the person, and never again. */
export function keepPersonKey(
  { id, tenant_id, created_at }: { readonly id: string; readonly tenant_id: string; readonly created_at: string },
  { private_key }: DrawnPersonKey,
): Change {
  return { op: "create", entity: "person_key", item: { tenant_id, person_id: id, private_key, created_at } };
}
