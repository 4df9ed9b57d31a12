import type { IncomingMessage } from "node:http";
import {
  type Exchange,
  type HeaderList,
  lastValue,
  newExtendedRequestId,
  newRequestId,
  traceRoot,
} from "./exchange.ts";
import { FrontFault } from "./fault.ts";
import { httpMethods } from "./router.ts";

/** Most bytes of all header lines together, and most characters of the target (AWS docs: quotas for REST APIs). */
const headerLimit = 10_240;
const targetLimit = 10_240;

/** The names and values of Node's flat list. Node's own `headers` join or discard repeated ones. */
export function headerList(message: IncomingMessage): HeaderList {
  const raw = message.rawHeaders;
  return raw.flatMap((name, index) => (index % 2 === 0 ? [[name, raw[index + 1] ?? ""] as const] : []));
}

/** Target of the caller, still with the stage in front. */
export interface Target {
  /** Not decoded; slashes in front are one slash. */
  readonly path: string;
  /** Without the question mark, not decoded. */
  readonly query: string;
}

/**
 * Splits a request target. Throws a FrontFault for what no URI may hold: REST APIs want every other character
 * encoded, pipes and braces included (AWS docs: important notes for REST APIs).
 */
export function readTarget(url: string): Target {
  if (url.length > targetLimit) throw new FrontFault(414, "RequestUriTooLongException", "Request URI too long");
  const origin = url.replace(/^https?:\/\/[^/?#]*/i, "");
  const cut = origin.indexOf("?");
  const path = cut < 0 ? origin : origin.slice(0, cut);
  const query = cut < 0 ? "" : origin.slice(cut + 1);
  const fine = /^(?:[\w\-.~!$&'()*+,;=:@/[\]?]|%[0-9A-Fa-f]{2})*$/;
  if (!fine.test(path) || !fine.test(query) || (path !== "" && !path.startsWith("/"))) {
    throw new FrontFault(400, "BadRequestException", "Bad Request");
  }
  return { path: path.replace(/^\/*/, "/"), query };
}

/** Bytes that are no UTF-8 become U+FFFD. */
function decode(text: string): string {
  const spaced = text.replaceAll("+", " ");
  try {
    return decodeURIComponent(spaced);
  } catch {
    const bytes = spaced.replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
    return Buffer.from(bytes, "latin1").toString("utf8");
  }
}

/** The decoded parameters. A semicolon separates like an ampersand (AWS docs: important notes for REST APIs). */
function readQuery(query: string): HeaderList {
  const pairs = query.split(/[&;]/).filter((pair) => pair !== "");
  return pairs.map((pair) => {
    const cut = pair.indexOf("=");
    return cut < 0 ? [decode(pair), ""] : [decode(pair.slice(0, cut)), decode(pair.slice(cut + 1))];
  });
}

/** Throws a FrontFault when the header lines, names and line ends included, are larger than AWS takes. */
export function checkHeaderSize(headers: HeaderList): void {
  const bytes = headers.reduce((sum, [name, value]) => sum + name.length + value.length + ": \r\n".length, 0);
  if (bytes > headerLimit) {
    throw new FrontFault(431, "RequestHeaderFieldsTooLargeException", "Request Header Fields Too Large");
  }
}

/** The stage is the first segment of a path; what follows belongs to the API. */
function splitStage(path: string): { stage: string; rest: string } {
  const end = path.indexOf("/", 1);
  return end < 0 ? { stage: path.slice(1), rest: "" } : { stage: path.slice(1, end), rest: path.slice(end) };
}

function methodOf(message: IncomingMessage, headers: HeaderList): string {
  const override = lastValue(headers, "x-http-method-override")?.toUpperCase();
  return httpMethods.find((method) => method === override) ?? message.method ?? "";
}

/** Where a request came from, as IPv4 when it came by an IPv4 socket. */
function sourceIp(message: IncomingMessage): string {
  return (message.socket.remoteAddress ?? "").replace(/^::ffff:/, "");
}

/** An exchange for a message; an empty target stands for one that could not be read. */
export function newExchange(message: IncomingMessage, target: Target, body: Buffer, nowMs: number): Exchange {
  const headers = headerList(message);
  const { rest } = splitStage(target.path);
  return {
    request_id: newRequestId(),
    extended_request_id: newExtendedRequestId(),
    trace_root: traceRoot(lastValue(headers, "x-amzn-trace-id"), nowMs),
    received_ms: nowMs,
    method: methodOf(message, headers),
    full_path: target.path,
    path: `/${rest.replace(/^\/+/, "")}`,
    headers,
    query: readQuery(target.query),
    body,
    source_ip: sourceIp(message),
    protocol: `HTTP/${message.httpVersion}`,
  };
}

/** Throws a FrontFault unless the path begins with the stage: no API, so no gateway response either. */
export function checkStage(target: Target, stage: string): void {
  if (splitStage(target.path).stage !== stage) throw new FrontFault(403, "ForbiddenException", "Forbidden");
}
