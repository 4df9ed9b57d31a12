import { uniques } from "../table/entities.ts";
import type { Ref } from "../table/store.ts";

/** The claim of a normalised email address, which stays with an operator who is removed. */
export function operatorEmail(email: string): Ref<{ readonly owner_id: string }> {
  return { keyIn: (tenant) => uniques.key(tenant, "operator_email", email) };
}
