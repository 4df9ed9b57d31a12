import type { FieldError, Refusal } from "../domain/kernel/decision.ts";
import { type ProblemCode, problemKind, problemType } from "../schema/problem.ts";

/** One entry of `errors`: a field of the body, a query parameter or a header, with the rule that it broke. */
export type ProblemEntry =
  | FieldError
  | { readonly parameter: string; readonly code: string; readonly detail: string }
  | { readonly header: string; readonly code: string; readonly detail: string };

/** Members of a problem in addition to its code. `extra` are extension members, `headers` are headers of the reply. */
export interface ProblemDetails {
  readonly errors?: readonly ProblemEntry[];
  readonly extra?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Another status than the code's own. */
  readonly status?: number;
}

/** An error that is answered with a problem document (RFC 9457). Its text is for the caller: no internals. */
export class HttpProblem extends Error {
  readonly code: ProblemCode;
  readonly details: ProblemDetails;

  constructor(code: ProblemCode, detail: string, details: ProblemDetails = {}) {
    super(detail);
    this.code = code;
    this.details = details;
  }
}

/** The problem for a refused decision. */
export function refused({ code, detail, errors, extra, status }: Refusal): HttpProblem {
  return new HttpProblem(code, detail, {
    ...(errors === undefined ? {} : { errors }),
    ...(extra === undefined ? {} : { extra }),
    ...(status === undefined ? {} : { status }),
  });
}

/** The problem document of a code, with its members in published order. */
export function problemDocument(
  code: ProblemCode,
  detail: string,
  where: { readonly path: string; readonly request_id: string },
  details: Omit<ProblemDetails, "headers"> = {},
): Record<string, unknown> {
  const { title, status: usual } = problemKind(code);
  const { status = usual } = details;
  return {
    type: problemType(code),
    title,
    status,
    detail,
    instance: where.path,
    code,
    request_id: where.request_id,
    ...(details.errors ? { errors: details.errors } : {}),
    ...details.extra,
  };
}
