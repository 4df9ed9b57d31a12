import type { Exchange } from "./exchange.ts";
import { HttpProblem } from "./problem.ts";

/** @throws HttpProblem `rate_limit_exceeded` when the rate counter refuses the request */
export async function requireRate(exchange: Exchange): Promise<void> {
  const verdict = await exchange.verdict;
  if (verdict === undefined || verdict.allowed) return;
  throw new HttpProblem("rate_limit_exceeded", "The caller has made too many requests.", {
    extra: { "violated-policies": verdict.violated },
    headers: { "Retry-After": String(verdict.retry_after_seconds) },
  });
}

/** The three rate headers of an answer; empty if the request was not counted. */
export async function rateHeaders(exchange: Exchange): Promise<Record<string, string>> {
  const verdict = await exchange.verdict;
  if (verdict === undefined) return {};
  return {
    "X-RateLimit-Limit": String(verdict.limit),
    "X-RateLimit-Remaining": String(verdict.remaining),
    "X-RateLimit-Reset": String(verdict.reset_seconds),
  };
}
