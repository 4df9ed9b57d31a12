import { type ClientRequest, Agent as HttpAgent, type IncomingMessage, request as requestHttp } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import type { LookupFunction, Socket } from "node:net";
import type { Attempt } from "../domain/records/delivery.ts";
import { limits } from "../limits.ts";
import { nowMs } from "../runtime/clock.ts";
import { literalAddress, mayConnect } from "./public-address.ts";
import { type ReplyBody, readReply } from "./reply.ts";
import type { Resolve } from "./resolve.ts";

/** How calls are made. */
export interface WebhookSenderOptions {
  readonly resolve: Resolve;
  /** Lets this machine's own addresses and plain http through: only where a local runner says so. */
  readonly local: boolean;
  /** Certificates that are trusted in place of the public ones, in PEM. */
  readonly ca?: string;
}

/** One call to a receiver. */
export interface Post {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** Result of a call. A head that came within its time is an answer, however the body ended. */
export interface PostResult extends Pick<Attempt, "duration_ms" | "http_status" | "error" | "response_excerpt"> {
  /** The receiver's `Retry-After`, where its status makes it count (RFC 9110 10.2.3). */
  readonly retry_after: string | undefined;
}

type Failure = NonNullable<Attempt["error"]>;

/** A call that ended without an answer. */
class PostFailure extends Error {
  readonly failure: Failure;
  constructor(failure: Failure) {
    super(failure);
    this.failure = failure;
  }
}

/**
 * Makes calls to receivers. Each goes to an address that was judged at the moment of connecting, follows no redirect,
 * knows no proxy, opens no compressed reply, and is over within its time whatever the receiver does.
 */
export class WebhookSender {
  private readonly options: WebhookSenderOptions;
  private readonly https: HttpsAgent;
  private readonly http: HttpAgent;
  private lastUseMs = 0;
  private calls = 0;

  constructor(options: WebhookSenderOptions) {
    this.options = options;
    const keeping = {
      keepAlive: true,
      timeout: limits.webhooks.free_connection_ms,
      maxFreeSockets: 4,
      scheduling: "lifo",
    } as const;
    const trust = options.ca === undefined ? {} : { ca: options.ca };
    this.https = new HttpsAgent({ ...keeping, ...trust, minVersion: "TLSv1.2", rejectUnauthorized: true });
    this.http = new HttpAgent(keeping);
  }

  /**
   * Closes what is open when nothing was sent for a moment: while a function is frozen, receivers hang up unseen. A
   * call that is not over keeps its connection.
   */
  wake(): void {
    if (this.calls > 0 || nowMs() - this.lastUseMs <= limits.webhooks.free_connection_ms) return;
    this.https.destroy();
    this.http.destroy();
  }

  /** Makes one call. Never rejects for anything that the receiver does. */
  async send(post: Post): Promise<PostResult> {
    const startMs = nowMs();
    this.calls += 1;
    try {
      const result = await this.exchange(post, startMs);
      return { ...result, duration_ms: nowMs() - startMs };
    } catch (error) {
      if (!(error instanceof PostFailure)) throw error;
      const nothing = { http_status: null, response_excerpt: null, retry_after: undefined };
      return { ...nothing, error: error.failure, duration_ms: nowMs() - startMs };
    } finally {
      this.calls -= 1;
      this.lastUseMs = nowMs();
    }
  }

  /** One call; a second one on a new connection where the first finds that its receiver had closed the free one. */
  private async exchange(post: Post, startMs: number): Promise<Omit<PostResult, "duration_ms">> {
    const call = this.open(post);
    try {
      const { reply, body } = await answerTo(call);
      const { excerpt, complete } = await body;
      if (!complete) call.destroy();
      const status = reply.statusCode ?? 0;
      const accepted = status >= 200 && status < 300;
      return {
        http_status: status,
        error: accepted ? null : "http_status",
        response_excerpt: excerpt,
        retry_after: status === 429 || status === 503 ? reply.headers["retry-after"] : undefined,
      };
    } catch (error) {
      call.destroy();
      const reset = error instanceof PostFailure && error.failure === "connection_reset";
      // A connection that was closed while it was free says so at once. A later reset is an answer of the receiver's.
      if (!reset || !call.reusedSocket || nowMs() - startMs > limits.webhooks.free_connection_ms) throw error;
      for (const agent of [this.https, this.http]) closeFree(agent);
      return this.exchange(post, Number.NEGATIVE_INFINITY);
    }
  }

