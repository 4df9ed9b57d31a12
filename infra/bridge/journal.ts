import { UsageError } from "../../shared/runtime/command-line.ts";
import { Book, type FeedItem, type StoredBook } from "./book.ts";
import { DealName } from "./deal-names.ts";
import { DurableLog, type LogRecord } from "./durable-log.ts";
import type { Adjusted, CommandOutcome, VenueEvent } from "./venue.ts";

/** An attempt of a command, from its start to its acknowledgement. */
export interface Attempt {
  readonly command_id: string;
  readonly attempt: number;
  readonly type: string;
  readonly platform_login: string;
  /** Comment of the operation, of a command that moves money. */
  readonly comment?: string;
  /** Undefined while it runs, and after a crash for one that ran. */
  readonly outcome?: CommandOutcome;
}

/** The first record of a log: everything that the records before it came to. */
interface Base {
  readonly kind: "base";
  readonly source_id: string;
  readonly first_seq: string;
  readonly cursor: number;
  readonly accepted_book: StoredBook;
  readonly names: readonly string[];
  readonly attempts: readonly Attempt[];
  readonly settled: readonly string[];
}

/** Where an event came to, and the items that it became, with the number of the first. */
interface Recorded {
  readonly kind: "items";
  readonly first_seq: string;
  readonly items: readonly FeedItem[];
  readonly names: readonly string[];
  /** Names that are remembered no longer. */
  readonly spent?: readonly string[];
  readonly cursor: number;
}

type Entry =
  | Base
  | Recorded
  | { readonly kind: "group"; readonly entries: readonly Entry[] }
  | { readonly kind: "cursor"; readonly cursor: number }
  | ({ readonly kind: "adjusted"; readonly cursor: number } & Adjusted)
  | ({ readonly kind: "attempt" } & Attempt)
  | { readonly kind: "acked"; readonly command_id: string; readonly attempt: number };

/** Deals and operations that are remembered, so that a venue may report them again under new numbers. */
const mostEvents = 20_000;
/** Names that stand for them: a deal has up to six. */
const mostNames = 6 * mostEvents;
/** The log is written again when it has grown to this many bytes, and holds mostly what is settled. */
const longestLog = 32 * 1024 * 1024;

/**
 * State of a bridge, all of it on its disk before anything follows from it: the items that it still has to send, with
 * their numbers; how far the venue has reported; the books; the commands that it has started.
 */
export class Journal {
  readonly source_id: string;
  /** The platform as far as it was recorded. */
  readonly book: Book;
  /** The platform as far as the service has accepted it. */
  readonly acceptedBook: Book;
  /** Place in the order of the venue up to which its events are recorded. */
  cursor: number;
  /** Number of the next item that the service expects. */
  accepted: bigint;
  /** Number of the first item that may not be on the disk yet. */
  durable: bigint;
  private next: bigint;
  private items: FeedItem[] = [];
  private readonly names: Set<string>;
  private readonly running = new Map<string, Attempt>();
  /** Attempts that were acknowledged: a repeated answer of `take` holds them again. */
  private readonly settled: Set<string>;
  private readonly log: DurableLog;
  private compacting = false;
  private failure: unknown;
  private wake: (() => void) | undefined;
  private waiting: Promise<void> | undefined;

  private constructor(log: DurableLog, base: Base) {
    this.log = log;
    this.source_id = base.source_id;
    this.book = new Book(base.accepted_book);
    this.acceptedBook = new Book(base.accepted_book);
    this.cursor = base.cursor;
    this.accepted = BigInt(base.first_seq);
    this.next = this.accepted;
    this.durable = this.accepted;
    this.names = new Set(base.names);
    this.settled = new Set(base.settled);
    for (const attempt of base.attempts) this.running.set(nameOf(attempt), attempt);
  }

