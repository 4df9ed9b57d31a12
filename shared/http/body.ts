import type { APIGatewayProxyEvent } from "aws-lambda";
import { limits } from "../limits.ts";
import { HttpProblem } from "./problem.ts";
import { scanJson } from "./strict-json.ts";

/** The event of a function behind a route, or that of the authorizer. */
export interface HeaderHolder {
  readonly headers: Readonly<Record<string, string | undefined>> | null;
  readonly multiValueHeaders: Readonly<Record<string, readonly string[] | undefined>> | null;
}

/** A header of the request, case-insensitive; undefined if absent. */
export function headerOf(event: Pick<HeaderHolder, "headers">, name: string): string | undefined {
  const headers = event.headers ?? {};
  if (headers[name] !== undefined) return headers[name];
  const wanted = name.toLowerCase();
  for (const [given, value] of Object.entries(headers)) if (given.toLowerCase() === wanted) return value;
  return undefined;
}

/** Every value of a header of the request, case-insensitive; empty if absent. */
export function headerValues(event: Pick<HeaderHolder, "multiValueHeaders">, name: string): string[] {
  const wanted = name.toLowerCase();
  const given = Object.entries(event.multiValueHeaders ?? {});
  return given.filter(([each]) => each.toLowerCase() === wanted).flatMap(([, values]) => values ?? []);
}

/** The body of a request: its exact text, the same without a byte order mark, and the numbers as they are written. */
interface JsonText {
  readonly text: string;
  readonly json: string;
  readonly numbers: ReadonlyMap<string, string>;
}

const mediaTypes = {
  json: ["application/json"],
  merge_patch: ["application/merge-patch+json", "application/json"],
} as const;

/**
 * Checks that the body is JSON of the row's media type, within its size limit and strictly well formed, before it is
 * parsed. With `halves`, lone surrogates are accepted.
 * @returns the exact text of the body, the JSON in it, and the source text of the numbers of its top level
 * @throws HttpProblem `unsupported_media_type`, `payload_too_large`, `malformed_json`, `duplicate_key`
 */
export function readBody(event: APIGatewayProxyEvent, media: "json" | "merge_patch", halves = false): JsonText {
  const accepted: readonly string[] = mediaTypes[media];
  const [type = "", ...parameters] = (headerOf(event, "Content-Type") ?? "").toLowerCase().split(";");
  const charset = parameters.map((each) => each.trim()).find((each) => each.startsWith("charset="));
  const utf8 = charset === undefined || /^charset="?utf-8"?$/.test(charset);
  if (!accepted.includes(type.trim()) || !utf8) {
    throw new HttpProblem("unsupported_media_type", `The content type must be ${accepted.join(" or ")} in UTF-8.`, {
      headers: media === "merge_patch" ? { "Accept-Patch": accepted.join(", ") } : {},
    });
  }
  return readJson(event, limits.body.max_bytes, halves);
}

/**
 * Checks that a body is JSON within a size in bytes and strictly well formed, before it is parsed.
 * @throws HttpProblem `payload_too_large`, `malformed_json`, `duplicate_key`
 */
export function readJson(
  { body, isBase64Encoded }: { readonly body?: string | null; readonly isBase64Encoded: boolean },
  max_bytes: number,
  halves = false,
): JsonText {
  const bytes = Buffer.from(body ?? "", isBase64Encoded ? "base64" : "utf8");
  if (bytes.length > max_bytes) {
    throw new HttpProblem("payload_too_large", `The body must not exceed ${max_bytes} bytes.`);
  }
  const text = decodeUtf8(bytes);
  const json = withoutMark(text);
  if (json === "") throw new HttpProblem("malformed_json", "The body is empty.");
  return { text, json, numbers: scanJson(json, { halves }) };
}

/** A text without the byte order mark at its start, which RFC 8259 8.1 allows a reader to ignore. */
export function withoutMark(text: string): string {
  return text.startsWith("\ufeff") ? text.slice(1) : text;
}

function decodeUtf8(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new HttpProblem("malformed_json", "The body is not valid UTF-8.");
  }
}
