import { limits } from "../../../limits.ts";
import type { FeedSnapshotBody, SnapshotPartBody, SnapshotPartInput } from "../../../schema/feed/snapshot.ts";
import { refuse, refuseField } from "../../kernel/decision.ts";
import { type FeedSource, isEnded } from "../../records/feed-source.ts";
import { refuseEnded } from "../source.ts";
import type { SnapshotRef } from "./reconcile.ts";

/** A snapshot of a platform's accounts as it is stored; what its parts came to is theirs. */
export interface Snapshot extends SnapshotRef {
  readonly tenant_id: string;
  readonly complete: boolean;
  readonly parts: number;
  readonly created_at: string;
  /** Epoch seconds. */
  readonly expires_at: number;
}

/** How many accounts of a part came to what. */
export type Counts = Pick<SnapshotPartBody, "compared" | "equal" | "moved_on" | "drifting">;

/** A part of a snapshot as it is stored, once its accounts were compared. */
export interface SnapshotPart extends Counts {
  readonly tenant_id: string;
  readonly source_id: string;
  readonly snapshot_id: string;
  readonly part: number;
  /** Of its accounts as they came: another part of the same number is refused. */
  readonly digest: string;
  readonly status: SnapshotPartBody["status"];
  readonly left_out: SnapshotPartBody["left_out"];
  /** The logins that it has, as JSON: a complete snapshot tells which accounts are missing. */
  readonly logins: string;
  /** Epoch seconds. */
  readonly expires_at: number;
}

/** The missing accounts of a complete snapshot, noted once all of its parts have come. */
export interface SnapshotEnd {
  readonly tenant_id: string;
  readonly source_id: string;
  readonly snapshot_id: string;
  readonly missing: number;
  /** Epoch seconds. */
  readonly expires_at: number;
}

/** The newest snapshot of a source; older ones are not compared any more. */
export interface SnapshotHead extends SnapshotRef {
  readonly tenant_id: string;
  /** When its first part came, RFC 3339. */
  readonly received_at: string;
  readonly version: number;
}

/** Nothing of a part was compared yet. */
export const nothingCompared: Counts = { compared: 0, equal: 0, moved_on: 0, drifting: 0 };

/** The snapshot that a part belongs to, as its first part makes it. */
export function snapshotOf(source: FeedSource, body: SnapshotPartInput, now: string): Snapshot {
  const { snapshot_id, as_of_seq, complete, parts } = body;
  return {
    tenant_id: source.tenant_id,
    source_id: source.id,
    ...{ snapshot_id, as_of_seq, complete, parts },
    taken_at: new Date(body.taken_at).toISOString(),
    created_at: now,
    expires_at: Math.floor(Date.parse(now) / 1000) + limits.snapshots.kept_seconds,
  };
}

/** Why a part cannot be compared, whatever is known of its snapshot; undefined when it can. */
export function refusePart(source: FeedSource, body: SnapshotPartInput, now: string) {
  if (isEnded(source)) return refuseEnded();
  const { as_of_seq, part, parts, accounts, taken_at } = body;
  if (part > parts) return refuseField("validation_failed", "part", "must not be above parts", "out_of_range");
  const ahead = Date.parse(taken_at) - Date.parse(now);
  if (ahead > limits.snapshots.clock_skew_seconds * 1000) {
    return refuseField("validation_failed", "taken_at", "is ahead of the clock of the service", "out_of_range");
  }
  const seen = new Set<string>();
  const twice = accounts.findIndex(({ platform_login: login }) => seen.size === seen.add(login).size);
  if (twice !== -1) {
    return refuseField("validation_failed", `accounts/${twice}/platform_login`, "is in the part already", "duplicate");
  }
  if (BigInt(as_of_seq) >= BigInt(source.next_seq)) {
    const detail = "Items that the snapshot includes have not been received; send them first.";
    return refuse("snapshot_ahead", detail, { extra: { expected_seq: source.next_seq } });
  }
  return undefined;
}

/** The refusal of a part that contradicts what has come of its snapshot; undefined when it does not. */
export function refuseOther(known: Snapshot, given: Snapshot) {
  const members = ["taken_at", "as_of_seq", "complete", "parts"] as const;
  const other = members.find((member) => known[member] !== given[member]);
  return other === undefined ? undefined : refuseConflict(`Another part of the snapshot has another ${other}.`);
}

/** The refusal of a part whose number or snapshot is another one's already. */
export function refuseConflict(detail: string) {
  return refuse("snapshot_conflict", detail);
}

/** The result of a part, as the API shows it. */
export function partBody(part: SnapshotPart): SnapshotPartBody {
  const { tenant_id: _tenant, digest: _digest, logins: _logins, expires_at: _expires, ...fields } = part;
  const source = `/v2/feed/sources/${part.source_id}`;
  const snapshot = { href: `${source}/snapshots/${encodeURIComponent(part.snapshot_id)}` };
  return { ...fields, object: "feed_snapshot_part", _links: { source: { href: source }, snapshot } };
}

/** The snapshot as the API shows it, with what its parts came to. */
export function snapshotBody(
  snapshot: Snapshot,
  parts: readonly SnapshotPart[],
  end: SnapshotEnd | undefined,
): FeedSnapshotBody {
  const { tenant_id: _tenant, expires_at: _expires, ...fields } = snapshot;
  const source = `/v2/feed/sources/${snapshot.source_id}`;
  const sum = (member: keyof Counts) => parts.reduce((total, part) => total + part[member], 0);
  return {
    ...fields,
    object: "feed_snapshot",
    received_parts: parts.length,
    superseded_parts: parts.filter(({ status }) => status === "superseded").length,
    ...{ compared: sum("compared"), equal: sum("equal"), moved_on: sum("moved_on"), drifting: sum("drifting") },
    missing: end?.missing ?? null,
    _links: {
      self: { href: `${source}/snapshots/${encodeURIComponent(snapshot.snapshot_id)}` },
      source: { href: source },
    },
  };
}
