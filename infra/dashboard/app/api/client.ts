import createClient from "openapi-fetch";
import { send } from "./transport.ts";
import type { Answer, paths, ReadPath } from "./types.ts";

/** Parameters of a request: of its path by name, and of its query, where lists are joined by commas. */
export interface Parameters {
  readonly path?: Readonly<Record<string, string>> | undefined;
  readonly query?: Readonly<Record<string, string | number | undefined>> | undefined;
}

const client = createClient<paths>({ baseUrl: "/v2", fetch: send });

type Sender = (path: string, init: object) => Promise<{ readonly data?: unknown }>;

const senders = {
  GET: client.GET as unknown as Sender,
  POST: client.POST as unknown as Sender,
  PATCH: client.PATCH as unknown as Sender,
  DELETE: client.DELETE as unknown as Sender,
};

/** Reads a path of the document. */
export async function read<P extends ReadPath>(path: P, params: Parameters = {}, signal?: AbortSignal) {
  return (await run("GET", path, { params, signal })) as Answer<P>;
}

/** Reads a path that has tables as CSV (RFC 4180). */
export async function readCsv(path: ReadPath, params: Parameters): Promise<string> {
  const query = { ...params.query, format: "csv" };
  return (await run("GET", path, { params: { ...params, query }, parseAs: "text" })) as string;
}

/** Reads what a link of an answer names. It is absolute to the API's own host, so only its path and query count. */
export async function follow(href: string, signal?: AbortSignal): Promise<unknown> {
  const { pathname, search } = new URL(href, window.location.origin);
  return run("GET", pathname.replace(/^\/v2(?=\/)/, "") + search, { signal });
}

interface CommandOptions {
  readonly key: string;
  /** The version of the resource that the command is for: 412 when others have changed it since. */
  readonly version?: number;
  readonly body?: unknown;
}

/** Sends a command. The same idempotency key makes a repetition of it harmless; with a version it is for that alone. */
export async function command<T>(
  method: "POST" | "PATCH" | "DELETE",
  path: keyof paths,
  { key, version, body, ...params }: Parameters & CommandOptions,
): Promise<T> {
  const headers = { "Idempotency-Key": key, ...(version !== undefined && { "If-Match": `"${version}"` }) };
  return (await run(method, path, { params, headers, ...(body !== undefined && { body }) })) as T;
}

/** Commands without an idempotency key, of which the result is the same however often they are sent. */
export async function post<T>(path: keyof paths, params: Parameters, body: unknown): Promise<T> {
  return (await run("POST", path, { params, body })) as T;
}

async function run(method: keyof typeof senders, path: string, init: object): Promise<unknown> {
  const { data } = await senders[method](path, init);
  return data;
}
