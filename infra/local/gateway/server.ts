import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { readBody } from "../request-body.ts";
import { decompressed } from "./compression.ts";
import type { Reply } from "./exchange.ts";
import { Fault } from "./fault.ts";
import type { Pipeline } from "./pipeline.ts";
import { checkHeaderSize, checkStage, headerList, newExchange, readTarget, type Target } from "./request.ts";

/** Largest body in bytes (AWS docs: quotas for REST APIs). */
const payloadLimit = 10 * 1024 * 1024;
/** More than the gateway takes, so that it can say so itself. */
const parserHeaderLimit = 64 * 1024;
const keepAliveMs = 60_000;
/** How long a refused upload may go on after the answer, so that the caller gets to read it. */
const lingerMs = 1_000;

/** Health checks of the service, in front of all APIs. */
const healthPaths = new Set(["/ping", "/sping"]);

function declaredLength(message: IncomingMessage): number {
  return Number(message.headers["content-length"] ?? 0);
}

function send(response: ServerResponse, reply: Reply, last: boolean): void {
  const bodiless = reply.status === 204 || reply.status === 304;
  const headers = reply.headers.flat();
  if (!bodiless) headers.push("Content-Length", String(reply.body.length));
  if (last) headers.push("Connection", "close");
  response.writeHead(reply.status, headers);
  response.end(bodiless ? undefined : reply.body);
}

function health(response: ServerResponse): void {
  send(response, { status: 200, headers: [["Content-Type", "text/plain"]], body: Buffer.from("healthy") }, false);
}

/** Answers what is no HTTP at all; there is no request yet, so no gateway response either. */
export function refuseConnection(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || error.code === "ECONNRESET") {
    socket.destroy();
    return;
  }
  const answers: Record<string, string> = {
    HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
    ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
  };
  const status = answers[error.code ?? ""] ?? "400 Bad Request";
  const body = `${status.slice(4)}\n`;
  const head = `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Type: text/plain\r\n`;
  socket.end(`${head}Content-Length: ${body.length}\r\n\r\n${body}`);
}

/** One HTTP/1.1 server in front of a pipeline. */
export class GatewayServer {
  private readonly pipeline: Pipeline;
  private readonly stage: string;
  private readonly now: () => number;
  private readonly server: Server;

  constructor(pipeline: Pipeline, stage: string, now: () => number) {
    this.pipeline = pipeline;
    this.stage = stage;
    this.now = now;
    const options = { maxHeaderSize: parserHeaderLimit, keepAliveTimeout: keepAliveMs };
    this.server = createServer(options, (message, response) => this.serve(message, response));
    this.server.on("checkContinue", (message: IncomingMessage, response: ServerResponse) => {
      // A client that asks to send too much gets no `100 Continue`.
      if (declaredLength(message) <= payloadLimit) response.writeContinue();
      this.serve(message, response);
    });
    this.server.on("clientError", refuseConnection);
  }

  /** Listens on 127.0.0.1 only; port 0 takes any free one. Resolves with the port, rejects when it is taken. */
  listen(port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.server.once("error", reject);
      this.server.listen(port, "127.0.0.1", () => {
        this.server.off("error", reject);
        const address = this.server.address();
        resolve(typeof address === "object" && address !== null ? address.port : port);
      });
    });
  }

  /** Ends: requests under way have a second to finish. */
  stop(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.server.closeAllConnections(), lingerMs);
      this.server.close(() => {
        clearTimeout(timer);
        resolve();
      });
      this.server.closeIdleConnections();
    });
  }

  private serve(message: IncomingMessage, response: ServerResponse): void {
    this.answer(message, response).catch(() => response.destroy());
  }

  private async answer(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const nowMs = this.now();
    let target: Target = { path: "/", query: "" };
    try {
      target = readTarget(message.url ?? "/");
      checkHeaderSize(headerList(message));
      if (healthPaths.has(target.path)) {
        message.resume();
        return health(response);
      }
      checkStage(target, this.stage);
    } catch (cause) {
      return this.refuse(message, response, target, nowMs, cause);
    }
    const isTooLarge = declaredLength(message) > payloadLimit;
    const body = isTooLarge ? undefined : await readBody(message, payloadLimit);
    if (body === undefined) {
      return this.refuse(message, response, target, nowMs, new Fault("REQUEST_TOO_LARGE"));
    }
    send(response, await this.answerWhole(message, target, body, nowMs), false);
  }

  private async answerWhole(message: IncomingMessage, target: Target, sent: Buffer, nowMs: number): Promise<Reply> {
    try {
      const body = decompressed(sent, headerList(message), payloadLimit);
      return await this.pipeline.answer(newExchange(message, target, body, nowMs));
    } catch (cause) {
      return this.pipeline.refuse(newExchange(message, target, Buffer.alloc(0), nowMs), cause);
    }
  }

  /** Answers before the body was read; what is still coming in is thrown away, and the connection ends. */
  private refuse(
    message: IncomingMessage,
    response: ServerResponse,
    target: Target,
    nowMs: number,
    cause: unknown,
  ): void {
    const exchange = newExchange(message, target, Buffer.alloc(0), nowMs);
    const bodiless = declaredLength(message) === 0 && message.headers["transfer-encoding"] === undefined;
    const whole = message.complete || bodiless;
    response.on("finish", () => {
      if (whole) return;
      setTimeout(() => message.socket.destroy(), lingerMs).unref();
    });
    message.resume();
    send(response, this.pipeline.refuse(exchange, cause), !whole);
  }
}
