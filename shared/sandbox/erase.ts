import { nothingRemoved, type Removed, type Reset } from "../domain/sandbox/reset.ts";
import { limits } from "../limits.ts";
import { nowIso } from "../runtime/clock.ts";
import { inParallel } from "../runtime/parallel.ts";
import type { RemovedKind } from "../schema/reset.ts";
import type { Key } from "../table/entities.ts";
import { isStill } from "../table/expression.ts";
import { deleteItem, deleteStored } from "../table/items.ts";
import { pagesOf, type StoredAttributes } from "../table/partition.ts";
import type { indexes } from "../table/table-shape.ts";

/** Thrown by a walk that has no time left: what it did not come to the next one finds. */
export class OutOfTime extends Error {}

/** One walk of a reset through everything that there is, and what it removed so far. */
export class Walk {
  readonly beganAt = nowIso();
  /** The reset as it is stored. */
  reset: Reset;
  /** Whether something was seen that cannot be removed yet. */
  left = false;
  private readonly counts: Record<RemovedKind, number> = { ...nothingRemoved };
  private readonly hasTime: () => boolean;

  constructor(reset: Reset, hasTime: () => boolean) {
    this.reset = reset;
    this.hasTime = hasTime;
  }

  get tenant(): string {
    return this.reset.tenant_id;
  }

  get removed(): Removed {
    return this.counts;
  }

  /** Items of a partition of the table, consistently, or of the index `list`, page by page. */
  async *pages(partition: string, index?: typeof indexes.list): AsyncGenerator<readonly StoredAttributes[]> {
    this.checkTime();
    const query = { index, page_size: limits.sandbox.reset_page };
    for await (const { items, next } of pagesOf(partition, query)) {
      if (items.length > 0) yield items;
      if (next !== undefined) this.checkTime();
    }
  }

  private checkTime(): void {
    if (!this.hasTime()) throw new OutOfTime("The walk goes on another time.");
  }

  /** Removes items; one that is gone already is not counted. */
  async remove(kind: RemovedKind, keys: readonly Key[]): Promise<void> {
    await inParallel(limits.sandbox.reset_parallel, keys, async (key) => {
      if (await deleteStored(key)) this.counts[kind] += 1;
    });
  }

  /** Removes an item that still is as it was read; false when it is another by now. */
  async removeIf(key: Key, attribute: string, value: unknown): Promise<boolean> {
    if (!(await deleteItem(key, isStill({ [attribute]: value })))) return false;
    this.counts.other_items += 1;
    return true;
  }
}
