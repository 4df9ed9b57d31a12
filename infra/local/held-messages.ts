import { createHash, randomUUID } from "node:crypto";

type Body = Readonly<Record<string, unknown>>;

/** A message that nobody may see yet. */
export interface HeldMessage {
  readonly queue: string;
  /** Id that the sender was told. */
  readonly message_id: string;
  readonly sent_ms: number;
  /** The message as SendMessage takes it, without its delay. */
  readonly message: Body;
}

interface Held {
  readonly message: HeldMessage;
  readonly due_ms: number;
  readonly timer: NodeJS.Timeout;
}

/**
 * Messages with a delay, on timers of milliseconds: SQS counts delays in whole seconds, which a time scale of a few
 * hundred would round to nothing. A crash loses them, as it may; whoever asks the table for what is due finds them.
 */
export class HeldMessages {
  private readonly timeScale: number;
  private readonly release: (message: HeldMessage) => void;
  private readonly held = new Map<string, Held>();

  constructor(timeScale: number, release: (message: HeldMessage) => void) {
    this.timeScale = timeScale;
    this.release = release;
  }

  /** Holds a message and returns what SQS answers its sender. */
  hold(queue: string, message: Body, delaySeconds: number): { MessageId: string; MD5OfMessageBody: string } {
    const id = randomUUID();
    const delay = (delaySeconds * 1000) / this.timeScale;
    const now = Date.now();
    const waiting: HeldMessage = { queue, message_id: id, sent_ms: now, message };
    const timer = setTimeout(() => {
      this.held.delete(id);
      this.release(waiting);
    }, delay);
    this.held.set(id, { message: waiting, due_ms: now + delay, timer });
    const digest = createHash("md5").update(String(message["MessageBody"])).digest("hex");
    return { MessageId: id, MD5OfMessageBody: digest };
  }

  /** How many messages of a queue are held. */
  count(queue: string): number {
    return [...this.held.values()].filter(({ message }) => message.queue === queue).length;
  }

  /** Forgets what is held for a queue. */
  purge(queue: string): void {
    for (const [id, { message, timer }] of this.held) {
      if (message.queue !== queue) continue;
      clearTimeout(timer);
      this.held.delete(id);
    }
  }

  /** Stops every timer and returns what was held, each with the milliseconds that are left of its delay. */
  takeAll(): { readonly message: HeldMessage; readonly left_ms: number }[] {
    const now = Date.now();
    const all = [...this.held.values()].map(({ message, due_ms, timer }) => {
      clearTimeout(timer);
      return { message, left_ms: Math.max(0, due_ms - now) };
    });
    this.held.clear();
    return all;
  }
}
