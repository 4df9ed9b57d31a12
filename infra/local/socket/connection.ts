import type { WebSocket } from "ws";
import { AwsError } from "../aws-error.ts";
import type { ConnectionFacts } from "./events.ts";

/** AWS docs: quotas for WebSocket APIs. */
const longestMs = 2 * 3_600_000;
const idleMs = 600_000;
/** Bytes that were written to a connection and not taken from it; a post that finds more waits. */
const bufferedBytes = 128 * 1024;
/** How long a post waits for a client that does not read, before it is refused. */
const patienceMs = 10_000;

/** A connection that is open. */
export class OpenConnection {
  readonly facts: ConnectionFacts;
  private readonly socket: WebSocket;
  private readonly longest: NodeJS.Timeout;
  private readonly idle: NodeJS.Timeout;
  private activeMs: number;
  /** The posts before, which a post waits for: they arrive in their order. */
  private before: Promise<void> = Promise.resolve();
  /** Resolves when the newest message has left this process. */
  private written: Promise<void> = Promise.resolve();

  /** `timeScale`: how much faster the limits of time pass. */
  constructor(socket: WebSocket, facts: ConnectionFacts, timeScale: number) {
    this.socket = socket;
    this.facts = facts;
    this.activeMs = facts.connected_ms;
    this.longest = setTimeout(() => this.close(1001, "Going away"), longestMs / timeScale).unref();
    this.idle = setTimeout(() => this.close(1001, "Going away"), idleMs / timeScale).unref();
    socket.once("close", () => {
      clearTimeout(this.longest);
      clearTimeout(this.idle);
    });
  }

  get isOpen(): boolean {
    return this.socket.readyState === this.socket.OPEN;
  }

  /** Answer of GetConnection. */
  get shown(): Record<string, unknown> {
    const { handshake, connected_ms } = this.facts;
    const userAgent = handshake.headers.findLast(([name]) => name.toLowerCase() === "user-agent")?.[1] ?? "";
    return {
      connectedAt: new Date(connected_ms).toISOString(),
      identity: { sourceIp: handshake.source_ip, userAgent },
      lastActiveAt: new Date(this.activeMs).toISOString(),
    };
  }

  /** Counts a message of either side: a connection without any is closed. */
  touch(nowMs: number): void {
    this.activeMs = nowMs;
    if (this.isOpen) this.idle.refresh();
  }

  /** Sends what the gateway itself has to say, in no order with the posts. */
  say(text: string): void {
    if (this.isOpen) this.socket.send(text, () => undefined);
  }

  /**
   * Sends a message after those before it, once the client has taken enough of them.
   * @throws AwsError 410 when the connection ends before, 429 when the client reads too slowly
   */
  post(text: string, nowMs: number): Promise<void> {
    const sent = this.before.then(() => this.send(text, nowMs));
    this.before = sent.catch(() => undefined);
    return sent;
  }

  /** Ends the connection; one that does not answer the close frame is cut off by the library after 30 s. */
  close(code: number, reason: string): void {
    this.socket.close(code, reason);
  }

  /** Cuts the connection off. */
  terminate(): void {
    this.socket.terminate();
  }

  private async send(text: string, nowMs: number): Promise<void> {
    if (this.socket.bufferedAmount > bufferedBytes) await this.withPatience(this.written);
    if (!this.isOpen) throw gone();
    this.written = new Promise((resolve) => {
      this.socket.send(text, () => resolve());
    });
    this.touch(nowMs);
  }

  /** Waits until the client has taken what was written to it before. */
  private async withPatience(written: Promise<void>): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new AwsError(429, "LimitExceededException", "Rate exceeded")), patienceMs);
    });
    try {
      await Promise.race([written, limit]);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** The error for a connection that is not, or no longer, open. */
export function gone(): AwsError {
  return new AwsError(410, "GoneException", "");
}
