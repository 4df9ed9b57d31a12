import { commandWakesAt } from "../../domain/feed/command/command.ts";
import type { PlatformCommand } from "../../domain/records/command.ts";
import { dueKeys, type Entity, type IndexKeys, type Key, ulidOf } from "./keys.ts";

/** Order in which the waiting commands of a source are taken: risk first, then what changes nothing, then money. */
const ranks = { risk: 0, none: 1, money: 2 } as const;

/**
 * Commands to trading platforms. Lists: all of a source (`list`); by status in the order in which they are taken
 * (`state`); those that the sweep looks at (`due`).
 */
export const commands = {
  et: "COMMAND",
  key: (tenant: string, id: string): Key => ({ pk: `${tenant}#${id}`, sk: "CMD" }),
  keyOf: (item: PlatformCommand): Key => commands.key(item.tenant_id, item.id),
  ofSource: (tenant: string, sourceId: string) => `${tenant}|CMD|${sourceId}`,
  inStatus: (tenant: string, sourceId: string, status: PlatformCommand["status"]) =>
    `${tenant}|CMD|${sourceId}|${status}`,
  indexesOf: (item: PlatformCommand): IndexKeys => {
    const wakes = commandWakesAt(item);
    return {
      list_pk: commands.ofSource(item.tenant_id, item.source_id),
      list_sk: ulidOf(item.id),
      state_pk: commands.inStatus(item.tenant_id, item.source_id, item.status),
      state_sk: `${ranks[item.lane ?? "none"]}#${ulidOf(item.id)}`,
      ...(wakes === undefined ? {} : dueKeys("COMMAND", item.id, wakes)),
    };
  },
} satisfies Entity<PlatformCommand> & Record<string, unknown>;
