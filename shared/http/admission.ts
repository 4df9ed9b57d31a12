import { countRequest } from "../data/counters.ts";
import { addressInRanges } from "../runtime/address.ts";
import { type Caller, callerOf } from "./caller.ts";
import type { Exchange } from "./exchange.ts";
import { HttpProblem } from "./problem.ts";

/**
 * Lets the caller in: the token's scope must cover the row, and the address must be one that the application allows.
 * @throws HttpProblem `unauthenticated`, `insufficient_scope`, `address_not_allowed`
 */
export function admit({ row, event }: Exchange): Caller {
  const caller = callerOf(event);
  if (row.scope !== null && !caller.scopes.includes(row.scope)) {
    throw new HttpProblem("insufficient_scope", `This endpoint needs the scope ${row.scope}.`, {
      extra: { scope: row.scope },
    });
  }
  const address = event.requestContext.identity?.sourceIp ?? "";
  if (caller.allowed_ips.length > 0 && !addressInRanges(address, caller.allowed_ips)) {
    throw new HttpProblem("address_not_allowed", "The application may not call from this address.");
  }
  return caller;
}

/**
 * Counts the request. A GET goes on beside the counter and is judged when its own read is done; anything that changes
 * state waits, so that a refused request has no effect.
 * @throws HttpProblem `rate_limit_exceeded` for anything but a GET
 */
export async function countRate(exchange: Exchange): Promise<void> {
  const { row, event } = exchange;
  if (exchange.caller === undefined || row.rate === "none") return;
  exchange.verdict = countRequest(exchange.caller, row.rate, event.requestContext.requestTimeEpoch);
  if (row.method !== "GET") await requireRate(exchange);
}

/** @throws HttpProblem `rate_limit_exceeded` when the counter refused this request */
export async function requireRate(exchange: Exchange): Promise<void> {
  const verdict = await exchange.verdict;
  if (verdict === undefined || verdict.allowed) return;
  throw new HttpProblem("rate_limit_exceeded", "The application has made too many requests.", {
    extra: { "violated-policies": verdict.violated },
    headers: { "Retry-After": String(verdict.retry_after_seconds) },
  });
}

/** The three rate headers of an answer; none when the request was not counted. */
export async function rateHeaders(exchange: Exchange): Promise<Record<string, string>> {
  const verdict = await exchange.verdict;
  if (verdict === undefined) return {};
  return {
    "X-RateLimit-Limit": String(verdict.limit),
    "X-RateLimit-Remaining": String(verdict.remaining),
    "X-RateLimit-Reset": String(verdict.reset_seconds),
  };
}
