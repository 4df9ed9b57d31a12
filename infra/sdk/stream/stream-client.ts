import { Connection, type ConnectionLimits, type Socket } from "./connection.ts";
import type {
  AccountMessage,
  BatchMember,
  ClosingMessage,
  CommandMessage,
  ErrorMessage,
  EventMessage,
  QuoteMessage,
  Subscription,
  SyncEndMessage,
} from "./messages.ts";

/** Subprotocol of the stream. */
const subprotocol = "brokerage.v2+json";

/**
 * How the stream is: `connecting` until all subscriptions are live, `live`, `offline` until the next attempt, and
 * `ended` when it was closed, or the service refuses further connections.
 */
export type StreamStatus = "connecting" | "live" | "offline" | "ended";

/** Thrown by `address` when no later attempt can succeed, such as after an answer of 401 or 403. */
export class AccessEnded extends Error {}

/**
 * Functions for received messages. If one of the functions throws, the connection is dropped and the event is received
 * again.
 */
export interface StreamHandlers {
  /** Each event once per subscription, in order of the numbers; also after any loss of the connection. */
  readonly event?: (message: EventMessage) => void;
  readonly account?: (message: AccountMessage) => void;
  readonly quote?: (message: QuoteMessage) => void;
  readonly command?: (message: CommandMessage) => void;
  /** The replay or the snapshot of a channel is complete, again after each reconnection. */
  readonly synced?: (message: SyncEndMessage) => void;
  /** The service refused a message, such as a subscription without the scope. It is sent again when reconnecting. */
  readonly refused?: (error: ErrorMessage) => void;
  readonly status?: (status: StreamStatus, reason: string) => void;
}

/** Options of a stream. */
export interface StreamOptions {
  /**
   * The `url` of the answer to `POST /stream_tickets`; called for every connection, because a ticket opens one. It may
   * throw `AccessEnded`; after other errors it is called again.
   */
  readonly address: () => Promise<string>;
  readonly handlers: StreamHandlers;
  readonly subscriptions?: readonly Subscription[];
  /** Opens a socket; the global `WebSocket` by default, which Node has from version 22. */
  readonly connect?: (url: string, subprotocol: string) => Socket;
  /** First and longest delay before an attempt to connect, in milliseconds; each is half to whole, at random. */
  readonly firstDelayMs?: number;
  readonly longestDelayMs?: number;
  readonly limits?: Partial<ConnectionLimits>;
}

const usual = { openMs: 15_000, quietMs: 330_000, pongMs: 10_000, answerMs: 15_000 } as const;

/**
 * A connection to the stream that outlives its sockets: it connects again with growing delays, before the end of a
 * connection already, resumes each subscription of events after its last number, and drops repetitions by number.
 */
