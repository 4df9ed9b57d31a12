import { HttpProblem } from "../http/problem.ts";
import { limits } from "../limits.ts";

/** The problem of a price that others came before every time. */
export function overtaken(): HttpProblem {
  const headers = { "Retry-After": String(limits.commit.retry_after_seconds) };
  return new HttpProblem("service_unavailable", "Other prices came between every time; send yours again.", { headers });
}
