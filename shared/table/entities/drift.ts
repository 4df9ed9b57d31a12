import type { Reconciliation } from "../../domain/feed/drift/drift.ts";
import type { Snapshot, SnapshotEnd, SnapshotHead, SnapshotPart } from "../../domain/feed/drift/snapshot.ts";
import type { Drift, DriftPositions } from "../../domain/records/drift.ts";
import { limits } from "../../limits.ts";
import { sha256 } from "../../runtime/digest.ts";
import { feedSources } from "./feed.ts";
import { dueKeys, type Entity, type IndexKeys, type Key, spread, ulidOf } from "./keys.ts";

type Named = Pick<Snapshot, "tenant_id" | "source_id" | "snapshot_id">;

/** The partition of a snapshot, its parts and its end, next to its source. */
function partitionOf(tenant: string, sourceId: string, snapshotId: string): string {
  return `${feedSources.partition(tenant, sourceId)}|SNP|${sha256(snapshotId).slice(0, 32)}`;
}

/** Snapshots of a source. List: by the number that they include (`list`). */
export const snapshots = {
  et: "SNAPSHOT",
  partition: partitionOf,
  key: (tenant: string, sourceId: string, id: string): Key => ({ pk: partitionOf(tenant, sourceId, id), sk: "SNP" }),
  keyOf: (item: Snapshot): Key => snapshots.key(item.tenant_id, item.source_id, item.snapshot_id),
  ofSource: (tenant: string, sourceId: string) => `${tenant}|SNP|${sourceId}`,
  indexesOf: (item: Snapshot): IndexKeys => ({
    list_pk: snapshots.ofSource(item.tenant_id, item.source_id),
    list_sk: `${item.as_of_seq.padStart(19, "0")}|${item.taken_at}|${sha256(item.snapshot_id).slice(0, 16)}`,
  }),
} satisfies Entity<Snapshot> & Record<string, unknown>;

/** Parts of a snapshot, by their number, next to it. */
export const snapshotParts = {
  et: "SNAPSHOTPART",
  prefix: "PART#",
  key: (tenant: string, sourceId: string, id: string, part: number): Key => ({
    pk: partitionOf(tenant, sourceId, id),
    sk: `${snapshotParts.prefix}${String(part).padStart(4, "0")}`,
  }),
  keyOf: (item: SnapshotPart): Key => snapshotParts.key(item.tenant_id, item.source_id, item.snapshot_id, item.part),
} satisfies Entity<SnapshotPart> & Record<string, unknown>;

/** The accounts that a complete snapshot does not contain, next to it. */
export const snapshotEnds = {
  et: "SNAPSHOTEND",
  key: (item: Named): Key => ({ pk: partitionOf(item.tenant_id, item.source_id, item.snapshot_id), sk: "END" }),
  keyOf: (item: SnapshotEnd): Key => snapshotEnds.key(item),
} satisfies Entity<SnapshotEnd> & Record<string, unknown>;

/** The newest snapshot of a source, next to it. */
export const snapshotHeads = {
  et: "SNAPSHOTHEAD",
  key: (tenant: string, sourceId: string): Key => ({ pk: feedSources.partition(tenant, sourceId), sk: "SNP" }),
  keyOf: (item: SnapshotHead): Key => snapshotHeads.key(item.tenant_id, item.source_id),
} satisfies Entity<SnapshotHead> & Record<string, unknown>;

/** State of the comparisons of the logins of a source. */
export const reconciliations = {
  et: "RECONCILIATION",
  partition: (tenant: string, sourceId: string, shard: number) =>
    `${feedSources.partition(tenant, sourceId)}|RCN|${shard}`,
  /** Every partition of a source. */
  partitions: (tenant: string, sourceId: string) =>
    Array.from({ length: limits.snapshots.login_shards }, (_, shard) =>
      reconciliations.partition(tenant, sourceId, shard),
    ),
  key: (tenant: string, sourceId: string, login: string): Key => ({
    pk: reconciliations.partition(tenant, sourceId, spread(login, limits.snapshots.login_shards)),
    sk: sha256(login),
  }),
  keyOf: (item: Reconciliation): Key => reconciliations.key(item.tenant_id, item.source_id, item.platform_login),
} satisfies Entity<Reconciliation> & Record<string, unknown>;

/**
 * Differences between two books. Lists: all of a tenant (`list`); those with a proposal (`state`); those with items to
 * retry (`due`).
 */
export const drifts = {
  et: "DRIFT",
  key: (tenant: string, id: string): Key => ({ pk: `${tenant}#${id}`, sk: "DRIFT" }),
  keyOf: (item: Drift): Key => drifts.key(item.tenant_id, item.id),
  all: (tenant: string) => `${tenant}|DRF`,
  proposed: (tenant: string) => `${tenant}|DRF|PROPOSED`,
  indexesOf: (item: Drift): IndexKeys => ({
    list_pk: drifts.all(item.tenant_id),
    list_sk: ulidOf(item.id),
    facets: { source_id: item.source_id },
    ...(item.proposal === null ? {} : { state_pk: drifts.proposed(item.tenant_id), state_sk: ulidOf(item.id) }),
    ...(item.retry_at === undefined ? {} : dueKeys("DRIFT", item.id, item.retry_at)),
  }),
} satisfies Entity<Drift> & Record<string, unknown>;

/** All positions of the account of a drift, next to it, where the drift itself does not have them. */
export const driftPositions = {
  et: "DRIFTPOSITIONS",
  key: (tenant: string, id: string): Key => ({ pk: `${tenant}#${id}`, sk: "POSITIONS" }),
  keyOf: (item: DriftPositions): Key => driftPositions.key(item.tenant_id, item.drift_id),
} satisfies Entity<DriftPositions> & Record<string, unknown>;
