import type { Dedup, FeedReject } from "../../domain/records/feed-item.ts";
import { type FeedSource, isEnded, type SourcePulse } from "../../domain/records/feed-source.ts";
import { sha256 } from "../../runtime/digest.ts";
import { pulseType } from "../table-shape.ts";
import { dueKeys, type Entity, type IndexKeys, type Key, ulidOf } from "./keys.ts";

/** The last sign of life of a source, with its tenant, which its key is made of. */
export interface StoredPulse extends SourcePulse {
  readonly tenant_id: string;
}

/** When each source was last heard of, by its name, in the volatile table. */
export const pulses = {
  et: pulseType,
  key: (tenant: string, source: string): Key => ({ pk: `${tenant}|PULSE|${source}`, sk: "PULSE", volatile: true }),
  keyOf: (item: StoredPulse): Key => pulses.key(item.tenant_id, item.name),
} satisfies Entity<StoredPulse> & Record<string, unknown>;

/**
 * Feed sources, each in a partition of its own. Lists: all of a tenant (`list`); those that may have fallen silent, or
 * be heard of again (`due`).
 */
export const feedSources = {
  et: "SOURCE",
  partition: (tenant: string, id: string) => `${tenant}|SRC|${id}`,
  key: (tenant: string, id: string): Key => ({ pk: feedSources.partition(tenant, id), sk: "SRC" }),
  keyOf: (item: FeedSource): Key => feedSources.key(item.tenant_id, item.id),
  all: (tenant: string) => `${tenant}|SRC`,
  indexesOf: (item: FeedSource): IndexKeys => ({
    list_pk: feedSources.all(item.tenant_id),
    list_sk: ulidOf(item.id),
    ...(item.watch_at === undefined || isEnded(item) ? {} : dueKeys("SOURCE", item.id, item.watch_at)),
  }),
} satisfies Entity<FeedSource> & Record<string, unknown>;

/** Rejected items of a feed, by their identifier, which begins with their number, next to their source. */
export const feedRejects = {
  et: "REJECT",
  partition: (tenant: string, sourceId: string) => `${feedSources.partition(tenant, sourceId)}|REJ`,
  sortOf: (id: string) => {
    const [seq = "", ...suffix] = id.split(".");
    return [seq.padStart(19, "0"), ...suffix].join(".");
  },
  key: (tenant: string, sourceId: string, id: string): Key => ({
    pk: feedRejects.partition(tenant, sourceId),
    sk: feedRejects.sortOf(id),
  }),
  keyOf: (item: FeedReject): Key => feedRejects.key(item.tenant_id, item.source_id, item.id),
} satisfies Entity<FeedReject> & Record<string, unknown>;

/** Results of the items of a feed, by the names of the source: the same again changes nothing. */
export const dedups = {
  et: "DEDUP",
  key: (tenant: string, sourceId: string, kind: Dedup["kind"], name: string): Key => ({
    pk: `${tenant}|DD|${sourceId}|${kind}|${sha256(name)}`,
    sk: "DD",
  }),
  keyOf: (item: Dedup): Key => dedups.key(item.tenant_id, item.source_id, item.kind, item.name),
} satisfies Entity<Dedup> & Record<string, unknown>;
