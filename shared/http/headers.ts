import type { APIGatewayProxyEvent } from "aws-lambda";
import type { ProblemCode } from "../schema/problem.ts";
import { headerValues } from "./body.ts";
import { HttpProblem } from "./problem.ts";

/** Headers with one value (RFC 9110 5.3): of two, the service would act on one and a proxy before it on the other. */
const single = ["Authorization", "Content-Type"] as const;

/**
 * Headers that name another method than the request line. A gateway that honours one carries out another request than
 * the one that a firewall in front of it judged; no client needs any of them.
 */
const overrides = ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"] as const;

/**
 * Checks the headers of any request, before they are read.
 * @throws HttpProblem `invalid_parameter`, naming the header that is not accepted
 */
export function checkHeaders(event: APIGatewayProxyEvent): void {
  for (const name of single) if (headerValues(event, name).length > 1) throw repeatedHeader("invalid_parameter", name);
  for (const name of overrides) {
    if (headerValues(event, name).length > 0) {
      throw headerProblem("invalid_parameter", name, "not_supported", "is not supported; use the HTTP method itself");
    }
  }
}

/** The problem of a header that has one value and was sent with several. */
export function repeatedHeader(code: "invalid_parameter" | "idempotency_key_invalid", header: string): HttpProblem {
  return headerProblem(code, header, "repeated", "is given more than once");
}

function headerProblem(problem: ProblemCode, header: string, code: string, detail: string): HttpProblem {
  return new HttpProblem(problem, `The header ${header} ${detail}.`, { errors: [{ header, code, detail }] });
}
