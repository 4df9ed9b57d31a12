import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";

/** An event as far as the stream's protocol reads it. */
interface Published {
  readonly sequence: number;
  readonly type: string;
}

const accessToken = "an-access-token";

interface Cursor {
  readonly types: readonly string[] | undefined;
  after: number;
}

/** One connection: what it subscribed, and how many frames it gets before its socket is destroyed. */
interface Reader {
  readonly socket: WebSocket;
  readonly cursors: Map<string, Cursor>;
  framesLeft: number;
}

/**
 * The service's side of the stream, without a service behind it: tokens, tickets, and events by the cursor of each
 * subscription, in batches, at least once. A test says when sockets break and what is repeated.
 */
export class StreamService {
  readonly events: Published[] = [];
  /** Texts that clients sent, in their order. */
  readonly received: string[] = [];
  /** How many frames the next connections get before they break; unlimited when it is empty. */
  readonly lives: number[] = [];
  /** Codes of the errors that the next subscriptions are answered with; an empty one for no answer. */
  readonly faults: string[] = [];
  handshakes = 0;
  /** Set to answer no ping. */
  silent = false;
  private readonly readers = new Set<Reader>();
  private readonly server = createServer();
  private tickets = new Set<string>();
  private issued = 0;

  /** Listens on a free port. */
  static async start(): Promise<StreamService> {
    const service = new StreamService();
    await once(service.server.listen(0, "127.0.0.1"), "listening");
    const sockets = new WebSocketServer({ noServer: true, handleProtocols: ([first]) => first ?? false });
    service.server.on("request", ({ url }, response) => {
      const isToken = url === "/v2/oauth/token";
      response.writeHead(isToken ? 200 : 201, { "Content-Type": "application/json" });
      response.end(JSON.stringify(isToken ? { access_token: accessToken } : { url: service.address() }));
    });
    service.server.on("upgrade", (request, socket, head) => {
      const ticket = new URL(request.url ?? "", "ws://service").searchParams.get("ticket") ?? "";
      const isBearer = request.headers.authorization === `Bearer ${accessToken}`;
      service.handshakes += 1;
      if (!isBearer && !service.tickets.delete(ticket)) {
        socket.end("HTTP/1.1 401 Unauthorized\r\nConnection: close\r\n\r\n");
        return;
      }
      sockets.handleUpgrade(request, socket, head, (opened) => service.open(opened));
    });
    return service;
  }

  /** Address with a ticket for one connection. */
  address(): string {
    this.issued += 1;
    this.tickets.add(`t${this.issued}`);
    return `${this.url}?ticket=t${this.issued}`;
  }

  /** Address without a ticket, `ws://127.0.0.1:4000/`. The endpoints of tokens and tickets are there, below `/v2`. */
  get url(): string {
    return `ws://127.0.0.1:${(this.server.address() as AddressInfo).port}/`;
  }

  get connections(): number {
    return this.readers.size;
  }

  get head(): number {
    return this.events.length;
  }

  /** Publishes events of these types; each connection gets them in one batch. */
  publish(types: readonly string[]): void {
    for (const type of types) this.events.push({ sequence: this.head + 1, type });
    for (const reader of this.readers) for (const id of reader.cursors.keys()) this.deliver(reader, id);
  }

  /** Sends again what was sent before, as after a crash of a function between sending and noting it. */
  repeat(count: number): void {
    for (const reader of this.readers) {
      for (const [id, cursor] of reader.cursors) {
        cursor.after = Math.max(0, cursor.after - count);
        this.deliver(reader, id);
      }
    }
  }

  /** Destroys all sockets. */
  breakAll(): void {
    for (const { socket } of this.readers) socket.terminate();
  }

  /** Sends a message to all connections. */
  sendAll(message: object): void {
    for (const reader of this.readers) this.send(reader, message);
  }

  /** Ends all connections as the service does. */
  closeAll(code: string): void {
    this.sendAll({ type: "closing", code, detail: `Closed: ${code}.` });
    for (const { socket } of this.readers) socket.close();
  }

  async stop(): Promise<void> {
    this.breakAll();
    this.server.close();
    await once(this.server, "close");
  }

  private open(socket: WebSocket): void {
    const reader = { socket, cursors: new Map(), framesLeft: this.lives.shift() ?? Number.POSITIVE_INFINITY };
    this.readers.add(reader);
    socket.on("close", () => this.readers.delete(reader));
    socket.on("message", (data) => this.receive(reader, String(data)));
    this.send(reader, { type: "hello", connection_id: `c${this.handshakes}`, head_sequence: String(this.head) });
  }

  private receive(reader: Reader, text: string): void {
    this.received.push(text);
    const message = JSON.parse(text);
    const { id } = message;
    if (message.type === "ping" && !this.silent) this.send(reader, { type: "pong" });
    if (message.type === "unsubscribe") reader.cursors.delete(id);
    if (message.type !== "subscribe") return;
    const fault = this.faults.shift();
    if (fault !== undefined) {
      if (fault !== "") this.send(reader, { type: "error", id, code: fault, detail: "Not answered." });
      return;
    }
    const events = message.channels.find(({ name }: { name: string }) => name === "events");
    if (events === undefined) {
      this.send(reader, { type: "error", id, code: "insufficient_scope", detail: "A scope is missing." });
      return;
    }
    this.send(reader, { type: "subscribed", id });
    reader.cursors.set(id, { types: events.types, after: Number(events.after_sequence ?? this.head) });
    this.deliver(reader, id);
    const sequence = String(reader.cursors.get(id)?.after);
    const end = { type: "sync_end", subscription: id, channel: "events", sequence };
    this.send(reader, { type: "batch", messages: [end] });
  }

  private deliver(reader: Reader, id: string): void {
    const cursor = reader.cursors.get(id);
    if (cursor === undefined) return;
    const due = this.events.slice(cursor.after).filter(({ type }) => cursor.types?.includes(type) ?? true);
    cursor.after = this.head;
    const messages = due.map(({ sequence, type }) => ({
      type: "event",
      subscriptions: [id],
      sequence: String(sequence),
      event: { id: `evt_${sequence}`, object: "event", type, sequence: String(sequence) },
    }));
    for (let at = 0; at < messages.length; at += 3) {
      this.send(reader, { type: "batch", messages: messages.slice(at, at + 3) });
    }
  }

  private send(reader: Reader, message: object): void {
    if (reader.framesLeft <= 0) {
      reader.socket.terminate();
      return;
    }
    reader.framesLeft -= 1;
    reader.socket.send(JSON.stringify(message), () => {
      if (reader.framesLeft <= 0) reader.socket.terminate();
    });
  }
}