  /**
   * Opens the journal of a source.
   * @throws UsageError when it belongs to another source, or does not hold what the service expects next
   */
  static async open(path: string, source: { id: string; expected_next_seq: string }): Promise<Journal> {
    const { log, records } = await DurableLog.open(path);
    const entries = records as unknown as readonly Entry[];
    const [first] = entries;
    const base: Base =
      first?.kind === "base"
        ? first
        : {
            ...{ kind: "base", source_id: source.id, first_seq: source.expected_next_seq, cursor: 0 },
            ...{ accepted_book: [], names: [], attempts: [], settled: [] },
          };
    const journal = new Journal(log, base);
    if (first === undefined) await log.append(base as unknown as LogRecord);
    for (const entry of entries) journal.load(entry);
    journal.durable = journal.next;
    const fault = journal.faultWith(path, source);
    if (fault !== undefined) {
      await log.close();
      throw new UsageError(fault);
    }
    journal.accept(BigInt(source.expected_next_seq));
    return journal;
  }

  /** Why the journal cannot go on for a source; undefined when it can. */
  private faultWith(path: string, source: { id: string; expected_next_seq: string }): string | undefined {
    const { id, expected_next_seq } = source;
    if (this.source_id !== id) return `${path} belongs to the feed source ${this.source_id}, not to ${id}.`;
    const expected = BigInt(expected_next_seq);
    if (expected >= this.accepted && expected <= this.next) return undefined;
    return (
      `The service expects item ${expected_next_seq} of ${id}, and ${path} holds those from ${this.accepted} to ` +
      `${this.next - 1n}: another bridge has sent for this source, or one of the two was restored from a backup.`
    );
  }

  private load(entry: Entry): void {
    if (entry.kind === "group") for (const each of entry.entries) this.load(each);
    if (entry.kind === "items") this.take(entry);
    if (entry.kind === "cursor") this.cursor = entry.cursor;
    if (entry.kind === "attempt") this.running.set(nameOf(entry), entry);
    if (entry.kind === "acked") this.settle(entry);
    if (entry.kind === "adjusted") this.adjust(entry);
  }

  private take({ items, names, spent = [], cursor }: Recorded): void {
    for (const item of items) this.book.apply(item);
    this.items.push(...items);
    this.next += BigInt(items.length);
    this.cursor = cursor;
    for (const name of spent) this.names.delete(name);
    for (const name of names) remember(this.names, name);
  }

  /**
   * Records events of the venue, of which those with a known name are left out; resolves when they are on the disk.
   * They are one record of the log: a write that a crash cuts off keeps all events of a message with its cursor, or
   * none.
   * After a call that fails, nothing more is recorded, since its cursor would pass over the events of that call.
   */
  async record(events: readonly VenueEvent[], cursor = this.cursor): Promise<void> {
    if (this.failure !== undefined) throw this.failure;
    const [first, ...more] = this.entriesOf(events, cursor);
    const reached = this.next;
    if (first !== undefined) {
      const record = more.length === 0 ? first : { kind: "group", entries: [first, ...more] };
      await this.log.append(record as unknown as LogRecord);
    }
    if (reached > this.durable) this.durable = reached;
    this.wake?.();
    this.waiting = undefined;
  }

  /** Applies events, and returns the entries that stand for them. */
  private entriesOf(events: readonly VenueEvent[], cursor: number): Entry[] {
    const before = this.cursor;
    const entries: Entry[] = [];
    try {
      for (const event of events) {
        const entry = this.entryOf(event, cursor);
        if (entry === undefined) continue;
        this.load(entry);
        entries.push(entry);
      }
    } catch (error) {
      this.failure = error;
      throw error;
    }
    if (entries.length > 0 || cursor === before) return entries;
    this.cursor = cursor;
    return [{ kind: "cursor", cursor }];
  }

  /** The entry of an event; undefined where it is recorded already. */
  private entryOf(event: VenueEvent, cursor: number): Entry | undefined {
    if (event.kind === "adjusted") return { ...event, cursor };
    const first_seq = String(this.next);
    if (event.kind === "fill") {
      const { isKnown, deal_id, remembered: names, spent } = new DealName(event.fill, this.names);
      if (isKnown) return undefined;
      if (spent.length > 0) return { kind: "items", first_seq, items: [], names, spent, cursor };
      const items = this.book.itemsOf({ kind: "fill", fill: { ...event.fill, deal_id } });
      return { kind: "items", first_seq, items, names, cursor };
    }
    const name = eventName(event);
    if (this.names.has(name)) return undefined;
    return { kind: "items", first_seq, items: this.book.itemsOf(event), names: [name], cursor };
  }

