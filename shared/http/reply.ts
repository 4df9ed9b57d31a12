import type { APIGatewayProxyEvent } from "aws-lambda";
import { sha256 } from "../runtime/digest.ts";
import type { Reply } from "../table/store.ts";
import { headerOf } from "./body.ts";

/** The representation of a resource; its links are absolute. */
export interface ResourceBody {
  readonly object?: string;
  readonly version?: number;
  readonly _links?: Readonly<Record<string, { readonly href: string }>>;
}

/** Types of resources with computed fields, which can change without a new version of the resource. */
const computed = new Set(["application", "client", "account", "feed_source", "position", "symbol", "webhook_endpoint"]);

/** Strong entity tag (RFC 9110 8.8.3): the version, and for computed fields also a hash of the body. */
export function entityTag(body: ResourceBody, text: string): string | undefined {
  if (body.version === undefined) return undefined;
  if (!computed.has(body.object ?? "")) return `"${body.version}"`;
  return `"${body.version}-${sha256(text).slice(0, 8)}"`;
}

/** The reply with a resource: its entity tag and, if it was created, its Location. */
export function resourceReply(status: number, body: ResourceBody): Reply {
  const text = JSON.stringify(body);
  const tag = entityTag(body, text);
  const self = body._links?.["self"]?.href;
  return {
    status,
    headers: {
      "Content-Type": "application/json",
      ...(tag === undefined ? {} : { ETag: tag }),
      ...(status === 201 && self !== undefined ? { Location: self } : {}),
    },
    body: text,
  };
}

/** Headers that a 304 keeps of the answer that it replaces (RFC 9110 15.4.5). */
const keptWithoutBody = new Set(["Cache-Control", "Content-Location", "ETag", "Expires", "Vary"]);

/** The answer, or 304 without a body if If-None-Match matches its entity tag (RFC 9110 13.1.2). */
export function notModified(event: APIGatewayProxyEvent, answer: Reply): Reply {
  const wanted = headerOf(event, "If-None-Match");
  const tag = answer.headers["ETag"];
  if (wanted === undefined || tag === undefined || !noneMatch(wanted, tag)) return answer;
  const kept = Object.entries(answer.headers).filter(([name]) => keptWithoutBody.has(name));
  return { status: 304, headers: Object.fromEntries(kept), body: "" };
}

/** Whether an If-None-Match matches this tag; weak comparison (RFC 9110 13.1.2). */
export function noneMatch(header: string, tag: string): boolean {
  const opaque = (each: string) => each.replace(/^W\//, "");
  return header.trim() === "*" || tags(header).some((each) => opaque(each) === opaque(tag));
}

/**
 * Whether an If-Match matches this version; strong comparison (RFC 9110 13.1.1) of the version part of the tag.
 */
export function matchesVersion(header: string, version: number): boolean {
  return (
    header.trim() === "*" ||
    tags(header).some((each) => /^"(\d+)(?:-[0-9a-f]{8})?"$/.exec(each)?.[1] === String(version))
  );
}

function tags(header: string): string[] {
  return header.split(",").map((each) => each.trim());
}
