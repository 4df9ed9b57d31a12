import { limits } from "../../limits.ts";
import { sha256 } from "../../runtime/digest.ts";
import { env } from "../../runtime/env.ts";

/** Primary key of an item. `T` is the tenant id; `#` joins tenant and id, `|` joins facets, and ids hold neither. */
export interface Key {
  readonly pk: string;
  readonly sk: string;
  /** Whether the item is in the volatile table; in the main table without it. */
  readonly volatile?: boolean;
  /** Whether the item is in the table of keys, which has no backups. */
  readonly keys?: boolean;
}

/** Index keys of an item; an index that is not named does not hold it. */
export interface IndexKeys {
  readonly list_pk?: string;
  readonly list_sk?: string;
  readonly state_pk?: string;
  readonly state_sk?: string;
  readonly owner_pk?: string;
  readonly owner_sk?: string;
  readonly client_pk?: string;
  readonly client_sk?: string;
  readonly due_pk?: string;
  readonly due_sk?: string;
  /** Value for filters of an index, where the item itself names it otherwise. */
  readonly type?: string;
  /** Values for filters of this kind beyond the attributes that every index carries; a list shows them as its own. */
  readonly facets?: Readonly<Record<string, string | null>>;
}

/** A stored kind: its type tag, where an item lives, and the index partitions it is found in. */
export interface Entity<T> {
  readonly et: string;
  readonly keyOf: (item: T) => Key;
  readonly indexesOf?: (item: T) => IndexKeys;
  /** The attributes that are stored of an item, where they are not its own members. */
  readonly toStored?: (item: T) => Readonly<Record<string, unknown>>;
  /** The members that `toStored` left out or changed, from an item as it is stored. */
  readonly fromStored?: (stored: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>;
}

/**
 * A name that others chose, as it stands in a key: without `#`, so that it names no other key and matches no pattern
 * of one. Names of symbols hold neither `|`, `%`, `*` nor `?`, so two of them stay two.
 */
export function keyPart(name: string): string {
  return name.replaceAll("#", "%23");
}

/** The name that {@link keyPart} encoded. */
export function nameInKey(part: string): string {
  return part.replaceAll("%23", "#");
}

/** The ULID of an identifier: the part that sorts by time. */
export function ulidOf(id: string): string {
  return id.slice(id.indexOf("_") + 1);
}

/** A moment as the first ten characters of a ULID: it sorts among identifiers. */
function timeKey(moment: string): string {
  return inBase32(Math.max(0, Date.parse(moment)), 10);
}

/** The moment that an identifier was made at, RFC 3339. */
export function timeOfId(id: string): string {
  let value = 0;
  for (const digit of ulidOf(id).slice(0, 10)) value = value * 32 + crockford.indexOf(digit);
  return new Date(value).toISOString();
}

/** Place in a list by a moment; the identifier breaks ties, so the order is total. */
export function placeAt(moment: string, id: string): string {
  return `${timeKey(moment)}|${ulidOf(id)}`;
}

/** Kinds of the due index, each in shards of its own: a backlog of one hides no other. */
export type DueKind =
  | "ACCOUNT"
  | "APP"
  | "BREACH"
  | "CLIENT"
  | "COMMAND"
  | "DLV"
  | "DRIFT"
  | "EVENT"
  | "HEALTH"
  | "JOB"
  | "ORDER"
  | "OUTBOX"
  | "PARKED"
  | "PROVIDER"
  | "REFUSAL"
  | "REPLAY"
  | "TRANSFER"
  | "RESET"
  | "RISK"
  | "SKIPPED"
  | "SOURCE"
  | "TXN"
  | "WALK"
  | "WEBHOOK";

/** Partition of the due index that an item is found in, and its place there: the time, then the id. */
export function dueKeys(kind: DueKind, id: string, wakeAt: string): IndexKeys {
  return { due_pk: duePartition(kind, shardOf(kind, id)), due_sk: `${wakeAt}|${id}` };
}

/** The last sort key of what is due by a time, that millisecond among it. */
export function dueBy(time: string): string {
  return `${time}|~`;
}

/** The kinds of which each commit, event or delivery has an entry. */
const busyKinds: ReadonlySet<DueKind> = new Set(["OUTBOX", "EVENT", "DLV"]);

/** Shards of a kind in the due index. There were fewer once: what was put into those is in the first of these. */
export function dueShards(kind: DueKind): number {
  return busyKinds.has(kind) ? limits.events.busy_due_shards[env.stage] : limits.events.due_shards;
}

/** Name of one shard of a kind in the due index. */
export function duePartition(kind: DueKind, shard: number): string {
  return `DUE|${kind}|${String(shard).padStart(2, "0")}`;
}

function shardOf(kind: DueKind, id: string): number {
  return spread(id, dueShards(kind));
}

/** The shard of an identifier among so many. */
export function spread(id: string, shards: number): number {
  return Number.parseInt(sha256(id).slice(0, 4), 16) % shards;
}

/** The digits of Crockford's base 32, which sort as their values do. */
export const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** A number in so many digits of base 32. */
export function inBase32(value: number, length: number): string {
  let rest = value;
  let text = "";
  for (let index = 0; index < length; index += 1) {
    text = crockford.charAt(rest % 32) + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}
