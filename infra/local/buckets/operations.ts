import { AwsError } from "../aws-error.ts";
import type { Access } from "../iam/permissions.ts";

/** A request to S3, as it came. */
export interface ObjectRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array;
}

/** A request that was understood. */
export interface ObjectOperation {
  /** `PutObject` */
  readonly name: string;
  readonly bucket: string;
  /** Empty for operations on the bucket. */
  readonly key: string;
  readonly access: readonly Access[];
}

/** Operations by method and by whether they are on an object, with the action that allows each. */
const operations: Readonly<Record<string, readonly [name: string, action: string]>> = {
  "PUT object": ["PutObject", "PutObject"],
  "GET object": ["GetObject", "GetObject"],
  "HEAD object": ["HeadObject", "GetObject"],
  "DELETE object": ["DeleteObject", "DeleteObject"],
  "GET bucket": ["ListObjectsV2", "ListBucket"],
  "HEAD bucket": ["HeadBucket", "ListBucket"],
};

/** Parameters of an address that are known, by operation. The SDK repeats the operation's name in `x-id`. */
const parameters: Readonly<Record<string, readonly string[]>> = {
  ListObjectsV2: ["list-type", "prefix", "delimiter", "max-keys", "continuation-token", "start-after"],
};

/** Headers that would change what an operation does, in a way that is not known here. */
const refusedHeaders = ["x-amz-copy-source", "x-amz-acl", "x-amz-bypass-governance-retention", "x-amz-tagging"];

/**
 * Understands a request whose address has the bucket in its path, as the SDK makes it where the host is an IP address.
 * Throws an AwsError for what is not known here. `arnOf` finds a bucket and throws for one that does not exist.
 */
export function objectOperation(request: ObjectRequest, arnOf: (bucket: string) => string): ObjectOperation {
  const { method, url, headers } = request;
  const [, bucket = "", ...rest] = url.pathname.split("/").map(decodeURIComponent);
  const key = rest.join("/");
  const [name, action] = operations[`${method} ${key === "" ? "bucket" : "object"}`] ?? [];
  if (name === undefined || action === undefined) throw unknown(`${method} ${url.pathname}`);
  const known = ["x-id", ...(parameters[name] ?? [])];
  const strange = [...url.searchParams.keys()].find((parameter) => !known.includes(parameter));
  if (strange !== undefined) throw unknown(`the parameter ${strange} of ${name}`);
  if (name === "ListObjectsV2" && url.searchParams.get("list-type") !== "2") throw unknown("ListObjects");
  const header = refusedHeaders.find((each) => headers[each] !== undefined);
  if (header !== undefined) throw unknown(`the header ${header} of ${name}`);
  const arn = arnOf(bucket);
  const resource = key === "" ? arn : `${arn}/${key}`;
  const condition = headers["if-none-match"];
  const context = name === "PutObject" && condition !== undefined ? { "s3:if-none-match": condition } : undefined;
  return { name, bucket, key, access: [{ action: `s3:${action}`, resource, context }] };
}

/** The error for what this runner does not imitate. */
export function unknown(what: string): AwsError {
  return new AwsError(501, "NotImplemented", `The local runner does not know ${what} of S3.`);
}
