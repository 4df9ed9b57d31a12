import { limits } from "../limits.ts";
import { type Decision, refuseField } from "./decision.ts";

/** Metadata after a merge patch (RFC 7396): null removes a key. Refused when more keys are left than allowed. */
export function mergeMetadata(
  current: Readonly<Record<string, string>>,
  patch: Readonly<Record<string, string | null>>,
): Decision<Record<string, string>> {
  const merged: Record<string, string> = { ...current };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else merged[key] = value;
  }
  if (Object.keys(merged).length > limits.metadata.max_keys) {
    return refuseField(
      "validation_failed",
      "metadata",
      `must not hold more than ${limits.metadata.max_keys} keys`,
      "too_many_keys",
    );
  }
  return { ok: true, result: merged, changes: [], events: [] };
}
