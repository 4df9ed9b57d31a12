import { randomUUID } from "node:crypto";
import type { Draft, Message, QueueStore } from "./queue-store.ts";

/** The clock of a queue; a test brings its own. */
export interface QueueClock {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Calls back after so many milliseconds. */
  readonly after: (ms: number, callback: () => void) => void;
}

/** How a queue is set up. */
export interface QueueSettings {
  readonly arn: string;
  readonly fifo: boolean;
  readonly retention_ms: number;
  /** Where a FIFO queue remembers an identifier of a sender: in the whole queue, or in each message group. */
  readonly deduplication: "queue" | "messageGroup";
  /** After so many receives a message moves to the dead letters instead of being received again. */
  readonly max_receives: number;
}

/** Surroundings of a queue. */
interface QueueHost {
  readonly clock: QueueClock;
  /** Takes a message that was received too often. */
  readonly bury: (message: Message) => void;
  /** Told that there may be something to receive. */
  readonly changed: () => void;
}

/** Messages of a queue, as CloudWatch counts them. */
export interface QueueCounts {
  /** To be received. */
  readonly visible: number;
  /** Received, not deleted, and not visible again. */
  readonly in_flight: number;
  /** Held back by their delay. */
  readonly delayed: number;
}

/** SQS remembers a deduplication identifier for so long, also of a deleted message (AWS docs: exactly-once). */
const deduplicationMs = 300_000;

/**
 * One queue as AWS documents it. Each receive hides a message for a visibility timeout; the one that is not deleted by
 * then is received again. A FIFO queue gives a message group in the order of its sending, as many of it at a time as
 * were asked for, and then not again before all that were received are deleted or visible again.
 */
export class LocalQueue {
  readonly settings: QueueSettings;
  private readonly store: QueueStore;
  private readonly host: QueueHost;
  private sequence = 0;

  constructor(settings: QueueSettings, store: QueueStore, host: QueueHost) {
    this.settings = settings;
    this.store = store;
    this.host = host;
    for (const { visible_ms } of store.messages.values()) this.tellAt(visible_ms);
  }

  /** Takes a message, unless its identifier was sent within five minutes: then the first one is named again. */
  send(draft: Draft, delayMs: number): { readonly id: string; readonly sequence: string | undefined } {
    const now = this.host.clock.now();
    const { fifo, deduplication } = this.settings;
    const { sent } = this.store;
    for (const [old, { at_ms }] of sent) {
      if (at_ms > now - deduplicationMs) break;
      sent.delete(old);
    }
    const name = `${deduplication === "messageGroup" ? `${draft.group}\n` : ""}${draft.deduplication}`;
    const known = fifo ? sent.get(name) : undefined;
    if (known !== undefined) return known;
    const message = this.numbered({
      ...draft,
      ...{ id: randomUUID(), sent_ms: now, visible_ms: now + delayMs, receives: 0 },
    });
    const { id, sequence } = message;
    this.store.write(["message", message], ...(fifo ? [["sent", name, { id, sequence, at_ms: now }] as const] : []));
    if (delayMs > 0) this.tellAt(message.visible_ms);
    else this.host.changed();
    return { id, sequence };
  }

  /** Takes a message of another queue: a dead letter keeps its identifier, its group and its age. */
  take({ handle: _, ...message }: Message, source_arn: string): void {
    this.store.write(["message", this.numbered({ ...message, source_arn, visible_ms: 0 })]);
    this.host.changed();
  }

  /** Receives so many messages at most, and hides them from other receivers. */
  receive(most: number, hiddenMs: number): Message[] {
    const now = this.host.clock.now();
    const received: Message[] = [];
    for (const message of this.receivable(now)) {
      if (received.length === most) break;
      if (message.receives < this.settings.max_receives) received.push(message);
      else {
        this.host.bury(message);
        this.store.write(["gone", message.id]);
      }
    }
    this.store.write(
      ...received.map(({ id, receives, first_received_ms = now }) => {
        return ["received", id, receives + 1, first_received_ms] as const;
      }),
    );
    for (const message of received) {
      message.visible_ms = now + hiddenMs;
      message.handle = `${message.id}.${randomUUID()}`;
    }
    const shown = received.map((message) => ({ ...message }));
    if (shown.length > 0) this.tellAt(now + hiddenMs, () => shown.some((one) => this.latest(one.handle) !== undefined));
    return shown;
  }

  /**
   * Deletes the message of its latest receive; of an earlier one the deletion has no effect, and neither has that of a
   * message that is gone. False on a FIFO queue for a message that is visible again: it comes again, or came.
   */
  delete(handle: string): boolean {
    const message = this.latest(handle);
    const isLate = message === undefined || message.visible_ms <= this.host.clock.now();
    if (this.settings.fifo && isLate && this.store.messages.has(idIn(handle))) return false;
    if (message === undefined) return true;
    this.store.write(["gone", message.id]);
    // A group may have waited for this message.
    if (this.settings.fifo) this.host.changed();
    return true;
  }

  /** Forgets every message. */
  purge(): void {
    this.store.purge();
  }

  /** How many messages there are. */
  counts(): QueueCounts {
    const now = this.host.clock.now();
    const hidden = [...this.kept(now)].filter(({ visible_ms }) => visible_ms > now);
    const in_flight = hidden.filter(({ handle }) => handle !== undefined).length;
    return { visible: this.store.messages.size - hidden.length, in_flight, delayed: hidden.length - in_flight };
  }

  /** Bodies of the messages that are not hidden, whether they may be received now or wait for others of their group. */
  bodies(): string[] {
    const now = this.host.clock.now();
    return [...this.kept(now)].filter(({ visible_ms }) => visible_ms <= now).map(({ body }) => body);
  }

  private numbered(message: Message): Message {
    if (!this.settings.fifo) return message;
    // By the clock, so that numbers rise from run to run.
    this.sequence = Math.max(this.sequence + 1, this.host.clock.now() * 1000);
    return { ...message, sequence: String(this.sequence).padStart(20, "0") };
  }

  /** The message whose latest receive has this handle. */
  private latest(handle = ""): Message | undefined {
    const message = this.store.messages.get(idIn(handle));
    return message?.handle === handle ? message : undefined;
  }

  /** Messages in the order of their arrival; forgets those whose retention period is over. */
  private *kept(now: number): Iterable<Message> {
    for (const message of this.store.messages.values()) {
      if (message.sent_ms + this.settings.retention_ms > now) yield message;
      else this.store.write(["gone", message.id]);
    }
  }

  /** Messages that may be received, in order; of a FIFO queue group after group, that of the oldest message first. */
  private *receivable(now: number): Iterable<Message> {
    if (!this.settings.fifo) {
      for (const message of this.kept(now)) if (message.visible_ms <= now) yield message;
      return;
    }
    const groups = new Map<string | undefined, Message[]>();
    const closed = new Set<string | undefined>();
    for (const message of this.kept(now)) {
      const group = groups.get(message.group);
      if (group === undefined) groups.set(message.group, [message]);
      else group.push(message);
      if (message.visible_ms > now) closed.add(message.group);
    }
    for (const [group, messages] of groups) if (!closed.has(group)) yield* messages;
  }

  /** Tells that something is visible from then on, if it still matters. */
  private tellAt(ms: number, matters = () => true): void {
    const wait = ms - this.host.clock.now();
    if (wait > 0) this.host.clock.after(wait, () => matters() && this.host.changed());
  }
}

function idIn(handle: string): string {
  return handle.split(".")[0] ?? "";
}
