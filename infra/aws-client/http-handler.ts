import {
  type Agent,
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
} from "node:http";
import type { Socket } from "node:net";
import { Readable } from "node:stream";
import { buildQueryString, HttpResponse } from "@smithy/core/protocols";

/** Collects a body into bytes: the SDK's own, which the replaced package passes on. */
export { streamCollector } from "@smithy/core/serde";

/**
 * Takes the place of `@smithy/node-http-handler` with what the functions' clients use of it: HTTP/1.1 over connections
 * that are kept, with the same timeouts, the same abort signal and the same errors, by which the SDK decides whether it
 * sends again. Left out: HTTP/2, `Expect: 100-continue` (S3 only), and warnings about a lack of sockets. Added: what a
 * frozen environment needs (ADR 0032). A connection that was idle for too long is dropped before it is used, and a
 * request whose reused connection turns out to be closed is sent once more on a new one.
 */

/** A request as the SDK signed it. */
interface SignedRequest {
  readonly protocol?: string;
  readonly hostname?: string;
  readonly port?: number;
  readonly method: string;
  readonly path: string;
  readonly query?: Parameters<typeof buildQueryString>[0];
  readonly fragment?: string;
  readonly username?: string;
  readonly password?: string;
  readonly headers: Record<string, string>;
  readonly body?: unknown;
}

interface AgentSettings {
  readonly maxSockets?: number;
}

/** What a client may set as its `requestHandler`; times in milliseconds, 0 or nothing for none. */
interface Settings {
  /** Until the connection stands. */
  readonly connectionTimeout?: number;
  /** Until the headers of the answer are there. */
  readonly requestTimeout?: number;
  /** Whether a request that takes longer fails, instead of a warning in the log. */
  readonly throwOnRequestTimeout?: boolean;
  /** How long an idle connection is used again; shorter than the service keeps it. */
  readonly idleConnectionTimeout?: number;
  /** Without a byte in either direction. */
  readonly socketTimeout?: number;
  /** The same, as the client's service proposes it. */
  readonly defaultSocketTimeout?: number;
  readonly httpAgent?: Agent | AgentSettings;
  readonly httpsAgent?: Agent | AgentSettings;
  readonly logger?: { readonly warn?: (text: string) => void };
}

interface CallOptions {
  readonly abortSignal?: AbortSignal;
  readonly requestTimeout?: number;
}

/** Loaded by the first request over TLS: a third of what a function loads, and a plain address has no use for it. */
const https = (): typeof import("node:https") => process.getBuiltinModule("node:https");
const maxSockets = 50;
const label = "@smithy/node-http-handler -";

/** How long a request waits for its answer unless a client says otherwise: for ever. */
export const DEFAULT_REQUEST_TIMEOUT = 0;

/** Sends requests over connections that it keeps; one per client. */
export class NodeHttpHandler {
  readonly metadata = { handlerProtocol: "http/1.1" };
  #settings: Promise<Settings>;
  #known: Settings | undefined;
  #agents: { http?: Agent; https?: Agent } = {};

  /** The handler given, or one of these settings, which may also be found later. */
  static create(given?: NodeHttpHandler | Settings | (() => Promise<Settings>)): NodeHttpHandler {
    return typeof (given as NodeHttpHandler | undefined)?.handle === "function"
      ? (given as NodeHttpHandler)
      : new NodeHttpHandler(given as Settings);
  }

