import type { ProblemCode } from "../problem.ts";

/**
 * Codes of refusals by policy or scope: a caller who is known was not allowed to do something. The audit has an entry
 * of each. Every other code says that a request is wrong, does not fit what is stored, came too often, or failed.
 */
export const policyRefusals = [
  "insufficient_scope",
  "address_not_allowed",
  "source_not_allowed",
  "operators_only",
  "four_eyes_required",
  "approval_required",
  "last_owner",
] as const satisfies readonly ProblemCode[];

/** Code of a refusal that the audit has an entry of. */
export type PolicyRefusalCode = (typeof policyRefusals)[number];

const codes: ReadonlySet<string> = new Set(policyRefusals);

/** Whether a code is one of {@link policyRefusals}. */
export function isPolicyRefusal(code: string): code is PolicyRefusalCode {
  return codes.has(code);
}
