/**
 * Does work over HTTP that ends within `limit_ms`, or when `outer` says so. The process waits for it: `fetch`
 * may not notice that its first connection was closed as soon as it was open, and then keeps no process, as
 * `AbortSignal.timeout` keeps none, so that the process would end with exit code 13 and without an answer.
 * @throws TimeoutError when the limit is over; the reason of `outer`; or what the work throws
 */
export async function answered<T>(
  limit_ms: number,
  work: (signal: AbortSignal) => Promise<T>,
  outer?: AbortSignal,
): Promise<T> {
  outer?.throwIfAborted();
  const limit = new AbortController();
  const end = () => limit.abort(outer?.reason);
  const reason = new DOMException(`nothing came within ${limit_ms / 1000} s`, "TimeoutError");
  const timer = setTimeout(() => limit.abort(reason), limit_ms);
  outer?.addEventListener("abort", end);
  try {
    const ended = new Promise<never>((_, reject) => {
      limit.signal.addEventListener("abort", () => reject(limit.signal.reason));
    });
    return await Promise.race([work(limit.signal), ended]);
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener("abort", end);
  }
}

/** An answer with its whole text. */
export interface TextReply {
  readonly ok: boolean;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/**
 * Sends a request, and reads its answer, within `limit_ms`.
 * @throws TypeError when there is none; otherwise as {@link answered}
 */
export function request(
  limit_ms: number,
  url: URL | string,
  init: RequestInit,
  outer?: AbortSignal,
): Promise<TextReply> {
  return answered(
    limit_ms,
    async (signal) => {
      const reply = await fetch(url, { ...init, signal });
      return { ok: reply.ok, status: reply.status, headers: reply.headers, text: await reply.text() };
    },
    outer,
  );
}
