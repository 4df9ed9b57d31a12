import { renewToken, token } from "../session/session.ts";
import { Pace } from "./pace.ts";
import { errorOf, Unreachable } from "./problem.ts";
import { noteRequest, outage } from "./requests.ts";

/** The pace of the whole application. */
export const pace = new Pace();

const mostKept = 100;
const kept = new Map<string, { readonly etag: string; readonly body: string }>();

/** Forgets what was read, at the end of a session. */
export function forgetAnswers(): void {
  kept.clear();
}

/**
 * Sends a request with the operator's token. A resource that has not changed is answered from memory, a token that has
 * expired is renewed once, and a service that does not answer is announced to every page. Throws an ApiError for every
 * answer that is an error.
 */
export async function send(request: Request): Promise<Response> {
  const body = request.method === "GET" ? null : await request.clone().text();
  if (request.method === "GET") await allowed(request.signal);
  const started = performance.now();
  let response = await sendOnce(request.clone());
  if (response.status === 401 && (await renewToken())) response = await sendOnce(request.clone());
  const etag = etagOf(request, response);
  const { pathname, search } = new URL(request.url);
  // A ticket of the stream is not what a page is about.
  if (pathname !== "/v2/stream_tickets") {
    noteRequest({
      method: request.method,
      path: pathname + search,
      status: response.status,
      ms: Math.round(performance.now() - started),
      request_id: response.headers.get("X-Request-Id") ?? "",
      etag,
      body: body === "" ? null : body,
    });
  }
  follow(response);
  const answer = await remember(request, response);
  if (!answer.ok) throw await errorOf(answer);
  return answer;
}

/** Pages ask nothing before the time that a 429 has named, though their next reading was due; commands are sent. */
async function allowed(signal: AbortSignal): Promise<void> {
  for (let ms = pace.wait(Date.now()); ms > 0; ms = pace.wait(Date.now())) {
    await new Promise<void>((done, failed) => {
      const leave = () => {
        window.clearTimeout(timer);
        failed(new DOMException("The page was left.", "AbortError"));
      };
      const timer = window.setTimeout(() => {
        signal.removeEventListener("abort", leave);
        done();
      }, ms);
      if (signal.aborted) leave();
      else signal.addEventListener("abort", leave, { once: true });
    });
  }
}

/** The gateway answers within 30 seconds, so a request without an answer after this has lost its connection. */
const longestMs = 35_000;

async function sendOnce(request: Request): Promise<Response> {
  request.headers.set("Authorization", `Bearer ${token() ?? ""}`);
  const known = request.method === "GET" ? kept.get(request.url) : undefined;
  if (known !== undefined) request.headers.set("If-None-Match", known.etag);
  try {
    const signal = AbortSignal.any([request.signal, AbortSignal.timeout(longestMs)]);
    return await fetch(request, { cache: "no-store", signal });
  } catch (error) {
    // A page that is left ends its own requests.
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    outage.set({ text: "The service does not answer. This page tries again every 5 seconds.", slow: false });
    throw new Unreachable("No connection to the service.");
  }
}

function etagOf({ url, method }: Request, { status, headers }: Response): "changed" | "unchanged" | null {
  if (status === 304) return "unchanged";
  return method === "GET" && headers.has("ETag") && kept.has(url) ? "changed" : null;
}

/** Follows the state of the service as an answer shows it. */
function follow({ status, headers }: Response): void {
  const after = Number(headers.get("Retry-After") ?? Number.NaN);
  const seconds = Number.isFinite(after) ? after : undefined;
  if (status === 429) {
    pace.slowDown(seconds, Date.now());
    outage.set({ text: "Too many requests: this page is updated less often for a while.", slow: true });
  } else if (status >= 502 && status <= 504) {
    outage.set({ text: `The service answers ${status}. This page tries again.`, slow: false });
  } else {
    pace.speedUp(Date.now());
    outage.set(undefined);
  }
}

/** Keeps the body under its tag, and gives the kept one for an answer without a body. */
async function remember({ url, method }: Request, response: Response): Promise<Response> {
  if (method !== "GET") return response;
  const known = kept.get(url);
  if (response.status === 304 && known !== undefined) return jsonOf(known.body);
  const etag = response.headers.get("ETag");
  if (!response.ok || etag === null) return response;
  const body = await response.text();
  kept.delete(url);
  kept.set(url, { etag, body });
  for (const oldest of [...kept.keys()].slice(0, Math.max(0, kept.size - mostKept))) kept.delete(oldest);
  return jsonOf(body);
}

function jsonOf(body: string): Response {
  return new Response(body, { status: 200, headers: { "Content-Type": "application/json" } });
}
