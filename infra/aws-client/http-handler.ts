import { type Agent, type ClientRequest, Agent as HttpAgent, request as httpRequest } from "node:http";
import type { AgentOptions } from "node:https";
import type { Socket } from "node:net";
import type { Readable } from "node:stream";
import { queryOf } from "./request-signature.ts";

/** A request as it is signed. The SDK's retries write their headers into `headers`. */
export interface HttpRequest {
  readonly method: string;
  readonly protocol: string;
  readonly hostname: string;
  readonly port?: number;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Record<string, string>;
  readonly body?: string | Uint8Array;
}

/** An answer, its body still to come. */
export interface Answer {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Readable;
}

/** Settings of a client's `requestHandler`; times in milliseconds, 0 or nothing for none. */
interface Settings {
  /** Until the connection stands. */
  readonly connectionTimeout?: number;
  /** Until the headers of the answer are there. */
  readonly requestTimeout?: number;
  /** A request that takes longer fails. The published handler would warn in the log, which nothing of ours asks for. */
  readonly throwOnRequestTimeout?: true;
  /** How long an idle connection is used again; shorter than the service keeps it. */
  readonly idleConnectionTimeout?: number;
  /** Of the connections over TLS: certificates that are trusted. */
  readonly httpsAgent?: AgentOptions;
}

interface CallOptions {
  readonly abortSignal?: AbortSignal;
  readonly requestTimeout?: number;
}

/** Loaded by the first request over TLS: a third of what a function loads, and a plain address has no use for it. */
const https = (): typeof import("node:https") => process.getBuiltinModule("node:https");
const maxSockets = 50;
const known = new Set([
  "connectionTimeout",
  "requestTimeout",
  "throwOnRequestTimeout",
  "idleConnectionTimeout",
  "httpsAgent",
]);

/**
 * Sends requests over connections that it keeps; one per client. Does what `@smithy/node-http-handler` does for the
 * functions' clients: HTTP/1.1, with the same timeouts, the same abort signal and the same errors, by which the SDK
 * decides whether it sends again. Added: what a frozen environment needs (ADR 0032). A connection that was idle for too
 * long is dropped before it is used, and a request whose reused connection turns out to be closed is sent once more on
 * a new one.
 */
export class HttpHandler {
  readonly #settings: Settings;
  readonly #agents: { http?: Agent; https?: Agent } = {};

  /** The handler of another client, or one of these settings. */
  static create(given?: HttpHandler | Settings): HttpHandler {
    return given instanceof HttpHandler ? given : new HttpHandler(given ?? {});
  }

  constructor(settings: Settings) {
    const unknown = Object.keys(settings).find((name) => !known.has(name));
    if (unknown !== undefined) throw new Error(`The setting requestHandler.${unknown} is not in this bundle.`);
    if (settings.requestTimeout && !settings.throwOnRequestTimeout) {
      throw new Error("A requestTimeout without throwOnRequestTimeout is not in this bundle.");
    }
    this.#settings = settings;
  }

  /** Closes the connections that are kept. */
  destroy(): void {
    this.#agents.http?.destroy();
    this.#agents.https?.destroy();
  }

