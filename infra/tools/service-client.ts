import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { runCommand, UsageError } from "../../shared/runtime/command-line.ts";
import { type Credentials, type Reply, send } from "./api-call.ts";

/** Address of the service, with its version, and the credentials of an application. */
export interface Connection extends Credentials {
  readonly base_url: string;
}

/** Body and key of a call in addition to its method and path. */
export interface CallOptions {
  readonly body?: object;
  readonly idempotencyKey?: string;
  /** Ends the call and its repetitions. */
  readonly signal?: AbortSignal;
}

/** How a client repeats. */
export interface ClientOptions {
  /** Attempts of a call that gets no answer, or an answer of 429 or 5xx; without it there is no limit. */
  readonly tries?: number;
  /** Receives a sentence about each repetition. */
  readonly onRetry?: (sentence: string) => void;
}

/** An answer that no repetition changes. */
export class ServiceError extends Error {
  readonly status: number;
  readonly code: string | undefined;
  /** Members of the body that were refused, by their JSON pointers. */
  readonly errors: NonNullable<Problem["errors"]>;

  constructor(status: number, code: string | undefined, message: string, errors: Problem["errors"] = []) {
    super(message);
    this.status = status;
    this.code = code;
    this.errors = errors;
  }
}

const leastDelayMs = 250;
const mostDelayMs = 15_000;
/** A token is replaced so long before its end. */
const tokenMarginMs = 60_000;
/** The header Date has whole seconds: the clock of the service may be so much further. */
const dateResolutionMs = 1000;

/**
 * A caller of the API for tools whose requests may all be repeated: it gets tokens, waits as long as `Retry-After`
 * says, repeats what got no answer, and knows the clock of the service.
 */
export class ServiceClient {
  private readonly connection: Connection;
  private readonly options: ClientOptions;
  private token: { readonly text: string; readonly until: number } | undefined;
  private ahead: number | undefined;

  constructor(connection: Connection, options: ClientOptions = {}) {
    this.connection = connection;
    this.options = options;
  }

  /** The latest time that the clock of the service may show, in milliseconds; infinite before the first answer. */
  get latestNow(): number {
    return this.ahead === undefined ? Number.POSITIVE_INFINITY : performance.now() + this.ahead;
  }

  /**
   * Sends a request until it is answered.
   * @throws ServiceError when the answer is another error than 429 or 5xx, or the repetitions are used up
   */
  async call<T>(method: string, path: string, options: CallOptions = {}): Promise<Reply<T>> {
    for (let tried = 1; ; tried += 1) {
      const reply = await this.attempt<T>(method, path, options);
      if (!(reply instanceof Error) && reply.status < 300) return reply;
      const refused = reply instanceof ServiceError || (!(reply instanceof Error) && isFinal(reply.status));
      if (refused || tried >= (this.options.tries ?? Number.POSITIVE_INFINITY)) throw failure(method, path, reply);
      const delay = delayMs(reply, tried);
      this.options.onRetry?.(`${failure(method, path, reply).message} Again in ${(delay / 1000).toFixed(1)} s.`);
      await pause(delay, undefined, options.signal === undefined ? {} : { signal: options.signal });
    }
  }

  private async attempt<T>(method: string, path: string, options: CallOptions): Promise<Reply<T> | Error> {
    const { body, idempotencyKey, signal } = options;
    try {
      const token = await this.validToken();
      if (typeof token !== "string") return token as Reply<T>;
      const headers = { ...(idempotencyKey !== undefined && { "Idempotency-Key": idempotencyKey }) };
      const reply = await send<T>(this.connection.base_url + path, method, { headers, body, token, signal });
      this.readClock(reply.headers);
      if (reply.status === 401) this.token = undefined;
      return reply;
    } catch (error) {
      signal?.throwIfAborted();
      return error instanceof Error ? error : new Error(String(error));
    }
  }

  private async validToken(): Promise<string | Reply<unknown>> {
    if (this.token !== undefined && this.token.until > performance.now()) return this.token.text;
    const { base_url, client_id, client_secret } = this.connection;
    const body = new URLSearchParams({ grant_type: "client_credentials", client_id, client_secret });
    const answer = await send<{ access_token: string; expires_in: number }>(`${base_url}/oauth/token`, "POST", {
      body,
    });
    if (answer.status !== 200) {
      // A wrong secret answers 401 as an expired token does, but no repetition helps.
      if (answer.status === 401) throw failure("POST", "/oauth/token", answer);
      return answer;
    }
    const { access_token, expires_in } = answer.body;
    this.token = { text: access_token, until: performance.now() + expires_in * 1000 - tokenMarginMs };
    return access_token;
  }

