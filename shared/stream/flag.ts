import type { StreamFlag, StreamSet } from "../domain/stream/connection.ts";
import { limits } from "../limits.ts";
import { nowMs } from "../runtime/clock.ts";
import { Unavailable } from "../runtime/unavailable.ts";
import { streamDirectory, streamFlags } from "../table/entities.ts";
import { type Condition, isNew, isStored } from "../table/expression.ts";
import { changeAndRead, changeItem, putItem } from "../table/items.ts";

/** What of a set the flag says. */
type NotedSet = Pick<StreamSet, "tenant_id" | "set" | "members" | "revision">;

/**
 * Says in the flag of a brokerage how many connections a set has, unless the flag knows a newer revision of it. The
 * first one makes the flag, and before it the entry in the directory, by which the sweep finds it.
 * @throws Unavailable when others were faster every time
 */
export async function noteSet({ tenant_id, set, members, revision }: NotedSet): Promise<void> {
  const place = `sets.${set}`;
  const state = { connections: Object.keys(members).length, revision };
  const key = streamFlags.key(tenant_id);
  const isOlder: Condition = { attribute: `${place}.revision`, is: "below", value: revision };
  for (let tries = 0; tries < limits.stream.change_tries; tries += 1) {
    const noted = await changeAndRead<StreamFlag>(key, {
      set: { [`${place}.connections`]: state.connections, [`${place}.revision`]: revision },
      add: { revision: 1 },
      when: [isStored, isOlder],
    });
    if (noted.ok) return;
    if (noted.item === undefined) {
      const noted_at_ms = nowMs();
      await putItem(streamDirectory, { tenant_id, noted_at_ms });
      const made = { tenant_id, created_at_ms: noted_at_ms, revision: 1, sets: { [String(set)]: state } };
      if (await putItem(streamFlags, made, [isNew])) return;
    } else if (noted.item.sets[String(set)] !== undefined) return;
    else {
      const added = { set: { [place]: state }, add: { revision: 1 } };
      if (await changeItem(key, { ...added, when: [isStored, { attribute: place, is: "absent" }] })) return;
    }
  }
  throw new Unavailable("The flag of the stream changed every time.");
}

/** Says in the flag that a set has a subscription which prices move. */
export async function notePrices(noted: NotedSet): Promise<void> {
  const { tenant_id, set } = noted;
  const place = `sets.${set}`;
  const change = {
    set: { [`${place}.prices`]: nowMs() },
    when: [isStored, { attribute: place, is: "present" } as const],
  };
  const key = streamFlags.key(tenant_id);
  if (await changeItem(key, change)) return;
  await noteSet(noted);
  await changeItem(key, change);
}