  /**
   * Sends one request. Resolves with the answer when its headers are there; the body follows as a stream. A request
   * that is reset on a connection that served before is sent once more on a new one: the service may see it twice. The
   * SDK does that where it has tries left, and counts them: by that count a commit is known to have been sent before.
   * @throws Error with the `code` of Node (ECONNRESET, ECONNREFUSED, ENOTFOUND, ...), `TimeoutError` or `AbortError`
   */
  async handle(request: HttpRequest, options: CallOptions = {}): Promise<Answer> {
    const answer = await this.#attempt(request, options, true);
    if (answer !== "stale") return answer;
    // Those that were idle beside it were closed with it. None is left, so the next request opens a connection.
    for (const agent of Object.values(this.#agents)) closeIdle(agent, 0);
    if (hasTriesLeft(request)) throw timeoutError("the connection was closed.", { code: "ECONNRESET" });
    return (await this.#attempt(request, options, false)) as Answer;
  }

  /** One request on one connection; `stale` when that was reused and is closed, where the caller `mayRepeat`. */
  #attempt(request: HttpRequest, options: CallOptions, mayRepeat: boolean): Promise<Answer | "stale"> {
    const { abortSignal: signal, requestTimeout = this.#settings.requestTimeout } = options;
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(abortError(signal));
      const outgoing = this.#open(request);
      let begun = false;
      const timers = [
        onConnectionTimeout(outgoing, this.#settings.connectionTimeout, reject),
        onRequestTimeout(outgoing, requestTimeout, reject),
      ];
      const done = () => {
        for (const timer of timers) clearTimeout(timer);
      };
      outgoing.once("response", (body) => {
        begun = true;
        done();
        // Of the headers that Node keeps as lists, none means anything to a client.
        resolve({ statusCode: body.statusCode ?? -1, headers: body.headers as Answer["headers"], body });
      });
      outgoing.on("error", (error: NodeJS.ErrnoException) => {
        done();
        if (mayRepeat && !begun && outgoing.reusedSocket && resetCodes.has(error.code ?? "")) return resolve("stale");
        // The SDK repeats what bears this name (service error classification of the AWS SDKs).
        if (timeoutCodes.has(error.code ?? "")) error.name = "TimeoutError";
        reject(error);
      });
      if (signal !== undefined) {
        const abort = () => {
          done();
          outgoing.destroy();
          reject(abortError(signal));
        };
        signal.addEventListener("abort", abort, { once: true });
        outgoing.once("close", () => signal.removeEventListener("abort", abort));
      }
      outgoing.end(request.body);
    });
  }

  #open({ protocol, hostname, port, method, path, query, headers }: HttpRequest): ClientRequest {
    const secure = protocol === "https:";
    const agent = this.#agent(secure);
    closeIdle(agent, this.#settings.idleConnectionTimeout ?? Number.POSITIVE_INFINITY);
    const search = queryOf(query);
    const host = hostname.replace(/^\[(.*)\]$/, "$1");
    const options = { method, host, port, path: `${path}${search && `?${search}`}`, headers, agent };
    return secure ? https().request(options) : httpRequest(options);
  }

  #agent(secure: boolean): Agent {
    if (!secure) {
      this.#agents.http ??= timed(new HttpAgent({ keepAlive: true, maxSockets }));
      return this.#agents.http;
    }
    const { httpsAgent } = this.#settings;
    this.#agents.https ??= timed(new (https().Agent)({ keepAlive: true, maxSockets, ...httpsAgent }));
    return this.#agents.https;
  }
}

/** Codes of a connection that the other side has closed. */
const resetCodes = new Set(["ECONNRESET", "EPIPE"]);
const timeoutCodes = new Set([...resetCodes, "ETIMEDOUT"]);

/** When each idle connection was used last, in epoch milliseconds. */
const idleSince = new WeakMap<Socket, number>();

/** The agent, noting when a connection of its becomes idle. */
function timed<T extends Agent>(agent: T): T {
  return agent.on("free", (socket: Socket) => idleSince.set(socket, Date.now()));
}

/**
 * Closes connections that have been idle for `ms` or longer, or for as long as their service said that it keeps them,
 * which Node notes as their timeout. The time is compared when a connection is about to be used, and by the clock of
 * the day: while an environment is frozen no timer runs.
 */
function closeIdle(agent: Agent, ms: number): void {
  for (const sockets of Object.values(agent.freeSockets)) {
    // Node takes the newest connection, and passes over closed ones among the oldest only: none may lie between.
    let stale = false;
    for (const socket of (sockets ?? []).toReversed()) {
      const idle_ms = Date.now() - (idleSince.get(socket) ?? 0);
      // Below zero the clock was set back, and how long it was idle is not known.
      stale ||= idle_ms < 0 || idle_ms >= Math.min(ms, socket.timeout || Number.POSITIVE_INFINITY);
      if (stale) socket.destroy();
    }
  }
}

/** Whether the SDK sends a request again that fails: it writes on each how many tries it has. */
function hasTriesLeft({ headers }: HttpRequest): boolean {
  const [attempt = 0, max = 0] = headers["amz-sdk-request"]?.match(/\d+/g)?.map(Number) ?? [];
  return attempt < max;
}

type Reject = (error: Error) => void;

/** The error of a request that its caller gave up; the reason given is its cause. */
function abortError({ reason }: AbortSignal): Error {
  const error = new Error(reason && !(reason instanceof Error) ? String(reason) : "Request aborted");
  error.name = "AbortError";
  if (reason instanceof Error) error.cause = reason;
  return error;
}

/** The published handler's error, in its words. */
function timeoutError(text: string, more: object = {}): Error {
  return Object.assign(new Error(`@smithy/node-http-handler - ${text}`), { name: "TimeoutError" }, more);
}

function onConnectionTimeout(outgoing: ClientRequest, ms: number | undefined, reject: Reject) {
  if (!ms) return undefined;
  const timer = setTimeout(() => {
    outgoing.destroy();
    const what = "the request socket did not establish a connection with the server within the configured timeout of";
    reject(timeoutError(`${what} ${ms} ms.`));
  }, ms);
  outgoing.once("socket", (socket) => {
    if (socket.connecting) socket.once("connect", () => clearTimeout(timer));
    else clearTimeout(timer);
  });
  return timer;
}

function onRequestTimeout(outgoing: ClientRequest, ms: number | undefined, reject: Reject) {
  if (!ms) return undefined;
  return setTimeout(() => {
    const text = `[ERROR] a request has exceeded the configured ${ms} ms requestTimeout.`;
    const error = timeoutError(text, { code: "ETIMEDOUT" });
    outgoing.destroy(error);
    reject(error);
  }, ms);
}
