import { createStore } from "./store.ts";

/** A request behind the page. */
export interface SentRequest {
  readonly method: string;
  /** Path and query, with the version. */
  readonly path: string;
  readonly status: number;
  readonly ms: number;
  readonly request_id: string;
  readonly etag: "changed" | "unchanged" | null;
  /** The body as it was sent, for the copy as curl; null where it holds a secret or there is none. */
  readonly body: string | null;
}

/** The request of the page that is shown, and how many the page has sent. */
export const lastRequest = createStore<{ readonly request: SentRequest | undefined; readonly count: number }>({
  request: undefined,
  count: 0,
});

/** Paths that the frame around every page reads, for its counters and for the rights of the person. */
const ofTheFrame = ["/v2/me", "/v2/transactions/queue", "/v2/accounts/margin_watch"];

const pathOf = ({ path }: SentRequest) => path.split("?")[0] ?? path;
const isOfTheFrame = (request: SentRequest) => ofTheFrame.includes(pathOf(request));

/** Why the service cannot be used now; undefined while it can. */
export const outage = createStore<{ readonly text: string; readonly slow: boolean } | undefined>(undefined);

/** Takes note of a request that was answered: a command is shown, else the first one that the page itself reads. */
export function noteRequest(request: SentRequest): void {
  const { request: shown, count } = lastRequest.get();
  const isFirst = shown === undefined || count === 0 || (isOfTheFrame(shown) && !isOfTheFrame(request));
  const isNewer = isFirst || request.method !== "GET" || pathOf(shown) === pathOf(request);
  lastRequest.set({ request: isNewer ? request : shown, count: count + 1 });
}

/** Begins the count of a new page. */
export function startPage(): void {
  lastRequest.set({ request: lastRequest.get().request, count: 0 });
}

/** The request as a command for a terminal; it takes the token from the environment. */
export function asCurl({ method, path, body }: SentRequest, apiUrl: string): string {
  const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
  return [
    `curl ${method === "GET" ? "" : `-X ${method} `}${quoted(apiUrl.replace(/\/v2$/, "") + path)}`,
    `-H "Authorization: Bearer $TOKEN"`,
    ...(body === null ? [] : ["-H 'Content-Type: application/json'", `-d ${quoted(body)}`]),
  ].join(" \\\n  ");
}
