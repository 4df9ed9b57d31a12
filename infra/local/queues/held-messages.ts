import { createHash, randomUUID } from "node:crypto";

type Body = Readonly<Record<string, unknown>>;

/** A message that no receiver may see yet. */
export interface HeldMessage {
  readonly queue: string;
  /** Id that the sender received. */
  readonly message_id: string;
  readonly sent_ms: number;
  readonly due_ms: number;
  /** The message as SendMessage takes it, without its delay. */
  readonly message: Body;
}

/** Hands messages whose delay is over to their queue; rejects when none of them was taken. */
export type Release = (queue: string, messages: readonly HeldMessage[]) => Promise<void>;

/** Most messages that are handed over at once: the entries of one SendMessageBatch. */
const maxReleased = 10;
const retryMs = 250;

/** What is held for one queue. */
interface Shelf {
  readonly timers: Map<HeldMessage, NodeJS.Timeout>;
  /** Their delay is over. */
  due: HeldMessage[];
  /** On their way to the queue. */
  leaving: readonly HeldMessage[];
  releasing: Promise<void> | undefined;
}

/**
 * Messages with a delay, on timers of milliseconds: SQS counts delays in whole seconds, which a time scale of a few
 * hundred would round to nothing. A crash loses them, as it may; a sweep of the due index finds them.
 */
export class HeldMessages {
  private readonly timeScale: number;
  private readonly release: Release;
  private readonly shelves = new Map<string, Shelf>();
  private stopped = false;

  constructor(timeScale: number, release: Release) {
    this.timeScale = timeScale;
    this.release = release;
  }

  /** Holds a message and returns what SQS answers its sender. */
  hold(queue: string, message: Body, delaySeconds: number): { MessageId: string; MD5OfMessageBody: string } {
    const delay = (delaySeconds * 1000) / this.timeScale;
    const now = Date.now();
    const held: HeldMessage = { queue, message_id: randomUUID(), sent_ms: now, due_ms: now + delay, message };
    const shelf = this.shelfOf(queue);
    const timer = setTimeout(() => {
      shelf.timers.delete(held);
      shelf.due.push(held);
      this.releaseDue(queue, shelf);
    }, delay);
    shelf.timers.set(held, timer);
    const digest = createHash("md5").update(String(message["MessageBody"])).digest("hex");
    return { MessageId: held.message_id, MD5OfMessageBody: digest };
  }

  /** How many messages of a queue are held. */
  count(queue: string): number {
    const { timers, due, leaving } = this.shelfOf(queue);
    return timers.size + due.length + leaving.length;
  }

  /** Forgets what is held for a queue. */
  purge(queue: string): void {
    const shelf = this.shelfOf(queue);
    for (const timer of shelf.timers.values()) clearTimeout(timer);
    shelf.timers.clear();
    shelf.due = [];
  }

  /** Stops every timer, waits for what is on its way, and returns what is left. */
  async takeAll(): Promise<HeldMessage[]> {
    this.stopped = true;
    const shelves = [...this.shelves.values()];
    for (const timer of shelves.flatMap(({ timers }) => [...timers.values()])) clearTimeout(timer);
    await Promise.all(shelves.map(({ releasing }) => releasing));
    this.shelves.clear();
    return shelves.flatMap(({ timers, due }) => [...due, ...timers.keys()]);
  }

  private shelfOf(queue: string): Shelf {
    const known = this.shelves.get(queue);
    if (known !== undefined) return known;
    const shelf: Shelf = { timers: new Map(), due: [], leaving: [], releasing: undefined };
    this.shelves.set(queue, shelf);
    return shelf;
  }

  /** Sends what is due, a batch after the other: a backlog that is due at one moment opens one connection only. */
  private releaseDue(queue: string, shelf: Shelf): void {
    if (shelf.releasing !== undefined || this.stopped) return;
    shelf.releasing = this.releaseAll(queue, shelf).finally(() => {
      shelf.releasing = undefined;
    });
  }

  private async releaseAll(queue: string, shelf: Shelf): Promise<void> {
    while (shelf.due.length > 0 && !this.stopped) {
      shelf.leaving = shelf.due.splice(0, maxReleased);
      try {
        await this.release(queue, shelf.leaving);
      } catch (error) {
        shelf.due.unshift(...shelf.leaving);
        if (this.stopped) return;
        process.stderr.write(`Delayed messages of ${queue} are sent again: ${error}\n`);
        setTimeout(() => this.releaseDue(queue, shelf), retryMs).unref();
        return;
      } finally {
        shelf.leaving = [];
      }
    }
  }
}
