import { randomBytes, randomUUID } from "node:crypto";
import type { Route } from "./router.ts";

/** Names and values in the order and spelling of the wire. */
export type HeaderList = readonly (readonly [name: string, value: string])[];

/** A finished answer. `Content-Length` and `Date` are added by the server. */
export interface Reply {
  readonly status: number;
  readonly headers: HeaderList;
  readonly body: Buffer;
}

/** An authorizer's answer about the caller; every value is a text. */
export interface CallerContext {
  readonly principal_id: string;
  readonly values: Readonly<Record<string, string>>;
  /** How long the authorizer took, in milliseconds; 0 when its answer came from the cache. */
  readonly latency_ms: number;
}

/** One request on its way through the gateway. Later steps add their findings to it. */
export interface Exchange {
  readonly request_id: string;
  readonly extended_request_id: string;
  /** Root of the trace, `1-<8 hex>-<24 hex>`. */
  readonly trace_root: string;
  readonly received_ms: number;
  /** After X-HTTP-Method-Override. */
  readonly method: string;
  /** Path as it was sent, the stage in front. */
  readonly full_path: string;
  /** Path without the stage; slashes in front are one slash. Nothing is decoded. */
  readonly path: string;
  readonly headers: HeaderList;
  /** Decoded; repeated names stay apart. */
  readonly query: HeaderList;
  readonly body: Buffer;
  readonly source_ip: string;
  readonly protocol: string;
  route?: Route;
  caller?: CallerContext;
  api_key?: { readonly id: string; readonly value: string };
}

/** The last value under a name, whatever its case; API Gateway's single-value views do the same. */
export function lastValue(list: HeaderList, name: string): string | undefined {
  const lower = name.toLowerCase();
  return list.findLast(([candidate]) => candidate.toLowerCase() === lower)?.[1];
}

/** All values under a name, whatever its case. */
export function allValues(list: HeaderList, name: string): string[] {
  const lower = name.toLowerCase();
  return list.filter(([candidate]) => candidate.toLowerCase() === lower).map(([, value]) => value);
}

/** `type/subtype` of a media type in lower case, without its parameters. */
export function mediaType(value: string): string {
  return (value.split(";")[0] ?? "").trim().toLowerCase();
}

/** The media type that the caller asks for: API Gateway honours only the first one of `Accept`. */
export function accepted(headers: HeaderList): string {
  const accept = lastValue(headers, "accept");
  return accept === undefined ? "application/json" : mediaType(accept.split(",")[0] ?? "");
}

/** A request id as API Gateway makes them. */
export function newRequestId(): string {
  return randomUUID();
}

/** The id of the header `x-amz-apigw-id`. */
export function newExtendedRequestId(): string {
  return `${randomBytes(11).toString("base64").replaceAll(/[+/=]/g, "A").slice(0, 15)}=`;
}

/** The trace header that the gateway hands to functions and to the caller. */
export function traceHeader({ trace_root }: Pick<Exchange, "trace_root">): string {
  return `Root=${trace_root};Parent=${trace_root.slice(-16)};Sampled=0`;
}

/** The caller's trace when the header names a well-formed one, else a new one. */
export function traceRoot(header: string | undefined, nowMs: number): string {
  const given = /(?:^|;)\s*Root=(1-[0-9a-f]{8}-[0-9a-f]{24})(?:;|$)/i.exec(header ?? "")?.[1];
  const seconds = Math.floor(nowMs / 1000).toString(16);
  return given ?? `1-${seconds.padStart(8, "0").slice(-8)}-${randomBytes(12).toString("hex")}`;
}
