import { routes } from "../../../shared/routes/index.ts";
import type { RawChange } from "../emulator/raw-table.ts";

const emittedBy = new Map<string, readonly string[]>(routes.map(({ id, emits }) => [id, emits]));

/**
 * Each event that a request caused is one of those that the description of its operation names (`emits` of its row):
 * integrators choose by it which events they subscribe to.
 */
export function judgeEmitted(changes: readonly RawChange[]): string[] {
  const unnamed = changes.flatMap(({ before, after }) => {
    if (before !== undefined || after?.["et"] !== "OUTBOX" || typeof after["audit"] !== "string") return [];
    const { action } = JSON.parse(after["audit"]) as { readonly action: string };
    const emits = emittedBy.get(action);
    if (emits === undefined) return [];
    const types = (after["events"] as readonly string[]).flatMap(typeIn);
    return types
      .filter((type) => !emits.includes(type))
      .map((type) => `${action} emits ${type}, which its row does not name`);
  });
  return [...new Set(unnamed)];
}

/** The type of the event of a text in an outbox; none of what tests put there that is no event. */
function typeIn(text: string): string[] {
  if (!text.startsWith("{")) return [];
  const { body } = JSON.parse(text) as { readonly body?: { readonly type: string } };
  return body === undefined ? [] : [body.type];
}
