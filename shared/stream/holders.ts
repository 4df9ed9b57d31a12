import type { StreamConnection, StreamHolder } from "../domain/stream/connection.ts";
import { limits } from "../limits.ts";
import { nowMs } from "../runtime/clock.ts";
import { Unavailable } from "../runtime/unavailable.ts";
import { streamConnections, streamHolders, streamSets } from "../table/entities.ts";
import { isNew, isStill, isStored } from "../table/expression.ts";
import { changeAndRead, changeItem, putItem } from "../table/items.ts";
import { readAll } from "../table/store.ts";

/**
 * Counts a connection among those of its holder, exactly, however many are opened at the same time.
 * @returns false when the holder has as many as there may be
 * @throws Unavailable when others were faster every time
 */
export async function claimPlace(connection: StreamConnection): Promise<boolean> {
  const { tenant_id, connection_id, holder, closes_at, expires_at } = connection;
  const key = streamHolders.key(tenant_id, holder.id);
  const { connections_per_holder, change_tries } = limits.stream;
  for (let tries = 0; tries < change_tries; tries += 1) {
    const claimed = await changeAndRead<StreamHolder>(key, {
      set: { [`connections.${connection_id}`]: closes_at, expires_at },
      when: [isStored, { attribute: "connections", is: "size_at_most", value: connections_per_holder - 1 }],
    });
    if (claimed.ok) return true;
    const connections = { [connection_id]: closes_at };
    if (claimed.item === undefined) {
      if (await putItem(streamHolders, { tenant_id, holder_id: holder.id, connections, expires_at }, [isNew]))
        return true;
    } else if (!(await prune(claimed.item))) return false;
  }
  throw new Unavailable("The connections of the holder changed every time.");
}

/** Makes the place of a connection free. */
export async function freePlace({ tenant_id, connection_id, holder }: StreamConnection): Promise<void> {
  await changeItem(streamHolders.key(tenant_id, holder.id), {
    remove: [`connections.${connection_id}`],
    when: [isStored],
  });
}

/**
 * Removes the places of connections that are over, which is looked for only where no place is left: those that should
 * have ended, those that are not stored, and those that were never made members of a set.
 * @returns whether there was one
 */
async function prune({ tenant_id, holder_id, connections }: StreamHolder): Promise<boolean> {
  const ids = Object.keys(connections);
  const stored = await readAll(
    streamConnections,
    ids.map((id) => streamConnections.key(tenant_id, id)),
  );
  const numbers = [...new Set(stored.flatMap((each) => (each === undefined ? [] : [each.set])))];
  const sets = await readAll(
    streamSets,
    numbers.map((set) => streamSets.key(tenant_id, set)),
  );
  const members = new Set(sets.flatMap((set) => Object.keys(set?.members ?? {})));
  const now = nowMs();
  const over = ids.filter((id, at) => {
    const connection = stored[at];
    if (connection === undefined || (connections[id] ?? 0) * 1000 < now) return true;
    const settled = Date.parse(connection.connected_at) + limits.stream.joined_within_ms < now;
    return settled && !members.has(id);
  });
  if (over.length === 0) return false;
  const places = over.map((id) => `connections.${id}`);
  const read = Object.fromEntries(over.map((id) => [`connections.${id}`, connections[id]]));
  await changeItem(streamHolders.key(tenant_id, holder_id), { remove: places, when: [isStored, ...isStill(read)] });
  return true;
}
