import { closeSync, existsSync, fstatSync, ftruncateSync, openSync, readFileSync, writeSync } from "node:fs";
import { writePrivately } from "../state-file.ts";

/** A message as its sender gives it. */
export interface Draft {
  readonly body: string;
  readonly group?: string;
  /** Identifier by which a FIFO queue drops repetitions. */
  readonly deduplication?: string;
  readonly attributes?: Readonly<Record<string, unknown>>;
  /** Trace header of X-Ray. */
  readonly trace?: string;
}

/** A message of a queue. */
export interface Message extends Draft {
  readonly id: string;
  readonly sent_ms: number;
  /** Twenty digits that rise with every message of a FIFO queue. */
  readonly sequence?: string;
  /** Where the message was before it became a dead letter. */
  readonly source_arn?: string;
  /** When receivers see it: after its delay, or after the visibility timeout of its latest receive. */
  visible_ms: number;
  receives: number;
  first_received_ms?: number;
  /** Handle of its latest receive by this run. */
  handle?: string;
}

/** Answer to a sender, for as long as the identifier that it gave is remembered. */
export interface Sent {
  readonly id: string;
  readonly sequence: string | undefined;
  readonly at_ms: number;
}

/** A line of the file. */
type Change =
  | readonly ["message", Message]
  | readonly ["received", id: string, receives: number, first_received_ms: number]
  | readonly ["gone", id: string]
  | readonly ["sent", name: string, Sent];

/** So many lines are written, and three times what the queue holds, before the file is written again as a whole. */
const leastLines = 1_000;

/**
 * The content of a queue, in a file that each change adds a line to before it is acknowledged: a process that is killed
 * loses none. The disk is not waited for; a machine that goes down may lose messages, and the table knows what is due.
 * A receiver of a message ended with the run, so the next one sees it at once.
 */
export class QueueStore {
  /** By identifier, in the order of arrival. */
  readonly messages = new Map<string, Message>();
  /** By scope and identifier, in the order of sending. */
  readonly sent = new Map<string, Sent>();
  private readonly path: string;
  private file: number | undefined;
  private lines = 0;

  constructor(path: string) {
    this.path = path;
    const text = existsSync(path) ? readFileSync(path, "utf8") : "";
    // A line that was cut off by the end of a process was not acknowledged.
    const lines = text.slice(0, text.lastIndexOf("\n") + 1).split("\n");
    for (const line of lines) if (line !== "") this.apply(JSON.parse(line));
    if (text !== "") this.rewrite();
  }

  /** Keeps changes, and does them. */
  write(...changes: readonly Change[]): void {
    if (changes.length === 0) return;
    this.file ??= openSync(this.path, "a", 0o600);
    writeWhole(this.file, changes.map((change) => `${JSON.stringify(change)}\n`).join(""));
    for (const change of changes) this.apply(change);
    this.lines += changes.length;
    if (this.lines > leastLines + 3 * (this.messages.size + this.sent.size)) this.rewrite();
  }

  /** Forgets every message, but not what was sent of late. */
  purge(): void {
    this.messages.clear();
    this.rewrite();
  }

  /** Lets go of the file. */
  close(): void {
    if (this.file !== undefined) closeSync(this.file);
    this.file = undefined;
  }

  private apply(change: Change): void {
    if (change[0] === "message") this.messages.set(change[1].id, change[1]);
    else if (change[0] === "gone") this.messages.delete(change[1]);
    else if (change[0] === "sent") this.sent.set(change[1], change[2]);
    else {
      const [, id, receives, first_received_ms] = change;
      const message = this.messages.get(id);
      if (message !== undefined) Object.assign(message, { receives, first_received_ms });
    }
  }

  private rewrite(): void {
    this.close();
    const messages = [...this.messages.values()].map(({ handle, ...message }): Change => {
      return ["message", { ...message, visible_ms: handle === undefined ? message.visible_ms : 0 }];
    });
    const sent = [...this.sent].map(([name, one]): Change => ["sent", name, one]);
    writePrivately(this.path, [...messages, ...sent].map((change) => `${JSON.stringify(change)}\n`).join(""));
    this.lines = messages.length + sent.length;
  }
}

/** Adds a text to a file, all of it or, where the disk is full, nothing. */
function writeWhole(file: number, text: string): void {
  const bytes = Buffer.from(text);
  const { size } = fstatSync(file);
  try {
    for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
  } catch (error) {
    ftruncateSync(file, size);
    throw error;
  }
}
