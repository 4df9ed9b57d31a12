import type { APIGatewayProxyEvent } from "aws-lambda";
import type { ProblemCode } from "../schema/problem.ts";
import { headerValues } from "./body.ts";
import { HttpProblem } from "./problem.ts";

/** Headers with one value (RFC 9110 5.3): of two values, a proxy might act on one and the service on the other. */
const single = ["Authorization", "Content-Type"] as const;

/**
 * Headers that override the method of the request line. A gateway that honours one executes another request than the
 * one that a firewall checked; no client needs them.
 */
const overrides = ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"] as const;

/**
 * Checks the headers of a request before they are used.
 * @throws HttpProblem `invalid_parameter`, naming the header
 */
export function checkHeaders(event: APIGatewayProxyEvent): void {
  for (const name of single) if (headerValues(event, name).length > 1) throw repeatedHeader("invalid_parameter", name);
  for (const name of overrides) {
    if (headerValues(event, name).length > 0) {
      throw headerProblem("invalid_parameter", name, "not_supported", "is not supported; use the HTTP method itself");
    }
  }
}

/** The problem for a single-value header that was sent more than once. */
export function repeatedHeader(code: "invalid_parameter" | "idempotency_key_invalid", header: string): HttpProblem {
  return headerProblem(code, header, "repeated", "is given more than once");
}

function headerProblem(problem: ProblemCode, header: string, code: string, detail: string): HttpProblem {
  return new HttpProblem(problem, `The header ${header} ${detail}.`, { errors: [{ header, code, detail }] });
}
