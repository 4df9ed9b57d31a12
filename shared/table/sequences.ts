import { beginning, type Link } from "../domain/audit/chain.ts";
import { events, type Key, sequences } from "./entities.ts";
import { type Condition, isNew } from "./expression.ts";
import { readKeys } from "./store.ts";
import { changeMember, type TransactItem, typeTag } from "./write.ts";

/** The last entry of the audit. */
export interface AuditHead extends Link {
  /** When it expires, in epoch seconds; absent before the first entry. */
  readonly expires_at?: number;
}

/** How far the events of a tenant are numbered, and from which number on they are in lanes. */
export interface EventCounter {
  /** The number of the last published event; 0 before the first. */
  readonly last: number;
  /** The first number of the present layout; those below are where version 1 put them (ADR 0038). */
  readonly first_in_lanes: number;
  /** The last entry of the audit. */
  readonly audit: AuditHead;
  /** How the counter is stored: not at all, by the code before lanes, or by this one. */
  readonly form: "none" | "former" | "present";
}

/** What the item of the counter says, in any of its forms. */
interface StoredCounter {
  readonly n?: number;
  readonly last?: number;
  readonly first_in_lanes?: number;
  readonly audit_sequence?: number;
  readonly audit_hash?: string;
  readonly audit_expires_at?: number;
}

/** The counter of a tenant, strongly consistent. */
export async function eventCounter(tenant: string): Promise<EventCounter> {
  return (await eventCounterWith(tenant, [])).counter;
}

/** The counter of a tenant and, in the same call, these other items in the order of their keys. */
export async function eventCounterWith(
  tenant: string,
  keys: readonly Key[],
): Promise<{ readonly counter: EventCounter; readonly items: readonly unknown[] }> {
  const [found, ...items] = await readKeys([sequences.key(tenant), ...keys]);
  return { counter: counterOf(found), items };
}

function counterOf(found: unknown): EventCounter {
  if (found === undefined) return { last: 0, first_in_lanes: 1, audit: beginning, form: "none" };
  const { n, last, first_in_lanes, ...stored } = found as StoredCounter;
  const audit = headIn(stored);
  if (last !== undefined && first_in_lanes !== undefined) return { last, first_in_lanes, audit, form: "present" };
  return { last: n ?? 0, first_in_lanes: (n ?? 0) + 1, audit, form: "former" };
}

function headIn({ audit_sequence: sequence, audit_hash: hash = "", audit_expires_at: expires_at }: StoredCounter) {
  if (sequence === undefined) return beginning;
  return { sequence, hash, ...(expires_at === undefined ? {} : { expires_at }) };
}

/** The number of the last published event of a tenant; 0 before its first. */
export async function lastSequence(tenant: string): Promise<number> {
  return (await eventCounter(tenant)).last;
}

/** Where the event of a number is. */
export function eventKeyAt(tenant: string, sequence: number, { first_in_lanes }: EventCounter): Key {
  return events.keyAt(tenant, sequence, sequence < first_in_lanes);
}

/** Where a counter is moved to: the last event and the last entry of the audit that it numbers. */
export type NumberedTo = Pick<EventCounter, "last" | "audit">;

/**
 * Moves a counter on as it was read. The former form loses its attribute, so code that knows no lanes cannot number an
 * event after one that is in them.
 */
export function advanceCounter(tenant: string, counter: EventCounter, to: NumberedTo): TransactItem {
  const { last, first_in_lanes, audit, form } = counter;
  const isLast: Condition = { attribute: form === "former" ? "n" : "last", is: "equal", value: last };
  // Compared in addition, since a commit without events moves the audit alone.
  const isHead: Condition =
    audit.sequence === 0
      ? { attribute: "audit_sequence", is: "absent" }
      : { attribute: "audit_sequence", is: "equal", value: audit.sequence };
  const { sequence: audit_sequence, hash: audit_hash, expires_at: audit_expires_at } = to.audit;
  const expiry = audit_expires_at === undefined ? {} : { audit_expires_at };
  const head = audit_sequence === 0 ? {} : { audit_sequence, audit_hash, ...expiry };
  return changeMember(sequences.key(tenant), {
    set: { ...typeTag(sequences.et), last: to.last, first_in_lanes, ...head },
    remove: form === "former" ? ["n"] : [],
    when: form === "none" ? [isNew] : [isLast, isHead],
  });
}
