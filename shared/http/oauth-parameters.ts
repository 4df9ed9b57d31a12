import type { APIGatewayProxyEvent } from "aws-lambda";
import { limits } from "../limits.ts";
import { clipped } from "../text.ts";
import { headerOf, withoutMark } from "./body.ts";
import { checkHeaders } from "./headers.ts";
import { HttpProblem } from "./problem.ts";
import { scanJson } from "./strict-json.ts";

/** The parameters of a request to an OAuth endpoint, or the fault that prevents reading them. */
export interface OAuthParameters {
  readonly parameters: ReadonlyMap<string, string>;
  /** 413 for a body above its size limit, 400 for any other fault: RFC 6749 5.2 has no 415. */
  readonly fault: { readonly status: 400 | 413; readonly detail: string } | undefined;
}

/**
 * Reads the parameters of a request to an OAuth endpoint. A form is the standard (RFC 6749 4.4.2), JSON is an
 * extension. The client is not authenticated yet, so the size is checked before the body is decoded or parsed.
 */
export function readOAuthParameters(event: APIGatewayProxyEvent): OAuthParameters {
  try {
    return { parameters: parametersOf(event), fault: undefined };
  } catch (error) {
    if (!(error instanceof HttpProblem)) throw error;
    const status = error.code === "payload_too_large" ? 413 : 400;
    return { parameters: new Map(), fault: { status, detail: error.message } };
  }
}

function parametersOf(event: APIGatewayProxyEvent): ReadonlyMap<string, string> {
  checkHeaders(event);
  const encoding = event.isBase64Encoded ? "base64" : "utf8";
  if (Buffer.byteLength(event.body ?? "", encoding) > limits.body.max_oauth_bytes) {
    throw new HttpProblem("payload_too_large", `The body must not exceed ${limits.body.max_oauth_bytes} bytes.`);
  }
  const body = withoutMark(Buffer.from(event.body ?? "", encoding).toString("utf8"));
  const type = (headerOf(event, "Content-Type")?.split(";")[0] ?? "").trim().toLowerCase();
  if (type === "application/json") return jsonParameters(body);
  if (type === "application/x-www-form-urlencoded") return formParameters(body);
  throw new HttpProblem("unsupported_media_type", "The content type must be application/x-www-form-urlencoded.");
}

function formParameters(body: string): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>();
  const names = new Set<string>();
  for (const [name, value] of new URLSearchParams(body)) {
    if (names.has(name)) throw refused(name, "is repeated");
    names.add(name);
    // A parameter without a value is treated as absent (RFC 6749 3.2).
    if (value !== "") parameters.set(name, value);
  }
  return parameters;
}

/** Parameters of a JSON body. The scanner refuses a repeated member, of which the parser would keep the last. */
function jsonParameters(body: string): ReadonlyMap<string, string> {
  scanJson(body);
  const parameters = new Map<string, string>();
  for (const [name, value] of Object.entries(JSON.parse(body) as object)) {
    if (typeof value !== "string") throw refused(name, "must be a string");
    if (value !== "") parameters.set(name, value);
  }
  return parameters;
}

function refused(name: string, rule: string): HttpProblem {
  return new HttpProblem("invalid_parameter", `The parameter ${clipped(name, 100)} ${rule}.`);
}
