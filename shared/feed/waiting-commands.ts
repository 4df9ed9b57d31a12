import { laneMarker, takeCommands } from "../domain/feed/command/command.ts";
import { isSettlement, mayBeDone } from "../domain/feed/command/settlement.ts";
import type { Context } from "../domain/kernel/decision.ts";
import type { Balance } from "../domain/records/balance.ts";
import type { Decision } from "../domain/records/change.ts";
import type { PlatformCommand, SettlementCommand } from "../domain/records/command.ts";
import type { FeedSource } from "../domain/records/feed-source.ts";
import { limits } from "../limits.ts";
import { delayMs, nowMs } from "../runtime/clock.ts";
import { UnreadableItem } from "../runtime/unreadable.ts";
import type { TakeCommands } from "../schema/feed/command.ts";
import { balances, commands, uniques } from "../table/entities.ts";
import { countEntries, keyIn, pagesOf } from "../table/partition.ts";
import { findReadable, readEach } from "../table/store.ts";
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
 * account wait for one lane, so the read goes on to the end, or as long as it may, while fewer are taken than are asked
 * for.
 * @param page_size commands that one call reads
 */
export async function decideTake(
  { tenant_id: tenant, id, paused }: FeedSource,
  asked: TakeCommands,
  context: Context,
  page_size: number = limits.commands.looked_at,
): Promise<Decision<readonly PlatformCommand[]>> {
  const { max = limits.commands.max_taken, lease_seconds = limits.commands.lease_seconds } = asked;
  if (paused) return { ok: true, result: [], changes: [], events: [] };
  const query = { index: indexes.state, page_size };
  const until = nowMs() + delayMs(limits.commands.looking_seconds);
  let free: readonly PlatformCommand[] = [];
  const lanes = new Map<string, boolean>();
  let decision = takeCommands([], new Set(), { max, lease_seconds }, context);
  for await (const { items } of pagesOf(commands.inStatus(tenant, id, "waiting"), query)) {
    const found = await findReadable<PlatformCommand>(commands, items.map(keyIn));
    const waiting = [...free, ...(await startable(tenant, found))];
    await readLanes(tenant, waiting, lanes);
    const occupied = new Set([...lanes.keys()].filter((lane) => lanes.get(lane)));
    decision = takeCommands(waiting, occupied, { max, lease_seconds }, context);
    if (!decision.ok || decision.result.length === max || nowMs() >= until) break;
    // Commands that wait for their lane now are not looked at again: the next page needs only those taken so far.
    const taken = new Set(decision.result.map((command) => command.id));
    free = waiting.filter((command) => taken.has(command.id));
  }
  return decision;
}

/**
 * The commands that may be started: without settlements whose operation the platform may have made by itself, or of
 * which that cannot be told.
 */
async function startable(tenant: string, found: readonly PlatformCommand[]): Promise<readonly PlatformCommand[]> {
  const settlements = found.filter(isSettlement);
  const keys = settlements.map(({ account_id }) => balances.key(tenant, account_id));
  const money = await readEach<Balance>(keys);
  const isDoubtful = (command: SettlementCommand, balance: (typeof money)[number]) =>
    balance instanceof UnreadableItem || mayBeDone(command, balance);
  const doubtful = new Set(
    settlements.filter((command, place) => isDoubtful(command, money[place])).map((command) => command.id),
  );
  return found.filter(({ id }) => !doubtful.has(id));
}

/** Reads of the lanes of commands, those that are not known yet, whether another command occupies them. */
async function readLanes(
  tenant: string,
  waiting: readonly PlatformCommand[],
  lanes: Map<string, boolean>,
): Promise<void> {
  const wanted = new Set(waiting.flatMap((command) => laneMarker(command) ?? []));
  const unread = [...wanted].filter((lane) => !lanes.has(lane));
  const owners = await readEach(unread.map((lane) => uniques.key(tenant, "command_lane", lane)));
  for (const [place, lane] of unread.entries()) lanes.set(lane, owners[place] !== undefined);
}
