import { createHash } from "node:crypto";

/** Ten characters that differ when the content does. */
export function digest(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex").slice(0, 10);
}
