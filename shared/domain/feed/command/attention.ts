import type { PlatformCommand } from "../../records/command.ts";
import type { TradingChange } from "../../records/trading-change.ts";
import { isOpen } from "./command.ts";

/**
 * The commands that changes end without effect although a person must see to them: the platform does not follow what is
 * booked here, or an account may trade there more than it may here, a disabled one for example. A command that made way
 * for another one is none of them.
 */
export function commandsForAttention(changes: readonly TradingChange[]): readonly PlatformCommand[] {
  return changes.flatMap((change) => {
    if (change.op !== "update" || change.entity !== "command") return [];
    const [before, after] = [change.before, change.after] as unknown as [PlatformCommand, PlatformCommand];
    const refused = isOpen(before) && !isOpen(after) && after.status !== "done";
    return refused && matters(after) ? [after] : [];
  });
}

function matters(command: PlatformCommand): boolean {
  if (command.purpose === "settlement") return command.type !== "find_operation";
  if (command.purpose !== "terms" || command.status !== "failed" || command.error?.code === "superseded") return false;
  const { access } = command.payload;
  return command.superseded !== true && access !== undefined && access !== "full";
}
