import { events, type Key, sequences } from "./entities.ts";
import { type Condition, isNew } from "./expression.ts";
import { readKeys } from "./store.ts";
import { changeMember, type TransactItem, typeTag } from "./write.ts";

/** How far the events of a tenant are numbered, and from which number on they are in lanes. */
export interface EventCounter {
  /** The number of the last published event; 0 before the first. */
  readonly last: number;
  /** The first number of the present layout; those below are where version 1 put them (ADR 0038). */
  readonly first_in_lanes: number;
  /** How the counter is stored: not at all, by the code before lanes, or by this one. */
  readonly form: "none" | "former" | "present";
}

/** The counter of a tenant, strongly consistent. */
export async function eventCounter(tenant: string): Promise<EventCounter> {
  const [found] = await readKeys([sequences.key(tenant)]);
  if (found === undefined) return { last: 0, first_in_lanes: 1, form: "none" };
  const { n, last, first_in_lanes } = found as { n?: number; last?: number; first_in_lanes?: number };
  if (last !== undefined && first_in_lanes !== undefined) return { last, first_in_lanes, form: "present" };
  return { last: n ?? 0, first_in_lanes: (n ?? 0) + 1, form: "former" };
}

/** The number of the last published event of a tenant; 0 before its first. */
export async function lastSequence(tenant: string): Promise<number> {
  return (await eventCounter(tenant)).last;
}

/** Where the event of a number is. */
export function eventKeyAt(tenant: string, sequence: number, { first_in_lanes }: EventCounter): Key {
  return events.keyAt(tenant, sequence, sequence < first_in_lanes);
}

/**
 * Moves a counter on as it was read. The former form loses its attribute, so code that knows no lanes cannot number an
 * event after one that is in them.
 */
export function advanceCounter(tenant: string, { last, first_in_lanes, form }: EventCounter, to: number): TransactItem {
  const isLast: Condition = { attribute: form === "former" ? "n" : "last", is: "equal", value: last };
  return changeMember(sequences.key(tenant), {
    set: { ...typeTag(sequences.et), last: to, first_in_lanes },
    remove: form === "former" ? ["n"] : [],
    when: [form === "none" ? isNew : isLast],
  });
}
