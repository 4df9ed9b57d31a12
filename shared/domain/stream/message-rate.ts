import { limits } from "../../limits.ts";
import type { StreamConnection } from "./connection.ts";

/**
 * Verdict on a message by the number in its second: it is answered; it is refused; it is the one that ends the
 * connection; or it came after that, and nothing more is said.
 */
export function messageVerdict({
  rate_count: count,
}: Pick<StreamConnection, "rate_count">): "answer" | "refuse" | "end" | "ignore" {
  const { messages_per_second } = limits.stream;
  if (count <= messages_per_second) return "answer";
  if (count <= 2 * messages_per_second) return "refuse";
  return count === 2 * messages_per_second + 1 ? "end" : "ignore";
}
