import { type Command, laneMarker, takeCommands } from "../domain/command/command.ts";
import type { Context, Decision } from "../domain/decision.ts";
import type { FeedSource } from "../domain/feed/source.ts";
import { limits } from "../limits.ts";
import type { TakeCommands } from "../schema/feed/command.ts";
import { commands, uniques } from "../table/entities.ts";
import { countEntries, keyIn, pagesOf } from "../table/partition.ts";
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
 * read consistently, and each is met again at the commit, so that no command is handed out twice. Many commands of one
 * account wait for one lane, so the read goes on, up to a bound, while fewer are taken than are asked for.
 */
export async function decideTake(
  { tenant_id: tenant, id, paused }: FeedSource,
  asked: TakeCommands,
  context: Context,
): Promise<Decision<readonly Command[]>> {
  const { max = limits.commands.max_taken, lease_seconds = limits.commands.lease_seconds } = asked;
  if (paused === true) return { ok: true, result: [], changes: [], events: [] };
  const query = { index: indexes.state, page_size: limits.commands.looked_at };
  const waiting: Command[] = [];
  const lanes = new Map<string, boolean>();
  let [decision, pages] = [takeCommands([], new Set(), { max, lease_seconds }, context), 0];
  for await (const { items } of pagesOf(commands.inStatus(tenant, id, "waiting"), query)) {
    waiting.push(...(await findAll(commands, items.map(keyIn))));
    await readLanes(tenant, waiting, lanes);
    const occupied = new Set([...lanes.keys()].filter((lane) => lanes.get(lane)));
    decision = takeCommands(waiting, occupied, { max, lease_seconds }, context);
    pages += 1;
    if (!decision.ok || decision.result.length === max || pages === limits.commands.looked_at_pages) break;
  }
  return decision;
}

/** Reads of the lanes of commands, those that are not known yet, whether another command occupies them. */
async function readLanes(tenant: string, waiting: readonly Command[], lanes: Map<string, boolean>): Promise<void> {
  const wanted = new Set(waiting.flatMap((command) => laneMarker(command) ?? []));
  const unread = [...wanted].filter((lane) => !lanes.has(lane));
  const owners = await readKeys(unread.map((lane) => uniques.key(tenant, "command_lane", lane)));
  for (const [place, lane] of unread.entries()) lanes.set(lane, owners[place] !== undefined);
}