export class StreamClient {
  private readonly options: StreamOptions;
  private readonly limits: ConnectionLimits;
  private readonly subscriptions = new Map<string, Subscription>();
  /** Number of the last event, or of the last one that a replay reached, by subscription. */
  private readonly positions = new Map<string, number>();
  private readonly connections = new Set<Connection>();
  private status: StreamStatus | undefined;
  private failures = 0;
  private attempting = false;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: StreamOptions) {
    this.options = options;
    this.limits = { ...usual, ...options.limits };
    for (const subscription of options.subscriptions ?? []) this.subscriptions.set(subscription.id, subscription);
    void this.attempt();
  }

  /** Adds a subscription. Its id must not have been used before. */
  subscribe(subscription: Subscription): void {
    this.subscriptions.set(subscription.id, subscription);
    this.offerAll();
  }

  /** Ends a subscription: its messages are not handed over any more. */
  unsubscribe(id: string): void {
    this.subscriptions.delete(id);
    this.positions.delete(id);
    for (const connection of this.connections) connection.unsubscribe(id);
  }

  /** The number to keep for `after_sequence` of a later start; undefined before there is one. */
  position(id: string): string | undefined {
    const known = this.positions.get(id);
    return known === undefined ? undefined : String(known);
  }

  /** Tests the connection now, and does not wait before the next attempt; for a machine that was asleep. */
  check(): void {
    for (const connection of this.connections) connection.check();
    if (this.timer !== undefined) this.schedule(0);
  }

  /** Closes the stream for good. */
  close(): void {
    this.finish("The stream was closed.");
  }

  private get ended(): boolean {
    return this.status === "ended";
  }

  private async attempt(): Promise<void> {
    this.timer = undefined;
    this.attempting = true;
    this.report("");
    try {
      const url = await this.options.address();
      if (this.ended) return;
      const connect = this.options.connect ?? ((to: string, protocol: string) => new WebSocket(to, [protocol]));
      this.connections.add(this.connection(connect(url, subprotocol)));
      this.attempting = false;
    } catch (error) {
      this.attempting = false;
      const reason = error instanceof Error ? error.message : String(error);
      if (error instanceof AccessEnded) this.finish(reason);
      else this.retry(reason);
    }
  }

  private connection(socket: Socket): Connection {
    return new Connection(
      socket,
      {
        opened: () => this.offerAll(),
        live: (connection) => this.live(connection),
        message: (message) => this.receive(message),
        refused: (error) => this.guarded(() => this.options.handlers.refused?.(error)),
        closing: (connection, message) => this.closing(connection, message),
        lost: (connection) => {
          this.connections.delete(connection);
          if (this.ended) return;
          this.offerAll();
          this.retry("The connection was lost.");
        },
      },
      this.limits,
    );
  }

  /** Connects again, unless there is a connection that lasts or will be one. */
  private retry(reason: string): void {
    if (this.ended || this.attempting || this.timer !== undefined) return;
    if ([...this.connections].some(({ ending }) => !ending)) return;
    const { firstDelayMs = 500, longestDelayMs = 30_000 } = this.options;
    const most = Math.min(longestDelayMs, firstDelayMs * 2 ** this.failures);
    this.failures += 1;
    this.schedule(most / 2 + (Math.random() * most) / 2);
    this.report(reason);
  }

  private schedule(ms: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.attempt(), ms);
  }

  private closing(connection: Connection, { code, detail }: ClosingMessage): void {
    connection.ending = true;
    if (code === "access_ended") this.finish(detail);
    else connection.end();
  }

  /** Sends what is not sent yet over a connection. */
  private offerAll(): void {
    for (const connection of this.connections) {
      if (!connection.isOpen) continue;
      for (const subscription of this.subscriptions.values()) {
        if (connection.sent.has(subscription.id) || !this.mayBegin(subscription)) continue;
        connection.subscribe(this.resumed(subscription));
      }
    }
  }

  /**
   * New events without a first number begin where the service says. A second connection would say another number, and
   * what lies between would be taken for a repetition, so it waits until that number is known.
   */
  private mayBegin({ id, channels }: Subscription): boolean {
    const events = channels.find((channel) => channel.name === "events");
    if (events === undefined || events.after_sequence !== undefined || this.positions.has(id)) return true;
    return ![...this.connections].some(({ sent }) => sent.has(id));
  }

  private resumed({ id, channels, resume }: Subscription): Subscription {
    const after_sequence = resume === false ? undefined : this.position(id);
    if (after_sequence === undefined) return { id, channels };
    return { id, channels: channels.map((each) => (each.name === "events" ? { ...each, after_sequence } : each)) };
  }

  private receive(message: BatchMember): void {
    const { handlers } = this.options;
    this.guarded(() => {
      if (message.type === "expiring") return this.retry("");
      if (message.type === "event") return this.event(message);
      if (message.type === "account") return handlers.account?.(message);
      if (message.type === "quote") return handlers.quote?.(message);
      if (message.type === "command") return handlers.command?.(message);
      if (message.type === "sync_end") return this.synced(message);
    });
  }

  private event(message: EventMessage): void {
    const sequence = Number(message.sequence);
    const subscriptions = message.subscriptions.filter(
      (id) => this.subscriptions.has(id) && sequence > (this.positions.get(id) ?? -1),
    );
    if (subscriptions.length === 0) return;
    this.options.handlers.event?.({ ...message, subscriptions });
    for (const id of subscriptions) this.positions.set(id, sequence);
  }

  private synced(message: SyncEndMessage): void {
    const { subscription, channel, sequence } = message;
    if (!this.subscriptions.has(subscription)) return;
    if (channel === "events") {
      this.positions.set(subscription, Math.max(Number(sequence), this.positions.get(subscription) ?? 0));
      this.offerAll();
    }
    this.options.handlers.synced?.(message);
  }

  private live(connection: Connection): void {
    this.failures = 0;
    // The one before has been replaced without a gap.
    for (const other of this.connections) if (other !== connection && other.ending) other.end();
    this.report("");
  }

  /** Runs what a handler does; after an error nothing that was received behind it may be handed over before it. */
  private guarded(handle: () => void): void {
    try {
      handle();
    } catch (error) {
      for (const connection of [...this.connections]) connection.end();
      this.report(error instanceof Error ? error.message : String(error));
    }
  }

  private finish(reason: string): void {
    if (this.ended) return;
    clearTimeout(this.timer);
    this.status = "ended";
    for (const connection of [...this.connections]) connection.end();
    this.options.handlers.status?.("ended", reason);
  }

  private report(reason: string): void {
    if (this.ended) return;
    const live = [...this.connections].some(({ isLive }) => isLive);
    const status = live ? "live" : this.timer === undefined ? "connecting" : "offline";
    if (status === this.status) return;
    this.status = status;
    this.options.handlers.status?.(status, reason);
  }
}
