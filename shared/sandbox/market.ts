import { HttpProblem } from "../http/problem.ts";
import { limits } from "../limits.ts";

/** The problem of a price that lost every try to concurrent ones: 503 with `Retry-After`. */
export function pricesContended(): HttpProblem {
  const headers = { "Retry-After": String(limits.commit.retry_after_seconds) };
  return new HttpProblem("service_unavailable", "Other prices came between every time; send yours again.", { headers });
}
