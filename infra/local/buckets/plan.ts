import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { AwsError } from "../aws-error.ts";
import type { Incoming, Plan, Reply } from "../aws-plan.ts";
import { type Buckets, unknown } from "./buckets.ts";
import { credentialIn, signingParameters } from "./query-signature.ts";

/** A request that was understood. */
interface ObjectRequest {
  readonly bucket: string;
  readonly key: string;
  readonly headers: Incoming["headers"];
  readonly bytes: Uint8Array;
  readonly query: URLSearchParams;
}

interface Operation {
  readonly name: string;
  /** The action that allows it. */
  readonly action: string;
  /** Parameters and headers of the service that it knows, in addition to those of every request. */
  readonly known: readonly string[];
  readonly do: (buckets: Buckets, request: ObjectRequest) => Reply;
}

/** Operations of functions and tools, by method and by whether they are on an object. */
const operations: Readonly<Record<string, Operation>> = {
  "PUT object": { name: "PutObject", action: "PutObject", known: ["if-none-match"], do: putObject },
  "GET object": {
    ...{ name: "GetObject", action: "GetObject", do: getObject },
    known: ["x-amz-checksum-mode", "response-content-type", "response-content-disposition", "response-cache-control"],
  },
  "GET bucket": {
    ...{ name: "ListObjectsV2", action: "ListBucket", do: listObjects },
    known: ["list-type", "prefix", "max-keys", "continuation-token"],
  },
};

