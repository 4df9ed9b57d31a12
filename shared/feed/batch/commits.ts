import { isAnnounced, mergedChange } from "../../domain/feed/merged-change.ts";
import type { Context, DomainEvent } from "../../domain/kernel/decision.ts";
import type { TradingChange } from "../../domain/records/trading-change.ts";
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

/** Events that go into one outbox item, in their order. */
interface Announcement {
  readonly events: readonly DomainEvent[];
  readonly outbox: readonly TransactItem[];
  readonly context: Context;
  /** The place of its first decision among those of the batch. */
  readonly place: number;
}

/** The changes of a commit with one more decision. */
interface Merged {
  readonly changes: ReadonlyMap<string, Written>;
  /** Whether something is changed twice whose versions are each announced. */
  readonly announcedTwice: boolean;
}

/**
 * Decisions about one account that are committed by one transaction: one change of each item, whatever several of them
 * do to it, and an outbox item for each trade. These stay next to the resources that they are about, and what several
 * decisions say of one trade is in one of them, so that the events of one trade keep their order whatever other trades
 * were decided with it (ADR 0043).
 */
export class SharedCommit<R> {
  readonly results: R[] = [];
  private changes: ReadonlyMap<string, Written> = new Map();
  private announcements: readonly Announcement[] = [];
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
    const announcements = this.announcedWith(events, context, place, merged.announcedTwice);
    if (announcements === undefined) return undefined;
    const outboxes = announcements.reduce((sum, { outbox }) => sum + outbox.length, 0);
    if (merged.changes.size + outboxes > limits.commit.max_items && this.results.length > 0) return undefined;
    this.changes = merged.changes;
    this.announcements = announcements;
    this.results.push(result);
    return changes.map((each) => merged.changes.get(identityOf(each.key)) ?? each);
  }

  private mergedWith(changes: readonly Written[], tenant: string): Merged | undefined {
    const merged = new Map(this.changes);
    let announcedTwice = false;
    for (const next of changes) {
      const identity = identityOf(next.key);
      const before = merged.get(identity);
      if (before === undefined) {
        merged.set(identity, next);
        continue;
      }
      const both = mergedChange(before.change, next.change);
      if (both === undefined) return undefined;
      if (both === "none") merged.delete(identity);
      else merged.set(identity, writtenAs(both, tenant));
      announcedTwice ||= isAnnounced(next.change);
    }
    return { changes: merged, announcedTwice };
  }

  /**
   * The announcements with the events of one more decision. Where it changes a trade again, they go into the outbox
   * item of that trade. Undefined where this would change an order: the trade is announced next to another one, where
   * the stream may show it after the next batch, or an event of the account would come before those of other trades
   * that it follows from.
   */
  private announcedWith(
    events: readonly DomainEvent[],
    context: Context,
    place: number,
    again: boolean,
  ): readonly Announcement[] | undefined {
    const [before, ...more] = again ? this.announcedOf(events) : [];
    if (before === undefined) {
      const outbox = outboxOf(events, context, place);
      return outbox.length === 0 ? this.announcements : [...this.announcements, { events, outbox, context, place }];
    }
    const root = rootOf(events);
    if (more.length > 0 || rootOf(before.events) !== root) return undefined;
    const overtakes = before !== this.announcements.at(-1) && events.some(({ resource }) => resource.id !== root);
    const all = [...before.events, ...events];
    if (overtakes || all.length > limits.events.max_per_commit) return undefined;
    const both = { ...before, events: all, outbox: outboxOf(all, before.context, before.place) };
    return this.announcements.map((one) => (one === before ? both : one));
  }

  /** The announcements with an event about a trade of these. */
  private announcedOf(events: readonly DomainEvent[]): readonly Announcement[] {
    const about = tradesIn(events);
    return this.announcements.filter((one) => tradesIn(one.events).some((id) => about.includes(id)));
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
    const changes = [...this.changes.values()].map(({ item }) => item);
    const items = [...changes, ...this.announcements.flatMap(({ outbox }) => outbox)];
    return { items, bytes: mostBytes(items) };
  }
}

/** The resource that an outbox item with these events is next to. */
function rootOf([first]: readonly DomainEvent[]): string | undefined {
  return first?.resource.id;
}

function tradesIn(events: readonly DomainEvent[]): readonly string[] {
  return events.flatMap(({ resource: { type, id } }) => (type === "trade" ? [id] : []));
}

/** At most what a value takes as JSON, in bytes. To write it takes seven times as long as to count. */
function mostBytes(value: unknown): number {
  if (typeof value === "string") return 3 * value.length + 3;
  if (typeof value !== "object" || value === null) return 24;
  let bytes = 2;
  for (const name of Object.keys(value)) bytes += 3 * name.length + 4 + mostBytes(value[name as keyof typeof value]);
  return bytes;
}
