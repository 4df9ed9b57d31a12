import type { Context, DomainEvent } from "../../domain/decision.ts";
import { mergedChange } from "../../domain/feed/merged-change.ts";
import type { TradingChange } from "../../domain/trading/changes.ts";
import { limits } from "../../limits.ts";
import { outboxOf } from "../../table/audit/announcement.ts";
import type { Key } from "../../table/entities.ts";
import { identityOf } from "../../table/store.ts";
import { keyIn, type TransactItem } from "../../table/write.ts";
import { writeTrading } from "../../trading/items.ts";

/** A change with its form in the table. */
export interface Written {
  readonly key: Key;
  readonly change: TradingChange;
  readonly item: TransactItem;
}

/** A change of a decision in the table's form. */
export function writtenAs(change: TradingChange, tenant: string): Written {
  const item = writeTrading(change, tenant);
  return { key: keyIn(item), change, item };
}

/**
 * Decisions about one account that are committed by one transaction: one change of each item, whatever several of them
 * do to it, and an outbox item of each decision. These stay next to the resources that they are about, so that the
 * stream keeps the order of the events of one trade whatever other trades were decided with it (ADR 0043).
 */
export class SharedCommit<R> {
  readonly results: R[] = [];
  private changes = new Map<string, Written>();
  private readonly outboxes: TransactItem[] = [];
  private written: { readonly items: readonly TransactItem[]; readonly bytes: number } | undefined;

  /**
   * Takes a decision that was made on what those before it leave, and returns its changes as they are made now;
   * undefined when it needs a transaction of its own.
   */
  take(
    result: R,
    changes: readonly Written[],
    events: readonly DomainEvent[],
    context: Context,
    place: number,
  ): readonly Written[] | undefined {
    const merged = this.mergedWith(changes, context.tenant_id);
    if (merged === undefined) return undefined;
    const outbox = outboxOf(events, context, place);
    const members = merged.size + this.outboxes.length + outbox.length;
    if (members > limits.commit.max_items && this.results.length > 0) return undefined;
    this.changes = merged;
    this.outboxes.push(...outbox);
    this.results.push(result);
    return changes.map((each) => merged.get(identityOf(each.key)) ?? each);
  }

  private mergedWith(changes: readonly Written[], tenant: string): Map<string, Written> | undefined {
    const merged = new Map(this.changes);
    for (const next of changes) {
      const identity = identityOf(next.key);
      const before = merged.get(identity);
      if (before === undefined) {
        merged.set(identity, next);
        continue;
      }
      const both = mergedChange(before.change, next.change);
      if (both === undefined) return undefined;
      merged.set(identity, writtenAs(both, tenant));
    }
    return merged;
  }

  /** Identities of the items that it writes. */
  get keys(): Iterable<string> {
    return this.changes.keys();
  }

  /** The members of its transaction, none where nothing changes, and at most how many bytes they take as JSON. */
  get members(): { readonly items: readonly TransactItem[]; readonly bytes: number } {
    this.written ??= this.write();
    return this.written;
  }

  private write() {
    const items = [...[...this.changes.values()].map(({ item }) => item), ...this.outboxes];
    return { items, bytes: mostBytes(items) };
  }
}

/** At most what a value takes as JSON, in bytes. To write it takes seven times as long as to count. */
function mostBytes(value: unknown): number {
  if (typeof value === "string") return 3 * value.length + 3;
  if (typeof value !== "object" || value === null) return 24;
  let bytes = 2;
  for (const name of Object.keys(value)) bytes += 3 * name.length + 4 + mostBytes(value[name as keyof typeof value]);
  return bytes;
}
