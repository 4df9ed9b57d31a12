import type { StreamFlag, StreamSet } from "../domain/stream/connection.ts";
import { limits } from "../limits.ts";
import { nowMs } from "../runtime/clock.ts";
import { Unavailable } from "../runtime/unavailable.ts";
import { streamDirectory, streamFlags } from "../table/entities.ts";
import { type Condition, isNew, isStored } from "../table/expression.ts";
import { changeAndRead, changeItem, putItem } from "../table/items.ts";

/** Members of a set in the flag. */
type NotedSet = Pick<StreamSet, "tenant_id" | "set" | "members" | "revision">;

/**
 * Says in the flag of a brokerage how many connections a set has, unless the flag knows a newer revision of it.
 * @returns the flag where it does not know the set, undefined where there is none, and `noted` otherwise
 */
export async function noteSet(noted: NotedSet): Promise<StreamFlag | undefined | "noted"> {
  const { tenant_id, set, revision } = noted;
  const place = `sets.${set}`;
  const isOlder: Condition = { attribute: `${place}.revision`, is: "below", value: revision };
  const changed = await changeAndRead<StreamFlag>(streamFlags.key(tenant_id), {
    set: { [`${place}.connections`]: stateOf(noted).connections, [`${place}.revision`]: revision },
    add: { revision: 1 },
    when: [isStored, isOlder],
  });
  return changed.ok || changed.item?.sets[String(set)] !== undefined ? "noted" : changed.item;
}

/**
 * As {@link noteSet}, for a connection that is opened: the first one makes the flag, and before it the entry in the
 * directory, by which the sweep finds it.
 * @throws Unavailable when others were faster every time
 */
export async function noteJoined(noted: NotedSet): Promise<void> {
  const { tenant_id, set } = noted;
  const place = `sets.${set}`;
  for (let tries = 0; tries < limits.stream.change_tries; tries += 1) {
    const flag = await noteSet(noted);
    if (flag === "noted") return;
    if (flag === undefined) {
      const noted_at_ms = nowMs();
      await putItem(streamDirectory, { tenant_id, noted_at_ms });
      const made = { tenant_id, created_at_ms: noted_at_ms, revision: 1, sets: { [String(set)]: stateOf(noted) } };
      if (await putItem(streamFlags, made, [isNew])) return;
    } else {
      const added = { set: { [place]: stateOf(noted) }, add: { revision: 1 } };
      const isAbsent: Condition = { attribute: place, is: "absent" };
      if (await changeItem(streamFlags.key(tenant_id), { ...added, when: [isStored, isAbsent] })) return;
    }
  }
  throw new Unavailable("The flag of the stream changed every time.");
}

function stateOf({ members, revision }: NotedSet) {
  return { connections: Object.keys(members).length, revision };
}

/** Says in the flag that a set has a subscription which prices move. */
export async function notePrices({ tenant_id, set }: Pick<NotedSet, "tenant_id" | "set">): Promise<void> {
  const place = `sets.${set}`;
  const isKnown: Condition = { attribute: place, is: "present" };
  await changeItem(streamFlags.key(tenant_id), { set: { [`${place}.prices`]: nowMs() }, when: [isStored, isKnown] });
}