  private readClock(headers: Headers): void {
    const date = Date.parse(headers.get("date") ?? "");
    if (Number.isNaN(date)) return;
    this.ahead = date + dateResolutionMs - performance.now();
  }
}

/** Whether repeating a request cannot change this answer. An expired token is replaced. */
function isFinal(status: number): boolean {
  return status < 500 && status !== 401 && status !== 429;
}

function delayMs(reply: Reply<unknown> | Error, tried: number): number {
  const asked = reply instanceof Error ? Number.NaN : Number(reply.headers.get("retry-after") ?? Number.NaN);
  if (asked >= 0) return asked * 1000;
  const most = Math.min(mostDelayMs, leastDelayMs * 2 ** (tried - 1));
  return most / 2 + (Math.random() * most) / 2;
}

function failure(method: string, path: string, reply: Reply<unknown> | Error): Error {
  if (reply instanceof ServiceError) return reply;
  if (reply instanceof Error) {
    const cause = reply.cause instanceof Error ? `: ${reply.cause.message}` : "";
    return new ServiceError(0, undefined, `${method} ${path} got no answer: ${reply.message}${cause}.`);
  }
  const problem = (reply.body ?? {}) as Problem;
  const { code = problem.error, detail = problem.error_description ?? problem.message, errors = [] } = problem;
  const members = errors.map((each) => `${each.pointer} ${each.detail}`).join(", ");
  const said = [code, detail, members].filter((text) => text !== undefined && text !== "").join(": ");
  return new ServiceError(reply.status, code, `${method} ${path} answered ${reply.status} (${said}).`, errors);
}

/** A problem document (RFC 9457), an error of the token endpoint (RFC 6749 5.2), or the message of the gateway. */
interface Problem {
  readonly code?: string;
  readonly detail?: string;
  readonly errors?: readonly { readonly pointer: string; readonly detail: string }[];
  readonly error?: string;
  readonly error_description?: string;
  readonly message?: string;
}

/** The options of a command that connects to the service, for `readArguments`. */
export const connectionOptions = { "base-url": { type: "string" } } as const;

/** Text of `--help` about these options. */
export const connectionHelp = `\
  --base-url <url>   address of the API with its version, https://.../v2, with BROKERAGE_CLIENT_ID and
                     BROKERAGE_CLIENT_SECRET in the environment (default: the running npm start)`;

/**
 * The service that a command was given, or the one that `npm start` runs here.
 * @throws UsageError when neither is there
 */
export function connectionOf(baseUrl: string | undefined): Connection {
  if (baseUrl === undefined) {
    const file = resolve(".local", "ready.json");
    if (!existsSync(file)) throw new UsageError("No service runs here: npm start starts one, or give --base-url.");
    return JSON.parse(readFileSync(file, "utf8")) as Connection;
  }
  if (!/^https?:\/\//.test(baseUrl) || !URL.canParse(baseUrl)) {
    throw new UsageError(`The address of the API must be a URL such as https://api.example.com/v2, not ${baseUrl}.`);
  }
  const { BROKERAGE_CLIENT_ID: client_id, BROKERAGE_CLIENT_SECRET: client_secret } = process.env;
  if (!client_id || !client_secret) {
    throw new UsageError(`${baseUrl} needs BROKERAGE_CLIENT_ID and BROKERAGE_CLIENT_SECRET in the environment.`);
  }
  return { base_url: baseUrl.replace(/\/$/, ""), client_id, client_secret };
}

/** Runs a command that calls the service; an answer that ends it is printed as its sentence, without a stack. */
export function runServiceCommand(main: () => Promise<unknown>): Promise<void> {
  return runCommand(() =>
    main().catch((error: unknown) => {
      throw error instanceof ServiceError ? new UsageError(error.message) : error;
    }),
  );
}

interface FoundSource {
  readonly id: string;
  readonly name: string;
  readonly status: string;
}

/** The feed source of this name, registered when there is none; returns its id. */
export async function sourceNamed(client: ServiceClient, name: string, platform: string): Promise<string> {
  let path: string | undefined = "/feed/sources?limit=100";
  while (path !== undefined) {
    const { body }: Reply<SourcePage> = await client.call<SourcePage>("GET", path);
    const found = body.data.find((source) => source.name === name && source.status === "active");
    if (found !== undefined) return found.id;
    path = body._links.next?.href.replace(/^.*?(?=\/feed\/sources)/, "");
  }
  const made = await client.call<FoundSource>("POST", "/feed/sources", {
    body: { name, platform },
    idempotencyKey: `source-${name}-${Date.now()}`,
  });
  return made.body.id;
}

interface SourcePage {
  readonly data: readonly FoundSource[];
  readonly _links: { readonly next?: { readonly href: string } | null };
}
