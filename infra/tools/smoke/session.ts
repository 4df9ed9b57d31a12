import { setTimeout as pause } from "node:timers/promises";
import { request } from "../answered.ts";
import { Finding, type Resource } from "./finding.ts";
import { functionOf, resources } from "./resources.ts";

/** Credentials of an API application. */
export interface Credentials {
  readonly client_id: string;
  readonly client_secret: string;
}

/** An answer; `body` is the parsed JSON, undefined when the answer has none. */
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // Answers are JSON from outside; a check reads members and fails when one is missing.
  readonly body: Json;
}

/** JSON that is read without knowing its shape. */
// biome-ignore lint/suspicious/noExplicitAny: each read is compared with what the API documents.
export type Json = any;

/** How to send a request. */
export interface Sent {
  readonly headers?: Readonly<Record<string, string>>;
  /** Text is sent as it is; anything else as JSON. */
  readonly body?: unknown;
  /** Another token than the session's; null sends none. */
  readonly token?: string | null;
}

/** Something that was made, and how to take it back; it returns what remains of it. */
interface Made {
  readonly what: string;
  readonly undo: () => Promise<string | undefined>;
}

const callLimitMs = 30_000;
const tokenLimitMs = 60_000;
const betweenTriesMs = 500;
const rateTries = 5;

/** Sends requests, by `fetch` alone and without following redirects. */
export async function send(url: string, method: string, { headers = {}, body, token }: Sent = {}): Promise<Reply> {
  const isText = body === undefined || typeof body === "string";
  const init: RequestInit = {
    method,
    redirect: "manual",
    headers: {
      ...(token != null && { Authorization: `Bearer ${token}` }),
      ...(!isText && { "Content-Type": "application/json" }),
      ...headers,
    },
    ...(body !== undefined && { body: isText ? (body as string) : JSON.stringify(body) }),
  };
  const reply = await request(callLimitMs, url, init).catch((error: Error) => {
    const cause = error.cause instanceof Error ? `: ${error.cause.message}` : "";
    throw new Finding(`${method} ${url} got no answer: ${error.message}${cause}`, [resources.api, resources.apiStage]);
  });
  return { ...reply, body: parsed(reply.text) };
}

/** The JSON in a text; undefined where there is none. */
export function parsed(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A caller of the API with a token, who remembers what they made. */
export class Session {
  readonly baseUrl: string;
  readonly credentials: Credentials;
  private readonly made: Made[] = [];
  private issued: Promise<Reply> | undefined;

  constructor(baseUrl: string, credentials: Credentials) {
    this.baseUrl = baseUrl;
    this.credentials = credentials;
  }

  /** The answer of the token endpoint that the session's token comes from. */
  tokenReply(): Promise<Reply> {
    this.issued ??= this.issue(this.credentials);
    return this.issued;
  }

  /** The access token. */
  async token(): Promise<string> {
    return (await this.tokenReply()).body.access_token;
  }

  /** A token of these credentials; waits while the service says 503, as for an application that was just made. */
  async issue(credentials: Credentials): Promise<Reply> {
    const last = performance.now() + tokenLimitMs;
    for (;;) {
      const body = new URLSearchParams({ grant_type: "client_credentials", ...credentials }).toString();
      const headers = { "Content-Type": "application/x-www-form-urlencoded" };
      const reply = await send(`${this.baseUrl}/oauth/token`, "POST", { headers, body });
      if (reply.status === 200 && typeof reply.body?.access_token === "string") return reply;
      if (reply.status !== 503 || performance.now() > last) {
        const named = [functionOf("create_token"), functionOf("provision"), resources.signingKey];
        throw new Finding(`POST /oauth/token answered ${shown(reply)}`, named);
      }
      await pause(betweenTriesMs);
    }
  }

  /** Sends a request to a path of the API with the session's token; it waits when its rate is used up. */
  async call(method: string, path: string, sent: Sent = {}): Promise<Reply> {
    const token = sent.token === undefined ? await this.token() : sent.token;
    for (let tried = 1; ; tried += 1) {
      const reply = await send(this.baseUrl + path, method, { ...sent, token });
      if (reply.status !== 429 || tried === rateTries) return reply;
      await pause(1000 * Number(reply.headers.get("retry-after") ?? 1));
    }
  }

  /**
   * Sends a request that has to be answered with this status.
   * @throws Finding when it is not, which names these resources
   */
  async expect(status: number, method: string, path: string, named: readonly Resource[], sent: Sent = {}) {
    const reply = await this.call(method, path, sent);
    if (reply.status === status) return reply;
    throw new Finding(`${method} ${path} answered ${shown(reply)} instead of ${status}`, named);
  }

  /** Remembers something that was made. */
  remember(what: string, undo: () => Promise<string | undefined>): void {
    this.made.push({ what, undo });
  }

  /** Takes back what was made, the newest first; returns what remains. */
  async cleanUp(): Promise<string[]> {
    const remaining: string[] = [];
    for (const { what, undo } of this.made.splice(0).reverse()) {
      const left = await undo().catch((error: Error) => `${what}: ${error.message}`);
      if (left !== undefined) remaining.push(left);
    }
    return remaining;
  }
}

const shownCharacters = 200;

/** An answer in a message: status and the beginning of its body, which holds no secret for an error. */
export function shown({ status, text }: Reply): string {
  return `${status} ${text.slice(0, shownCharacters).replaceAll(/\s+/g, " ").trim()}`;
}

/**
 * The first value that `look` finds, which looks again at intervals.
 * @throws Finding with the message and resources when there is none within the time
 */
export async function within<T>(
  limitMs: number,
  look: () => Promise<T | undefined>,
  late: () => Finding,
  everyMs = 250,
): Promise<T> {
  const last = performance.now() + limitMs;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (performance.now() > last) throw late();
    await pause(everyMs);
  }
}