  /** Items on the disk that the service has not accepted, with their numbers. */
  unsent(most: number): { readonly first_seq: string; readonly items: (FeedItem & { readonly seq: string })[] } {
    const count = Math.min(most, Number(this.durable - this.accepted));
    const items = this.items
      .slice(0, count)
      .map((item, place) => ({ seq: String(this.accepted + BigInt(place)), ...item }));
    return { first_seq: String(this.accepted), items };
  }

  /** Resolves when another item is on the disk. */
  news(): Promise<void> {
    this.waiting ??= new Promise((resolve) => {
      this.wake = resolve;
    });
    return this.waiting;
  }

  /** The service expects this number next: items before it are settled. */
  accept(expected: bigint): void {
    if (expected < this.accepted || expected > this.next) {
      throw new Error(
        `The service expects item ${expected}, and items ${this.accepted} to ${this.next - 1n} are unsent.`,
      );
    }
    for (const item of this.items.splice(0, Number(expected - this.accepted))) this.acceptedBook.apply(item);
    this.accepted = expected;
    if (this.log.bytes <= longestLog || this.items.length >= mostEvents) return;
    // A disk that fails here fails at the next record too, which ends the bridge.
    this.compact().catch(() => undefined);
  }

  /** Writes the log again without what is settled. */
  async compact(): Promise<void> {
    if (this.compacting || this.failure !== undefined) return;
    this.compacting = true;
    await this.log.replace(() => this.kept());
    this.compacting = false;
  }

  /** The records that stand for everything up to now. */
  private kept(): LogRecord[] {
    const base = {
      ...{ kind: "base", source_id: this.source_id, first_seq: String(this.accepted), cursor: this.cursor },
      ...{ accepted_book: this.acceptedBook.stored(), names: [...this.names] },
      ...{ attempts: this.attempts(), settled: [...this.settled] },
    };
    const rest = { kind: "items", first_seq: base.first_seq, items: this.items, names: [], cursor: this.cursor };
    return this.items.length === 0 ? [base] : [base, rest];
  }

  /** Attempts that are not acknowledged. */
  attempts(): Attempt[] {
    return [...this.running.values()];
  }

  /** Whether an attempt was started, and perhaps settled since. */
  has(command_id: string, attempt: number): boolean {
    const name = nameOf({ command_id, attempt });
    return this.running.has(name) || this.settled.has(name);
  }

  /** Records an attempt, when it starts and with its outcome; resolves when it is on the disk. */
  async attempt(attempt: Attempt, event?: VenueEvent): Promise<void> {
    this.running.set(nameOf(attempt), attempt);
    const recorded = event === undefined ? undefined : this.record([event]);
    await this.log.append({ kind: "attempt", ...attempt });
    await recorded;
  }

  /** Records that an outcome was acknowledged. */
  acked({ command_id, attempt }: Attempt): Promise<void> {
    this.settle({ command_id, attempt });
    return this.log.append({ kind: "acked", command_id, attempt });
  }

  close(): Promise<void> {
    return this.log.close();
  }

  private settle(attempt: Pick<Attempt, "command_id" | "attempt">): void {
    this.running.delete(nameOf(attempt));
    remember(this.settled, nameOf(attempt));
  }

  private adjust({ platform_login, amount, cursor }: Adjusted & { readonly cursor: number }): void {
    this.book.adjust(platform_login, amount);
    this.acceptedBook.adjust(platform_login, amount);
    this.cursor = cursor;
  }
}

/** Adds a name, and forgets the oldest of too many. */
function remember(names: Set<string>, name: string): void {
  names.add(name);
  const [oldest] = names;
  if (names.size > mostNames && oldest !== undefined) names.delete(oldest);
}

function nameOf({ command_id, attempt }: Pick<Attempt, "command_id" | "attempt">): string {
  return `${command_id}#${attempt}`;
}

/** The name under which the venue may report an event again. */
function eventName(event: Exclude<VenueEvent, { kind: "adjusted" | "fill" }>): string {
  return event.kind === "terms" ? `terms:${event.change.change_id}` : `operation:${event.money.operation_id}`;
}
