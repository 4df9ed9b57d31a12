import type { Timings } from "./timings.ts";

interface Bucket {
  units: number;
  atMs: number;
}

/**
 * Capacity of partitions: units flow in evenly up to a burst. Each partition key counts as a partition of its own, as
 * DynamoDB's adaptive capacity has it in the end; a table whose partitions were not split yet throttles earlier.
 */
export class Capacity {
  private readonly buckets = new Map<string, Bucket>();
  private readonly timings: Timings;

  constructor(timings: Timings) {
    this.timings = timings;
  }

  /**
   * Takes units from partitions, or nothing where one of them is spent; says which one. As DynamoDB does it lets one
   * last request overdraw a partition that is not spent yet.
   */
  take(kind: "read" | "write", wanted: ReadonlyMap<string, number>, nowMs: number): string | undefined {
    const perSecond = kind === "read" ? this.timings.partition_reads : this.timings.partition_writes;
    const most = perSecond * this.timings.burst_seconds;
    const found = [...wanted].map(([partition, units]) => ({
      partition,
      units,
      bucket: this.bucket(`${kind} ${partition}`, most, nowMs),
    }));
    for (const { bucket } of found) {
      bucket.units = Math.min(most, bucket.units + ((nowMs - bucket.atMs) / 1000) * perSecond);
      bucket.atMs = nowMs;
    }
    const spent = found.find(({ bucket }) => bucket.units <= 0);
    if (spent !== undefined) return spent.partition;
    for (const { bucket, units } of found) bucket.units -= units;
    return undefined;
  }

  private bucket(name: string, most: number, nowMs: number): Bucket {
    const bucket = this.buckets.get(name) ?? { units: most, atMs: nowMs };
    this.buckets.set(name, bucket);
    return bucket;
  }
}
