import type { BatchMember, ClosingMessage, ErrorMessage, ServerMessage, Subscription } from "./messages.ts";

/** The part of a WebSocket that is used: that of browsers, of Node and of the package `ws`. */
export interface Socket {
  send(text: string): void;
  close(): void;
  onopen: unknown;
  onmessage: unknown;
  onclose: unknown;
  onerror: unknown;
}

/** Events of a connection for its owner. */
export interface ConnectionEvents {
  /** The socket is open: subscriptions can be sent. */
  opened(): void;
  /** All that was subscribed so far is complete, for the first time. */
  live(connection: Connection): void;
  message(message: BatchMember): void;
  refused(error: ErrorMessage): void;
  closing(connection: Connection, message: ClosingMessage): void;
  /** The connection is over; it is not heard of again. */
  lost(connection: Connection): void;
}

/** Time limits of a connection, in milliseconds. */
export interface ConnectionLimits {
  /** From the begin of the handshake to the first message. */
  readonly openMs: number;
  /** Longest quiet time: the service sends a heartbeat every five minutes. Then a ping has to be answered. */
  readonly quietMs: number;
  readonly pongMs: number;
  /** Longest time of the answer to a subscription; then it is sent again. */
  readonly answerMs: number;
}

/** The service takes ten messages in a second of its clock, which may overlap two seconds of this one. */
const sentPerSecond = 5;

/** Errors of the service that pass. The message is sent again; to subscribe twice is to subscribe once. */
const temporary: ReadonlySet<string> = new Set(["service_unavailable", "internal_error", "rate_limit_exceeded"]);
const againAfterMs = 1000;

/** One socket of the stream: it sends at the pace that the service allows and notices when the other side is gone. */
export class Connection {
  /** Subscriptions sent over this connection. */
  readonly sent = new Map<string, Subscription>();
  /** Set when the service has announced the end of the connection. */
  ending = false;
  /** Whether messages can be sent. */
  isOpen = false;
  /** Whether all that was subscribed at first is complete. */
  isLive = false;
  private readonly socket: Socket;
  private readonly events: ConnectionEvents;
  private readonly limits: ConnectionLimits;
  private readonly waiting: string[] = [];
  /** Channels whose replay or snapshot is not complete. */
  private readonly syncing = new Set<string>();
  private greeted = false;
  /** Messages that may be sent before the pace allows more. */
  private allowed = sentPerSecond;
  private over = false;
  private watch: ReturnType<typeof setTimeout> | undefined;
  private pacing: ReturnType<typeof setTimeout> | undefined;
  /** By subscription: when it is sent again, unless it was answered. */
  private readonly repetitions = new Map<string, ReturnType<typeof setTimeout>>();

  constructor(socket: Socket, events: ConnectionEvents, limits: ConnectionLimits) {
    this.socket = socket;
    this.events = events;
    this.limits = limits;
    this.expectWithin(limits.openMs);
    socket.onopen = () => {
      this.isOpen = !this.over;
      if (this.isOpen) events.opened();
    };
    socket.onmessage = ({ data }: { data: unknown }) => this.receive(data);
    socket.onclose = () => this.end();
    // A socket that fails is closed next, except where the handshake was refused.
    socket.onerror = () => this.end();
  }

  /** Sends a subscription. */
  subscribe(subscription: Subscription): void {
    this.sent.set(subscription.id, subscription);
    for (const { name } of subscription.channels) this.syncing.add(`${subscription.id} ${name}`);
    this.ask(subscription);
  }

  /** Ends a subscription. */
  unsubscribe(id: string): void {
    if (!this.sent.delete(id)) return;
    this.forget(id);
    this.send({ type: "unsubscribe", id });
  }

  /** Drops the connection if the service does not answer. */
  check(): void {
    if (this.over || !this.greeted) return;
    this.send({ type: "ping" });
    this.expectWithin(this.limits.pongMs);
  }

  /** Closes the socket. Nothing that arrives after this is heard of. */
  end(): void {
    if (this.over) return;
    this.over = true;
    this.isOpen = false;
    this.isLive = false;
    clearTimeout(this.watch);
    clearTimeout(this.pacing);
    for (const repetition of this.repetitions.values()) clearTimeout(repetition);
    this.socket.close();
    this.events.lost(this);
  }

  private receive(data: unknown): void {
    if (this.over) return;
    const message = parsed(data);
    if (message === undefined) {
      this.end();
      return;
    }
    clearTimeout(this.watch);
    this.watch = setTimeout(() => this.check(), this.limits.quietMs);
    if (message.type === "hello") this.greeted = true;
    if (message.type === "batch") for (const member of message.messages) this.receiveMember(member);
    if (message.type === "subscribed") this.answered(message.id);
    if (message.type === "error") this.refuse(message);
    if (message.type === "closing") this.events.closing(this, message);
    this.noteLive();
  }

  private receiveMember(member: BatchMember): void {
    if (this.over) return;
    if (member.type === "sync_end") this.syncing.delete(`${member.subscription} ${member.channel}`);
    if (member.type === "expiring") this.ending = true;
    this.events.message(member);
  }

  private refuse(error: ErrorMessage): void {
    const { id = "", code } = error;
    const subscription = this.sent.get(id);
    this.answered(id);
    if (subscription !== undefined && temporary.has(code)) {
      this.repeatAfter(againAfterMs, subscription);
      return;
    }
    this.forget(id);
    this.events.refused(error);
  }

  /** Sends a subscription, and again where no answer comes: the gateway does not say which message it has lost. */
  private ask(subscription: Subscription): void {
    this.send({ type: "subscribe", ...subscription });
    this.repeatAfter(this.limits.answerMs, subscription);
  }

  private repeatAfter(ms: number, subscription: Subscription): void {
    this.repetitions.set(
      subscription.id,
      setTimeout(() => this.ask(subscription), ms),
    );
  }

  private answered(id = ""): void {
    clearTimeout(this.repetitions.get(id));
    this.repetitions.delete(id);
  }

  private forget(id: string): void {
    this.answered(id);
    for (const key of this.syncing) if (key.startsWith(`${id} `)) this.syncing.delete(key);
  }

  private noteLive(): void {
    if (this.isLive || this.over || !this.greeted || this.syncing.size > 0) return;
    this.isLive = true;
    this.events.live(this);
  }

  private expectWithin(ms: number): void {
    clearTimeout(this.watch);
    this.watch = setTimeout(() => this.end(), ms);
  }

  private send(message: object): void {
    this.waiting.push(JSON.stringify(message));
    this.sendAllowed();
  }

  private sendAllowed(): void {
    const now = this.waiting.splice(0, this.allowed);
    this.allowed -= now.length;
    for (const text of now) this.socket.send(text);
    if (this.allowed === sentPerSecond) return;
    this.pacing ??= setTimeout(() => {
      this.pacing = undefined;
      this.allowed = sentPerSecond;
      this.sendAllowed();
    }, 1000);
  }
}

/** A message of the service; undefined for what is none. */
function parsed(data: unknown): ServerMessage | undefined {
  try {
    return JSON.parse(String(data)) as ServerMessage;
  } catch {
    return undefined;
  }
}
