import type { Schemas } from "./types.ts";

/** A problem document (RFC 9457), as the API answers every error. */
export type Problem = Schemas["Problem"];

/** A request that the service refused or could not answer. */
export class ApiError extends Error {
  readonly problem: Problem;
  readonly retryAfterSeconds: number | undefined;

  constructor(problem: Problem, retryAfterSeconds?: number) {
    super(`${problem.title} ${problem.detail ?? ""}`);
    this.problem = problem;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** The service did not answer at all. */
export class Unreachable extends Error {}

/** Whether it is not known what became of a request: no answer came, or one that does not tell. */
export function isUnanswered(error: unknown): boolean {
  return !(error instanceof ApiError) || error.problem.status >= 500 || error.problem.status === 429;
}

/** Whether the resource was changed by others since the version that a request was about (RFC 9110 13.1.1). */
export function isOutdated(error: unknown): boolean {
  return error instanceof ApiError && error.problem.status === 412;
}

/** The words of a page for an error of any kind. */
export function problemOf(error: unknown): Problem {
  if (error instanceof ApiError) return error.problem;
  const detail = error instanceof Error ? error.message : String(error);
  const title = error instanceof Unreachable ? "The service does not answer" : "This page failed";
  return { type: "about:blank", title, detail, status: 0, code: "no_answer", instance: "", request_id: "" };
}

/** The error of an answer; a body that is not a problem document is quoted in short. */
export async function errorOf(response: Response): Promise<ApiError> {
  const text = await response.text();
  const after = Number(response.headers.get("Retry-After") ?? Number.NaN);
  return new ApiError(parsed(text, response), Number.isFinite(after) ? after : undefined);
}

function parsed(text: string, { status, headers }: Response): Problem {
  try {
    const body = JSON.parse(text) as Partial<Problem>;
    if (typeof body.title === "string") return body as Problem;
  } catch {
    // A proxy on the way answered in its own words.
  }
  return {
    type: "about:blank",
    title: `The request was answered ${status}`,
    status,
    detail: text.slice(0, 200),
    code: "unexpected_answer",
    instance: "",
    request_id: headers.get("X-Request-Id") ?? "",
  };
}

/** The fault of each member of a request body, by its name. */
export function faultsByField(error: unknown): ReadonlyMap<string, string> {
  if (!(error instanceof ApiError)) return new Map();
  return new Map(
    (error.problem.errors ?? []).flatMap(({ pointer, detail }) =>
      pointer ? [[pointer.replace(/^#?\//, ""), detail]] : [],
    ),
  );
}
