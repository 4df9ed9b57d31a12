import { setTimeout as pause } from "node:timers/promises";
import { request } from "./answered.ts";

/** Credentials of an API application. */
export interface Credentials {
  readonly client_id: string;
  readonly client_secret: string;
}

/** Answer of the API; `body` is the parsed JSON, undefined when the answer has none. */
export interface Reply<T = Json> {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: T;
}

/** JSON that is read without knowing its shape. */
// biome-ignore lint/suspicious/noExplicitAny: each read is compared with what the API documents.
export type Json = any;

/** How to send a request. */
export interface Sent {
  readonly headers?: Readonly<Record<string, string>>;
  /** A text or a form is sent as it is; anything else as JSON. */
  readonly body?: unknown;
  /** Access token; null and undefined send none. */
  readonly token?: string | null;
  /** Ends the call. */
  readonly signal?: AbortSignal | undefined;
}

const callLimitMs = 30_000;
const tokenLimitMs = 60_000;
const betweenTriesMs = 100;

/**
 * Sends a request, by `fetch` alone and without following redirects.
 * @throws TypeError or TimeoutError when there is no answer
 */
export async function send<T = Json>(url: string, method: string, sent: Sent = {}): Promise<Reply<T>> {
  const { headers = {}, body, token, signal } = sent;
  const isPlain = body === undefined || typeof body === "string" || body instanceof URLSearchParams;
  const init: RequestInit = {
    method,
    redirect: "manual",
    headers: {
      ...(token != null && { Authorization: `Bearer ${token}` }),
      ...(!isPlain && { "Content-Type": "application/json" }),
      ...headers,
    },
    ...(body !== undefined && { body: isPlain ? body : JSON.stringify(body) }),
  };
  const reply = await request(callLimitMs, url, init, signal);
  return { status: reply.status, headers: reply.headers, text: reply.text, body: parsed(reply.text) };
}

/**
 * Asks for a token of these credentials, for all their scopes or one. Waits while the service answers 503, as for an
 * application that was just made and a service that has just started; returns the first other answer, or the last one.
 */
export async function issueToken(baseUrl: string, credentials: Credentials, scope?: string): Promise<Reply> {
  const { client_id, client_secret } = credentials;
  const asked = { grant_type: "client_credentials", client_id, client_secret, ...(scope !== undefined && { scope }) };
  const last = performance.now() + tokenLimitMs;
  for (;;) {
    const reply = await send(`${baseUrl}/oauth/token`, "POST", { body: new URLSearchParams(asked) });
    if (reply.status !== 503 || performance.now() > last) return reply;
    await pause(betweenTriesMs);
  }
}

/** The access token of these credentials. Throws an Error with the answer when there is none. */
export async function accessToken(baseUrl: string, credentials: Credentials, scope?: string): Promise<string> {
  const { status, text, body } = await issueToken(baseUrl, credentials, scope);
  if (status === 200 && typeof body?.access_token === "string") return body.access_token;
  throw new Error(`POST /oauth/token answered ${status}: ${text}`);
}

/** The JSON in a text; undefined where there is none. */
export function parsed(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
