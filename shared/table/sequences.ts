import { beginning, type Link } from "../domain/audit/chain.ts";
import { nowIso } from "../runtime/clock.ts";
import { sound, UnreadableItem } from "../runtime/unreadable.ts";
import { type Key, sequences } from "./entities.ts";
import { type Condition, isNew, isStill } from "./expression.ts";
import { changeItem } from "./items.ts";
import { readEach } from "./store.ts";
import { indexes } from "./table-shape.ts";
import { changeMember, type TransactItem, typeTag } from "./write.ts";

/** The last entry of the audit. */
export interface AuditHead extends Link {
  /** When it expires, in epoch seconds; absent before the first entry. */
  readonly expires_at?: number;
}

/** How far the events of a tenant are numbered. */
export interface EventCounter {
  /** The number of the last published event; 0 before the first. */
  readonly last: number;
  /** The last entry of the audit. */
  readonly audit: AuditHead;
  /** Endpoints that cannot be read, each with the number after which it is owed what is due to it. */
  readonly skipped: Readonly<Record<string, number>>;
  /** Whether there is an item of the counter; not before the first commit that is numbered. */
  readonly is_stored: boolean;
}

/** The stored item of the counter. */
interface StoredCounter {
  readonly last: number;
  readonly skipped?: Readonly<Record<string, number>>;
  readonly audit_sequence?: number;
  readonly audit_hash?: string;
  readonly audit_expires_at?: number;
}

/** The counter of a tenant, strongly consistent. */
export async function eventCounter(tenant: string): Promise<EventCounter> {
  return (await eventCounterWith(tenant, [])).counter;
}

/**
 * The counter of a tenant and, in the same call, these other items in the order of their keys. Of these one that cannot
 * be read counts as none: they only tell whom to wake.
 */
export async function eventCounterWith(
  tenant: string,
  keys: readonly Key[],
): Promise<{ readonly counter: EventCounter; readonly items: readonly unknown[] }> {
  const [found, ...others] = await readEach([sequences.key(tenant), ...keys]);
  const items = others.map((item) => (item instanceof UnreadableItem ? undefined : item));
  return { counter: counterOf(sound(found)), items };
}

function counterOf(found: unknown): EventCounter {
  if (found === undefined) return { last: 0, audit: beginning, skipped: {}, is_stored: false };
  const { last, skipped = {}, ...stored } = found as StoredCounter;
  return { last, audit: headIn(stored), skipped, is_stored: true };
}

function headIn({
  audit_sequence: sequence,
  audit_hash: hash = "",
  audit_expires_at: expires_at,
}: Omit<StoredCounter, "last">) {
  if (sequence === undefined) return beginning;
  return { sequence, hash, ...(expires_at === undefined ? {} : { expires_at }) };
}

/** The number of the last published event of a tenant; 0 before its first. */
export async function lastSequence(tenant: string): Promise<number> {
  return (await eventCounter(tenant)).last;
}

/**
 * Where a counter is moved to: the last event and the last entry of the audit that it numbers, and the endpoints that
 * are skipped up to there; those of before without them.
 */
export type NumberedTo = Pick<EventCounter, "last" | "audit"> & Partial<Pick<EventCounter, "skipped">>;

/** Moves a counter on as it was read. */
export function advanceCounter(tenant: string, counter: EventCounter, to: NumberedTo): TransactItem {
  const { last, audit, skipped, is_stored } = counter;
  const isLast: Condition = { attribute: "last", is: "equal", value: last };
  // Compared in addition, since a commit without events moves the audit alone.
  const isHead: Condition =
    audit.sequence === 0
      ? { attribute: "audit_sequence", is: "absent" }
      : { attribute: "audit_sequence", is: "equal", value: audit.sequence };
  const { sequence: audit_sequence, hash: audit_hash, expires_at: audit_expires_at } = to.audit;
  const expiry = audit_expires_at === undefined ? {} : { audit_expires_at };
  const head = audit_sequence === 0 ? {} : { audit_sequence, audit_hash, ...expiry };
  return changeMember(sequences.key(tenant), {
    set: { ...typeTag(sequences.et), last: to.last, ...head, ...noteOf(tenant, skipped, to.skipped) },
    when: is_stored ? [isLast, isHead, isSkipping(skipped)] : [isNew],
  });
}

/** Notes skipped endpoints, in the transaction that skips them: the sweep looks for the note from now on. */
function noteOf(tenant: string, before: EventCounter["skipped"], after = before): Readonly<Record<string, unknown>> {
  return after === before ? {} : { skipped: after, ...sequences.dueKeys(tenant, nowIso()) };
}

/** Compared in addition: a publisher that took an endpoint for unreadable must see that it is not any more. */
function isSkipping(skipped: EventCounter["skipped"]): Condition {
  return Object.keys(skipped).length === 0
    ? { attribute: "skipped", is: "absent" }
    : { attribute: "skipped", is: "equal", value: skipped };
}

/** Takes an endpoint off the note, unless more events were numbered meanwhile: false then. */
export function endSkip(tenant: string, { last, skipped }: EventCounter, endpointId: string): Promise<boolean> {
  const { [endpointId]: _ended, ...left } = skipped;
  const { partition, sort } = indexes.due;
  const change = Object.keys(left).length === 0 ? { remove: ["skipped", partition, sort] } : { set: { skipped: left } };
  return changeItem(sequences.key(tenant), { ...change, when: isStill({ last, skipped }) }, "refused");
}