  private open({ url, headers, body }: Post): ClientRequest {
    const { protocol, hostname, port, pathname, search } = new URL(url);
    const { local } = this.options;
    const secure = protocol === "https:";
    const literal = literalAddress(hostname);
    // A literal never comes to `lookup`, so it is judged here.
    const blocked = literal !== undefined && !mayConnect(literal, { loopback: local });
    if (blocked || (!secure && !(local && protocol === "http:"))) throw new PostFailure("blocked_address");
    const options = {
      method: "POST",
      host: literal ?? hostname,
      port: port === "" ? (secure ? 443 : 80) : Number(port),
      path: `${pathname}${search}`,
      headers: { ...headers, "Content-Length": String(body.length) },
      lookup: this.lookup,
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: limits.webhooks.connect_timeout_ms / 3,
    };
    const call = secure
      ? requestHttps({ ...options, agent: this.https, servername: literal ? "" : hostname.replace(/\.$/, "") })
      : requestHttp({ ...options, agent: this.http });
    call.end(body);
    return call;
  }

  /** Gives the socket the addresses that may be connected to, and no other; it connects to exactly these. */
  private readonly lookup: LookupFunction = (hostname, { all }, callback) => {
    this.addressesOf(hostname).then(
      (addresses) => {
        const [first] = addresses;
        if (all) callback(null, [...addresses]);
        else callback(null, first?.address ?? "", first?.family);
      },
      (error: Error) => callback(error, ""),
    );
  };

  private async addressesOf(hostname: string): Promise<readonly { address: string; family: 4 | 6 }[]> {
    const found = await this.options.resolve(hostname).catch(() => {
      throw new PostFailure("dns_error");
    });
    const allowed = found.filter((address) => mayConnect(address, { loopback: this.options.local }));
    if (allowed.length === 0) throw new PostFailure(found.length === 0 ? "dns_error" : "blocked_address");
    return allowed.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
  }
}

/** Closes the connections that nothing is sent on, so that the next call opens one. */
function closeFree(agent: HttpAgent): void {
  for (const sockets of Object.values(agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
}

type ConnectionPhase = "connecting" | "handshake" | "standing";

/** The head of an answer, and its body, which is being read from the moment on in which the head is there. */
interface Answer {
  readonly reply: IncomingMessage;
  readonly body: Promise<ReplyBody>;
}

/** Waits for an answer. Rejects with the class of what went wrong; both bounds of time run from the start. */
function answerTo(call: ClientRequest): Promise<Answer> {
  const { connect_timeout_ms, attempt_timeout_ms, reply_max_bytes } = limits.webhooks;
  let stage: ConnectionPhase = "connecting";
  const fail = (failure: Failure) => call.destroy(new PostFailure(failure));
  const connecting = setTimeout(() => fail("timeout"), connect_timeout_ms);
  const whole = setTimeout(() => fail("timeout"), attempt_timeout_ms);
  call.once("socket", (socket: Socket & { readonly encrypted?: true }) => {
    const stands = () => {
      clearTimeout(connecting);
      stage = "standing";
    };
    if (!socket.connecting) return stands();
    socket.once("connect", () => {
      if (socket.encrypted === true) stage = "handshake";
      else stands();
    });
    socket.once("secureConnect", stands);
  });
  // An interim answer is none (RFC 9110 15.2), but a stream of them must not go on for ever.
  let interimBytes = 0;
  call.on("information", ({ rawHeaders }) => {
    interimBytes += rawHeaders.join("").length + 16;
    if (interimBytes > reply_max_bytes) fail("http_status");
  });
  return new Promise((resolve, reject) => {
    call.once("response", (reply) => resolve({ reply, body: readReply(reply) }));
    call.once("upgrade", (reply, socket) => {
      socket.destroy();
      resolve({ reply, body: Promise.resolve({ excerpt: null, complete: false }) });
    });
    // After the head of the answer an error changes nothing; it must have a listener all the same.
    call.on("error", (error) => reject(new PostFailure(failureOf(error, stage))));
    call.once("close", () => {
      clearTimeout(connecting);
      clearTimeout(whole);
      reject(new PostFailure("connection_reset"));
    });
  });
}

const codes: Readonly<Record<string, Failure>> = {
  ETIMEDOUT: "timeout",
  ECONNREFUSED: "connection_refused",
  EHOSTUNREACH: "connection_refused",
  ENETUNREACH: "connection_refused",
  EADDRNOTAVAIL: "connection_refused",
  EACCES: "connection_refused",
  ECONNRESET: "connection_reset",
  EPIPE: "connection_reset",
};

/** The class of an error of a connection; an answer that is no HTTP counts as an answer without a good status. */
function failureOf(error: Error & { code?: string; errors?: readonly Error[] }, stage: ConnectionPhase): Failure {
  if (error instanceof PostFailure) return error.failure;
  const { code = "", errors = [] } = error;
  // Every address was tried; the last one's failure is as good as any.
  const last = errors.at(-1);
  if (last !== undefined) return failureOf(last, stage);
  if (code.startsWith("HPE_")) return "http_status";
  const known = codes[code];
  if (known !== undefined) return known;
  if (/^(?:ERR_(?:SSL|TLS)_|EPROTO$)/.test(code)) return "tls_error";
  return stage === "handshake" ? "tls_error" : "connection_reset";
}
