import WebSocket from "ws";

/** A message of the server, as far as the bench reads it. */
interface ServerMessage {
  readonly type: string;
  readonly subscription?: string;
  readonly subscriptions?: readonly string[];
  readonly channel?: string;
  readonly sequence?: string;
  readonly event?: { readonly created_at: string };
  readonly messages?: readonly ServerMessage[];
  readonly id?: string;
  readonly code?: string;
  readonly detail?: string;
}

/** Opens a socket with an access token for a reader, which hears its first message. */
export async function openSocket<T>(url: string, token: string, readerOf: (socket: WebSocket) => T): Promise<T> {
  const socket = new WebSocket(url, "brokerage.v2+json", { headers: { Authorization: `Bearer ${token}` } });
  const reader = readerOf(socket);
  await new Promise((opened, failed) => {
    socket.once("open", opened);
    socket.once("error", failed);
  });
  return reader;
}

/** A connection that notes the events of its first subscription: their numbers, and how long each was under way. */
export class Reader {
  /** Numbers of events, in the order in which they came, repetitions left out. */
  readonly numbers: number[] = [];
  /** From commit to receipt, in milliseconds. */
  latencies: number[] = [];
  /** Subscriptions whose channels are all at their newest state. */
  readonly synced = new Set<string>();
  /** Subscriptions that the service asked to send again, with a code each. */
  readonly repeated: string[] = [];
  private readonly socket: WebSocket;
  private readonly unanswered = new Map<string, NodeJS.Timeout>();
  private channels: Readonly<Record<string, object>> = {};
  /** Reason of the service for the end of the connection. */
  private closing = "without a reason";
  private changed: () => void = () => undefined;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on("message", (data) => this.receive(JSON.parse(String(data))));
    socket.on("close", () => {
      for (const id of [...this.unanswered.keys()]) this.answered(id);
      this.changed();
    });
  }

  /** Opens a connection with an access token. */
  static open(url: string, token: string): Promise<Reader> {
    return openSocket(url, token, (socket) => new Reader(socket));
  }

  /** Subscribes to a channel each, and waits until each has sent what there was before. */
  async subscribe(channels: Readonly<Record<string, object>>): Promise<void> {
    this.channels = channels;
    for (const [at, id] of Object.keys(channels).entries()) {
      // Ten messages a second are a connection's limit.
      if (at > 0 && at % 9 === 0) await new Promise((next) => setTimeout(next, 1100));
      this.send(id);
    }
    await this.until(() => Object.keys(channels).every((id) => this.synced.has(id)));
  }

  /** Waits until something holds, which is looked at after each message. */
  async until(holds: () => boolean, withinMs = 60_000): Promise<void> {
    const late = setTimeout(() => {
      this.closing = `after ${withinMs} ms, with ${this.numbers.length} events and ${this.synced.size} subscriptions`;
      this.socket.terminate();
    }, withinMs);
    while (!holds()) {
      if (this.socket.readyState !== WebSocket.OPEN) throw new Error(`The connection has ended ${this.closing}.`);
      await new Promise<void>((resolve) => {
        this.changed = resolve;
      });
    }
    clearTimeout(late);
  }

  /** Takes nothing any more, without closing. */
  stall(): void {
    this.socket.pause();
  }

  close(): void {
    this.socket.terminate();
  }

  private send(id: string): void {
    this.socket.send(JSON.stringify({ type: "subscribe", id, channels: [this.channels[id]] }));
    // The gateway does not say which message it has lost.
    const again = setTimeout(() => this.sendAgain(id, "no_answer", 0), 15_000);
    this.unanswered.set(id, again);
  }

  private answered(id: string): void {
    clearTimeout(this.unanswered.get(id));
    this.unanswered.delete(id);
  }

  /** A message that could not be answered, or was one too many in its second, is sent again after that second. */
  private sendAgain(id: string, code: string, afterMs = 1100): void {
    this.repeated.push(code);
    this.unanswered.set(
      id,
      setTimeout(() => this.send(id), afterMs),
    );
  }

  private receive(message: ServerMessage): void {
    for (const one of message.messages ?? [message]) this.note(one);
    this.changed();
  }

  private note({ type, id, subscription, subscriptions, sequence, event, code, detail }: ServerMessage): void {
    if (id !== undefined) this.answered(id);
    if (type === "error" && id !== undefined) {
      if (code === "service_unavailable" || code === "rate_limit_exceeded") this.sendAgain(id, code);
      else this.closing = `with ${code} for ${id}: ${detail}`;
    }
    if (type === "closing") this.closing = `with ${code}`;
    if (type === "sync_end" && subscription !== undefined) this.synced.add(subscription);
    if (type !== "event" || !subscriptions?.includes("all") || event === undefined) return;
    const number = Number(sequence);
    if (number <= (this.numbers.at(-1) ?? 0)) return;
    this.numbers.push(number);
    this.latencies.push(Date.now() - Date.parse(event.created_at));
  }
}
