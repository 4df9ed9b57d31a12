import { validateHeaderName, validateHeaderValue } from "node:http";
import { accepted, type Exchange, type HeaderList, type Reply } from "./exchange.ts";
import { Fault } from "./fault.ts";
import { isBinary } from "./proxy-event.ts";

/** Largest answer of a synchronous invocation, in bytes (AWS docs: Lambda quotas). */
const payloadLimit = 6_291_556;

const members = new Set(["statusCode", "headers", "multiValueHeaders", "body", "isBase64Encoded"]);

/** Response headers that come out under the name `x-amzn-Remapped-<name>` (AWS docs: important notes for REST APIs). */
const remapped = new Set([
  "authorization",
  "connection",
  // The table of AWS says that it passes; what is seen on AWS is the renamed header beside the real length.
  "content-length",
  "content-md5",
  "date",
  "max-forwards",
  "server",
  "user-agent",
  "www-authenticate",
  "x-amzn-requestid",
]);
/** Response headers that do not come out at all. */
const dropped = new Set([
  "expect",
  "host",
  "proxy-authenticate",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "via",
]);

function malformed(reason: string): Fault {
  return new Fault("INTEGRATION_FAILURE", { status: 502, reason: `malformed proxy response: ${reason}` });
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function readStatus(value: unknown): number {
  if (value === undefined || value === null) return 200;
  const status = typeof value === "string" && /^\d{3}$/.test(value) ? Number(value) : value;
  if (typeof status !== "number" || !Number.isInteger(status) || status < 200 || status > 599) {
    throw malformed("statusCode is no HTTP status");
  }
  return status;
}

function readHeaderValue(name: string, value: unknown): string {
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") {
    throw malformed(`the header ${name} is no text`);
  }
  return String(value);
}

function readHeaders(value: unknown): HeaderList {
  if (value === undefined || value === null) return [];
  if (!isRecord(value)) throw malformed("headers must be an object");
  return Object.entries(value).map(([name, entry]) => [name, readHeaderValue(name, entry)]);
}

function readMultiValueHeaders(value: unknown): HeaderList {
  if (value === undefined || value === null) return [];
  if (!isRecord(value)) throw malformed("multiValueHeaders must be an object");
  return Object.entries(value).flatMap(([name, entries]) => {
    if (!Array.isArray(entries)) throw malformed(`multiValueHeaders.${name} must be a list`);
    return entries.map((entry: unknown) => [name, readHeaderValue(name, entry)] as const);
  });
}

/** Values of `multiValueHeaders` come first and give the name its spelling; a pair that is in both comes out once. */
function merge(multi: HeaderList, single: HeaderList): HeaderList {
  const extra = single.flatMap(([name, value]) => {
    const same = multi.filter(([known]) => known.toLowerCase() === name.toLowerCase());
    if (same.some(([, known]) => known === value)) return [];
    return [[same[0]?.[0] ?? name, value] as const];
  });
  return [...multi, ...extra];
}

function rename(headers: HeaderList): HeaderList {
  return headers.flatMap(([name, value]) => {
    const lower = name.toLowerCase();
    if (dropped.has(lower)) return [];
    return [remapped.has(lower) ? ([`x-amzn-Remapped-${name}`, value] as const) : ([name, value] as const)];
  });
}

function checkWire(headers: HeaderList): void {
  for (const [name, value] of headers) {
    try {
      validateHeaderName(name);
      validateHeaderValue(name, value);
    } catch {
      throw malformed(`the header ${JSON.stringify(name)} cannot be sent`);
    }
  }
}

/**
 * Turns what a function returned into the answer of an AWS_PROXY integration. Throws a Fault of 502 for everything
 * that API Gateway calls a malformed proxy response, a member that it does not know included.
 */
export function readReply(payload: unknown, exchange: Exchange, binaryMediaTypes: readonly string[]): Reply {
  if (!isRecord(payload)) throw malformed("the function returned no object");
  const foreign = Object.keys(payload).find((name) => !members.has(name));
  if (foreign !== undefined) throw malformed(`${foreign} is no member of it`);
  const { body, isBase64Encoded } = payload;
  if (body !== undefined && body !== null && typeof body !== "string") throw malformed("body must be a text");
  if (isBase64Encoded !== undefined && isBase64Encoded !== null && typeof isBase64Encoded !== "boolean") {
    throw malformed("isBase64Encoded must be true or false");
  }
  if (Buffer.byteLength(JSON.stringify(payload)) > payloadLimit) throw malformed("it is larger than 6 MB");
  const status = readStatus(payload["statusCode"]);
  const sent = merge(readMultiValueHeaders(payload["multiValueHeaders"]), readHeaders(payload["headers"]));
  const headers = rename(sent);
  checkWire(headers);
  const typed = headers.some(([name]) => name.toLowerCase() === "content-type");
  // Base64 is undone only for callers who accept a binary media type of the API; all others get the text as it is.
  const binary = isBase64Encoded === true && isBinary(binaryMediaTypes, accepted(exchange.headers));
  return {
    status,
    headers: typed ? headers : [["Content-Type", "application/json"], ...headers],
    body: Buffer.from(body ?? "", binary ? "base64" : "utf8"),
  };
}
