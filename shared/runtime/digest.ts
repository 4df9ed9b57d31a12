import { hash } from "node:crypto";

/** SHA-256 of a text in UTF-8, in lower-case hexadecimal (64 digits). */
export function sha256(text: string): string {
  return hash("sha256", text, "hex");
}
