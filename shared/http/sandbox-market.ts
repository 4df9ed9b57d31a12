import { HttpProblem } from "./problem.ts";

/** The problem of a price that others came before every time. */
export function overtaken(): HttpProblem {
  const headers = { "Retry-After": "1" };
  return new HttpProblem("service_unavailable", "Other prices came between every time; send yours again.", { headers });
}
