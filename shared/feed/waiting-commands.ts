import { type Command, laneMarker, takeCommands } from "../domain/command/command.ts";
import type { Context, Decision } from "../domain/decision.ts";
import type { FeedSource } from "../domain/feed/source.ts";
import { limits } from "../limits.ts";
import type { TakeCommands } from "../schema/feed/command.ts";
import { commands, uniques } from "../table/entities.ts";
import { countEntries, keyIn, readPage } from "../table/partition.ts";
import { findAll, readKeys } from "../table/store.ts";
import { indexes } from "../table/table-shape.ts";

const openStates = ["waiting", "taken", "unknown"] as const;

/** How many commands of a source have not ended, as far as the index knows yet; not more than are looked at at once. */
export async function openCommandsOf(tenant: string, sourceId: string): Promise<number> {
  const counts = openStates.map((status) =>
    countEntries(indexes.state, commands.inStatus(tenant, sourceId, status), limits.commands.looked_at),
  );
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
}

/**
 * Decides which commands of a source are taken. The index tells which wait; they and the lanes of their accounts are
 * read consistently, and each is met again at the commit, so that no command is handed out twice.
 */
export async function decideTake(
  { tenant_id: tenant, id, paused }: FeedSource,
  asked: TakeCommands,
  context: Context,
): Promise<Decision<readonly Command[]>> {
  const { max = limits.commands.max_taken, lease_seconds = limits.commands.lease_seconds } = asked;
  if (paused === true) return { ok: true, result: [], changes: [], events: [] };
  const query = { index: indexes.state, page_size: limits.commands.looked_at };
  const { items } = await readPage(commands.inStatus(tenant, id, "waiting"), query, undefined);
  const waiting = await findAll(commands, items.map(keyIn));
  const lanes = [...new Set(waiting.flatMap((command) => laneMarker(command) ?? []))];
  const owners = await readKeys(lanes.map((lane) => uniques.key(tenant, "command_lane", lane)));
  const occupied = new Set(lanes.filter((_, place) => owners[place] !== undefined));
  return takeCommands(waiting, occupied, { max, lease_seconds }, context);
}
