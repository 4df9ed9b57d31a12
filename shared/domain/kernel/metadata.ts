import { limits } from "../../limits.ts";
import { metadataBytes } from "../../text.ts";
import { type Decided, refuseField, unchanged } from "./decision.ts";

/** Metadata after a merge patch (RFC 7396): null removes a key. Refused when too many keys or bytes are left. */
export function mergeMetadata(
  current: Readonly<Record<string, string>>,
  patch: Readonly<Record<string, string | null>>,
): Decided<Record<string, string>, never> {
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
  const { max_bytes } = limits.metadata;
  if (metadataBytes(merged) > max_bytes) {
    const detail = `must have at most ${max_bytes} bytes, its keys and values in UTF-8 together`;
    return refuseField("validation_failed", "metadata", detail, "too_many_bytes");
  }
  return unchanged(merged);
}
