import { randomUUID } from "node:crypto";

/** The clock of a queue; a test brings its own. */
export interface QueueClock {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Calls back after so many milliseconds, unless the returned function is called first. */
  readonly after: (ms: number, callback: () => void) => () => void;
}

/** How a FIFO queue is set up. */
export interface FifoSettings {
  readonly visibility_ms: number;
  readonly retention_ms: number;
  /** Where an identifier of a sender is remembered: in the whole queue, or in each message group. */
  readonly deduplication: "queue" | "messageGroup";
  /** After so many receives a message moves to the dead letters instead of being received again. */
  readonly max_receives?: number;
}

/** What a sender gives. */
export interface FifoDraft {
  readonly body: string;
  readonly group: string;
  readonly deduplication: string;
  readonly attributes?: Readonly<Record<string, unknown>>;
}

/** A message of a FIFO queue. */
export interface FifoMessage extends FifoDraft {
  readonly id: string;
  /** Twenty digits that rise with every message of the queue. */
  readonly sequence: string;
  readonly sent_ms: number;
  receives: number;
  first_received_ms?: number;
  /** Where the message was before it became a dead letter. */
  readonly source_arn?: string;
  /** While it is received and not deleted: when other receivers see it again, and the handle of its latest receive. */
  lease?: { until_ms: number; readonly handle: string };
}

/** What a sender was answered, for as long as the identifier that it gave is remembered. */
interface Sent {
  readonly id: string;
  readonly sequence: string;
  readonly at_ms: number;
}

/** What a queue keeps between two runs. */
export interface FifoState {
  readonly sequence: number;
  readonly messages: readonly FifoMessage[];
  /** What was sent within the deduplication interval, by scope and identifier, in the order of sending. */
  readonly sent: readonly (readonly [string, Sent])[];
}

/** SQS remembers a deduplication identifier for so long, also of a deleted message (AWS docs: exactly-once). */
const deduplicationMs = 300_000;

/**
 * One FIFO queue as AWS documents it. A message group is received in the order of its sending, as many of it at a time
 * as were asked for, and then not again before all that were received are deleted or visible again.
 */
export class FifoQueue {
  private readonly settings: FifoSettings;
  private readonly clock: QueueClock;
  private readonly bury: (message: FifoMessage) => void;
  private sequence: number;
  private messages: FifoMessage[];
  private readonly sent: Map<string, Sent>;

  constructor(
    settings: FifoSettings,
    clock: QueueClock,
    bury: (message: FifoMessage) => void,
    { sequence, messages, sent }: FifoState = { sequence: 0, messages: [], sent: [] },
  ) {
    this.settings = settings;
    this.clock = clock;
    this.bury = bury;
    this.sequence = sequence;
    this.messages = [...messages];
    this.sent = new Map(sent);
  }

  /** What it keeps for another run. */
  get state(): FifoState {
    return { sequence: this.sequence, messages: this.messages, sent: [...this.sent] };
  }

  /** Takes a message, unless its identifier was sent within five minutes: then the first one is named again. */
  send(draft: FifoDraft): { readonly id: string; readonly sequence: string; readonly isNew: boolean } {
    const now = this.clock.now();
    for (const [old, { at_ms }] of this.sent) {
      if (at_ms > now - deduplicationMs) break;
      this.sent.delete(old);
    }
    const scope = this.settings.deduplication === "messageGroup" ? `${draft.group}\n` : "";
    const name = `${scope}${draft.deduplication}`;
    const known = this.sent.get(name);
    if (known !== undefined) return { id: known.id, sequence: known.sequence, isNew: false };
    const { id, sequence } = this.add({ ...draft, id: randomUUID(), sent_ms: now, receives: 0 });
    this.sent.set(name, { id, sequence, at_ms: now });
    return { id, sequence, isNew: true };
  }

  /** Takes a message of another queue as it is: a dead letter keeps its identifier, its group and its age. */
  add(message: Omit<FifoMessage, "sequence">): FifoMessage {
    this.sequence += 1;
    const added = { ...message, sequence: String(this.sequence).padStart(20, "0") };
    this.messages.push(added);
    return added;
  }

  /** Receives messages, of one group as many as there are before any of the next one. */
  receive(most: number, visibilityMs = this.settings.visibility_ms): FifoMessage[] {
    const now = this.clock.now();
    this.dropOld(now);
    const received: FifoMessage[] = [];
    for (const group of this.openGroups(now)) {
      for (const message of group) {
        if (received.length === most) return received;
        if (message.receives >= (this.settings.max_receives ?? Number.POSITIVE_INFINITY)) {
          this.remove(message);
          const { lease: _, ...dead } = message;
          this.bury(dead);
          continue;
        }
        message.receives += 1;
        message.first_received_ms ??= now;
        message.lease = { until_ms: now + visibilityMs, handle: `${message.id}.${randomUUID()}` };
        received.push({ ...message });
      }
    }
    return received;
  }

  /**
   * Deletes the message of a receive. `expired` when its visibility timeout has passed: it comes again, or came. A
   * message that is gone was deleted before, which is no error.
   */
  delete(handle: string): "deleted" | "expired" {
    const message = this.messages.find(({ id }) => id === handle.split(".")[0]);
    if (message === undefined) return "deleted";
    if (message !== this.leasedBy(handle)) return "expired";
    this.remove(message);
    return "deleted";
  }

  /** Moves the end of a visibility timeout to so many milliseconds from now; false for a handle that is over. */
  changeVisibility(handle: string, ms: number): boolean {
    const message = this.leasedBy(handle);
    if (message?.lease === undefined) return false;
    message.lease.until_ms = this.clock.now() + ms;
    return true;
  }

  /** Forgets every message, but not what was sent of late. */
  purge(): void {
    this.messages = [];
  }

  /** Messages that are not in flight, whether they may be received now or wait for others of their group. */
  waiting(): readonly FifoMessage[] {
    const now = this.clock.now();
    this.dropOld(now);
    return this.messages.filter((message) => !isLeased(message, now));
  }

  /** How many messages are in flight. */
  get inFlight(): number {
    const now = this.clock.now();
    return this.messages.filter((message) => isLeased(message, now)).length;
  }

  /** The next moment at which a message becomes visible by itself; undefined when none is in flight. */
  nextVisibleMs(): number | undefined {
    const now = this.clock.now();
    const ends = this.messages.flatMap(({ lease }) => (lease && lease.until_ms > now ? [lease.until_ms] : []));
    return ends.length === 0 ? undefined : Math.min(...ends);
  }

  /** Messages of each group that has none in flight, in order; the group of the oldest message first. */
  private openGroups(now: number): Iterable<FifoMessage[]> {
    const groups = new Map<string, FifoMessage[]>();
    const closed = new Set<string>();
    for (const message of this.messages) {
      const group = groups.get(message.group);
      if (group === undefined) groups.set(message.group, [message]);
      else group.push(message);
      if (isLeased(message, now)) closed.add(message.group);
    }
    for (const group of closed) groups.delete(group);
    return groups.values();
  }

  private leasedBy(handle: string): FifoMessage | undefined {
    const now = this.clock.now();
    return this.messages.find((message) => message.lease?.handle === handle && isLeased(message, now));
  }

  private remove(message: FifoMessage): void {
    this.messages = this.messages.filter((one) => one !== message);
  }

  private dropOld(now: number): void {
    const { retention_ms } = this.settings;
    this.messages = this.messages.filter(({ sent_ms }) => sent_ms + retention_ms > now);
  }
}

function isLeased({ lease }: FifoMessage, now: number): boolean {
  return lease !== undefined && lease.until_ms > now;
}
