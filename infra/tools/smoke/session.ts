import { setTimeout as pause } from "node:timers/promises";
import { type Credentials, send as call, issueToken, type Reply, type Sent } from "../api-call.ts";
import { Finding, type Resource } from "./finding.ts";
import { functionOf, resources } from "./resources.ts";

/** Something that was made, and how to take it back; it returns what remains of it. */
interface Made {
  readonly what: string;
  readonly undo: () => Promise<string | undefined>;
}

const rateTries = 5;

/** Sends a request. @throws Finding when there is no answer */
export function send(url: string, method: string, sent: Sent = {}): Promise<Reply> {
  return call(url, method, sent).catch((error: Error) => unanswered(method, url, error));
}

function unanswered(method: string, url: string, error: Error): never {
  const cause = error.cause instanceof Error ? `: ${error.cause.message}` : "";
  throw new Finding(`${method} ${url} got no answer: ${error.message}${cause}`, [resources.api, resources.apiStage]);
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
    const url = `${this.baseUrl}/oauth/token`;
    const reply = await issueToken(this.baseUrl, credentials).catch((error: Error) => unanswered("POST", url, error));
    if (reply.status === 200 && typeof reply.body?.access_token === "string") return reply;
    const named = [functionOf("create_token"), functionOf("provision"), resources.signingKey];
    throw new Finding(`POST /oauth/token answered ${replyText(reply)}`, named);
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
    throw new Finding(`${method} ${path} answered ${replyText(reply)} instead of ${status}`, named);
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
export function replyText({ status, text }: Reply): string {
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
