import {
  GetObjectLockConfigurationCommand,
  ListObjectVersionsCommand,
  type ListObjectVersionsCommandInput,
  type ListObjectVersionsCommandOutput,
  type S3Client,
} from "@aws-sdk/client-s3";
import { daysAfter } from "../../../shared/calendar.ts";
import type { ExportFault } from "../../../shared/domain/audit/export-check.ts";
import { limits } from "../../../shared/limits.ts";

/** How often an object was written, and when it was deleted. */
export interface ObjectHistory {
  readonly key: string;
  readonly versions: number;
  /** Times of its delete markers, RFC 3339. */
  readonly deleted_at: readonly string[];
}

/** Versions of the objects of a bucket. */
export interface BucketHistory {
  /** The history of each object, deleted ones included, sorted by their keys. */
  objects(prefix: string): AsyncIterable<ObjectHistory>;
  /** Whether no object can be deleted before its time. Where none is locked, objects expire. */
  isLocked(): Promise<boolean>;
}

/** The history of a bucket; that of one object may be on several pages of the list. */
export function bucketHistory(client: S3Client, bucket: string): BucketHistory {
  return {
    async *objects(prefix) {
      let open: ObjectHistory | undefined;
      for await (const { key, deleted_at } of versionsIn(client, bucket, prefix)) {
        if (open !== undefined && open.key !== key) yield open;
        const known: ObjectHistory = open?.key === key ? open : { key, versions: 0, deleted_at: [] };
        open =
          deleted_at === undefined
            ? { ...known, versions: known.versions + 1 }
            : { ...known, deleted_at: [...known.deleted_at, deleted_at] };
      }
      if (open !== undefined) yield open;
    },
    async isLocked() {
      try {
        await client.send(new GetObjectLockConfigurationCommand({ Bucket: bucket }));
        return true;
      } catch (error) {
        if ((error as Error).name === "ObjectLockConfigurationNotFoundError") return false;
        throw error;
      }
    },
  };
}

/** A version of an object, or a delete marker with its time. */
interface Version {
  readonly key: string;
  readonly deleted_at?: string;
}

/** One version or delete marker after the other, sorted by key: S3 lists the two kinds of a page apart. */
async function* versionsIn(client: S3Client, bucket: string, prefix: string): AsyncGenerator<Version> {
  let place: Pick<ListObjectVersionsCommandInput, "KeyMarker" | "VersionIdMarker"> | undefined = {};
  while (place !== undefined) {
    const input = { Bucket: bucket, Prefix: prefix, ...place };
    const page: ListObjectVersionsCommandOutput = await client.send(new ListObjectVersionsCommand(input));
    const { Versions: versions = [], DeleteMarkers: markers = [], NextKeyMarker: next, NextVersionIdMarker: id } = page;
    const found: Version[] = [
      ...versions.map(({ Key: key = "" }) => ({ key })),
      ...markers.map(({ Key: key = "", LastModified: at }) => ({ key, deleted_at: at?.toISOString() ?? "" })),
    ];
    yield* found.toSorted((a, b) => (a.key < b.key ? -1 : Number(a.key > b.key)));
    place = next === undefined ? undefined : { KeyMarker: next, ...(id !== undefined && { VersionIdMarker: id }) };
  }
}

/** Result of a check of a bucket's history. */
export interface HistoryCheck {
  /** The first object of each brokerage that was deleted or written again. */
  readonly faults: ReadonlyMap<string, ExportFault>;
  /** Why nothing was checked; absent where it was. */
  readonly unchecked?: string;
}

/**
 * Finds objects that were deleted or written again. A lock keeps the versions of an object; a delete marker or a newer
 * version still hides them from all that reads objects by their keys. Where objects expire, their markers are no fault.
 */
export async function checkHistory(history: BucketHistory | undefined, prefix: string): Promise<HistoryCheck> {
  const faults = new Map<string, ExportFault>();
  if (history === undefined) return { faults, unchecked: "a copy holds one version of each object" };
  try {
    let locked: boolean | undefined;
    for await (const object of history.objects(prefix)) {
      const { key, versions, deleted_at } = object;
      const brokerage = key.split("/")[0] ?? "";
      if (faults.has(brokerage) || (versions < 2 && deleted_at.length === 0)) continue;
      if (isOfAge(object)) locked ??= await history.isLocked();
      if (isOfAge(object) && locked === false) continue;
      faults.set(brokerage, faultOf(object));
    }
    return { faults };
  } catch (error) {
    // The local runner keeps the newest version alone, and says that it does not know the others.
    if ((error as Error).name !== "NotImplemented") throw error;
    return { faults, unchecked: "this server of buckets keeps one version of each object" };
  }
}

function faultOf({ key, versions, deleted_at }: ObjectHistory): ExportFault {
  if (versions < 2) return { key, kind: "removed", what: "the object was deleted: a delete marker hides it" };
  const again = deleted_at.length > 0 ? "was deleted and written again" : "was written again";
  return { key, kind: "changed", what: `the object ${again}: it has ${versions} versions` };
}

/** Whether an object was deleted once, at an age at which the sandbox lets objects expire. */
function isOfAge({ key, versions, deleted_at: [first, ...more] }: ObjectHistory): boolean {
  const day = /^[^/]+\/(\d{4}-\d{2}-\d{2})\//.exec(key)?.[1];
  if (day === undefined || first === undefined || more.length > 0 || versions > 1) return false;
  return first >= daysAfter(day, limits.audit.kept_seconds / 86_400);
}
