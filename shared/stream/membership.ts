import type { StreamConnection, StreamPrincipal, StreamSet } from "../domain/stream/connection.ts";
import { limits } from "../limits.ts";
import { delayMs, nowIso, nowMs } from "../runtime/clock.ts";
import { Unavailable } from "../runtime/unavailable.ts";
import { streamConnections, streamFlags, streamSets } from "../table/entities.ts";
import { isNew, isStored } from "../table/expression.ts";
import { changeAndRead, changeItem, deleteItem, putItem } from "../table/items.ts";
import { readAll } from "../table/store.ts";
import { noteJoined, noteSet } from "./flag.ts";
import { claimPlace, freePlace } from "./holders.ts";
import { logConnection } from "./meter.ts";

// Each step is one conditional write of one item: hundreds of clients that connect at the same time, to the same set
// and flag that a worker writes as well, would meet as transactions and cancel each other. The order makes every step
// repairable: what lists a connection is written after its item and removed before it.

/** Where a connection is. */
export interface ConnectionPlace {
  readonly tenant_id: string;
  readonly connection_id: string;
}

/**
 * Opens a connection: it gets a place among those of its holder, and a set that serves it.
 * @returns the connection; undefined when its holder has as many as there may be
 * @throws Unavailable when others were faster every time
 */
export async function joinStream(
  principal: StreamPrincipal,
  { tenant_id, connection_id }: ConnectionPlace,
): Promise<StreamConnection | undefined> {
  const now = nowMs();
  const closes_at = Math.floor((now + delayMs(limits.stream.connection_seconds)) / 1000);
  const [flag] = await readAll(streamFlags, [streamFlags.key(tenant_id)]);
  const sets = Object.entries(flag?.sets ?? {}).map(([set, { connections }]) => ({ set: Number(set), connections }));
  const first = lowest((set) => !sets.some((each) => each.set === set && isFull(each)));
  const connection: StreamConnection = {
    ...{ ...principal, connection_id, tenant_id, set: first, connected_at: new Date(now).toISOString() },
    ...{ closes_at, expires_at: closes_at + limits.stream.kept_seconds },
    ...{ subscriptions: [], revision: 0, rate_second: 0, rate_count: 0 },
  };
  await putItem(streamConnections, connection);
  if (!(await claimPlace(connection))) {
    await deleteItem(streamConnections.keyOf(connection));
    return undefined;
  }
  return joinSet(connection);
}

function isFull({ connections }: { readonly connections: number }): boolean {
  return connections >= limits.stream.connections_per_set;
}

/** The lowest number of a set for which this holds. */
function lowest(holds: (set: number) => boolean): number {
  let set = 0;
  while (!holds(set)) set += 1;
  return set;
}

/** Makes a connection a member of its set, or of the next one with room, and says so in the flag. */
async function joinSet(connection: StreamConnection): Promise<StreamConnection> {
  const { tenant_id, connection_id, closes_at, expires_at } = connection;
  const { connections_per_set, change_tries } = limits.stream;
  let { set } = connection;
  for (let tries = 0; tries < change_tries; ) {
    const joined = await changeAndRead<StreamSet>(streamSets.key(tenant_id, set), {
      set: { [`members.${connection_id}`]: closes_at, expires_at },
      add: { revision: 1 },
      when: [isStored, { attribute: "members", is: "size_at_most", value: connections_per_set - 1 }],
    });
    if (joined.ok) {
      await noteJoined(joined.item);
      return { ...connection, set };
    }
    if (joined.item === undefined) {
      tries += 1;
      // A set that was there before had lower revisions: they are counted from a moment.
      const made = { tenant_id, set, members: { [connection_id]: closes_at }, revision: nowMs(), expires_at };
      if (!(await putItem(streamSets, made, [isNew]))) continue;
      await noteJoined(made);
      return { ...connection, set };
    }
    set += 1;
    await changeItem(streamConnections.keyOf(connection), { set: { set }, when: [isStored] });
  }
  throw new Unavailable("The set of the connection changed every time.");
}

/**
 * Ends a connection: nothing is sent to it any more, and its place is free. To end it again changes nothing. When it
 * ended is noted first, so that a repetition after a crash logs the same end, which is counted once.
 */
export async function leaveStream({ tenant_id, connection_id }: ConnectionPlace): Promise<void> {
  const key = streamConnections.key(tenant_id, connection_id);
  const ended_at = nowIso();
  const { item: connection } = await changeAndRead<StreamConnection>(key, {
    set: { ended_at },
    when: [isStored, { attribute: "ended_at", is: "absent" }],
  });
  if (connection === undefined) return;
  logConnection({ ended_at, ...connection });
  await leaveSet({ tenant_id, connection_id }, connection.set);
  await freePlace(connection);
  await deleteItem(key);
}

/** Removes a member of a set, whether or not its connection is still there. */
export async function leaveSet({ tenant_id, connection_id }: ConnectionPlace, set: number): Promise<void> {
  const member = `members.${connection_id}`;
  const left = await changeAndRead<StreamSet>(streamSets.key(tenant_id, set), {
    add: { revision: 1 },
    remove: [member],
    when: [isStored, { attribute: member, is: "present" }],
  });
  if (left.ok) await noteSet(left.item);
}
