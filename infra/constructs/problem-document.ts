import { type ProblemCode, problemKind, problemType } from "../../shared/schema/problem.ts";

/** Media type of an error (RFC 9457). */
const problemMediaType = "application/problem+json";

/**
 * A problem document as API Gateway fills it in: `$context` variables stand where the request's own values go.
 * The members are those that the functions write, so a reader cannot tell who refused.
 */
export function problemTemplate(code: ProblemCode, detail: string): string {
  const { status, title } = problemKind(code);
  return JSON.stringify({
    type: problemType(code),
    title,
    status,
    detail,
    instance: "$context.path",
    code,
    request_id: "$context.requestId",
  });
}

/** HTTP status of a problem code, as text. */
export function problemStatus(code: ProblemCode): string {
  return String(problemKind(code).status);
}

/** Headers of every answer that the gateway makes by itself; values as API Gateway writes them, quoted when fixed. */
export const gatewayHeaders: Readonly<Record<string, string>> = {
  "Content-Type": `'${problemMediaType}'`,
  "Cache-Control": "'no-store'",
  "Strict-Transport-Security": "'max-age=63072000; includeSubDomains'",
  "X-Content-Type-Options": "'nosniff'",
  "X-Request-Id": "context.requestId",
};
