import { type PolicyRefusalCode, policyRefusals } from "./policy-refusals.ts";

/**
 * Codes of refusals of access, of an application that knows its secret, a person with a good id token, or the holder of
 * a good access token. Three are errors of the token endpoint (RFC 6749 5.2); the others are reasons that no answer
 * states.
 */
export const accessRefusals = [
  "invalid_client",
  "invalid_grant",
  "invalid_scope",
  "application_revoked",
  "operator_suspended",
  "operator_removed",
] as const;

/** Reason of a refusal of access that the audit has an entry of. */
export type AccessRefusalCode = (typeof accessRefusals)[number] | "address_not_allowed";

/** Code of a refusal in the audit. */
export type RecordedRefusalCode = PolicyRefusalCode | AccessRefusalCode;

const recorded: ReadonlySet<string> = new Set([...policyRefusals, ...accessRefusals]);

/** Whether a code is one that the audit records, see {@link policyRefusals} and {@link accessRefusals}. */
export function isRecordedRefusal(code: string): code is RecordedRefusalCode {
  return recorded.has(code);
}
