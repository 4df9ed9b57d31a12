import { createServer, type IncomingMessage, type Server, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { type RawData, type WebSocket, WebSocketServer } from "ws";
import { listenOn } from "../free-port.ts";
import { newExtendedRequestId, newRequestId } from "../gateway/exchange.ts";
import { type InvokingHost, invokeWithin } from "../gateway/host.ts";
import { refuseConnection } from "../gateway/server.ts";
import { Throttle } from "../gateway/throttle.ts";
import { gone, OpenConnection } from "./connection.ts";
import { type ConnectionFacts, disconnectEvent, messageEvent } from "./events.ts";
import { FrameMeter } from "./frames.ts";
import { authorize, connect, Refusal, readHandshake } from "./handshake.ts";
import type { SocketModel } from "./model.ts";

/** Largest message in bytes, in however many frames (AWS docs: quotas for WebSocket APIs). */
const messageLimit = 128 * 1024;
/** More than the gateway takes, so that it can say so itself. */
const parserHeaderLimit = 64 * 1024;

/** Surroundings of a WebSocket API. */
export interface SocketOptions {
  readonly model: SocketModel;
  readonly host: InvokingHost;
  /** How much faster the limits of time pass. */
  readonly timeScale: number;
  /** Gets a line for each handshake and message that the gateway had to refuse itself. */
  readonly log: (line: string) => void;
}

/** The WebSocket API of a template the way API Gateway runs it, on 127.0.0.1. */
export class LocalSockets {
  private readonly options: SocketOptions;
  private readonly server: Server;
  private readonly upgrades: WebSocketServer;
  private readonly protocols = new WeakMap<IncomingMessage, string>();
  private readonly throttle = new Throttle();
  private readonly connections = new Map<string, OpenConnection>();
  /** Sockets whose handshake is not decided yet. */
  private readonly opening = new Set<Duplex>();
  private port = 0;

  constructor(options: SocketOptions) {
    this.options = options;
    this.upgrades = new WebSocketServer({
      noServer: true,
      maxPayload: messageLimit,
      perMessageDeflate: false,
      handleProtocols: (_, request) => this.protocols.get(request) ?? false,
    });
    this.server = createServer({ maxHeaderSize: parserHeaderLimit }, (_, response) => {
      response.writeHead(426, { Connection: "close", Upgrade: "websocket", "Content-Type": "application/json" });
      response.end(JSON.stringify({ message: "Upgrade Required" }));
    });
    this.server.on("clientError", refuseConnection);
    this.server.on("upgrade", (message: IncomingMessage, socket: Duplex, head: Buffer) => {
      this.open(message, socket, head).catch(() => socket.destroy());
    });
  }

  /** Listens on 127.0.0.1 only; port 0 takes any free one. Rejects when the port is taken. */
  async start(port: number): Promise<void> {
    this.port = await listenOn(this.server, port);
  }

  /** Ends every connection and stops listening. It runs no route: a process that was killed runs none either. */
  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    for (const connection of this.connections.values()) connection.terminate();
    this.connections.clear();
    for (const socket of this.opening) socket.destroy();
    this.server.closeAllConnections();
    if (this.port !== 0) await closed;
  }

  /** Where clients connect: `ws://127.0.0.1:3004/v2`. */
  get url(): string {
    return `${this.origin}/${this.stage}`;
  }

  get stage(): string {
    return this.options.model.stage;
  }

  /** A value of the template with the addresses of this API on this machine: of clients, and of `@connections`. */
  localized(value: string, awsEndpoint: string): string {
    const { api_id, region } = this.options.model;
    const host = `${api_id}.execute-api.${region}.amazonaws.com`;
    return value.replaceAll(`wss://${host}`, this.origin).replaceAll(`https://${host}`, awsEndpoint);
  }

  /** The resource that a caller of `@connections` needs the right to. */
  arnOf(method: string, id: string): string {
    const { partition, region, account_id, api_id, stage } = this.options.model;
    return `arn:${partition}:execute-api:${region}:${account_id}:${api_id}/${stage}/${method}/@connections/${id}`;
  }

  /** Sends to a connection. Throws AwsErrors: 410 when it is not open, 429 when its client does not read. */
  async post(id: string, text: string): Promise<void> {
    await this.find(id).post(text, this.options.host.now());
  }

  /** Answer of GetConnection about a connection. Throws an AwsError 410 when it is not open. */
  shown(id: string): Record<string, unknown> {
    return this.find(id).shown;
  }

  /** Ends a connection. Throws an AwsError 410 when it is not open. */
  close(id: string): void {
    this.find(id).close(1000, "Connection Closed Normally");
  }

  private get origin(): string {
    return `ws://127.0.0.1:${this.port}`;
  }

  private find(id: string): OpenConnection {
    const found = this.connections.get(id);
    if (found?.isOpen !== true) throw gone();
    return found;
  }

  private async open(message: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const { model, host } = this.options;
    const nowMs = host.now();
    const id = newExtendedRequestId();
    socket.on("error", () => socket.destroy());
    this.opening.add(socket);
    socket.once("close", () => this.opening.delete(socket));
    try {
      const facts: ConnectionFacts = { id, handshake: readHandshake(message, model, nowMs), connected_ms: nowMs };
      if (!this.admits("$connect")) throw new Refusal(429, "Too Many Requests");
      await authorize(host, model, facts);
      const protocol = await connect(host, model, facts);
      if (protocol !== undefined) this.protocols.set(message, protocol);
      this.opening.delete(socket);
      this.accept(facts, message, socket, head);
    } catch (cause) {
      this.refuse(socket, id, cause);
    }
  }

  private accept(facts: ConnectionFacts, message: IncomingMessage, socket: Duplex, head: Buffer): void {
    // The client may be gone since: to the API it was connected all the same.
    if (socket.destroyed || !socket.writable) {
      this.ended(facts, 1006, "");
      return;
    }
    this.upgrades.handleUpgrade(message, socket, head, (webSocket) => this.serve(webSocket, facts));
    const meter = new FrameMeter();
    // Before the library's own listener, which would hand over the message of a frame that is too large.
    socket.prependListener("data", (chunk: Buffer) => {
      if (meter.exceeds(chunk)) this.connections.get(facts.id)?.close(1009, "Frame too large");
    });
  }

  private serve(webSocket: WebSocket, facts: ConnectionFacts): void {
    const { host, timeScale } = this.options;
    const connection = new OpenConnection(webSocket, facts, timeScale);
    this.connections.set(facts.id, connection);
    webSocket.on("message", (data: RawData, isBinary: boolean) => {
      if (!connection.isOpen) return;
      connection.touch(host.now());
      // AWS docs: working with binary media types for WebSocket APIs.
      if (isBinary) connection.close(1003, "Binary frames are not supported");
      else void this.receive(connection, data.toString());
    });
    // A frame that is none closes the connection by its own code, 1002, 1007 or 1009.
    webSocket.on("error", () => undefined);
    webSocket.once("close", (code: number, reason: Buffer) => {
      if (this.connections.delete(facts.id)) this.ended(facts, code, reason.toString());
    });
  }

  /** Runs the route of a message; what it returns is dropped, since no route here has a response. */
  private async receive(connection: OpenConnection, body: string): Promise<void> {
    const { model, host, log } = this.options;
    const say = (message: string) => {
      const ids = { connectionId: connection.facts.id, requestId: newRequestId() };
      connection.say(JSON.stringify({ message, ...ids }));
    };
    const routeKey = this.routeOf(body);
    const integration = model.routes.get(routeKey);
    if (integration === undefined) return say("Forbidden");
    if (!this.admits(routeKey)) return say("Too Many Requests");
    const event = messageEvent(model, connection.facts, { routeKey, body, nowMs: host.now() });
    const { function_arn, timeout_ms } = integration;
    const failed = (cause: unknown) => ({ payload: String(cause), functionError: "Unhandled" });
    const answer = await invokeWithin(host, function_arn, { given: event }, timeout_ms).catch(failed);
    if (answer.functionError === undefined) return;
    log(`stream ${routeKey}: ${JSON.stringify(answer.payload)}`);
    say("Internal server error");
  }

  private routeOf(body: string): string {
    const { model } = this.options;
    try {
      const parsed: unknown = JSON.parse(body);
      const named = Object(parsed)[model.selected_by];
      return typeof named === "string" && !named.startsWith("$") && model.routes.has(named) ? named : "$default";
    } catch {
      return "$default";
    }
  }

  private admits(routeKey: string): boolean {
    const { model, host } = this.options;
    return model.limit === undefined || this.throttle.admit([[routeKey, model.limit]], host.now());
  }

  /** Runs the route `$disconnect`; nothing waits for it, and a failure is only logged, as API Gateway does its best. */
  private ended(facts: ConnectionFacts, code: number, reason: string): void {
    const { model, host, log } = this.options;
    const integration = model.routes.get("$disconnect");
    if (integration === undefined) return;
    const event = disconnectEvent(model, facts, { code, reason, nowMs: host.now() });
    invokeWithin(host, integration.function_arn, { given: event }, integration.timeout_ms).catch((cause: unknown) => {
      log(`stream $disconnect: ${String(cause)}`);
    });
  }

  private refuse(socket: Duplex, connectionId: string, cause: unknown): void {
    const refusal = cause instanceof Refusal ? cause : new Refusal(500, "Internal server error", String(cause));
    const { status, message, reason } = refusal;
    this.options.log(`stream: ${status} ${reason}`);
    const body = JSON.stringify({ message, connectionId, requestId: newRequestId() });
    const head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\nConnection: close\r\n`;
    const type = "Content-Type: application/json\r\n";
    socket.end(`${head}${type}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  }
}