  constructor(settings?: Settings | (() => Promise<Settings>)) {
    this.#settings = Promise.resolve(typeof settings === "function" ? settings() : settings).then(
      (found) => found ?? {},
    );
    // Without this a failure before the first request would end the process; the first request reports it.
    this.#settings.catch(() => undefined);
  }

  /** Closes the connections that are kept. */
  destroy(): void {
    this.#agents.http?.destroy();
    this.#agents.https?.destroy();
  }

  /** The settings, once a request was sent. */
  httpHandlerConfigs(): Settings {
    return this.#known ?? {};
  }

  /** Sets what the client finds out for its handler: its logger, and the idle timeout of its service. */
  updateHttpClientConfig(key: string | symbol, value: unknown): void {
    const name = typeof key === "string" ? key : (Symbol.keyFor(key) ?? "").replace("@smithy/", "");
    this.#known = undefined;
    this.#settings = this.#settings.then((settings) => {
      const own =
        name === "logger" ? settings.logger : name === "defaultSocketTimeout" && settings.defaultSocketTimeout;
      return { ...settings, [name]: own || value };
    });
    this.#settings.catch(() => undefined);
  }

  /**
   * Sends one request. Resolves with the answer when its headers are there; the body follows as a stream. A request
   * that is reset on a connection that served before is sent once more on a new one: the service may see it twice. The
   * SDK does that where it has tries left, and counts them: by that count a commit is known to have been sent before.
   * @throws Error with the `code` of Node (ECONNRESET, ECONNREFUSED, ENOTFOUND, ...), `TimeoutError` or `AbortError`
   */
  async handle(request: SignedRequest, options: CallOptions = {}): Promise<{ response: HttpResponse }> {
    this.#known ??= await this.#settings;
    const settings = this.#known;
    const answer = await this.#attempt(request, options, settings, !(request.body instanceof Readable));
    if (answer !== "stale") return answer;
    // Those that were idle beside it were closed with it. None is left, so the next request opens a connection.
    for (const agent of Object.values(this.#agents)) closeIdle(agent, 0);
    if (hasTriesLeft(request)) throw timeoutError("the connection was closed.", { code: "ECONNRESET" });
    return (await this.#attempt(request, options, settings, false)) as { response: HttpResponse };
  }

  /** One request on one connection; `stale` when that was reused and is closed, where the caller `mayRepeat`. */
  #attempt(
    request: SignedRequest,
    options: CallOptions,
    settings: Settings,
    mayRepeat: boolean,
  ): Promise<{ response: HttpResponse } | "stale"> {
    const { abortSignal: signal, requestTimeout = settings.requestTimeout } = options;
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(abortError(signal));
      const outgoing = this.#open(request, settings);
      let begun = false;
      const timers = [
        onConnectionTimeout(outgoing, settings.connectionTimeout, reject),
        onRequestTimeout(outgoing, requestTimeout, settings, reject),
      ];
      const done = () => {
        for (const timer of timers) clearTimeout(timer);
      };
      onIdle(outgoing, settings, reject);
      outgoing.once("response", (answer) => {
        begun = true;
        done();
        resolve({ response: responseOf(answer) });
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
      send(outgoing, request.body);
    });
  }

  #open(request: SignedRequest, settings: Settings): ClientRequest {
    const secure = request.protocol === "https:";
    const query = request.query === undefined ? "" : buildQueryString(request.query);
    const { username, password } = request;
    const agent = secure ? this.#secureAgent(settings) : this.#plainAgent(settings);
    closeIdle(agent, settings.idleConnectionTimeout ?? Number.POSITIVE_INFINITY);
    const options = {
      method: request.method,
      host: request.hostname?.replace(/^\[(.*)\]$/, "$1"),
      port: request.port,
      path: `${request.path}${query && `?${query}`}${request.fragment ? `#${request.fragment}` : ""}`,
      headers: request.headers,
      agent,
      ...((username ?? password) !== undefined && { auth: `${username ?? ""}:${password ?? ""}` }),
    };
    return secure ? https().request(options) : httpRequest(options);
  }

  #plainAgent({ httpAgent: given }: Settings): Agent {
    this.#agents.http ??= timed(isAgent(given) ? given : new HttpAgent({ keepAlive: true, maxSockets, ...given }));
    return this.#agents.http;
  }

  #secureAgent({ httpsAgent: given }: Settings): Agent {
    this.#agents.https ??= timed(
      isAgent(given) ? given : new (https().Agent)({ keepAlive: true, maxSockets, ...given }),
    );
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
function hasTriesLeft({ headers }: SignedRequest): boolean {
  const [attempt = 0, max = 0] = headers["amz-sdk-request"]?.match(/\d+/g)?.map(Number) ?? [];
  return attempt < max;
}

function isAgent(given: Agent | AgentSettings | undefined): given is Agent {
  return given !== undefined && "destroy" in given;
}

function responseOf(answer: IncomingMessage): HttpResponse {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(answer.headers)) {
    headers[name] = Array.isArray(value) ? value.join(",") : (value ?? "");
  }
  return new HttpResponse({
    statusCode: answer.statusCode ?? -1,
    reason: answer.statusMessage ?? "",
    headers,
    body: answer,
  });
}

function send(outgoing: ClientRequest, body: unknown): void {
  if (body instanceof Readable) body.pipe(outgoing);
  else if (typeof body === "string" || body instanceof Uint8Array) outgoing.end(body);
  else if (ArrayBuffer.isView(body)) outgoing.end(Buffer.from(body.buffer, body.byteOffset, body.byteLength));
  else if (body) outgoing.end(Buffer.from(body as ArrayBuffer));
  else outgoing.end();
}

type Reject = (error: Error) => void;

/** The error of a request that its caller gave up; the reason he gave is its cause. */
function abortError({ reason }: AbortSignal): Error {
  const error = new Error(reason && !(reason instanceof Error) ? String(reason) : "Request aborted");
  error.name = "AbortError";
  if (reason instanceof Error) error.cause = reason;
  return error;
}

function timeoutError(text: string, more: object = {}): Error {
  return Object.assign(new Error(`${label} ${text}`), { name: "TimeoutError" }, more);
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

function onRequestTimeout(outgoing: ClientRequest, ms: number | undefined, settings: Settings, reject: Reject) {
  if (!ms) return undefined;
  return setTimeout(() => {
    const text = `a request has exceeded the configured ${ms} ms requestTimeout.`;
    if (settings.throwOnRequestTimeout) {
      const error = timeoutError(`[ERROR] ${text}`, { code: "ETIMEDOUT" });
      outgoing.destroy(error);
      reject(error);
      return;
    }
    const advice = "Init client requestHandler with throwOnRequestTimeout=true to turn this into an error.";
    (settings.logger ?? console).warn?.(`${label} [WARN] ${text} ${advice}`);
  }, ms);
}

function onIdle(outgoing: ClientRequest, settings: Settings, reject: Reject): void {
  const { socketTimeout, defaultSocketTimeout } = settings;
  const ms = socketTimeout ?? defaultSocketTimeout ?? 0;
  if (!Number.isFinite(ms) || ms <= 0) return;
  let answer: IncomingMessage | undefined;
  outgoing.once("response", (response) => {
    answer = response;
  });
  outgoing.setTimeout(ms, () => {
    if (answer?.complete) {
      outgoing.socket?.destroy();
      return;
    }
    const whose =
      socketTimeout === undefined ? "service default socket timeout" : "configured by client requestHandler";
    const error = timeoutError(`the request socket timed out after ${ms} ms of inactivity (${whose}).`);
    answer?.destroy(error);
    outgoing.destroy();
    reject(error);
  });
}