/** Parameters and headers of every request; the SDK repeats the operation's name in `x-id`. */
const everywhere = ["x-id", "x-amz-content-sha256", "x-amz-date", "x-amz-security-token", "x-amz-user-agent"];
/** Headers of HTTP that would change what an operation does. */
const conditions = ["if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "range"];
/** Headers of an upload that S3 answers with when the object is read. */
const keptHeaders = ["content-type", "content-encoding", "cache-control", "content-disposition"];
const checksums = /^x-amz-(?:sdk-checksum-algorithm|checksum-(?!mode).*)$/;

/** 40 MiB; AWS takes 5 GiB by one request. */
const maxObjectBytes = 40 * 1_048_576;
const maxKeys = 1000;

/**
 * How a request to S3 is done, whose address has the bucket in its path, as the SDK makes it where the host is an IP
 * address. Throws the AwsErrors of S3, and one for what is not known here.
 */
export function bucketPlan(buckets: Buckets, { method, url, headers, bytes }: Incoming): Plan {
  const [, bucket = "", ...rest] = url.pathname.split("/").map(decodeURIComponent);
  const key = rest.join("/");
  const operation = operations[`${method} ${key === "" ? "bucket" : "object"}`];
  if (operation === undefined || bucket === "") throw unknown(`${method} ${url.pathname}`);
  refuseUnknown(operation, url.searchParams, Object.keys(headers));
  const { arn } = buckets.bucket(bucket);
  const condition = headers["if-none-match"];
  const resource = key === "" ? arn : `${arn}/${key}`;
  const context = condition === undefined ? undefined : { "s3:if-none-match": condition };
  return {
    service: "s3",
    action: operation.name,
    access: [{ action: `s3:${operation.action}`, resource, context }],
    ...(key !== "" && { mayKnow: { action: "s3:ListBucket", resource: arn } }),
    body: { Bucket: bucket, Key: key },
    do: () => operation.do(buckets, { bucket, key, headers, bytes, query: url.searchParams }),
  };
}

/** Whether a request is signed for S3, which no header and no path of its own names: in a header or in its query. */
export function isForBuckets({ headers, url }: Pick<IncomingMessage, "headers"> & { readonly url?: unknown }): boolean {
  const by = headers["authorization"] ?? credentialIn(new URL(String(url ?? "/"), "http://127.0.0.1"));
  return by?.includes("/s3/aws4_request") === true;
}

/** The answer of S3 to a request that failed. */
export function bucketError({ status, type, message }: AwsError): Reply {
  return xml(status, `<Error><Code>${escaped(type)}</Code><Message>${escaped(message)}</Message></Error>`);
}

function refuseUnknown({ name, known }: Operation, query: URLSearchParams, headers: readonly string[]): void {
  const own = headers.filter((header) => header.startsWith("x-amz-") || conditions.includes(header));
  const asked = [...query.keys()].filter((each) => !signingParameters.has(each.toLowerCase()));
  const strange = [...asked, ...own].find((each) => {
    return !known.includes(each) && !everywhere.includes(each) && !(name === "PutObject" && checksums.test(each));
  });
  if (strange !== undefined) throw unknown(`${strange} of ${name}`);
}

function putObject(buckets: Buckets, request: ObjectRequest): Reply {
  const { bucket, key, headers, bytes } = request;
  refuseUpload(buckets.bucket(bucket).locks, request);
  const condition = headers["if-none-match"];
  if (condition !== undefined && condition !== "*") throw unknown(`if-none-match: ${condition} of PutObject`);
  if (condition !== undefined && buckets.get(bucket, key) !== undefined) {
    throw new AwsError(412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold");
  }
  const kept = Object.entries(headers).filter(([name]) => keptHeaders.includes(name));
  const { etag = "" } = buckets.put(bucket, key, bytes, Object.fromEntries(kept)).headers;
  return { status: 200, headers: { etag }, body: "" };
}

function getObject(buckets: Buckets, { bucket, key, query }: ObjectRequest): Reply {
  const found = buckets.get(bucket, key);
  if (found === undefined) return bucketError(new AwsError(404, "NoSuchKey", "The specified key does not exist."));
  const asked = [...query].filter(([name]) => name.startsWith("response-"));
  const instead = Object.fromEntries(asked.map(([name, value]) => [name.slice("response-".length), value]));
  return { status: 200, headers: { ...found.headers, ...instead }, body: found.body };
}

function listObjects(buckets: Buckets, { bucket, query }: ObjectRequest): Reply {
  if (query.get("list-type") !== "2") throw unknown("ListObjects");
  const prefix = query.get("prefix") ?? "";
  const most = Math.min(Number(query.get("max-keys") ?? maxKeys), maxKeys);
  const after = Buffer.from(query.get("continuation-token") ?? "", "base64url").toString();
  const keys = buckets.keys(bucket, prefix).filter((key) => key > after);
  const page = keys.slice(0, most);
  const next = keys.length > page.length ? Buffer.from(page.at(-1) ?? "").toString("base64url") : undefined;
  const contents = page.map((key) => {
    const found = buckets.get(bucket, key);
    const modified = new Date(found?.headers["last-modified"] ?? 0).toISOString();
    const facts = [
      element("Key", key),
      element("LastModified", modified),
      element("ETag", found?.headers["etag"] ?? ""),
    ];
    return `<Contents>${facts.join("")}${element("Size", String(found?.body.length))}</Contents>`;
  });
  const members = [
    element("Name", bucket),
    element("Prefix", prefix),
    element("KeyCount", String(page.length)),
    element("MaxKeys", String(most)),
    element("IsTruncated", String(next !== undefined)),
    ...(next === undefined ? [] : [element("NextContinuationToken", next)]),
    ...contents,
  ];
  return xml(200, `<ListBucketResult>${members.join("")}</ListBucketResult>`);
}

/** Throws what S3 answers to a body that is not what its headers say, and to one without a checksum under a lock. */
function refuseUpload(locks: boolean, { headers, bytes }: ObjectRequest): void {
  if (bytes.length > maxObjectBytes) throw unknown(`an object of ${bytes.length} bytes`);
  const digest = createHash("sha256").update(bytes).digest();
  const content = headers["x-amz-content-sha256"] ?? "";
  if (content.startsWith("STREAMING-")) throw unknown("a body in signed chunks");
  if (/^[0-9a-f]{64}$/.test(content) && content !== digest.toString("hex")) {
    const text = "The provided 'x-amz-content-sha256' header does not match what was computed.";
    throw new AwsError(400, "XAmzContentSHA256Mismatch", text);
  }
  const checksum = headers["x-amz-checksum-sha256"];
  if (checksum !== undefined && checksum !== digest.toString("base64")) {
    throw new AwsError(400, "BadDigest", "The SHA256 you specified did not match the calculated checksum.");
  }
  const isChecked = headers["content-md5"] !== undefined || Object.keys(headers).some((name) => checksums.test(name));
  if (!locks || isChecked) return;
  const text =
    "Content-MD5 OR x-amz-checksum- HTTP header is required for Put Object requests with Object Lock parameters";
  throw new AwsError(400, "InvalidRequest", text);
}

function xml(status: number, content: string): Reply {
  const body = `<?xml version="1.0" encoding="UTF-8"?>\n${content}`;
  return { status, headers: { "content-type": "application/xml" }, body };
}

function element(name: string, text: string): string {
  return `<${name}>${escaped(text)}</${name}>`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
