import type { StreamBrokerage, StreamFlag, StreamSet } from "../domain/stream/connection.ts";
import { followsPrices } from "../domain/stream/subscription.ts";
import { limits } from "../limits.ts";
import { nowMs } from "../runtime/clock.ts";
import { causeOf, log } from "../runtime/log.ts";
import { sendStreamWakes } from "../runtime/stream-queue.ts";
import { readable } from "../runtime/unreadable.ts";
import { forEachOf, type SweepResult } from "../table/due.ts";
import { streamConnections, streamDirectory, streamFlags, streamSets } from "../table/entities.ts";
import { isStill, isStored } from "../table/expression.ts";
import { changeItem, deleteItem } from "../table/items.ts";
import { readPartition } from "../table/partition.ts";
import { findAll, readAll } from "../table/store.ts";
import { tryRead } from "../table/table.ts";
import { noteSet } from "./flag.ts";
import { leaveSet, leaveStream } from "./membership.ts";

/**
 * Goes through the brokerages with connections: ends what a lost `$disconnect` left, puts the flag right, wakes every
 * set, so that what a lost message was to wake is served, and removes what the last connection left behind.
 * @returns how many sets were woken, and how many brokerages failed
 */
export async function sweepStreams(hasTime: () => boolean): Promise<SweepResult> {
  const entries = await readPartition(streamDirectory.partition, { volatile: true });
  return forEachOf(readable(entries.map((entry) => tryRead<StreamBrokerage>(entry))), {
    parallel: limits.stream.tenants_at_once,
    run: async (brokerage) => (hasTime() ? sweepBrokerage(brokerage) : 0),
    report: ({ tenant_id }, error) =>
      log.error("The stream of a brokerage could not be swept.", { tenant_id, ...causeOf(error) }),
  });
}

async function sweepBrokerage(brokerage: StreamBrokerage): Promise<number> {
  const { tenant_id } = brokerage;
  const before = await stateOf(tenant_id);
  const ended = await Promise.all(before.sets.map((set) => endExpired(set)));
  const { flag, sets } = ended.includes(true) ? await stateOf(tenant_id) : before;
  const numbers = sets.flatMap(({ set, members }) => (Object.keys(members).length === 0 ? [] : [set]));
  if (numbers.length === 0) {
    await forget(brokerage, flag, sets);
    return 0;
  }
  await Promise.all(sets.map((set) => repairState(set, flag)));
  await sendStreamWakes(numbers.map((set) => ({ tenant_id, set, cause: "sweep" })));
  return numbers.length;
}

async function stateOf(tenant: string): Promise<{ flag: StreamFlag | undefined; sets: StreamSet[] }> {
  const [flag] = await readAll(streamFlags, [streamFlags.key(tenant)]);
  const keys = Object.keys(flag?.sets ?? {}).map((set) => streamSets.key(tenant, Number(set)));
  return { flag, sets: await findAll(streamSets, keys) };
}

/** Ends the connections of a set that API Gateway has ended by now. */
async function endExpired({ tenant_id, set, members }: StreamSet): Promise<boolean> {
  const before = nowMs() / 1000 - limits.stream.swept_after_seconds;
  const over = Object.keys(members).filter((id) => (members[id] ?? 0) < before);
  for (const connection_id of over) {
    await leaveStream({ tenant_id, connection_id });
    await leaveSet({ tenant_id, connection_id }, set);
  }
  return over.length > 0;
}

/** Puts right what the flag says of a set: a function that ended between two writes left it behind. */
async function repairState(set: StreamSet, flag: StreamFlag | undefined): Promise<void> {
  const state = flag?.sets[String(set.set)];
  if (state?.revision !== set.revision) await noteSet(set);
  if (state?.prices === undefined) return;
  const { tenant_id, members } = set;
  const keys = Object.keys(members).map((id) => streamConnections.key(tenant_id, id));
  const connections = await findAll(streamConnections, keys);
  const channels = connections.flatMap(({ subscriptions }) => subscriptions.flatMap((each) => each.channels));
  if (channels.some(followsPrices)) return;
  const prices = `sets.${set.set}.prices`;
  await changeItem(streamFlags.key(tenant_id), {
    remove: [prices],
    when: [isStored, ...isStill({ [prices]: state.prices })],
  });
}

/**
 * Removes what a brokerage without connections has of the stream, each item only as it was read: a connection that is
 * opened meanwhile changes the set first, then the entry in the directory and the flag.
 */
async function forget(
  brokerage: StreamBrokerage,
  flag: StreamFlag | undefined,
  sets: readonly StreamSet[],
): Promise<void> {
  const { tenant_id, noted_at_ms } = brokerage;
  for (const { set, revision } of sets) {
    if (!(await deleteItem(streamSets.key(tenant_id, set), isStill({ revision })))) return;
  }
  if (flag !== undefined) {
    const { revision } = flag;
    if (!(await deleteItem(streamFlags.keyOf(flag), isStill({ revision })))) return;
  }
  await deleteItem(streamDirectory.keyOf(brokerage), isStill({ noted_at_ms }));
}
