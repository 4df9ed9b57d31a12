import { hash } from "node:crypto";

/** SHA-256 of a text in UTF-8, or of bytes, in lower-case hexadecimal (64 digits). */
export function sha256(text: string | Uint8Array): string {
  return hash("sha256", text, "hex");
}
